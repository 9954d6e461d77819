"""Pictures of many heads: all at a glance, one large, two and their difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_view.figures import heat
from mha_view.figures.walk import (
    MOST_MATRIX_ROWS,
    MOST_TILE_CELLS,
    looking_axes,
    pattern_tiles,
    pooled_labels,
)
from mha_view.grouping import Grouping
from mha_view.indices import length
from mha_view.scene import ColourScale
from mha_view.show import Picture
from mha_view.theme import head_colour
from mha_view.words import Words

SMALL_CELLS = 22  # of a small picture's side
SHORT_TITLE = 10  # letters; over longer ones a phone shows fewer tiles side by side


def gallery(
    name: str,
    patterns: Array,
    keep: NDArray[np.bool_],
    titles: Sequence[str],
    labels: Sequence[str],
    words: Words,
    *,
    colours: Sequence[str],
    scale: ColourScale = "linear",
    across: int | None = None,
    alt: str,
    largest: int = 14,
    grouping: Grouping | None = None,
) -> Picture:
    """Every head as a tile, on one scale from 0 to 1.

    Args:
        name: the picture's name; a picked cell's head is the tile's number.
        patterns: [tile, query, key].
        keep: [query, key], who may look at whom.
        titles: a title a tile.
        labels: a label a token.
        words: the reader's words.
        colours: a colour a tile, beside its title.
        scale: how weights become colours.
        across: tiles side by side.
        alt: the picture in words.
        largest: the most pixels a cell may take.
        grouping: the tokens that the patterns' rows stand for, where that is not one each.
    """
    figure, block = pattern_tiles(
        name, patterns, keep, labels, words,
        titles=titles, scale=scale, hover="hover.board", colours=colours, across=across,
        merged=grouping is not None and grouping.merges,
    )  # fmt: skip
    narrow = 3 if max(map(length, titles)) <= SHORT_TITLE else 2
    figure["data"][0]["meta"]["tile"] |= {"largest": largest, "narrow": min(narrow, len(patterns))}
    shown = np.where(keep, patterns, np.nan)
    return Picture(
        name, figure, alt, height=None, arrays={name: shown}, block=(block, block),
        axes={name: ("tile", "query", "key")}, grouping=grouping,
        names={"tile": titles, "query": labels, "key": labels},
    )  # fmt: skip


def small_pictures(patterns: Sequence[Array], scale: ColourScale = "linear") -> NDArray[np.uint8]:
    """Every head of a large model as a small picture, colours as bytes.

    Args:
        patterns: a layer [head, query, key]; layers may have different numbers of heads.
        scale: how weights become colours.

    Returns:
        [layer, head, row, column], 255 where a weight is 1; each cell is the largest of its block.
    """
    most = max(map(len, patterns))
    size = heat.pool(patterns[0][:1], SMALL_CELLS, SMALL_CELLS)[0].shape[-1]
    drawn = np.zeros((len(patterns), most, size, size), dtype=np.uint8)
    steps = np.array([heat.warp(step / 1000, scale) for step in range(1001)])
    for layer, heads in enumerate(patterns):
        pooled, _, _ = heat.pool(heads, SMALL_CELLS, SMALL_CELLS)
        shares = np.clip(np.nan_to_num(pooled), 0, 1)
        drawn[layer, : len(heads)] = np.round(255 * np.interp(shares * 1000, range(1001), steps))
    return drawn


def one_head(
    pattern: Array,
    keep: NDArray[np.bool_],
    labels: Sequence[str],
    words: Words,
    *,
    title: str,
    scale: ColourScale = "linear",
    name: str = "chosen",
    pickable: bool = True,
    grouping: Grouping | None = None,
) -> Picture:
    """One head's pattern, large.

    Args:
        pattern: [query, key].
        keep: [query, key].
        labels: a label a token.
        words: the reader's words.
        title: which head.
        scale: how weights become colours.
        name: the picture's name.
        pickable: whether a cell can be picked.
        grouping: as in `gallery`.
    """
    shown = np.where(keep, pattern, np.nan)
    values, block, _ = heat.pool(shown, MOST_MATRIX_ROWS, MOST_MATRIX_ROWS)
    pooled = pooled_labels(labels, block)
    looks, looked_at = looking_axes(words, merged=grouping is not None and grouping.merges)
    figure = heat.matrix(
        name,
        values,
        rows=pooled,
        columns=pooled,
        row_title=looks,
        column_title=looked_at,
        colour=heat.share_axis(scale, words("axis.weight")),
        hover=words("hover.board"),
    )
    return Picture(
        name,
        figure,
        words("alt.chosen", title=title, n=len(labels), low=f"{np.nanmin(shown):.3f}",
              high=f"{np.nanmax(shown):.3f}"),
        height=int(min(640, max(300, 130 + 24 * len(pooled)))),
        arrays={"pattern": shown},
        axes={"pattern": ("query", "key")},
        names={"query": labels, "key": labels},
        block=(block, block),
        pickable=pickable,
        grouping=grouping,
    )  # fmt: skip


def difference(
    first: Array,
    second: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    words: Words,
    *,
    merged: bool = False,
) -> Picture:
    """How much more the second looks, cell by cell, centred on zero.

    Args:
        first, second: [query, key]; NaN where a side may not look.
        rows, columns: labels.
        words: the reader's words.
        merged: whether some rows and columns are more than one token.
    """
    apart = np.nan_to_num(second) - np.nan_to_num(first)
    shown = np.where(np.isnan(first) & np.isnan(second), np.nan, apart)
    values, block_rows, block_columns = heat.pool(shown, MOST_TILE_CELLS, MOST_TILE_CELLS)
    looks, looked_at = looking_axes(words, merged=merged)
    figure = heat.matrix(
        "difference",
        values,
        rows=pooled_labels(rows, block_rows),
        columns=pooled_labels(columns, block_columns),
        row_title=looks,
        column_title=looked_at,
        colour=heat.signed_axis([shown], words("axis.difference")),
        hover=words("hover.board"),
    )
    row, column = (int(n) for n in np.unravel_index(int(np.nanargmax(np.abs(shown))), shown.shape))
    return Picture(
        "difference",
        figure,
        words("alt.difference", query=rows[row], key=columns[column],
              value=f"{shown[row, column]:+.2f}"),
        height=int(min(560, max(280, 120 + 22 * len(values)))),
        arrays={"difference": shown},
        axes={"difference": ("query", "key")},
        names={"query": rows, "key": columns},
        block=(block_rows, block_columns),
        pickable=False,
    )  # fmt: skip


def head_colours(places: Sequence[int], n_heads: int) -> list[str]:
    """The colour of each head, by its number in its layer."""
    return [head_colour(place % n_heads) for place in places]
