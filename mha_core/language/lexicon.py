"""Nouns, acts and traits of one language, read from the word lists.

The grammar's own nouns have families, in which he and she share acts. The longer lists go by class:
a section of them has one to three families, and every noun one of five tiers.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mha_core.language.tokenizer import load_tokenizer
from mha_core.language.vocabulary import load_list, load_tables

Language = Literal["english", "chinese"]
Section = Literal["people", "names", "animals", "things"]
SECTIONS: tuple[Section, ...] = ("people", "names", "animals", "things")

# core: the grammar's own nouns; long: tokens of the longer lists; held: tokens of these lists that
# no document of a training run says; pieces: words that fall into pieces; new: such words that no
# training run says.
Tier = Literal["core", "long", "held", "pieces", "new"]
TIERS: tuple[Tier, ...] = ("core", "long", "held", "pieces", "new")

PIECE = "#"  # before the number of a piece that is no word of the vocabulary


@dataclass(frozen=True, slots=True)
class Verb:
    """An act: base, with -s, and past; only the past where the file gives no more."""

    base: str
    third: str
    past: str


@dataclass(frozen=True, slots=True)
class Family:
    """Nouns that share acts and traits, and what they own."""

    section: str
    name: str
    acts: tuple[Verb, ...]
    traits: tuple[str, ...]
    owns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun and what takes it up again: he, she, it, or either (he or she).

    Attributes:
        word, plural: as a document says it: a word, or its pieces ("#17 #210").
        pronoun: he, she, it or either.
        family: whose acts it shares.
        text: as a person writes it.
        kind: its class within the section, such as food.
    """

    word: str
    plural: str
    pronoun: str
    family: Family
    text: str
    kind: str = ""

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

    @property
    def article(self) -> str:
        """The article that fits: a or an."""
        return "an" if self.text[0] in "aeiou" else "a"


def read_verb(text: str) -> Verb:
    """A verb of the file.

    >>> read_verb("see/sees/saw").past, read_verb("nodded").past, read_verb("eat/ate").base
    ('saw', 'nodded', 'eat')
    """
    forms = text.split("/")
    if len(forms) == 1:
        return Verb("", "", forms[0])
    return Verb(forms[0], forms[1] if len(forms) == 3 else "", forms[-1])


def _read_nouns(family: Family, table: dict[str, str], kind: str) -> list[Noun]:
    """The nouns of one family."""
    nouns = []
    for pronoun in ("he", "she", "either", "it"):
        for entry in table.get(pronoun, "").split():
            word, _, plural = entry.partition("/")
            nouns.append(Noun(word, plural, pronoun, family, word, kind))
    return nouns


def _read_family(section: str, name: str, table: dict[str, str]) -> list[Noun]:
    """The nouns of one family of the grammar's file."""
    acts = tuple(read_verb(act) for act in table["acts"].split())
    traits, owns = tuple(table["traits"].split()), tuple(table.get("owns", "").split())
    return _read_nouns(Family(section, name, acts, traits, owns), table, name)


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
        return read_pairs(self.tables[table]["pairs"])

    @property
    def nouns(self) -> tuple[Noun, ...]:
        """Every noun with a family."""
        return self.people + self.names + self.animals + self.things


