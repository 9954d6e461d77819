"""Text to tokens and back, without losing a character.

A word-level tokenizer over the toy vocabulary, with pieces, characters and bytes to fall back to:
`decode(encode(text)) == text` for any `str`, lone surrogates included. The rules:

1. One space between two words is implied, and after closing punctuation before a word.
2. No space is implied before closing punctuation, or next to a Chinese word.
3. Any other spacing is a token of its own, the missing space ("⁀", no text) among them.
4. Words are case-sensitive. A run of letters that is no word is cut into the fewest pieces: the
   first is a word or a piece that starts one, the others are joined ("·") to what stands before.
   A single letter counts as four pieces, so that it is the last choice.
5. Chinese is read by longest match from the left, words before single characters.
6. What no entry covers falls into its UTF-8 bytes.

Needs nothing but the standard library. `encode` adds no `<bos>`; the model does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from mha_core.brief import brief
from mha_core.errors import DataError
from mha_core.language.vocabulary import CJK_RANGES, LEANING, Entry, Kind, load_vocabulary

_LETTER = rf"[^\W\d_{CJK_RANGES}]"
_LEANING = re.compile(rf"(?:n['’]t|['’](?:s|m|re|ve|ll|d))(?!{_LETTER})")
_LETTERS = re.compile(rf"{_LETTER}+")
SUPERSCRIPTS = "¹²³⁴"
LETTER_COST = 4  # in pieces: what a single letter counts when a run is cut


class Token(NamedTuple):
    """One token in its place in the text.

    Attributes:
        id: its number in the vocabulary.
        piece: the text it stands for as it is, empty for a byte and for the missing space.
        start, end: the characters of the text it covers, `text[start:end]`; the bytes of one
            character all cover that character.
        kind: special, space, character, byte, word, punctuation or piece.
        display: a form a person can read, for spaces and bytes as well: "·ing" goes on with a
            word, "伟²" is the second byte of a character.
    """

    id: int
    piece: str
    start: int
    end: int
    kind: Kind
    display: str

    @property
    def goes_on(self) -> bool:
        """Whether it is a piece that goes on with the word before it."""
        return self.kind == "piece" and self.display != self.piece


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
    return before.script in ("latin", "joined", "closing")


class Tokenizer:
    """Turns text into tokens of a vocabulary and back.

    Args:
        entries: the vocabulary, each entry at the place of its number.

    >>> tokenizer = load_tokenizer()
    >>> tokenizer.encode("The cat sat on the mat.").pieces
    ('The', 'cat', 'sat', 'on', 'the', 'mat', '.')
    >>> tokenizer.encode("她把书给了小明").pieces
    ('她', '把', '书', '给', '了', '小明')
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._words = {e.piece: e for e in entries if e.kind in ("word", "punctuation")}
        self._spaces = {e.piece: e for e in entries if e.kind == "space"}
        self._bytes = {e.byte: e for e in entries if e.byte is not None}
        signs = [e for e in entries if e.kind == "character"]
        # What may stand anywhere: Chinese words and characters, signs, emoji.
        self._signs = {e.piece: e for e in signs} | {
            w: e for w, e in self._words.items() if e.script != "latin" and w not in LEANING
        }
        self._lengths = _lengths_by_first(self._signs)
        starts = [e for e in entries if e.kind == "piece" and e.script == "latin"]
        self._starts = {e.piece: e for e in starts} | {
            w: e for w, e in self._words.items() if e.script == "latin"
        }
        self._joined = {e.piece: e for e in entries if e.script == "joined"}
        self._longest = max(map(len, self._starts), default=1)
        self._cut = lru_cache(maxsize=8192)(self._cut_run)

    def __reduce__(self) -> tuple[object, ...]:
        """What another process makes it from: that of the toy vocabulary is loaded there."""
        if self.entries is load_vocabulary():
            return load_tokenizer, ()
        return Tokenizer, (self.entries,)

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
        nth = 0  # of a character's bytes
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
            if entry.byte is None:
                tokens.append(_token(entry, start, end))
            else:
                nth = nth + 1 if tokens and tokens[-1].start == start else 1
                tokens.append(_byte_token(entry, start, text[start], nth))
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
        place, length = 0, len(text)
        while place < length:
            entry = self._sign_at(text, place)
            if (entry is None or entry.piece in "'’") and (leaning := _LEANING.match(text, place)):
                yield self._words[leaning.group()], place, leaning.end()
                place = leaning.end()
            elif entry is not None:
                yield entry, place, place + len(entry.piece)
                place += len(entry.piece)
            elif run := _LETTERS.match(text, place):
                letters, end = self._part_leaning(text, run)
                for part, start, stop in self._cut(letters):
                    yield part, place + start, place + stop
                place = end
            else:
                for part in self._fall_back(text[place]):
                    yield part, place, place + 1
                place += 1

    def _part_leaning(self, text: str, run: re.Match[str]) -> tuple[str, int]:
        """A run of letters without the n of an n't after it, and where it ends."""
        letters, end = run.group(), run.end()
        if letters[-1] == "n" and letters[:-1] in self._words and _LEANING.match(text, end - 1):
            return letters[:-1], end - 1
        return letters, end

    def _sign_at(self, text: str, place: int) -> Entry | None:
        """The longest Chinese word, character or sign that starts here."""
        for length in self._lengths.get(text[place], ()):
            if found := self._signs.get(text[place : place + length]):
                return found
        return None

    def cut(self, word: str) -> tuple[int, ...]:
        """The pieces a run of letters would fall into if it were no word.

        >>> tokenizer = load_tokenizer()
        >>> [tokenizer.entries[number].display for number in tokenizer.cut("teacher")]
        ['teach', '·er']
        """
        return tuple(entry.id for entry, _, _ in self._in_pieces(word, whole=len(word) == 1))

    def _cut_run(self, run: str) -> tuple[tuple[Entry, int, int], ...]:
        """A run of letters as the word it is, or as the fewest pieces, with their places."""
        if word := self._words.get(run):
            return ((word, 0, len(run)),)
        return self._in_pieces(run)

    def _in_pieces(self, run: str, *, whole: bool = True) -> tuple[tuple[Entry, int, int], ...]:
        """The fewest pieces of a run of letters with their places; one of them only if `whole`."""
        best: list[tuple[int, int]] = [(0, 0)]  # up to each place: cost, where its last piece began
        for end in range(1, len(run) + 1):
            options = []
            for start in range(max(0, end - self._longest), end):
                part = run[start:end]
                if not whole and end - start == len(run):
                    continue
                if part in (self._joined if start else self._starts):
                    cost = 1 if end - start > 1 else LETTER_COST
                    options.append((best[start][0] + cost, start))
            if not options:  # no piece ends here: the letter alone, whatever it falls into
                options.append((best[end - 1][0] + LETTER_COST * 3, end - 1))
            best.append(min(options))
        cuts = [len(run)]
        while cuts[-1]:
            cuts.append(best[cuts[-1]][1])
        found: list[tuple[Entry, int, int]] = []
        for end, start in zip(cuts[-2::-1], cuts[::-1], strict=False):
            piece = (self._joined if start else self._starts).get(run[start:end])
            entries = self._fall_back(run[start]) if piece is None else (piece,)
            found += [(entry, start, end) for entry in entries]
        return tuple(found)

    def _fall_back(self, character: str) -> tuple[Entry, ...]:
        """What a character is that no word covers: a space, a sign, or bytes."""
        if entry := self._spaces.get(character) or self._signs.get(character):
            return (entry,)
        return tuple(self._bytes[b] for b in character.encode("utf-8", "surrogatepass"))


