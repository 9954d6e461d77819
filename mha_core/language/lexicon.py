"""Nouns, acts and traits of one language, read from the vocabulary file."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mha_core.language.vocabulary import load_tables

Language = Literal["english", "chinese"]


@dataclass(frozen=True, slots=True)
class Verb:
    """An act: base, with -s, and past; only the past where the file gives no more."""

    base: str
    third: str
    past: str


@dataclass(frozen=True, slots=True)
class Family:
    """Nouns that share acts and traits."""

    section: str
    name: str
    acts: tuple[Verb, ...]
    traits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun and what takes it up again: he, she, it, or either (he or she)."""

    word: str
    plural: str
    pronoun: str
    family: Family

    @property
    def is_name(self) -> bool:
        """Whether it stands without an article."""
        return self.family.section == "names"

    @property
    def is_thing(self) -> bool:
        """Whether it is neither a person nor an animal."""
        return self.family.section == "things"

    @property
    def is_person(self) -> bool:
        """Whether it is a person, by name or not."""
        return self.family.section in ("people", "names")

    @property
    def is_animal(self) -> bool:
        """Whether it is an animal."""
        return self.family.section == "animals"


def read_verb(text: str) -> Verb:
    """A verb of the file.

    >>> read_verb("see/sees/saw").past, read_verb("nodded").past, read_verb("eat/ate").base
    ('saw', 'nodded', 'eat')
    """
    forms = text.split("/")
    if len(forms) == 1:
        return Verb("", "", forms[0])
    return Verb(forms[0], forms[1] if len(forms) == 3 else "", forms[-1])


def _read_family(section: str, name: str, table: dict[str, str]) -> list[Noun]:
    """The nouns of one family."""
    acts = tuple(read_verb(act) for act in table["acts"].split())
    family = Family(section, name, acts, tuple(table["traits"].split()))
    nouns = []
    for pronoun in ("he", "she", "either", "it"):
        for entry in table.get(pronoun, "").split():
            word, _, plural = entry.partition("/")
            nouns.append(Noun(word, plural, pronoun, family))
    return nouns


@dataclass(frozen=True)
class Lexicon:
    """All nouns of a language by section, and its other words by table."""

    people: tuple[Noun, ...]
    names: tuple[Noun, ...]
    animals: tuple[Noun, ...]
    things: tuple[Noun, ...]
    tables: dict[str, Any]

    def words(self, table: str, key: str) -> tuple[str, ...]:
        """The words of one line of the file."""
        return tuple(self.tables[table][key].split())

    def verbs(self, key: str) -> tuple[Verb, ...]:
        """The verbs of one line of the file."""
        return tuple(read_verb(verb) for verb in self.words("verbs", key))

    def pairs(self, table: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Lines of the form "cup: tea coffee | bottle: wine"."""
        pairs = []
        for part in self.tables[table]["pairs"].replace("\n", " | ").split("|"):
            head, _, rest = part.partition(":")
            if rest.strip():
                pairs.append((head.strip(), tuple(rest.split())))
        return tuple(pairs)

    @property
    def nouns(self) -> tuple[Noun, ...]:
        """Every noun with a family."""
        return self.people + self.names + self.animals + self.things


@cache
def load_lexicon(language: Language) -> Lexicon:
    """The lexicon of a language, read once."""
    tables = load_tables()[language]
    sections = {
        section: tuple(
            noun
            for name, table in tables[section].items()
            for noun in _read_family(section, name, table)
        )
        for section in ("people", "names", "animals", "things")
    }
    return Lexicon(**sections, tables=tables)


def settle(noun: Noun, draw: random.Random) -> str:
    """The pronoun a noun takes in this document: he, she or it."""
    return draw.choice(("he", "she")) if noun.pronoun == "either" else noun.pronoun


def invent_word(draw: random.Random, language: Language) -> str:
    """A word the vocabulary is unlikely to hold: letters in turn, or a Chinese character."""
    if language == "chinese":
        return "".join(chr(draw.randint(0x4E00, 0x9F00)) for _ in range(draw.choice((1, 1, 2))))
    return "".join(
        draw.choice("bcdfghklmnprstvwyz") + draw.choice("aeiou") for _ in range(draw.randint(1, 3))
    ) + draw.choice(("", "d", "n", "ed", "ly", "s", "r"))
