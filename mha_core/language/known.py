"""Which words of a text the shipped model has learned, and a learned one in place of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mha_core.language.groups import Group, group_tokens
from mha_core.language.kinds import Kinds, load_kinds
from mha_core.language.lexicon import (
    SECTIONS,
    Language,
    load_lexicon,
    load_long_families,
    long_words,
    nouns_of,
)
from mha_core.language.repeats import core_words
from mha_core.language.tokenizer import Token, load_tokenizer
from mha_core.language.vocabulary import CJK

LANGUAGES: tuple[Language, ...] = ("english", "chinese")
WORDLIKE = ("word", "piece", "character", "byte")


@dataclass(frozen=True, slots=True)
class Unlearned:
    """A word of a text that no sentence of the training said.

    Attributes:
        group: its tokens.
        instead: a learned word of the same kind, None where none is known.
    """

    group: Group
    instead: str | None


@cache
def learned_ids() -> frozenset[int]:
    """The tokens that the sentences of the training say as words, signs among them."""
    tokenizer = load_tokenizer()
    words = set(core_words())
    for language in LANGUAGES:
        nouns = nouns_of(language, "long", SECTIONS)
        words.update(word for noun in nouns for word in (noun.word, noun.plural))
        for table, keys in (("verbs", ("social", "handle")), ("adjectives", ("animate", "thing"))):
            words.update(word for key in keys for word in long_words(language, table, key))
        for family in load_long_families(language).values():
            words.update((*(act.past for act in family.acts), *family.traits, *family.owns))
    return frozenset(e.id for e in tokenizer.entries if e.kind == "word" and e.piece in words)


@cache
def whole_ids() -> frozenset[int]:
    """The tokens that are words, Chinese characters or signs, and no mere parts of them."""
    parts = ("special", "space", "byte", "piece")
    return frozenset(entry.id for entry in load_tokenizer().entries if entry.kind not in parts)


def is_learned(group: Group, tokens: Sequence[Token]) -> bool:
    """Whether a group is a word the model has learned, or no word at all: a sign, a space."""
    first = tokens[group.first]
    if group.is_single and first.id in learned_ids():
        return True
    return first.kind not in WORDLIKE or not any(sign.isalpha() for sign in group.text)


def unlearned_words(tokens: Sequence[Token], text: str) -> tuple[Unlearned, ...]:
    """The words of a text that the model has not learned, with what could stand in their place.

    >>> encoding = load_tokenizer().encode("The skateboarder saw 彭伟.")
    >>> [(one.group.text, one.instead) for one in unlearned_words(encoding.tokens, encoding.text)]
    [('skateboarder', 'child'), ('彭伟', '小明')]
    """
    said = {token.piece for token in tokens}
    strange = [group for group in group_tokens(tokens, text) if not is_learned(group, tokens)]
    return tuple(
        Unlearned(group, _known_like(tokens[group.first], tokens[group.last], said))
        for group in _in_words(strange, text, tokens)
    )


def _in_words(groups: Sequence[Group], text: str, tokens: Sequence[Token]) -> list[Group]:
    """Neighbouring Chinese characters as one word, such as a name."""
    words: list[Group] = []
    for group in groups:
        before = words[-1] if words else None
        if (
            before is not None
            and before.last + 1 == group.first
            and CJK.match(group.text)
            and (CJK.match(before.text))
        ):
            whole = text[tokens[before.first].start : tokens[group.last].end]
            words[-1] = Group(before.first, group.last, whole)
        else:
            words.append(group)
    return words


def _known_like(first: Token, last: Token, said: set[str]) -> str | None:
    """The learned word with most of a word's kinds, if there is one the text does not say yet.

    The word is known by its last token and, half as much, by its first.
    """
    shares = load_kinds().shares
    kinds = dict(shares[last.id])
    if first.id != last.id:
        for kind, share in shares[first.id].items():
            kinds[kind] = kinds.get(kind, 0.0) + share / 2
    language: Language = "chinese" if CJK.match(last.piece) else "english"
    options = [
        (word, _likeness(kinds, own)) for word, own in _examples(language) if word not in said
    ]
    best = max(options, key=lambda option: option[1], default=None)
    return best[0] if best is not None and best[1] > 0 else None


def _likeness(one: Kinds, other: Kinds) -> float:
    """How much two words' kinds have in common."""
    return sum(min(share, other.get(kind, 0.0)) for kind, share in one.items())


@cache
def _examples(language: Language) -> tuple[tuple[str, Kinds], ...]:
    """The grammar's own words that can stand for another, the likeliest first."""
    tokenizer, kinds, lexicon = load_tokenizer(), load_kinds(), load_lexicon(language)
    words = [noun.word for noun in lexicon.nouns]
    words += [verb.past for verb in lexicon.verbs("social")] if language == "english" else []
    words += [word for key in ("animate", "any") for word in lexicon.words("adjectives", key)]
    if language == "chinese":
        words += lexicon.words("verbs", "social")
    return tuple((word, kinds.shares[tokenizer.id_of(word)]) for word in dict.fromkeys(words))
