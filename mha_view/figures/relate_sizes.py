"""Pictures of sizes: a layer to scale, parameters, and what its steps cost against S."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.sizes import Sizes
from mha_view.figures.bars import bars
from mha_view.indices import low
from mha_view.show import Figure, Picture
from mha_view.theme import ink
from mha_view.words import Words

ROLE_OF_STEP = {
    "w_q": "query", "w_k": "key", "w_v": "value", "scores": "pattern", "values": "pattern",
    "w_o": "output",
}  # fmt: skip
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
POINTS = 65
# Pixels: the layer's picture on a wide screen, and a label in it.
DRAWN_WIDE, DRAWN_HIGH, LABEL_WIDE = 780, 340, 108


def binary(n_bytes: float) -> str:
    """Bytes in the largest unit that leaves at least 1.

    >>> binary(524_288), binary(2**31), binary(12)
    ('512 KiB', '2 GiB', '12 B')
    """
    power = min(int(math.log2(max(n_bytes, 1)) // 10), len(UNITS) - 1)
    return f"{n_bytes / 1024**power:.4g} {UNITS[power]}"


def decimal(number: float) -> str:
    """A large count, short.

    >>> decimal(8_030_261_248), decimal(41_943_040), decimal(768)
    ('8.03 G', '41.9 M', '768')
    """
    power = min(int(math.log10(max(number, 1)) // 3), 5)
    return f"{number / 1000**power:.3g} {' kMGTP'[power]}".strip() if power else f"{number:.4g}"


def matrix_symbol(name: str, place: int, count: int) -> str:
    """How a matrix is written: `W_q`, or `W_q, 1` where it is one of a chain."""
    symbol = f"W_{name.removeprefix('w_')}"
    return symbol if count == 1 else f"{symbol}, {place + 1}"


def layer_to_scale(sizes: Sizes, words: Words) -> Picture:
    """Every matrix of the first layer, drawn to one scale, cut into its heads."""
    first = sizes.first
    drawn = [
        (name, matrix_symbol(name, place, len(chain)), shape, place == len(chain) - 1)
        for name, chain in first.shapes.items()
        if chain
        for place, shape in enumerate(chain)
    ]
    tallest = max(rows for *_, (rows, _), _ in drawn)
    lefts = _places([columns for *_, (_, columns), _ in drawn], tallest)
    data: list[Figure] = []
    shapes: list[Figure] = []
    for left, (name, symbol, (rows, columns), is_last) in zip(lefts, drawn, strict=False):
        data.append(_rectangle(left, rows, columns, ink(ROLE_OF_STEP[name]), symbol))
        n_bands = _n_bands(sizes, name) if is_last else 0
        shapes += _bands(left, rows, columns, n_bands, across=name == "w_o")
    figure: Figure = {
        "data": data,
        "layout": {
            "shapes": shapes,
            "annotations": [
                _label(left, f"{low(symbol)}<br>[{rows}, {columns}]")
                for left, (_, symbol, (rows, columns), _) in zip(lefts, drawn, strict=False)
            ],
            "showlegend": False,
            "xaxis": {"visible": False, "range": [0, lefts[-1]], "constrain": "domain",
                      "constraintoward": "left"},
            "yaxis": {"visible": False, "scaleanchor": "x", "constrain": "domain",
                      "range": [-1.01 * tallest, 0], "constraintoward": "top"},
            "margin": {"l": 8, "r": 8, "t": 52, "b": 4},
        },
    }  # fmt: skip
    listed = words("list.next").join(
        f"{symbol} {rows} × {columns}" for _, symbol, (rows, columns), _ in drawn
    )
    return Picture(
        "layer",
        figure,
        words("alt.layer", listed=listed),
        height=int(min(DRAWN_HIGH, DRAWN_WIDE * tallest / lefts[-1])) + 64,
        arrays={symbol: np.array(shape) for _, symbol, shape, _ in drawn},
        axes={symbol: ("axis",) for _, symbol, *_ in drawn},
        pickable=False,
    )


def _n_bands(sizes: Sizes, name: str) -> int:
    """Into how many heads a matrix is cut."""
    first = sizes.first
    return (first.n_heads if name in ("w_q", "w_o") else first.n_kv_heads) or 0


def _rectangle(left: float, rows: int, columns: int, colour: str, name: str) -> Figure:
    """A matrix as a filled rectangle hanging from the line y = 0."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.array([left, left + columns, left + columns, left, left]),
        "y": np.array([0.0, 0.0, -rows, -rows, 0.0]),
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.82,
        "line": {"width": 0},
        "name": f"{name} [{rows}, {columns}]",
        "hoveron": "fills",
        "hoverinfo": "name",
        "hoverlabel": {"namelength": -1},
    }


