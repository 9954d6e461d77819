"""Marks put by pointing: the words of a line, and the line with a mark round some of them.

Works on the line as it is written, slots and backslashes included, and mends marks that are not
closed by leaving them out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mha_core.language.tokenizer import Tokenizer

_FULL_WIDTH = str.maketrans("［］｛｝", "[]{}")
_KEPT = re.compile(r"\\.|<[^<>]*>")


class Unit(NamedTuple):
    """A word of a line, or a slot, and the characters it covers."""

    text: str
    start: int
    end: int


class Bare(NamedTuple):
    """A line without its marks.

    Attributes:
        text: what is left, slots and backslashes as they are.
        query: the words that a query's mark stood round.
        targets: those that targets' marks stood round.
    """

    text: str
    query: tuple[Unit, ...]
    targets: tuple[Unit, ...]


def take_marks(line: str, tokenizer: Tokenizer) -> Bare:
    """A line without its marks, and which words they stood round.

    >>> from mha_core import load_tokenizer
    >>> bare = take_marks("The {<she>} saw him as [she] ran.", load_tokenizer())
    >>> bare.text, bare.query[0].text, bare.targets[0].text
    ('The <she> saw him as she ran.', 'she', '<she>')
    """
    text, spans = "", list[tuple[str, int, int]]()
    opened: tuple[str, int] | None = None
    for part in re.findall(r"\\.|.", line, re.DOTALL):
        sign = part.translate(_FULL_WIDTH)
        if sign in ("[", "{"):
            opened = (sign, len(text))
        elif sign in ("]", "}"):
            if opened is not None and opened[0] == {"]": "[", "}": "{"}[sign]:
                spans.append((*opened, len(text)))
            opened = None
        else:
            text += part
    units = list_units(text, tokenizer)

    def within(sign: str) -> tuple[Unit, ...]:
        return tuple(
            unit
            for unit in units
            if any(s == sign and start <= unit.start and unit.end <= end for s, start, end in spans)
        )

    return Bare(text, within("["), within("{"))


def list_units(text: str, tokenizer: Tokenizer) -> list[Unit]:
    """The words and slots of a line without marks; pieces of a word are one.

    >>> from mha_core import load_tokenizer
    >>> [unit.text for unit in list_units("因为<她>很累，", load_tokenizer())]
    ['因为', '<她>', '很', '累', '，']
    """
    units, place = list[Unit](), 0
    for kept in _KEPT.finditer(text):
        units += _words(text, place, kept.start(), tokenizer)
        units.append(Unit(kept.group(), *kept.span()))
        place = kept.end()
    return units + _words(text, place, len(text), tokenizer)


def _words(text: str, start: int, end: int, tokenizer: Tokenizer) -> list[Unit]:
    """The words of a stretch without slots."""
    found = list[Unit]()
    for token in tokenizer.encode(text[start:end]):
        first, last = start + token.start, start + token.end
        if not text[first:last].strip():
            continue
        if found and (token.goes_on or first < found[-1].end):
            first = found.pop().start
        found.append(Unit(text[first:last], first, last))
    return found


def put_marks(text: str, query: Sequence[Unit], targets: Sequence[Unit]) -> str:
    """A line without marks with brackets round the query and braces round each target.

    >>> put_marks("the cat saw it", [Unit("it", 12, 14)], [Unit("cat", 4, 7)])
    'the {cat} saw [it]'
    """
    signs = [(unit, "[", "]") for unit in query] + [(unit, "{", "}") for unit in targets]
    for unit, before, after in sorted(signs, key=lambda sign: -sign[0].start):
        text = f"{text[: unit.start]}{before}{unit.text}{after}{text[unit.end :]}"
    return text


def mark_alike(text: str, number: int, tokenizer: Tokenizer) -> str:
    """Mark the lines without a mark as one line is marked, where they have the same words.

    The last word like the query is taken, and before it the last one like each target.

    Args:
        text: a sentence a line.
        number: which line is the example, from 0.
        tokenizer: what cuts lines into words.

    >>> from mha_core import load_tokenizer
    >>> mark_alike("The {cat} sat as [it] ran.\\nA cat ran as it sat.", 0, load_tokenizer())
    'The {cat} sat as [it] ran.\\nA {cat} ran as [it] sat.'
    """
    lines = text.splitlines()
    example = take_marks(lines[number], tokenizer)
    if len(example.query) != 1 or not example.targets:
        return text
    for place, line in enumerate(lines):
        bare = take_marks(line, tokenizer)
        if place == number or bare.query or bare.targets:
            continue
        units = list_units(bare.text, tokenizer)
        queries = [unit for unit in units if unit.text == example.query[0].text]
        if not queries:
            continue
        before = [unit for unit in units if unit.start < queries[-1].start]
        alike = [
            next((unit for unit in reversed(before) if unit.text == target.text), None)
            for target in example.targets
        ]
        targets = [unit for unit in alike if unit is not None]
        if len(set(targets)) == len(example.targets):
            lines[place] = put_marks(bare.text, queries[-1:], targets)
    return "\n".join(lines)
