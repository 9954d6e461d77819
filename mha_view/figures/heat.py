"""Heatmaps: one matrix, or one tile for each head, all on one scale.

Axes are numeric positions with the tokens as tick texts, so that a token that occurs twice stays
two places. Cells that must not be seen (masked, or a gap) are NaN and stay blank. A picked cell
is drawn by the picture component, from `meta`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mha_core.arrays import Array
from mha_view.indices import length, low
from mha_view.scene import ColourScale
from mha_view.show import Figure
from mha_view.theme import signed_ramp

# Cividis (Nuñez et al. 2018), nine steps; the last shades are reached at 1.
CIVIDIS = (
    (0, 32, 77), (0, 49, 107), (58, 75, 107), (86, 95, 110), (112, 113, 115),
    (138, 134, 120), (166, 156, 117), (195, 179, 105), (225, 204, 85), (253, 231, 55),
)  # fmt: skip
MOST_LABELS = 40
# A number so many times as large as this share of all others would leave them without a colour.
FAR_BEYOND, MANY = 20, 0.98


def warp(share: float, scale: ColourScale) -> float:
    """Where on the colour ramp a weight from 0 to 1 sits.

    >>> warp(0.25, "linear"), warp(0.25, "sqrt"), round(warp(0.001, "log"), 2)
    (0.25, 0.5, 0.1)
    """
    if scale == "sqrt":
        return math.sqrt(share)
    if scale == "log":
        return math.log1p(share * 999) / math.log(1000)
    return share


def ramp(scale: ColourScale) -> list[list[Any]]:
    """Cividis as a Plotly colour scale; the numbers stay as they are, the colours are spread."""
    stops = sorted({0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02} | {n / 40 for n in range(41)})
    return [[stop, cividis(warp(stop, scale))] for stop in stops]


def cividis(share: float) -> str:
    """The colour at a share of the ramp."""
    place = min(max(share, 0.0), 1.0) * (len(CIVIDIS) - 1)
    low = min(int(place), len(CIVIDIS) - 2)
    mixed = [
        round(a + (b - a) * (place - low))
        for a, b in zip(CIVIDIS[low], CIVIDIS[low + 1], strict=True)
    ]
    return "rgb({},{},{})".format(*mixed)


def share_axis(scale: ColourScale, title: str) -> Figure:
    """A colour axis for weights: fixed from 0 to 1."""
    return {
        "cmin": 0,
        "cmax": 1,
        "colorscale": ramp(scale),
        "colorbar": colour_bar(title) | {"tickvals": [0, 0.25, 0.5, 0.75, 1]},
    }


def signed_axis(values: Sequence[Array], title: str, *, reach: float | None = None) -> Figure:
    """A colour axis for signed numbers: centred on zero, wide enough for all of `values` if it is
    not said how wide."""
    finite = [float(np.nanmax(np.abs(v[np.isfinite(v)]), initial=0.0)) for v in values]
    reach = reach or max(finite, default=0.0) or 1.0
    return {
        "cmin": -reach,
        "cmax": reach,
        "colorscale": signed_ramp(),
        "colorbar": colour_bar(title),
    }


def signed_reach(values: Sequence[Array]) -> float:
    """How far a signed scale goes: to the largest size, unless that is many times all but a few.

    >>> signed_reach([np.arange(-9.0, 4.0)]), signed_reach([np.append(np.ones(99), 1e4)])
    (9.0, 1.0)
    """
    sizes = np.concatenate([np.abs(v[np.isfinite(v)]).ravel() for v in values] or [np.zeros(0)])
    largest = float(sizes.max(initial=0.0))
    usual = float(np.quantile(sizes, MANY, method="lower")) if sizes.size else 0.0
    return usual if 0.0 < usual * FAR_BEYOND < largest else largest or 1.0


def count_beyond(values: Sequence[Array], reach: float) -> tuple[int, float]:
    """How many numbers lie beyond a signed scale's ends, and the largest size among them."""
    sizes = [np.abs(v[np.isfinite(v)]) for v in values]
    count = sum(int((each > reach).sum()) for each in sizes)
    return count, max((float(each.max(initial=0.0)) for each in sizes), default=0.0)


def colour_bar(title: str) -> Figure:
    """The bar that is always there."""
    return {
        "title": {"text": low(title), "side": "right"},
        "thickness": 10,
        "len": 0.9,
        "outlinewidth": 0,
        "tickfont": {"size": 12},
    }


def labels_axis(labels: Sequence[str], starts: Sequence[int], title: str) -> Figure:
    """A numeric axis whose ticks are tokens; `starts` says where each tile begins."""
    from mha_view.components.plot import escape_label

    escaped = [escape_label(label) for label in labels]
    shown = len(labels) <= MOST_LABELS
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": [start + place for start in starts for place in range(len(labels))],
        "ticktext": escaped * len(starts),
        "showticklabels": shown,
        "tickfont": {"size": 12 if len(labels) * len(starts) <= 45 else 10},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        # Plotly would leave room for an empty title, too.
        **({"title": {"text": title, "standoff": 6, "font": {"size": 13}}} if title else {}),
    }


