"""Text to tokens and back, without losing a character.

A word-level tokenizer over the toy vocabulary, with characters and bytes to fall back to:
`decode(encode(text)) == text` for any `str`, lone surrogates included. The rules:

1. One space between two words is implied, and after closing punctuation before a word.
2. No space is implied before closing punctuation, or next to a Chinese word.
3. Any other spacing is a token of its own, the missing space ("⁀", no text) among them.
4. Words are case-sensitive; a word outside the vocabulary falls into its characters.
5. Chinese is read by longest match from the left.
6. What is neither a known word nor printable ASCII falls into its UTF-8 bytes.

Needs nothing but the standard library. `encode` adds no `<bos>`; the model does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from mha_core.brief import brief
from mha_core.errors import DataError
from mha_core.language.vocabulary import CJK, CJK_RANGES, Entry, Kind, load_vocabulary

_LETTERS = re.compile(rf"[^\W\d_{CJK_RANGES}]+")
_LEANING = re.compile(r"(?:n't|'s)(?![^\W\d_])")


class Token(NamedTuple):
    """One token in its place in the text.

    Attributes:
        id: its number in the vocabulary.
        piece: the text it stands for as it is, empty for a byte and for the missing space.
        start, end: the characters of the text it covers, `text[start:end]`; the bytes of one
            character all cover that character.
        kind: special, space, character, byte, word or punctuation.
        display: a form a person can read, for spaces and bytes as well.
    """

    id: int
    piece: str
    start: int
    end: int
    kind: Kind
    display: str


@dataclass(frozen=True)
class Encoding:
    """A text and its tokens: iterate over it, index it, or take its columns."""

    text: str
    tokens: tuple[Token, ...]

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)

    def __getitem__(self, place: int) -> Token:
        return self.tokens[place]

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The numbers of the tokens."""
        return tuple(token.id for token in self.tokens)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The text of each token, as it is."""
        return tuple(token.piece for token in self.tokens)

    @cached_property
    def displays(self) -> tuple[str, ...]:
        """Each token in a form a person can read."""
        return tuple(token.display for token in self.tokens)


def _implies_space(before: Entry | None, after: Entry) -> bool:
    """Whether decoding puts one space between two tokens."""
    if before is None or after.script != "latin":
        return False
    return before.script in ("latin", "closing")


class Tokenizer:
    """Turns text into tokens of a vocabulary and back.

    Args:
        entries: the vocabulary, each entry at the place of its number.

    >>> tokenizer = load_tokenizer()
    >>> tokenizer.encode("The cat sat on the mat.").pieces
    ('The', 'cat', 'sat', 'on', 'the', 'mat', '.')
    >>> tokenizer.encode("the zebra").displays
    ('the', '␣', 'z', 'e', 'b', 'r', 'a')
    >>> tokenizer.encode("她把书给了小明").pieces
    ('她', '把', '书', '给', '了', '小明')
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._words = {e.piece: e for e in entries if e.kind in ("word", "punctuation")}
        self._characters = {e.piece: e for e in entries if e.kind == "character"}
        self._spaces = {e.piece: e for e in entries if e.kind == "space"}
        self._bytes = {e.byte: e for e in entries if e.byte is not None}
        self._longest: dict[str, int] = {}
        for word in self._words:
            self._longest[word[0]] = max(len(word), self._longest.get(word[0], 0))

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Tokenizer({len(self)} tokens)"

    @property
    def bos(self) -> Token:
        """The token the model puts before every text; it covers none of it."""
        entry = self.entries[0]
        return Token(entry.id, entry.piece, 0, 0, entry.kind, entry.display)

    def id_of(self, word: str) -> int:
        """The number of a whole word or sign.

        Raises:
            DataError: the vocabulary does not hold it.

        >>> tokenizer = load_tokenizer()
        >>> tokenizer.entries[tokenizer.id_of("cat")].piece
        'cat'
        """
        if word not in self._words:
            raise DataError("vocabulary.word", word=word)
        return self._words[word].id

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, without `<bos>`.

        Args:
            text: any string, the empty one and lone surrogates included.

        Returns:
            The tokens in order. Only implied spaces lie between them uncovered.

        >>> [(t.piece, t.start, t.end) for t in load_tokenizer().encode("a dog, a cat")]
        [('a', 0, 1), ('dog', 2, 5), (',', 5, 6), ('a', 7, 8), ('cat', 9, 12)]
        """
        tokens: list[Token] = []
        before: Entry | None = None
        waiting: int | None = None  # where a single space stands that may turn out implied
        for entry, start, end in self._scan(text):
            implied = _implies_space(before, entry)
            if entry.piece == " " and waiting is None and before is not None:
                waiting = start
                continue
            if waiting is not None:
                if not implied:
                    tokens.append(_token(self._spaces[" "], waiting, waiting + 1))
                waiting = None
            elif implied:
                tokens.append(_token(self._spaces[""], start, start))
            tokens.append(_token(entry, start, end))
            before = entry
        if waiting is not None:
            tokens.append(_token(self._spaces[" "], waiting, waiting + 1))
        return Encoding(text, tuple(tokens))

    def decode(self, tokens: Iterable[int] | Encoding) -> str:
        """The text of a sequence of tokens.

        Args:
            tokens: numbers of the vocabulary, or what `encode` returned. Bytes that do not form
                UTF-8 (no `encode` gives such) read as U+FFFD.

        Raises:
            DataError: a number outside the vocabulary.

        >>> tokenizer = load_tokenizer()
        >>> tokenizer.decode(tokenizer.encode("Hi, 世界 🙂!"))
        'Hi, 世界 🙂!'
        """
        ids = tokens.ids if isinstance(tokens, Encoding) else tokens
        parts = bytearray()
        before: Entry | None = None
        for number in ids:
            entry = self._entry(number)
            if _implies_space(before, entry):
                parts += b" "
            parts += (
                entry.piece.encode("utf-8", "surrogatepass")
                if entry.byte is None
                else bytes([entry.byte])
            )
            before = entry
        try:
            return parts.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return parts.decode("utf-8", "replace")

    def _entry(self, number: int) -> Entry:
        """The entry of a number, or an error that names it."""
        if not 0 <= number < len(self.entries):
            raise DataError("vocabulary.number", number=number, size=len(self.entries))
        return self.entries[number]

    def _scan(self, text: str) -> Iterator[tuple[Entry, int, int]]:
        """Entries with their places, every character in turn, spaces included."""
        place = 0
        while place < len(text):
            if word := self._longest_match(text, place):
                yield word, place, place + len(word.piece)
                place += len(word.piece)
                continue
            end = self._end_of_run(text, place)
            for at in range(place, end):
                for entry in self._fall_back(text[at]):
                    yield entry, at, at + 1
            place = end

    def _longest_match(self, text: str, place: int) -> Entry | None:
        """The known word or sign that starts here: a whole Latin word, the longest Chinese."""
        first = text[place]
        if first not in self._longest:
            return None
        if first.isalpha() and not CJK.match(first):
            return self._latin_word(text, place)
        if leaning := _LEANING.match(text, place):
            return self._words.get(leaning.group())
        for length in range(self._longest[first], 0, -1):
            entry = self._words.get(text[place : place + length])
            if entry is not None and entry.script != "latin" and len(entry.piece) == length:
                if "'" in entry.piece and len(entry.piece) > 1:
                    continue
                return entry
        return None

    def _latin_word(self, text: str, place: int) -> Entry | None:
        """The whole run of letters as a word; "n't" may end it, or stand after it."""
        end = self._end_of_run(text, place)
        if leaning := _LEANING.match(text, place):
            return self._words.get(leaning.group())
        run = text[place:end]
        if run.endswith("n") and _LEANING.match(text, end - 1) and run[:-1] in self._words:
            run = run[:-1]
        return self._words.get(run)

    def _end_of_run(self, text: str, place: int) -> int:
        """Where the run of letters ends that starts here; one character for anything else."""
        run = _LETTERS.match(text, place)
        return run.end() if run else place + 1

    def _fall_back(self, character: str) -> tuple[Entry, ...]:
        """The pieces of a character no word covers: a character, a space, or bytes."""
        if entry := self._spaces.get(character):
            return (entry,)
        if entry := self._characters.get(character):
            return (entry,)
        return tuple(self._bytes[b] for b in character.encode("utf-8", "surrogatepass"))


def _token(entry: Entry, start: int, end: int) -> Token:
    """An entry in its place."""
    return Token(entry.id, entry.piece, start, end, entry.kind, entry.display)


@cache
def load_tokenizer() -> Tokenizer:
    """The tokenizer of the toy vocabulary, made once.

    >>> len(load_tokenizer()) > 1000
    True
    """
    return Tokenizer(load_vocabulary())