def _lengths_by_first(signs: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """How long the signs are that start with each character, the longest first."""
    found: dict[str, tuple[int, ...]] = {}
    for sign in sorted(signs, key=len, reverse=True):
        lengths = found.get(sign[0], ())
        if len(sign) not in lengths:
            found[sign[0]] = (*lengths, len(sign))
    return found


def _token(entry: Entry, start: int, end: int) -> Token:
    """An entry in its place."""
    return Token(entry.id, entry.piece, start, end, entry.kind, entry.display)


def _byte_token(entry: Entry, start: int, character: str, nth: int) -> Token:
    """A byte in its place: it reads as its character with which byte it is.

    A character that cannot be seen reads as its number, a byte that is one as itself.
    """
    seen = character
    if unicodedata.combining(character):
        seen = f"◌{character}"
    elif not character.isprintable():
        seen = f"U+{ord(character):04X}"
    display = entry.display if character.isascii() else seen + SUPERSCRIPTS[nth - 1]
    return Token(entry.id, entry.piece, start, start + 1, entry.kind, display)


@cache
def load_tokenizer() -> Tokenizer:
    """The tokenizer of the toy vocabulary, made once.

    >>> len(load_tokenizer()) > 1000
    True
    """
    return Tokenizer(load_vocabulary())
