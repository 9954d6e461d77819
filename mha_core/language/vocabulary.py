"""The one vocabulary: every token of the toy model, in the order of its number.

The words come from `data/vocabulary.toml`, the file the grammar speaks from as well, so a word
of the grammar never falls apart. Before the words stand the pieces any text can fall back to:
the spacing tokens, the printable ASCII characters and the bytes of UTF-8.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from mha_core.errors import DataError

Kind = Literal["special", "space", "character", "byte", "word", "punctuation"]
Script = Literal["latin", "cjk", "closing", "none"]

BOS = "<bos>"
FILE = "vocabulary.toml"

# Spacing that the implied rules do not give: nothing (where a space is implied), and the rest.
SPACING = {"": "⁀", " ": "␣", "\n": "↵", "\t": "⇥", "\u3000": "␣␣"}

# The bytes that valid UTF-8, lone surrogates included, can hold beyond printable ASCII.
BYTES = (*range(0x20), 0x7F, *range(0x80, 0xC0), *range(0xC2, 0xF5))

_SEPARATORS = re.compile(r"[\s/:|]+")
CJK_RANGES = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef“”‘’—"
CJK = re.compile(f"[{CJK_RANGES}]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One token of the vocabulary.

    Attributes:
        id: its number, the column of the embedding it picks.
        piece: the text it stands for; for a byte, empty (several bytes make one character).
        display: a readable form where the piece itself would be invisible or empty.
        kind: special, space, character, byte, word or punctuation.
        script: which spacing rule it follows: latin words are parted by one implied space,
            closing punctuation takes none before it, Chinese takes none at all.
        byte: the byte's value for a byte, else None.
    """

    id: int
    piece: str
    display: str
    kind: Kind
    script: Script
    byte: int | None = None


def split_words(text: str) -> list[str]:
    """The words of one value of the file, whatever separates them.

    >>> split_words("cat/cats  cup: tea | bag: flour")
    ['cat', 'cats', 'cup', 'tea', 'bag', 'flour']
    """
    return [word for word in _SEPARATORS.split(text) if word]


def all_words(table: Any) -> Iterator[str]:
    """Every word of a table and the tables within it, in the file's order."""
    if isinstance(table, dict):
        for value in table.values():
            yield from all_words(value)
    else:
        yield from split_words(table)


@cache
def load_tables() -> dict[str, Any]:
    """The vocabulary file as nested tables: english, chinese, punctuation.

    Raises:
        DataError: the file is not valid TOML.
    """
    text = files("mha_core").joinpath("data", FILE).read_text("utf-8")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError("vocabulary.file", file=FILE, reason=str(error)) from error


def _pieces() -> Iterator[tuple[str, str, Kind, Script, int | None]]:
    """Everything an entry holds but its number, in order."""
    closing = set(load_tables()["punctuation"]["closing"].split())
    yield "", BOS, "special", "none", None
    for text, display in SPACING.items():
        yield text, display, "space", "none", None
    for value in BYTES:
        yield "", f"0x{value:02X}", "byte", "none", value
    for value in range(0x21, 0x7F):
        if (sign := chr(value)) not in closing:
            yield sign, sign, "character" if sign.isalnum() else "punctuation", "none", None
    for sign in closing_signs():
        yield sign, sign, "punctuation", "closing", None
    for sign in load_tables()["punctuation"]["chinese"].split():
        yield sign, sign, "punctuation", "cjk", None
    tables = load_tables()
    for word in dict.fromkeys([*all_words(tables["english"]), *all_words(tables["chinese"])]):
        yield word, word, "word", _script(word), None


def closing_signs() -> list[str]:
    """The signs with no space before them, in the file's order."""
    return list(load_tables()["punctuation"]["closing"].split())


def _script(word: str) -> Script:
    """Which spacing rule a word follows; n't and 's lean on the word before them."""
    if CJK.match(word):
        return "cjk"
    return "closing" if "'" in word else "latin"


@cache
def load_vocabulary() -> tuple[Entry, ...]:
    """Every token, at the place of its number.

    >>> load_vocabulary()[0].display
    '<bos>'
    """
    return tuple(Entry(number, *parts) for number, parts in enumerate(_pieces()))
