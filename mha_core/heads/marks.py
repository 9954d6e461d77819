"""Sentences with a query and its target marked: `The {queen} saw the boy because [she] ran.`

The word in square brackets looks; a word in braces is where it should look. There is one query a
sentence, and one target or several, any of which will do. A backslash before a bracket, or before
another backslash, makes it the sign itself; the full-width signs ［ ］ ｛ ｝ mark as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from mha_core.arrays import Array
from mha_core.errors import DataError
from mha_core.language.patterns import Line, draw_lines
from mha_core.language.tokenizer import Encoding, Token

MOST_SENTENCES = 500
MOST_TOKENS = 128  # of one sentence
_FULL_WIDTH = str.maketrans("［］｛｝", "[]{}")
_CLOSING = {"[": "]", "{": "}"}


class Cutter(Protocol):
    """What cuts a sentence into tokens: our tokenizer, or a real model's."""

    @property
    def bos(self) -> Token:
        """The token that stands before every sentence."""

    def encode(self, text: str) -> Encoding:
        """The sentence's own tokens."""


class Span(NamedTuple):
    """The characters between two marks; `sign` is the mark that opens it."""

    sign: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence with its marks as places of tokens. Places count `<bos>`.

    Attributes:
        text: the sentence without its marks.
        ids: its token numbers, `<bos>` first.
        query: the token that looks, of a word in pieces the last.
        targets: the tokens it should look at, each piece of them, in order.
        labels: a readable form of each token.
        line: the line it stood on, from 1.
    """

    text: str
    ids: tuple[int, ...]
    query: int
    targets: tuple[int, ...]
    labels: tuple[str, ...]
    line: int

    @property
    def candidates(self) -> Array:
        """The places that a target could be: all the query sees but `<bos>` and itself."""
        return np.arange(1, self.query)


@dataclass(frozen=True)
class Reading:
    """What could be read of a text, and what is wrong with the lines that could not.

    Attributes:
        sentences: those that are marked well, each once.
        faults: one for each line that gives no sentence.
        repeated: how many sentences said what another had said.
        left_out: how many sentences of a pattern could not be read where others could, as where
            two words become one token.
    """

    sentences: tuple[Marked, ...]
    faults: tuple[DataError, ...]
    repeated: int = 0
    left_out: int = 0


def split_marks(line: str, number: int = 1) -> tuple[str, list[Span]]:
    """A line without its marks, and where they stood in it.

    Args:
        line: the line.
        number: its number, for what an error says.

    Raises:
        DataError: a mark that is not closed or not opened, one within another, or an empty one.

    >>> text, spans = split_marks("The {cat} sat because [it] ran.")
    >>> text, spans[1]
    ('The cat sat because it ran.', Span(sign='[', start=20, end=22))
    """
    text, spans = [], list[Span]()
    length, opened = 0, None
    signs = iter(line)
    for sign in signs:
        plain = sign.translate(_FULL_WIDTH)
        if sign == "\\":
            after = next(signs, "")
            is_escaped = after and after.translate(_FULL_WIDTH) in "[]{}\\"
            sign = after if is_escaped else sign + after
        elif plain in _CLOSING:
            if opened is not None:
                raise DataError("marks.nested", line=number, first=opened.sign, second=plain)
            opened = Span(plain, length, length)
            continue
        elif plain in _CLOSING.values():
            if opened is None or _CLOSING[opened.sign] != plain:
                raise DataError("marks.unopened", line=number, sign=plain)
            spans.append(opened._replace(end=length))
            opened = None
            continue
        text.append(sign)
        length += len(sign)
    if opened is not None:
        raise DataError("marks.unclosed", line=number, sign=opened.sign, end=_CLOSING[opened.sign])
    whole = "".join(text)
    return whole, [_tighten(whole, span, number) for span in spans]


def _tighten(text: str, span: Span, number: int) -> Span:
    """A span without the spaces at its ends."""
    inside = text[span.start : span.end]
    if not inside.strip():
        raise DataError("marks.empty", line=number, sign=span.sign + _CLOSING[span.sign])
    start = span.start + len(inside) - len(inside.lstrip())
    return span._replace(start=start, end=start + len(inside.strip()))


def read_line(line: Line, tokenizer: Cutter) -> Marked:
    """A marked sentence.

    Args:
        line: the sentence with its marks, and its number.
        tokenizer: what cuts it into tokens.

    Raises:
        DataError: no query or two, no target, a mark inside a token, a target that the query
            cannot see, or too many tokens.

    >>> from mha_core import load_tokenizer
    >>> read = read_line(Line(1, "The {cat} sat because [it] ran."), load_tokenizer())
    >>> read.query, read.targets, [read.labels[place] for place in read.targets]
    (5, (2,), ['cat'])
    """
    text, spans = split_marks(line.text, line.number)
    queries = [span for span in spans if span.sign == "["]
    targets = [span for span in spans if span.sign == "{"]
    if len(queries) != 1:
        key = "marks.queries" if queries else "marks.query"
        raise DataError(key, line=line.number, n=len(queries))
    if not targets:
        raise DataError("marks.target", line=line.number)
    encoding = tokenizer.encode(text)
    if len(encoding) >= MOST_TOKENS:
        raise DataError("marks.long", line=line.number, n=len(encoding) + 1, most=MOST_TOKENS)
    query = _places(encoding, queries[0], line.number)[-1]
    places = sorted({place for span in targets for place in _places(encoding, span, line.number)})
    if places[-1] >= query:
        raise DataError("marks.after", line=line.number, target=encoding[places[-1] - 1].display)
    labels = (tokenizer.bos.display, *encoding.displays)
    ids = (tokenizer.bos.id, *encoding.ids)
    return Marked(text, ids, query, tuple(places), labels, line.number)


def _places(encoding: Encoding, span: Span, number: int) -> list[int]:
    """The tokens that a mark stands round, `<bos>` counted."""
    within = [
        place
        for place, token in enumerate(encoding, 1)
        if token.end > span.start and token.start < span.end and token.end > token.start
    ]
    first, last = encoding[within[0] - 1], encoding[within[-1] - 1]
    if first.start < span.start or last.end > span.end:
        cut = first if first.start < span.start else last
        raise DataError("marks.cut", line=number, token=encoding.text[cut.start : cut.end])
    return within


def read_marked(text: str, tokenizer: Cutter, *, count: int = 200, seed: int = 0) -> Reading:
    """Every marked sentence of a text, a line each, or drawn from its patterns.

    Args:
        text: sentences, or patterns (`mha_core.language.patterns`), a line each.
        tokenizer: what cuts them into tokens.
        count: how many sentences the patterns give.
        seed: of these draws.

    Raises:
        DataError: more than `MOST_SENTENCES`.

    >>> from mha_core import load_tokenizer
    >>> reading = read_marked("The {cat} sat because [it] ran.\\nNo mark.", load_tokenizer())
    >>> len(reading.sentences), str(reading.faults[0])[:6]
    (1, 'Line 2')
    """
    written = sum(bool(line.strip()) for line in text.splitlines())
    if max(written, count) > MOST_SENTENCES:
        raise DataError("marks.many", n=max(written, count), most=MOST_SENTENCES)
    lines, faults = draw_lines(text, count, seed)
    faulty = {line_of(fault): fault for fault in faults}
    sentences: dict[tuple[object, ...], Marked] = {}
    repeated, refused = 0, list[tuple[int, DataError]]()
    for line in lines:
        try:
            read = read_line(line, tokenizer)
        except DataError as error:
            refused.append((line.number, error))
            continue
        key = (read.ids, read.query, read.targets)
        repeated += key in sentences
        sentences.setdefault(key, read)
    good = {one.line for one in sentences.values()}
    for number, fault in refused:
        if number not in good:
            faulty.setdefault(number, fault)
    left_out = sum(number in good for number, _ in refused)
    in_order = tuple(faulty[number] for number in sorted(faulty))
    return Reading(tuple(sentences.values()), in_order, repeated, left_out)


def line_of(fault: DataError) -> int:
    """The line that a fault of `read_marked` is about."""
    return int(str(fault.values["line"]))


def write_marked(marked: Marked, tokenizer: Cutter) -> str:
    """A sentence with its marks again, its own brackets escaped; a run of targets is one mark.

    >>> from mha_core import load_tokenizer
    >>> read = read_line(Line(1, "The {cat} sat because [it] ran."), load_tokenizer())
    >>> write_marked(read, load_tokenizer())
    'The {cat} sat because [it] ran.'
    """
    encoding = tokenizer.encode(marked.text)
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    for place in marked.targets:
        token = encoding[place - 1]
        if place - 1 not in marked.targets:
            before[token.start] = "{"
        if place + 1 not in marked.targets:
            after[token.end] = "}"
    token = encoding[marked.query - 1]
    before[token.start], after[token.end] = "[", "]"
    parts = []
    for at in range(len(marked.text) + 1):
        parts += [after.get(at, ""), before.get(at, "")]
        if at < len(marked.text):
            sign = marked.text[at]
            parts.append(f"\\{sign}" if sign.translate(_FULL_WIDTH) in "[]{}<>\\" else sign)
    return "".join(parts)