def _narrow(across: int, titles: Sequence[str]) -> int:
    """Tiles side by side on a phone: one where titles are long, else up to three."""
    if max(map(length, titles), default=0) > 14:
        return 1
    return min(across, 3)


def matrix(
    name: str,
    values: Array,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    colour: Figure,
    hover: str,
    head: int = 0,
    shapes: Sequence[Figure] = (),
) -> Figure:
    """One matrix as a heatmap, row 0 on top.

    Args:
        name: the picture's name, for picking.
        values: [row, column].
        rows, columns: a label a row and a column.
        row_title, column_title: what the axes are.
        colour: a colour axis.
        hover: text with {head}, {row}, {column} and {value}.
        head: the head it belongs to, 0 if to none.
        shapes: further Plotly shapes, such as bands.
    """
    return {
        "data": [
            {
                "type": "heatmap",
                "z": np.ascontiguousarray(values, dtype=np.float32),
                "coloraxis": "coloraxis",
                "meta": {
                    "figure": name,
                    "head": head,
                    "rows": list(rows),
                    "columns": list(columns),
                    "hover": hover,
                },
                "xgap": 1 if values.shape[1] <= 48 else 0,
                "ygap": 1 if values.shape[0] <= 48 else 0,
            }
        ],
        "layout": {
            "xaxis": labels_axis(columns, [0], column_title) | {"side": "bottom"},
            "yaxis": labels_axis(rows, [0], row_title) | {"autorange": "reversed"},
            "coloraxis": colour,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": list(shapes),
        },
    }


def tile_columns(n_tiles: int) -> int:
    """How many tiles stand side by side on a wide screen.

    >>> [tile_columns(n) for n in (1, 2, 4, 6, 12, 32)]
    [1, 2, 2, 3, 4, 6]
    """
    return n_tiles if n_tiles < 3 else math.ceil(math.sqrt(n_tiles))


def tiles(
    name: str,
    values: Array,
    *,
    titles: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    colour: Figure,
    hover: str,
    across: int | None = None,
    title_colours: Sequence[str] | None = None,
    heads: Sequence[int] | None = None,
    largest: int | None = None,
) -> Figure:
    """One tile for each head, all in one heatmap trace, which is the fastest Plotly has.

    The picture component lays the tiles out, fewer side by side on a phone.

    Args:
        name: the picture's name, for picking.
        values: [tile, row, column].
        titles: a title a tile.
        rows, columns: labels, the same for all tiles.
        row_title, column_title, colour, hover: as in `matrix`.
        across: tiles side by side; a square's worth if None.
        heads: each tile's head, for picking; the tiles' numbers if None.
        largest: pixels that a cell takes at most, where there is room.
        title_colours: a colour for the square before each title.
    """
    squares = [f'<span style="color:{colour}">■</span> ' for colour in title_colours or ()]
    across = across or tile_columns(len(values))
    return {
        "data": [
            {
                "type": "heatmap",
                "z": np.ascontiguousarray(values, dtype=np.float32),
                "coloraxis": "coloraxis",
                "meta": {
                    "figure": name,
                    "heads": list(range(len(values)) if heads is None else heads),
                    "tile": {
                        "columns": across,
                        "narrow": _narrow(across, titles),
                        "gap": max(1, round(0.1 * values.shape[-1])),
                        **({} if largest is None else {"largest": largest}),
                        "titles": [
                            square + title
                            for square, title in zip(
                                squares or [""] * len(titles), titles, strict=True
                            )
                        ],
                    },
                    "rows": list(rows),
                    "columns": list(columns),
                    "hover": hover,
                },
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": column_title}},
            "yaxis": {"title": {"text": row_title}},
            "coloraxis": colour,
        },
    }


def pool(values: Array, most_rows: int, most_columns: int) -> tuple[Array, int, int]:
    """Shrink the last two axes for the screen: each cell is the largest by size of its block.

    Returns:
        The pooled values, and the block's rows and columns (1, 1: nothing was pooled).

    >>> pool(np.array([[1.0, -5.0, 2.0]]), 8, 2)
    (array([[-5.,  2.]]), 1, 2)
    """
    high, wide = values.shape[-2:]
    block_rows, block_columns = math.ceil(high / most_rows), math.ceil(wide / most_columns)
    if block_rows == block_columns == 1:
        return values, 1, 1
    down, across = math.ceil(high / block_rows), math.ceil(wide / block_columns)
    padding = [(0, 0)] * (values.ndim - 2) + [
        (0, down * block_rows - high), (0, across * block_columns - wide),
    ]  # fmt: skip
    padded = np.pad(values, padding, constant_values=np.nan)
    blocks = padded.reshape(*values.shape[:-2], down, block_rows, across, block_columns)
    blocks = np.moveaxis(blocks, -3, -2).reshape(*values.shape[:-2], down, across, -1)
    sizes = np.where(np.isnan(blocks), -1.0, np.abs(blocks))
    largest = np.take_along_axis(blocks, sizes.argmax(-1)[..., None], -1)[..., 0]
    return largest, block_rows, block_columns
