"""The one vocabulary: every token of the toy model, in the order of its number.

The words the grammar turns on come from `data/vocabulary.toml`; the longer lists from the files in
`data/words/`, each with its source and licence at its head. Before the words stand the pieces any
text can fall back to: the spacing tokens, printable ASCII signs and the bytes of UTF-8; after them
Chinese characters, other signs, and pieces of words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from mha_core.errors import DataError

Kind = Literal["special", "space", "character", "byte", "word", "punctuation", "piece"]
Script = Literal["latin", "joined", "cjk", "closing", "none"]

BOS = "<bos>"
FILE = "vocabulary.toml"
JOINED = "·"  # before a piece that goes on with a word, as it is shown

# Spacing that the implied rules do not give: nothing (where a space is implied), and the rest.
SPACING = {"": "⁀", " ": "␣", "\n": "↵", "\t": "⇥", "\u3000": "␣␣", "\u00a0": "⍽"}

# The bytes that valid UTF-8, lone surrogates included, can hold beyond printable ASCII.
BYTES = (*range(0x20), 0x7F, *range(0x80, 0xC0), *range(0xC2, 0xF5))

# Signs that are seen only by what they do to the sign before them.
UNSEEN = {"\u200d": "ZWJ", "\ufe0f": "VS16", "\u200b": "ZWSP", "\u0301": "◌́"}

_SEPARATORS = re.compile(r"[\s/:|]+")
CJK_RANGES = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef“”‘’—"
CJK = re.compile(f"[{CJK_RANGES}]")
# What leans on the word before it: didn't, it's, we're; with either apostrophe.
LEANING = tuple(part.replace("'", sign) for sign in "'’" for part in (
    "n't", "'s", "'m", "'re", "'ve", "'ll", "'d"))  # fmt: skip
CUT_SHORT = ("ca", "wo")  # what stays of can and will before n't


class Entry(NamedTuple):
    """One token of the vocabulary.

    Attributes:
        id: its number, the column of the embedding it picks.
        piece: the text it stands for; for a byte, empty (several bytes make one character).
        display: a readable form where the piece itself would be invisible or empty.
        kind: special, space, character, byte, word, punctuation, or piece (of a Latin word).
        script: which spacing rule it follows: latin words are parted by one implied space, a
            joined piece goes on with the word before it, closing punctuation takes no space
            before it, Chinese takes none at all.
        byte: the byte's value for a byte, else None.
    """

    id: int
    piece: str
    display: str
    kind: Kind
    script: Script
    byte: int | None = None


def split_words(text: str) -> list[str]:
    """The words of one value of a file, whatever separates them.

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
def load_tables(file: str = FILE) -> dict[str, Any]:
    """A word list as nested tables; `vocabulary.toml` has english, chinese, punctuation.

    Args:
        file: its name in `data/`.

    Raises:
        DataError: the file is not valid TOML.
    """
    text = files("mha_core").joinpath("data", file).read_text("utf-8")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError("vocabulary.file", file=file, reason=str(error)) from error


def load_list(name: str) -> dict[str, Any]:
    """One of the longer lists, `data/words/<name>.toml`.

    >>> "Hannah" in load_list("names")["known"]["she"]
    True
    """
    return load_tables(f"words/{name}.toml")


Parts = tuple[str, str, Kind, Script, int | None]


def _fall_back_parts() -> Iterator[Parts]:
    """Spacing, bytes and ASCII signs: what any text can fall back to."""
    closing = set(closing_signs())
    yield "", BOS, "special", "none", None
    for text, display in SPACING.items():
        yield text, display, "space", "none", None
    for value in BYTES:
        yield "", f"0x{value:02X}", "byte", "none", value
    for value in range(0x21, 0x7F):
        sign = chr(value)
        if sign not in closing and not sign.isalpha():
            yield sign, sign, "character" if sign.isalnum() else "punctuation", "none", None
    for sign in closing_signs():
        yield sign, sign, "punctuation", "closing", None
    for sign in load_tables()["punctuation"]["chinese"].split():
        yield sign, sign, "punctuation", "cjk", None


def grammar_words() -> list[str]:
    """The words of `vocabulary.toml`: those the grammar turns on.

    >>> grammar_words()[:3]
    ['the', 'a', 'an']
    """
    tables = load_tables()
    return list(dict.fromkeys([*all_words(tables["english"]), *all_words(tables["chinese"])]))


def _word_lists() -> Iterator[str]:
    """The words of the longer lists."""
    yield from (*LEANING, *CUT_SHORT)
    yield from all_words(load_list("english_nouns")["known"])
    names = load_list("names")
    yield from all_words(names["known"])
    yield from all_words(names["surnames"]["english"])
    yield from all_words(load_list("frequent_words")["english"])
    chinese = load_list("chinese_words")
    yield from all_words(chinese["known"])
    yield from all_words(chinese["words"])


def _character_lists() -> Iterator[tuple[str, Script]]:
    """Single characters and signs of the longer lists, and which spacing rule they follow."""
    frequent, other = load_list("frequent_words"), load_list("characters")
    for table in (other["chinese"]["level_one"], frequent["chinese"]["characters"]):
        for sign in "".join(table.split()):
            yield sign, "cjk"
    for sign in "".join(other["other"]["kana"].split()):
        yield sign, "cjk"
    for sign in "".join(other["other"]["alphabets"].split()):
        yield sign, "none"
    for sign in (*other["signs"]["none"].split(), *UNSEEN, *frequent["emoji"]["whole"].split()):
        yield sign, "none"


def _pieces() -> Iterator[Parts]:
    """Everything an entry holds but its number, in order."""
    taken: set[str] = set()
    for parts in _fall_back_parts():
        taken.add(parts[0])
        yield parts
    for word in (*grammar_words(), *_word_lists()):
        if word not in taken:
            taken.add(word)
            yield word, word, "word", _script(word), None
    for sign, script in _character_lists():
        if sign not in taken:
            taken.add(sign)
            yield sign, UNSEEN.get(sign, sign), "character", script, None
    pieces = load_list("frequent_words")["pieces"]
    for piece in pieces["starts"].split():
        if piece not in taken:
            yield piece, piece, "piece", "latin", None
    for piece in pieces["joined"].split():
        yield piece, JOINED + piece, "piece", "joined", None


def closing_signs() -> list[str]:
    """The signs with no space before them, in the file's order."""
    return list(load_tables()["punctuation"]["closing"].split())


def _script(word: str) -> Script:
    """Which spacing rule a word follows; n't and 's lean on the word before them."""
    if word in LEANING:
        return "closing"
    return "latin" if word.isascii() or not CJK.match(word) else "cjk"


@cache
def load_vocabulary() -> tuple[Entry, ...]:
    """Every token, at the place of its number.

    >>> load_vocabulary()[0].display
    '<bos>'
    """
    return tuple(map(Entry._make, ((number, *parts) for number, parts in enumerate(_pieces()))))
