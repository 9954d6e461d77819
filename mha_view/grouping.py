"""Tokens hidden or merged for reading, and the way back to the tokens themselves.

Only weights are merged: of looking at pieces they are added, of looking from them averaged. Columns
of numbers stay one a token, for no sum of two keys is a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.heads.regroup import hide_tokens, merge_tokens
from mha_core.language.groups import joins

if TYPE_CHECKING:
    from mha_core.language.tokenizer import Token


@dataclass(frozen=True)
class Grouping:
    """Which tokens a picture shows, and which of them as one.

    Attributes:
        groups: the tokens of each row, in order; hidden tokens are in none.
        labels: what is printed for each row.
        hidden: the tokens left out.
    """

    groups: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    hidden: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """Whether every token is a row of its own."""
        return not self.hidden and all(len(group) == 1 for group in self.groups)

    @property
    def merges(self) -> bool:
        """Whether some row is more than one token."""
        return any(len(group) > 1 for group in self.groups)

    def first(self, row: int) -> int:
        """The first token of a row."""
        return self.groups[row][0]

    def largest(self, whole: Array, rows: slice, columns: slice) -> tuple[int, int]:
        """The query and the key of the largest weight that some rows and columns stand for.

        Args:
            whole: [query, key], before anything was merged.
            rows, columns: which rows shown.
        """
        queries = [token for group in self.groups[rows] for token in group]
        keys = [token for group in self.groups[columns] for token in group]
        block = np.abs(np.nan_to_num(whole[np.ix_(queries, keys)]))
        down, across = np.unravel_index(int(block.argmax()), block.shape)
        return queries[int(down)], keys[int(across)]

    def find(self, token: int) -> int | None:
        """The row a token is in, or None where it is hidden or not there."""
        rows = (row for row, group in enumerate(self.groups) if token in group)
        return next(rows, None)

    def apply(self, patterns: Array) -> Array:
        """Patterns [..., query, key] over the rows shown: merged first, then hidden tokens taken
        out and each row scaled back to 1."""
        if self.is_plain:
            return patterns
        every = sorted([*self.groups, *((token,) for token in self.hidden)])
        merged = merge_tokens(patterns, every)
        return hide_tokens(merged, [every.index((token,)) for token in self.hidden])

    def apply_mask(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The mask [..., query, key] over the rows shown: a row may look at what any of its tokens
        may."""
        if self.is_plain:
            return keep
        within = np.zeros((len(self.groups), keep.shape[-1]), dtype=np.float32)
        for row, group in enumerate(self.groups):
            within[row, list(group)] = 1
        may_look: NDArray[np.bool_] = within @ keep.astype(np.float32) @ within.T > 0
        return may_look


def group_tokens(
    tokens: Sequence[Token], text: str, *, hide_special: bool = False, whole_words: bool = False
) -> Grouping:
    """Decide what a picture shows of a sentence.

    Args:
        tokens: the sentence's tokens, `<bos>` among them.
        text: the sentence.
        hide_special: leave `<bos>` and its like out.
        whole_words: take neighbouring pieces of a word as one.
    """
    groups: list[tuple[int, ...]] = []
    hidden: list[int] = []
    for place, token in enumerate(tokens):
        if hide_special and token.kind == "special":
            hidden.append(place)
        elif whole_words and groups and joins(tokens[place - 1], token, text):
            groups[-1] = (*groups[-1], place)
        else:
            groups.append((place,))
    labels = tuple(
        tokens[group[0]].display
        if len(group) == 1
        else text[tokens[group[0]].start : tokens[group[-1]].end]
        for group in groups
    )
    return Grouping(tuple(groups), labels, tuple(hidden))
