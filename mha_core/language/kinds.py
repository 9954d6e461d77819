"""What kind of word a token is, and how it ends: what a model knows of a word it never read.

A token's embedding is the sum of its own vector, of its kinds' vectors (person, he, food, plural …)
and of its ending's. A known word has the kinds of the list it stands in. A piece, or a Chinese
character that is no word, has the kinds of the words that end in it, in their shares, or, if it
starts words, of those that start with it; so an unknown word gets what its ending suggests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mha_core.language.lexicon import (
    PIECE,
    SECTIONS,
    Language,
    Noun,
    load_lexicon,
    load_long_nouns,
    long_words,
)
from mha_core.language.tokenizer import Tokenizer, load_tokenizer
from mha_core.language.vocabulary import load_list

Kinds = dict[str, float]  # kind → how much of it, 1 in all for a single one
LANGUAGES: tuple[Language, ...] = ("english", "chinese")
PRONOUNS = ("he", "she", "it", "they")
SORTS = (*SECTIONS, "verb", "adjective", "adverb", "number", "classifier")
PARTS_OF_SPEECH = {
    "english": ("verb", "adjective", "adverb"),
    "chinese": ("verb", "adjective", "number", "classifier"),
}


@dataclass(frozen=True)
class TokenKinds:
    """Kinds and endings of every token of the vocabulary.

    Attributes:
        names: of the kinds, each with its language: "person english".
        shares: for each token, its kinds and how much of each.
        endings: for each token, the number of the token it ends in (itself for a piece or a
            character), or None where it has no ending.
    """

    names: tuple[str, ...]
    shares: tuple[Kinds, ...]
    endings: tuple[int | None, ...]


def kinds_of_noun(noun: Noun, language: Language, *, many: bool = False) -> Kinds:
    """The kinds of a noun: section, class, and who may take it up.

    >>> kinds_of_noun(load_lexicon("english").people[0], "english")
    {'people english': 1.0, 'he english': 1.0}
    """
    found = {noun.family.section: 1.0}
    if noun.is_thing:
        found[noun.kind] = 1.0
    pronouns = {"either": {"he": 0.5, "she": 0.5}}.get(noun.pronoun, {noun.pronoun: 1.0})
    found |= {"they": 1.0} if many else pronouns
    return {f"{kind} {language}": share for kind, share in found.items()}


def sharpen(kinds: Kinds) -> Kinds:
    """Kinds with the likelier of each facet made more of, and as much of each facet as before.

    The facets are what sort of word it is, who may take it up, and what class of thing it is. A
    piece that ends twice as many people as things is treated as four times as much of a person.

    >>> sharpen({"he english": 0.4, "it english": 0.2})
    {'he english': 0.48, 'it english': 0.12}
    """
    facets: dict[str, Kinds] = {}
    for kind, share in kinds.items():
        name = kind.split()[0]
        facet = "sort" if name in SORTS else "pronoun" if name in PRONOUNS else "class"
        facets.setdefault(facet, {})[kind] = share
    found: Kinds = {}
    for shares in facets.values():
        squares = sum(share**2 for share in shares.values())
        total = sum(shares.values())
        found |= {kind: round(total * share**2 / squares, 6) for kind, share in shares.items()}
    return found


def _listed_words(language: Language) -> Iterator[tuple[str, str, Kinds]]:
    """Every word with a kind: as a document says it, as a person writes it, its kinds."""
    lists = load_long_nouns(language)
    nouns = [*load_lexicon(language).nouns]
    nouns += [n for tier in lists.values() for section in SECTIONS for n in tier[section]]
    for noun in nouns:
        yield noun.word, noun.text, kinds_of_noun(noun, language)
        if noun.plural and noun.plural != noun.word:
            yield noun.plural, noun.plural, kinds_of_noun(noun, language, many=True)
    frequent = load_list("frequent_words" if language == "english" else "chinese_words")
    table = frequent["english" if language == "english" else "words"]
    for part in PARTS_OF_SPEECH[language]:
        for word in table[part].split():
            yield word, word, {f"{part} {language}": 1.0}
    for word in table.get("noun", "").split():
        yield word, word, {f"{kind} {language}": 1.0 for kind in ("things", "abstract", "it")}
    for part, kinds in (("verbs", ("social", "handle")), ("adjectives", ("animate", "thing"))):
        for word in (word for kind in kinds for word in long_words(language, part, kind)):
            text = load_tokenizer().decode(_numbers(word, language))
            yield word, text, {f"{part[:-1]} {language}": 1.0}
    for key in ("verbs", "adjectives"):
        for words in load_lexicon(language).tables[key].values():
            for word in words.replace("/", " ").split():
                yield word, word, {f"{key[:-1]} {language}": 1.0}


def _numbers(word: str, language: Language) -> tuple[int, ...]:
    """The token numbers of a word as a document says it."""
    tokenizer = load_tokenizer()
    return tuple(
        int(part[1:]) if part.startswith(PIECE) else tokenizer.id_of(part) for part in word.split()
    )


def _cut(text: str, language: Language, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The pieces a word would fall into if it were unknown."""
    if language == "chinese":
        return tuple(number for sign in text for number in tokenizer.encode(sign).ids)
    return tokenizer.cut(text)


@cache
def load_kinds() -> TokenKinds:
    """Kinds and endings of the toy vocabulary.

    >>> kinds = load_kinds()
    >>> kinds.shares[load_tokenizer().id_of("zebra")]
    {'animals english': 1.0, 'it english': 1.0}
    """
    tokenizer = load_tokenizer()
    own: dict[int, Kinds] = {}
    said: dict[int, Kinds] = {}  # piece → its words' kinds
    heard: dict[int, float] = {}  # piece → how many words
    endings: list[int | None] = [None] * len(tokenizer)

    def count(piece: int, kinds: Kinds, times: float = 1.0) -> None:
        heard[piece] = heard.get(piece, 0.0) + times
        tally = said.setdefault(piece, {})
        for kind, share in kinds.items():
            tally[kind] = tally.get(kind, 0.0) + share * times

    for language in LANGUAGES:
        for word, text, kinds in _listed_words(language):
            numbers, pieces = _numbers(word, language), _cut(text, language, tokenizer)
            if len(numbers) == 1 and not word.startswith(PIECE):
                own.setdefault(numbers[0], kinds)
                endings[numbers[0]] = pieces[-1]
            count(pieces[-1], kinds)
            if len(numbers) > 1 and language == "english":
                count(pieces[0], kinds)
    for surname in load_list("names")["surnames"]["chinese"].split():
        name = {"names chinese": 1.0, "he chinese": 0.5, "she chinese": 0.5}
        count(_cut(surname, "chinese", tokenizer)[0], name, 20.0)
    shares: list[Kinds] = []
    for entry in tokenizer.entries:
        is_part = entry.kind == "piece" or (entry.kind == "character" and entry.script == "cjk")
        if is_part:
            endings[entry.id] = entry.id
        if entry.id in own:
            shares.append(own[entry.id])
        elif entry.id in said:  # one more word of no kind, so that rare endings say less
            n = heard[entry.id] + 1
            shares.append(sharpen({kind: value / n for kind, value in said[entry.id].items()}))
        else:
            shares.append({})
        if endings[entry.id] is None and entry.kind == "word" and entry.script in ("latin", "cjk"):
            language = "english" if entry.script == "latin" else "chinese"
            endings[entry.id] = _cut(entry.piece, language, tokenizer)[-1]
    names = tuple(sorted({kind for kinds in shares for kind in kinds}))
    return TokenKinds(names, tuple(shares), tuple(endings))
