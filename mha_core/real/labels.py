"""A text cut into a model's tokens, each with a label that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mha_core.brief import brief
from mha_core.errors import DataError

# What does not show, shown.
VISIBLE = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "\r": "↵", "\u00a0": "␣", "\u3000": "␣"})
# How byte-level and SentencePiece vocabularies write blanks at a token's front.
BLANKS = {"Ġ": " ", "▁": " ", "Ċ": "\n", "ĉ": "\t", "č": "\r"}
FRACTIONS = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾"}


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text as a model reads it.

    Args:
        text: what was written.
        ids: [token], each token's number.
        labels: [token], what stands for it: the characters it covers, blanks visible; `我 ½` for
            one of several tokens that share a character; `##` before what goes on with a word, as
            WordPiece writes it; a special token's own name.
        spans: [token], from where to where in the text its characters are; an empty one for a
            token that stands for no character.
        pieces: [token], which one of how many that share characters; (1, 1) for a whole one.
        special: [token], whether the tokenizer put it there or it is a control word.

    >>> Encoded("a b", (5, 7), ("a", "␣b"), ((0, 1), (1, 3)), ((1, 1), (1, 1)), (False, False))
    Encoded(text='a b', ids=(5, 7), labels=('a', '␣b'), spans=2 × tuple, pieces=2 × tuple, special=(False, False))
    """  # noqa: E501

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    pieces: tuple[tuple[int, int], ...]
    special: tuple[bool, ...]

    __repr__ = brief

    @property
    def n_tokens(self) -> int:
        """The article's S."""
        return len(self.ids)


def encode(
    tokenizer: Any, text: str, *, name: str = "", special: bool = True, limit: int | None = None
) -> Encoded:
    """Cut a text with a fast tokenizer of transformers, and label every token.

    Args:
        tokenizer: it must give offsets, as fast ones do.
        text: any text.
        name: of the model, for messages.
        special: whether the tokens that the tokenizer puts round a text are put there.
        limit: tokens at most.

    Raises:
        DataError: no token, too many, or half a character.
    """
    for place, letter in enumerate(text):
        if "\ud800" <= letter <= "\udfff":
            raise DataError("real.text.broken", place=place + 1)
    found = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
    ids = tuple(int(each) for each in found["input_ids"])
    if not ids:
        raise DataError("real.text.empty", name=name)
    if limit is not None and len(ids) > limit:
        raise DataError("real.text.long", name=name, n_tokens=len(ids), limit=limit)
    names = tokenizer.convert_ids_to_tokens(list(ids))
    control = {int(each) for each in tokenizer.all_special_ids}
    unknown = tokenizer.unk_token_id
    offsets = [(int(first), int(last)) for first, last in found["offset_mapping"]]
    is_special = [
        each in control and (each != unknown or first == last)
        for each, (first, last) in zip(ids, offsets, strict=True)
    ]
    spans = _with_blanks(text, names, offsets, is_special)
    pieces = _pieces(spans, is_special)
    labels = tuple(
        token if is_special[place] else _label(text, token, span, piece)
        for place, (token, span, piece) in enumerate(zip(names, spans, pieces, strict=True))
    )
    return Encoded(text, ids, labels, tuple(spans), tuple(pieces), tuple(is_special))


def _with_blanks(
    text: str, names: list[str], offsets: list[tuple[int, int]], special: list[bool]
) -> list[tuple[int, int]]:
    """Give each token the blanks that belong to it, which some tokenizers leave out of offsets."""
    spans = []
    for name, (first, last), is_special in zip(names, offsets, special, strict=True):
        marks = len(name) - len(name.lstrip("".join(BLANKS)))
        inside = text[first:last]
        absent = marks - (len(inside) - len(inside.lstrip()))
        before = text[max(0, first - absent) : first]
        if not is_special and absent > 0 and len(before) == absent and before.isspace():
            first -= absent
        spans.append((first, last))
    return spans


def _pieces(spans: list[tuple[int, int]], special: list[bool]) -> list[tuple[int, int]]:
    """Count the neighbours that share a character: which of how many each is."""
    pieces: list[tuple[int, int]] = []
    start = 0
    for place in range(1, len(spans) + 1):
        if place < len(spans) and _share(spans, special, place):
            continue
        count = place - start
        pieces += [(number + 1, count) for number in range(count)]
        start = place
    return pieces


def _share(spans: list[tuple[int, int]], special: list[bool], place: int) -> bool:
    """Whether a token and the one before it cover the same character."""
    (first, last), (earlier, end) = spans[place], spans[place - 1]
    apart = special[place] or special[place - 1] or first == last or earlier == end
    return not apart and first < end and earlier < last


def _label(text: str, name: str, span: tuple[int, int], piece: tuple[int, int]) -> str:
    """The characters a token covers, and which part of them it is."""
    shown = text[slice(*span)].translate(VISIBLE)
    if not shown:  # it stands for no character of the text: its own name, blanks visible
        shown = "".join(BLANKS.get(letter, letter) for letter in name).translate(VISIBLE)
    if name.startswith("##") and text[slice(*span)]:  # WordPiece: the word goes on
        shown = f"##{shown}"
    if piece[1] == 1:
        return shown
    return f"{shown} {FRACTIONS.get(piece) or f'{piece[0]}⁄{piece[1]}'}"