def read_pairs(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Lines of the form "cup: tea coffee | bottle: wine", several in one line or one in each.

    >>> read_pairs("cup: tea coffee | bottle: wine")
    (('cup', ('tea', 'coffee')), ('bottle', ('wine',)))
    """
    pairs = []
    for part in text.replace("\n", " | ").split("|"):
        head, _, rest = part.partition(":")
        if rest.strip():
            pairs.append((head.strip(), tuple(rest.split())))
    return tuple(pairs)


@cache
def load_lexicon(language: Language) -> Lexicon:
    """The grammar's own words of a language, read once."""
    tables = load_tables()[language]
    sections = {
        section: tuple(
            noun
            for name, table in tables[section].items()
            for noun in _read_family(section, name, table)
        )
        for section in SECTIONS
    }
    return Lexicon(**sections, tables=tables)


# --- The longer lists: families by section, and which classes of things share one.

EATEN = ("food", "drink", "plant")
PLACED = ("building", "place", "group", "abstract", "body", "paper")


@cache
def load_long_families(language: Language) -> dict[str, Family]:
    """The families of the longer lists, by name."""
    table = load_tables()["long"][language]
    return {
        name: Family(
            lines["section"],
            f"long {name}",
            tuple(read_verb(act) for act in lines["acts"].split()),
            tuple(lines["traits"].split()),
            tuple(lines.get("owns", "").split()),
        )
        for name, lines in table.items()
    }


def _family_name(section: str, kind: str, pronoun: str) -> str:
    """Which family of the longer lists a noun belongs to."""
    if section == "people":
        return "trades" if pronoun == "either" else "kin"
    if section == "things":
        return "eaten" if kind in EATEN else "placed" if kind in PLACED else "made"
    return section


def spell(word: str, language: Language) -> str:
    """A word as a document says it: itself if it is a token, else its pieces ("#17 #210").

    >>> spell("cat", "english")
    'cat'
    """
    tokenizer = load_tokenizer()
    around = "a {} a" if language == "english" else "{}"  # so that its own spacing is implied
    ids = tokenizer.encode(around.format(word)).ids
    ids = ids[1:-1] if language == "english" else ids
    if len(ids) == 1 and tokenizer.entries[ids[0]].kind == "word":
        return word
    return " ".join(PIECE + str(number) for number in ids)


def is_held(word: str) -> bool:
    """Whether a word of the longer lists is kept out of training: about one in eight, by name.

    >>> sum(is_held(f"word{n}") for n in range(800)) < 150
    True
    """
    return zlib.crc32(word.encode()) % 8 == 0


def _listed(
    language: Language, tier: Literal["known", "pieces"]
) -> Iterator[tuple[str, str, str, str]]:
    """Section, class, pronoun and entry of every noun of the longer lists."""
    table = load_list("english_nouns" if language == "english" else "chinese_words")[tier]
    for section in ("people", "animals"):
        for pronoun, words in table[section].items():
            for entry in words.split():
                yield section, section, pronoun, entry
    for kind, words in table["things"].items():
        for entry in words.split():
            yield "things", kind, "it", entry
    for pronoun, entry in _listed_names(language, tier):
        yield "names", "names", pronoun, entry


def _listed_names(
    language: Language, tier: Literal["known", "pieces"]
) -> Iterator[tuple[str, str]]:
    """Pronoun and name of the longer lists; Chinese ones in pieces are surname and given name."""
    names = load_list("names")
    if language == "english" or tier == "known":
        lists = (
            names
            if language == "english"
            else {"known": load_list("chinese_words")["known"]["names"]}
        )
        for pronoun, words in lists[tier].items():
            for name in words.split():
                yield pronoun, name
        return
    draw = random.Random(0)
    surnames = names["surnames"]["chinese"].split()
    for pronoun, words in names["chinese"].items():
        for given in words.split():
            for surname in draw.sample(surnames, 4):
                yield pronoun, surname + given


@cache
def load_long_nouns(language: Language) -> dict[Tier, dict[str, tuple[Noun, ...]]]:
    """The nouns of the longer lists, by tier and section."""
    families = load_long_families(language)
    own = {word for noun in load_lexicon(language).nouns for word in (noun.word, noun.plural)}
    found: dict[Tier, dict[str, list[Noun]]] = {
        tier: {section: [] for section in SECTIONS} for tier in TIERS[1:]
    }
    for source in ("known", "pieces"):
        for section, kind, pronoun, entry in _listed(language, source):
            text, _, plural = entry.partition("/")
            word = spell(text, language)
            if text in own:
                continue
            given = text[1:] if source == "pieces" and section == "names" else text
            whole, held = (
                not word.startswith(PIECE),
                is_held(given if language == "chinese" else text),
            )
            tier: Tier = ("held" if held else "long") if whole else ("new" if held else "pieces")
            family = families[_family_name(section, kind, pronoun)]
            found[tier][section].append(Noun(word, plural, pronoun, family, text, kind))
    return {tier: {s: tuple(n) for s, n in table.items()} for tier, table in found.items()}


@cache
def nouns_of(language: Language, tier: Tier, sections: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of some sections of one tier."""
    if tier == "core":
        lexicon = load_lexicon(language)
        return tuple(noun for section in sections for noun in getattr(lexicon, section))
    return tuple(noun for section in sections for noun in load_long_nouns(language)[tier][section])


@cache
def long_words(language: Language, table: str, key: str) -> tuple[str, ...]:
    """Verbs (in the past) or adjectives of the longer lists, as a document says them."""
    lists = load_list("english_verbs" if language == "english" else "chinese_words")
    return tuple(spell(word, language) for word in lists[table][key].split())


@dataclass(frozen=True)
class Reach:
    """How far documents go beyond the grammar's own words.

    Attributes:
        tiers: shares of the tiers nouns are drawn from; the rest is core.
        words: the share of verbs and adjectives that come from the longer lists.
    """

    tiers: tuple[tuple[Tier, float], ...] = ()
    words: float = 0.0


CORE = Reach()
FAR = Reach((("long", 0.35), ("pieces", 0.25)), 0.25)  # what the second part of training draws from


class Chance(random.Random):
    """Random choices, and how far from the grammar's own words they reach."""

    def __init__(self, seed: int, reach: Reach = CORE) -> None:
        super().__init__(seed)
        self.reach = reach

    def noun(self, language: Language, *sections: str) -> Noun:
        """A noun of one of these sections."""
        return self.choice(nouns_of(language, self._tier(), sections))

    def reaches(self) -> bool:
        """Whether the next verb or adjective comes from the longer lists."""
        return bool(self.reach.words) and self.random() < self.reach.words

    def ranked(self, words: tuple[str, ...]) -> str:
        """A word of a list that has the commonest first, by one over its rank."""
        return self.choices(words, [1 / rank for rank in range(1, len(words) + 1)])[0]

    def _tier(self) -> Tier:
        """A tier by its share; core takes no random number where nothing else is asked for."""
        if not self.reach.tiers:
            return "core"
        left = self.random()
        for tier, share in self.reach.tiers:
            left -= share
            if left < 0:
                return tier
        return "core"


def settle(noun: Noun, draw: random.Random) -> str:
    """The pronoun a noun takes in this document: he, she or it."""
    return draw.choice(("he", "she")) if noun.pronoun == "either" else noun.pronoun


def invent_word(draw: random.Random, language: Language) -> str:
    """A word the vocabulary does not hold: syllables, or a Chinese character or two."""
    while True:
        if language == "chinese":
            signs = draw.choice((1, 1, 2))
            word = "".join(chr(draw.randint(0x4E00, 0x9F00)) for _ in range(signs))
        else:
            syllables = draw.randint(1, 3)
            word = "".join(
                draw.choice("bcdfghklmnprstvwyz") + draw.choice("aeiou") for _ in range(syllables)
            ) + draw.choice(("", "d", "n", "ed", "ly", "s", "r"))
        if spell(word, language).startswith(PIECE):
            return word
