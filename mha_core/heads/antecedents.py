"""Whether one head finds what a pronoun stands for, by how well the model knows the word.

A hit is the head's largest key at the pronoun being any piece of the antecedent; `<bos>` and the
pronoun itself are left out of the keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from mha_core.errors import DataError
from mha_core.heads.probe import Row, attention_rows, ids_of
from mha_core.language.lexicon import SECTIONS, TIERS, Language, Reach, Tier, nouns_of
from mha_core.language.mixture import make_documents
from mha_core.language.tokenizer import Encoding, load_tokenizer
from mha_core.model.edits import Head
from mha_core.model.toy import ToyModel

FILE = "typed.toml"
LANGUAGES: tuple[Language, ...] = ("english", "chinese")
# Half of the nouns are of the tier that is measured, the others the grammar's own.
SHARE = 0.5
# known: the grammar's own noun; long: of the longer lists; unsaid: of these, but kept out of
# training; other: one token, but no noun of the lists; pieces: several tokens.
Knowledge = Literal["known", "long", "unsaid", "other", "pieces"]
KNOWLEDGE: tuple[Knowledge, ...] = ("known", "long", "unsaid", "other", "pieces")


@dataclass(frozen=True, slots=True)
class Antecedent:
    """A pronoun, and the tokens of what it stands for. Places count `<bos>`.

    Attributes:
        row: the tokens, the pronoun's place, the last piece of the antecedent, all nouns before.
        first: the first piece of the antecedent.
        known: how well the model knows the word.
        text: the sentence.
    """

    row: Row
    first: int
    known: Knowledge
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """How often the antecedent was found, beside the nearest noun that is a candidate."""

    found: float
    nearest: float
    n: int


@cache
def _words(language: Language, tier: Tier) -> frozenset[str]:
    """The nouns of a tier, plurals too, as a document says them."""
    nouns = nouns_of(language, tier, SECTIONS)
    return frozenset(word for noun in nouns for word in (noun.word, noun.plural) if word)


@cache
def tier_rows(language: Language, tier: Tier, seed: int, count: int) -> tuple[Antecedent, ...]:
    """Pronouns of grammar documents whose antecedent is of one tier, one a document.

    Args:
        language: whose documents.
        tier: core, long, held, pieces or new.
        seed: of the documents.
        count: how many.
    """
    kind, task = (
        ("pronoun", "reference") if language == "english" else ("pronoun_zh", "reference_zh")
    )
    wanted, found = _words(language, tier), list[Antecedent]()
    known: dict[Tier, Knowledge] = {"core": "known", "long": "long", "held": "unsaid"}
    while len(found) < count:
        for document in make_documents(seed, 1000, (task,), Reach(((tier, SHARE),))):
            for relation in document.relations:
                first = document.starts.get(relation.target, relation.target)
                word = " ".join(document.words[first : relation.target + 1])
                if relation.kind == kind and len(relation.candidates) > 1 and word in wanted:
                    places = tuple(place + 1 for place in relation.candidates)
                    row = Row(ids_of(document), relation.query + 1, relation.target + 1, places)
                    knowledge = known.get(tier, "pieces")
                    found.append(Antecedent(row, first + 1, knowledge, document.text))
                    break
        seed += 1_000_003
    return tuple(found[:count])


def find(model: ToyModel, rows: Sequence[Antecedent], head: Head) -> list[bool]:
    """Whether the head's largest key is a piece of the antecedent, row by row."""
    seen = attention_rows(model, [one.row for one in rows])[:, head[0], head[1]].copy()
    seen[:, 0] = 0.0
    seen[np.arange(len(rows)), [one.row.query for one in rows]] = 0.0
    best = seen.argmax(-1)
    return [bool(one.first <= key <= one.row.target) for one, key in zip(rows, best, strict=True)]


def measure(model: ToyModel, rows: Sequence[Antecedent], head: Head) -> Found:
    """How often the head finds the antecedent, and the nearest candidate is it."""
    nearest = [max(one.row.candidates) == one.row.target for one in rows]
    return Found(float(np.mean(find(model, rows, head))), float(np.mean(nearest)), len(rows))


def measure_tiers(
    model: ToyModel, language: Language, head: Head, seed: int, count: int
) -> dict[str, Found]:
    """How often the head finds the antecedent, tier by tier."""
    return {tier: measure(model, tier_rows(language, tier, seed, count), head) for tier in TIERS}