def _bands(left: float, rows: int, columns: int, count: int, *, across: bool) -> list[Figure]:
    """Thin lines between the heads: rows of W_q, W_k, W_v, columns of W_o."""
    if count < 2:
        return []
    lines = []
    for place in range(1, count):
        share = place / count
        x = (left + share * columns,) * 2 if across else (left, left + columns)
        y = (0, -rows) if across else (-share * rows,) * 2
        lines.append(
            {"type": "line", "x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1],
             "line": {"color": "rgba(255,255,255,0.55)", "width": 1}}
        )  # fmt: skip
    return lines


def _places(widths: Sequence[int], tallest: int) -> list[float]:
    """Where each matrix begins, and where the last one's room ends: none narrower than its label.

    >>> _places([10, 10], 10)[1] > 10
    True
    """
    scale = max(1.15 * sum(widths) / DRAWN_WIDE, tallest / DRAWN_HIGH)
    rooms = [max(1.1 * width, LABEL_WIDE * scale) for width in widths]
    return [sum(rooms[:place]) for place in range(len(rooms) + 1)]


def _label(left: float, text: str) -> Figure:
    """Symbol and shape over a matrix."""
    return {
        "x": left, "y": 0, "text": text, "showarrow": False, "align": "left",
        "xanchor": "left", "yanchor": "bottom", "font": {"size": 13},
    }  # fmt: skip


def parameter_bars(sizes: Sizes, words: Words) -> Picture:
    """Learned numbers of each matrix of the first layer."""
    counts = {name: number for name, number in sizes.matrix_parameters().items() if number}
    symbols = [matrix_symbol(name, 0, 1) for name in counts]
    title = words("axis.parameters")
    return _bars_by_step(
        "parameters", counts, symbols, [f"{number:,}" for number in counts.values()], words,
        title=title, what=title, height=250,
    )  # fmt: skip


def step_bars(flops: Mapping[str, int], n_tokens: int, words: Words) -> Picture:
    """FLOPs of one layer's steps."""
    labels = [words(f"flops.{name}") for name in flops]
    return _bars_by_step(
        "flops", flops, labels, [decimal(number) for number in flops.values()], words,
        title=words("axis.flops"), what=words("flops.at", n=f"{n_tokens:,}"), height=270,
    )  # fmt: skip


def _bars_by_step(
    name: str,
    numbers: Mapping[str, int],
    labels: Sequence[str],
    told: Sequence[str],
    words: Words,
    *,
    title: str,
    what: str,
    height: int,
) -> Picture:
    """A bar a step in its role's colour; in words, each label with its number as `told`."""
    listed = (f"{label} {number}" for label, number in zip(labels, told, strict=True))
    picture = bars(
        name, np.array([list(numbers.values())], dtype=float), labels,
        colours=[ink(ROLE_OF_STEP[step]) for step in numbers], title=title, height=height,
        alt=words("alt.listed", what=what, listed=words("list.next").join(listed)),
    )  # fmt: skip
    axis = picture.figure["layout"]["xaxis"]
    axis["ticktext"] = [low(text) for text in axis["ticktext"]]
    # 100G instead of 100B for a hundred thousand millions.
    picture.figure["layout"]["yaxis"]["tickformat"] = "~s"
    return picture


