"""Two readings of one text, cut by two tokenizers, aligned by their characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Stretch:
    """A stretch of the text at whose ends both tokenizers cut, and nowhere between.

    Attributes:
        start, end: its characters, `text[start:end]`, no blanks at its ends.
        first, second: the tokens of either reading that cover it, in order.
    """

    start: int
    end: int
    first: tuple[int, ...]
    second: tuple[int, ...]


def align_tokens(text: str, first: Sequence[Span], second: Sequence[Span]) -> list[Stretch]:
    """Find the shortest stretches that both readings cut alike.

    Tokens belong to one stretch if they share a character, directly or through others. Blanks at a
    token's ends do not count, for some tokenizers give them to the next word and some to none; a
    token of blanks, or of no character, is in no stretch.

    Args:
        text: what both read.
        first, second: the characters of each token, from where to where.

    Returns:
        The stretches in the text's order; those that only one reading covers are left out.

    >>> cut = align_tokens("a cat sat", [(0, 0), (0, 1), (1, 5), (5, 9)], [(0, 1), (2, 4), (4, 5),
    ...                                                                    (6, 9)])
    >>> [(each.first, each.second) for each in cut]
    [((1,), (0,)), ((2,), (1, 2)), ((3,), (3,))]
    """
    pieces = sorted(
        (*_without_blanks(text, span), side, place)
        for side, spans in enumerate((first, second))
        for place, span in enumerate(spans)
    )
    found: list[Stretch] = []
    for start, end, side, place in pieces:
        if start == end:
            continue
        shares = bool(found) and start < found[-1].end
        last = found.pop() if shares else Stretch(start, end, (), ())
        tokens = [last.first, last.second]
        tokens[side] = (*tokens[side], place)
        found.append(Stretch(last.start, max(last.end, end), tokens[0], tokens[1]))
    return [each for each in found if each.first and each.second]


def _without_blanks(text: str, span: Span) -> Span:
    """A token's characters without the blanks at its ends."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