@cache
def typed_lines(language: Language) -> tuple[tuple[str, ...], ...]:
    """The sentences as people type them: text, and where one is marked pronoun and noun."""
    text = files("mha_core").joinpath("data", FILE).read_text("utf-8")
    lines = tomllib.loads(text)[language].strip().splitlines()
    return tuple(tuple(part.strip() for part in line.split(" | ")) for line in lines)


@cache
def typed_antecedents(language: Language) -> tuple[Antecedent, ...]:
    """The marked pronouns of the typed sentences."""
    return tuple(read_typed(*line, language) for line in typed_lines(language) if len(line) == 3)


def read_typed(text: str, pronoun: str, noun: str, language: Language) -> Antecedent:
    """A marked pronoun with the places of its tokens.

    Args:
        text: the sentence.
        pronoun: as it stands in the text, the last place of it.
        noun: what it stands for; the last place before the pronoun counts.
        language: whose nouns the candidates are.

    Raises:
        DataError: pronoun or noun is not there, or not cut at its edges.
    """
    encoding = load_tokenizer().encode(text)
    query = _token_at(encoding, pronoun, _last_word(text, pronoun, len(text)), pronoun)[0]
    start = _last_word(text, noun, encoding[query].start)
    first, last = _token_at(encoding, noun, start, noun)
    nouns = frozenset().union(*(_words(language, tier) for tier in ("core", "long", "held")))
    candidates = tuple(
        place + 1
        for place, token in enumerate(encoding.tokens[:query])
        if token.piece in nouns or place == last
    )
    row = Row((load_tokenizer().bos.id, *encoding.ids), query + 1, last + 1, candidates)
    return Antecedent(row, first + 1, _knowledge(encoding, first, last, language), text)


def _last_word(text: str, word: str, end: int) -> int:
    """Where a word stands last before a place; Latin words must stand alone."""
    place = end
    while (place := text.rfind(word, 0, place)) >= 0:
        around = text[max(0, place - 1) : place] + text[place + len(word) : place + len(word) + 1]
        if not word.isascii() or not any(sign.isalpha() for sign in around):
            return place
    raise DataError("everyday.word", word=word, text=text, count=0)


def _token_at(encoding: Encoding, word: str, start: int, what: str) -> tuple[int, int]:
    """The first and last token that cover a word."""
    covering = [
        place
        for place, token in enumerate(encoding)
        if token.end > start and token.start < start + len(word) and token.piece
    ]
    if not covering:
        raise DataError("everyday.word", word=what, text=encoding.text, count=0)
    return covering[0], covering[-1]


def _knowledge(encoding: Encoding, first: int, last: int, language: Language) -> Knowledge:
    """How well the model knows a word."""
    if first != last:
        return "pieces"
    word = encoding[first].piece
    if word in _words(language, "core"):
        return "known"
    if word in _words(language, "held"):
        return "unsaid"
    return "long" if word in _words(language, "long") else "other"


def measure_typed(model: ToyModel, language: Language, head: Head) -> dict[str, Found]:
    """How often the head finds the antecedent in the typed sentences, in all and by knowledge."""
    rows = typed_antecedents(language)
    found = {"all": measure(model, rows, head)}
    for known in KNOWLEDGE:
        if some := [one for one in rows if one.known == known]:
            found[known] = measure(model, some, head)
    return found


def typed_tokens(language: Language) -> dict[str, float]:
    """How the typed sentences fall into tokens.

    Returns:
        Shares of bytes and of single letters among the tokens, and the tokens a word in English,
        a character in Chinese.
    """
    encodings = [load_tokenizer().encode(line[0]) for line in typed_lines(language)]
    tokens = [token for encoding in encodings for token in encoding]
    letters = [t for t in tokens if t.kind == "piece" and len(t.piece) == 1]
    shares = {
        "bytes": sum(token.kind == "byte" for token in tokens) / len(tokens),
        "letters": len(letters) / len(tokens),
    }
    texts = [encoding.text for encoding in encodings]
    if language == "english":
        words = [word for text in texts for word in text.split() if any(map(str.isalpha, word))]
        return shares | {"tokens a word": len(tokens) / len(words)}
    characters = sum("\u4e00" <= sign <= "\u9fff" for text in texts for sign in text)
    return shares | {"tokens a character": len(tokens) / characters}