def cost_curves(sizes: Sizes, n_tokens: int, words: Words) -> Picture:
    """Projections against the products with S × S matrices, two-way and causal; crossings marked.

    Args:
        sizes: whose first layer.
        n_tokens: S as chosen; the axis holds it and the crossings.
        words: the reader's words.
    """
    crossings = {
        name: sizes.crossover(causal=causal)
        for name, causal in (("two_way", False), ("causal", True))
    }
    known = [crossing for crossing in crossings.values() if crossing is not None]
    tokens = np.unique(np.linspace(1, 1.45 * max([n_tokens, *known]), POINTS).astype(int))
    costs = {name: _costs(sizes, tokens, causal=name == "causal") for name in crossings}
    lines = [
        line_of(tokens, costs["two_way"][0], words("flops.projections"), ink("query")),
        line_of(tokens, costs["two_way"][1], words("flops.two_way"), ink("pattern")),
        line_of(tokens, costs["causal"][1], words("flops.causal"), ink("pattern"), dash="dash"),
    ]
    crossed = {name: at for name, at in crossings.items() if at is not None}
    marks = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": np.array(list(crossed.values())),
            "y": np.array([_costs(sizes, np.array([round(at)]), causal=name == "causal")[0][0]
                           for name, at in crossed.items()]),
            "marker": {"size": 10, "color": ink("output"), "symbol": "circle-open",
                       "line": {"width": 3}},
            "name": words("flops.crossing"),
        }
    ]  # fmt: skip
    labels = [
        _crossing_label(at, cost, is_below=name == "causal", is_right=at < tokens[-1] / 5)
        for (name, at), cost in zip(crossed.items(), marks[0]["y"], strict=True)
    ]
    told = [
        words(f"alt.crossing.{name}", n=f"{round(at):,}")
        if at is not None
        else words(f"alt.never.{name}")
        for name, at in crossings.items()
    ]
    figure = against_tokens([*lines, *marks], n_tokens, words("axis.flops"), words)
    figure["layout"]["annotations"] = labels
    arrays = {
        "n_tokens": tokens,
        "projections": costs["two_way"][0],
        "products_two_way": costs["two_way"][1],
        "products_causal": costs["causal"][1],
    }
    return Picture(
        "crossing", figure, " ".join([words("alt.costs"), *told]), height=360, arrays=arrays,
        axes=dict.fromkeys(arrays, ("point",)), pickable=False,
    )  # fmt: skip


def _crossing_label(at: float, cost: float, *, is_below: bool, is_right: bool) -> Figure:
    """S at a crossing, on the paper's colour: the line at the chosen S may pass behind it."""
    is_right = is_right or is_below
    return {
        "x": at, "y": cost, "text": f"S = {round(at):,}", "showarrow": False, "borderpad": 1,
        "xanchor": "left" if is_right else "right", "xshift": 7 if is_right else -7,
        "yanchor": "top" if is_below else "bottom", "yshift": -5 if is_below else 5,
        "bgcolor": "var(--st-background-color)",
    }  # fmt: skip


def _costs(sizes: Sizes, tokens: NDArray[np.int64], *, causal: bool) -> tuple[Array, Array]:
    """FLOPs of the projections and of the products with S × S matrices, at each S."""
    steps = [sizes.flops(int(n), causal=causal) or {} for n in tokens]
    products = np.array([step["scores"] + step["values"] for step in steps], dtype=float)
    whole = np.array([sum(step.values()) for step in steps], dtype=float)
    return whole - products, products


def line_of(
    x: NDArray[np.int64] | Array, y: Array, name: str, colour: str, dash: str = "solid"
) -> Figure:
    """A line with a name."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "width": 3, "dash": dash},
        "hovertemplate": "S = %{x:,}: %{y:.3s}<extra>%{fullData.name}</extra>",
    }


def against_tokens(
    data: Sequence[Figure], n_tokens: int, title: str, words: Words, **yaxis: object
) -> Figure:
    """A figure with S on the x axis and a line at the chosen S."""
    return {
        "data": list(data),
        "layout": {
            "xaxis": {"title": {"text": words("axis.tokens")}, "rangemode": "tozero",
                      "tickformat": ",d", "zeroline": False},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", "tickformat": ".2s"} | yaxis,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": [
                {"type": "line", "x0": n_tokens, "x1": n_tokens, "y0": 0, "y1": 1, "yref": "paper",
                 "line": {"width": 1.5, "dash": "dot", "color": ink("residual")}}
            ],
        },
    }  # fmt: skip
