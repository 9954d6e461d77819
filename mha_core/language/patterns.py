"""Sentences from a pattern: a line with slots that the toy vocabulary's words fill.

    The {<she>} thanked the <he> because [she] was <tired|happy>.

A slot names a kind of word, or gives its own words with bars between them. `<1=she>` remembers the
word that it drew and `<1>` says it again. No kind gives the same word twice in a sentence. `\\<`
and `\\>` are the signs themselves. Lines without a slot stay as they are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from mha_core.errors import DataError
from mha_core.language.lexicon import Language, Noun, load_lexicon
from mha_core.language.vocabulary import CJK_RANGES

TRIES = 20  # draws for one more sentence that was not there yet

_PART = re.compile(r"\\.|<([^<>]*)>|[<>]")
_CHINESE = re.compile(f"[{CJK_RANGES}]")


class Line(NamedTuple):
    """A sentence, and the number of the line it is from, the first 1."""

    number: int
    text: str


def language_of(line: str) -> Language:
    """Whose words a line takes: Chinese ones where it has a Chinese character outside its slots, or
    in them where no word is outside.

    >>> language_of("因为[他]很累"), language_of("because [he] was tired")
    ('chinese', 'english')
    """
    outside = re.sub(r"<[^<>]*>", "", line)
    told = outside if any(sign.isalpha() for sign in outside) else line
    return "chinese" if _CHINESE.search(told) else "english"


@cache
def list_slots(language: Language) -> dict[str, tuple[str, ...]]:
    """The kinds of words a slot can name, each with its words.

    Nouns go by the pronoun that takes them up again; English names stand without an article and
    have kinds of their own.

    >>> "queen" in list_slots("english")["she"], "公主" in list_slots("chinese")["她"]
    (True, True)
    """
    words = load_lexicon(language)

    def taking(pronoun: str, nouns: Sequence[Noun]) -> tuple[str, ...]:
        return tuple(noun.text for noun in nouns if noun.pronoun == pronoun)

    animals = tuple(noun.text for noun in words.animals)
    things = tuple(noun.text for noun in words.things)
    acts = tuple(verb.past for verb in words.verbs("social"))
    states = words.words("adjectives", "animate")
    if language == "chinese":
        persons = words.people + words.names
        return {
            "他": taking("he", persons), "她": taking("she", persons), "动物": animals,
            "东西": things, "动词": acts, "形容词": states, "地点": words.words("places", "all"),
        }  # fmt: skip
    return {
        "he": taking("he", words.people), "she": taking("she", words.people),
        "he-name": taking("he", words.names), "she-name": taking("she", words.names),
        "animal": animals, "thing": things, "verb": acts, "adjective": states,
        "place": words.words("places", "go"),
    }  # fmt: skip


def has_slots(line: str) -> bool:
    """Whether a line is a pattern.

    >>> has_slots("The <she> left."), has_slots("a \\\\< b")
    (True, False)
    """
    return any(not found.group().startswith("\\") for found in _PART.finditer(line))


def fill(line: str, draw: random.Random, number: int = 1) -> str:
    """One sentence of a pattern.

    Args:
        line: the pattern.
        draw: what chooses the words.
        number: the line's number, for what an error says.

    Raises:
        DataError: a slot that is not closed, that names no kind of word, or that has run out.

    >>> fill("a <1=red|red> cup and a <1> hat", random.Random(0))
    'a red cup and a red hat'
    """
    kinds = list_slots(language_of(line))
    kept: dict[str, str] = {}
    said: set[str] = set()

    def choose(found: re.Match[str]) -> str:
        whole, inside = found.group(), found.group(1)
        if whole.startswith("\\"):
            return whole[1:] if whole[1] in "<>" else whole
        if inside is None:
            raise DataError("pattern.open", line=number, text=line)
        name, equals, kind = inside.rpartition("=")
        kind = kind.strip()
        if not equals and kind in kept:
            return kept[kind]
        if "|" in kind:
            options = tuple(option.strip() for option in kind.split("|"))
        elif kind in kinds:
            options = tuple(word for word in kinds[kind] if word not in said)
        else:
            listed = ", ".join(f"<{each}>" for each in kinds)
            raise DataError("pattern.slot", line=number, slot=whole, kinds=listed)
        if not options:
            raise DataError("pattern.out", line=number, slot=whole, n=len(kinds[kind]))
        word = draw.choice(options)
        if "|" not in kind:
            said.add(word)
        if equals:
            kept[name.strip()] = word
        return word

    return _PART.sub(choose, line)


def draw_lines(text: str, count: int, seed: int) -> tuple[list[Line], list[DataError]]:
    """The sentences of a text: its plain lines, and what its patterns give.

    Args:
        text: a sentence or a pattern a line; empty lines say nothing.
        count: how many sentences there are in all, as far as the patterns give so many.
        seed: of the draws; the same seed gives the same sentences on every machine.

    Returns:
        The sentences, each once, and what is wrong with lines that give none.

    >>> lines, faults = draw_lines("The <cat|dog> sat.", 5, seed=0)
    >>> sorted(line.text for line in lines), faults
    (['The cat sat.', 'The dog sat.'], [])
    """
    given = [Line(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    given = [line for line in given if line.text]
    draw = random.Random(seed)
    plain = [line for line in given if not has_slots(line.text)]
    found = dict.fromkeys(Line(n, fill(t, draw, n)) for n, t in plain)
    patterns, faults = [], list[DataError]()
    for line in (line for line in given if has_slots(line.text)):
        try:
            fill(line.text, random.Random(seed), line.number)
            patterns.append(line)
        except DataError as fault:
            faults.append(fault)
    texts = {line.text for line in found}
    turn = 0
    while patterns and len(found) < count:
        line = patterns[turn % len(patterns)]
        for _ in range(TRIES):
            sentence = fill(line.text, draw, line.number)
            if sentence not in texts:
                texts.add(sentence)
                found[Line(line.number, sentence)] = None
                turn += 1
                break
        else:  # it has given all it can, or nearly
            patterns.remove(line)
    return list(found), faults
