"""The pictures of the walk: each takes steps of a trace and gives a `Picture`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.trace import AttentionTrace, Step
from mha_view.figures import heat
from mha_view.grouping import Grouping
from mha_view.indices import low
from mha_view.scene import ColourScale
from mha_view.show import Figure, Picture
from mha_view.theme import head_colour
from mha_view.words import Words

# Beyond these a picture pools its cells, and says so.
MOST_TILE_CELLS = 64
FEW_ROWS, HIGH_TO_WIDE = 16, 2  # a tile is no higher than so many rows, or times its columns
MOST_MATRIX_ROWS = 96
MOST_MATRIX_COLUMNS = 128
ROW_HEIGHT = 22
UNLABELLED, LOW = 440, 300  # pixels of a matrix whose rows have no labels, and that on a phone
LARGEST_CELL = 22  # pixels of a cell that is seen alone
SMALL_CELL = 14  # pixels of a cell beside others of its kind
BANDS_WIDE = 22  # pixels that the bands and their numbers take at the left


def pooled_labels(labels: Sequence[str], block: int) -> list[str]:
    """A label a pooled cell: `first … last` of its block.

    >>> pooled_labels(["a", "b", "c"], 2)
    ['a … b', 'c']
    """
    if block == 1:
        return list(labels)
    groups = [labels[start : start + block] for start in range(0, len(labels), block)]
    return [group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups]


def features(n: int) -> list[str]:
    """Feature numbers as labels."""
    return [str(feature) for feature in range(n)]


def describe(step: Step, words: Words, **where: object) -> str:
    """What a reader who cannot see the picture is told: shape, range, mean."""
    value = step.value[np.isfinite(step.value)]
    return words(
        "alt.matrix",
        symbol=step.symbol,
        shape=" × ".join(map(str, step.article_shape)),
        low=f"{value.min():.3f}",
        high=f"{value.max():.3f}",
    )


def feature_matrix(
    step: Step,
    labels: Sequence[str],
    words: Words,
    *,
    reach: Sequence[Array] = (),
    bands: int = 0,
    bar: bool = True,
) -> Picture:
    """A [features, tokens] matrix, signed, centred on zero.

    Args:
        step: a tensor of [token, feature].
        labels: a label a token.
        words: the reader's words.
        reach: all arrays that share this picture's colour scale; the step's own if empty.
        bands: how many heads the rows belong to; each gets its colour on the left.
        bar: whether the colour bar stands beside it; without, the symbol stands above.
    """
    values, block_rows, block_columns = heat.pool(
        step.article_value, MOST_MATRIX_ROWS, MOST_MATRIX_COLUMNS
    )
    rows = pooled_labels(features(step.article_value.shape[0]), block_rows)
    scaled = reach or [step.value]
    end = heat.signed_reach(scaled)
    figure = heat.matrix(
        step.name,
        values,
        rows=rows,
        columns=pooled_labels(labels, block_columns),
        row_title=words("axis.feature"),
        column_title=words("axis.token"),
        colour=heat.signed_axis(scaled, step.symbol, reach=end),
        hover=f"{step.symbol} [{{row}}, {{column}}] = {{value}}",
        shapes=head_bands(bands, values.shape[0]) if bands else (),
    )
    if bands:
        figure["layout"]["annotations"] = band_numbers(bands, values.shape[0])
        yaxis = figure["layout"]["yaxis"]
        yaxis["ticklabelstandoff"] = BANDS_WIDE
        if not yaxis["showticklabels"]:
            yaxis["title"]["standoff"] += BANDS_WIDE
    if not bar:
        figure["layout"]["coloraxis"]["showscale"] = False
        figure["layout"]["title"] = {"text": low(step.symbol), "font": {"size": 15}, "x": 0.55}
        figure["layout"]["margin"]["t"] = 34
    return Picture(
        step.name,
        figure,
        describe(step, words),
        height=_height(len(rows)),
        low=LOW if len(rows) > heat.MOST_LABELS else None,
        arrays={step.name: step.article_value},
        axes={step.name: step.article_axes},
        names={"token": labels},
        block=(block_rows, block_columns),
        beyond=heat.count_beyond([step.value], end),
    )


def head_bands(n_heads: int, n_rows: int) -> list[dict[str, object]]:
    """A coloured bar beside each head's rows."""
    each = n_rows / n_heads
    return [
        {
            "type": "rect",
            "xref": "paper",
            "x0": -0.012,
            "x1": -0.002,
            "y0": head * each - 0.5,
            "y1": (head + 1) * each - 0.5,
            "line": {"width": 0},
            "fillcolor": head_colour(head),
        }
        for head in range(n_heads)
    ]


def band_numbers(n_heads: int, n_rows: int) -> list[dict[str, object]]:
    """Each head's number, left of its bar."""
    each = n_rows / n_heads
    return [
        {
            "xref": "paper", "x": -0.012, "xanchor": "right", "xshift": -2, "borderpad": 0,
            "y": (head + 0.5) * each - 0.5, "yanchor": "middle",
            "text": str(head), "showarrow": False, "font": {"size": 12},
        }
        for head in range(n_heads)
    ]  # fmt: skip


def _height(n_rows: int) -> int:
    """Pixels for a matrix of so many rows; without a label a row, few do."""
    if n_rows > heat.MOST_LABELS:
        return UNLABELLED
    return int(min(620, max(220, 90 + ROW_HEIGHT * n_rows)))


def pattern_tiles(
    name: str,
    patterns: Array,
    keep: NDArray[np.bool_],
    labels: Sequence[str],
    words: Words,
    *,
    titles: Sequence[str],
    scale: ColourScale = "linear",
    hover: str = "hover.pattern",
    colours: Sequence[str] | None = None,
    across: int | None = None,
    largest: int | None = None,
    merged: bool = False,
) -> tuple[Figure, int]:
    """Patterns [tile, query, key] as tiles on one scale from 0 to 1, and the block of a cell.

    Args:
        keep: who may look at whom, [query, key]; or one a tile.
        hover: key of the text for a cell.
        merged: whether some rows and columns are more than one token; the axes then say so.
        name, titles, colours, across: as in `heat.tiles`.
    """
    # Tile by tile: a long text's patterns are large, and pooling makes copies.
    pooled = [
        heat.pool(np.where(may_look, each, np.nan), MOST_TILE_CELLS, MOST_TILE_CELLS)
        for may_look, each in zip(np.broadcast_to(keep, patterns.shape), patterns, strict=True)
    ]
    block = pooled[0][1]
    places = pooled_labels(labels, block)
    looks, looked_at = looking_axes(words, merged=merged)
    figure = heat.tiles(
        name, np.stack([values for values, *_ in pooled]),
        titles=titles, title_colours=colours, across=across, largest=largest,
        rows=places, columns=places, row_title=looks, column_title=looked_at,
        colour=heat.share_axis(scale, words("axis.weight")), hover=words(hover),
    )  # fmt: skip
    return figure, block


def looking_axes(words: Words, *, merged: bool) -> tuple[str, str]:
    """What a pattern's axes are called: which looks, which is looked at, and how pieces of words
    became one."""
    end = ".merged" if merged else ""
    return words(f"axis.query{end}"), words(f"axis.key{end}")


def head_patterns(
    trace: AttentionTrace,
    labels: Sequence[str],
    words: Words,
    *,
    scale: ColourScale = "linear",
    titles: Sequence[str] | None = None,
    name: str = "pattern",
    across: int | None = None,
    grouping: Grouping | None = None,
) -> Picture:
    """Every head's attention matrix, queries in rows, on one scale from 0 to 1.

    Args:
        grouping: the tokens that are shown as one; every token alone if None.
    """
    whole = trace["pattern"].value
    heads = range(len(whole))
    titles = titles or [words("head.chip", head=head) for head in heads]
    pattern, keep, labels = regroup(grouping, whole, trace.keep, labels)
    figure, block = pattern_tiles(
        name, pattern, keep, labels, words,
        titles=titles, scale=scale, colours=[head_colour(head) for head in heads], across=across,
        merged=grouping is not None and grouping.merges,
    )  # fmt: skip
    return Picture(
        name,
        figure,
        describe_patterns(pattern, labels, words),
        height=None,
        arrays={"pattern": pattern},
        axes={"pattern": ("head", "query", "key")},
        names={"query": labels, "key": labels},
        block=(block, block),
        grouping=grouping,
        whole=whole,
    )


def one_pattern(
    trace: AttentionTrace,
    head: int,
    labels: Sequence[str],
    words: Words,
    *,
    scale: ColourScale = "linear",
    grouping: Grouping | None = None,
) -> Picture:
    """One head's attention matrix, large enough for words on its axes; `grouping` as above."""
    whole = trace.pattern[head : head + 1]
    keep = np.broadcast_to(trace.keep, trace.pattern.shape)[head]
    pattern, keep, labels = regroup(grouping, whole, keep, labels)
    values, block, _ = heat.pool(
        np.where(keep, pattern, np.nan), MOST_MATRIX_ROWS, MOST_MATRIX_ROWS
    )
    places = pooled_labels(labels, block)
    looks, looked_at = looking_axes(words, merged=grouping is not None and grouping.merges)
    figure = heat.tiles(
        "pattern", values, titles=[words("head.chip", head=head)],
        title_colours=[head_colour(head)], heads=[head], largest=LARGEST_CELL,
        rows=places, columns=places, row_title=looks, column_title=looked_at,
        colour=heat.share_axis(scale, words("axis.weight")), hover=words("hover.pattern"),
    )  # fmt: skip
    return Picture(
        "head_pattern",
        figure,
        describe_patterns(pattern, labels, words, first=head),
        height=None,
        arrays={"pattern": pattern[0]},
        axes={"pattern": ("query", "key")},
        names={"query": labels, "key": labels},
        block=(block, block),
        picks="pattern",
        grouping=grouping,
        whole=whole[0],
    )


def regroup(
    grouping: Grouping | None, patterns: Array, keep: NDArray[np.bool_], labels: Sequence[str]
) -> tuple[Array, NDArray[np.bool_], Sequence[str]]:
    """Patterns [..., query, key], who may look at whom, and labels, over the rows shown."""
    if grouping is None or grouping.is_plain:
        return patterns, keep, labels
    return grouping.apply(patterns), grouping.apply_mask(keep), grouping.labels


def describe_patterns(patterns: Array, labels: Sequence[str], words: Words, first: int = 0) -> str:
    """For each head, counted from `first`, where its strongest look away from the first token and
    itself goes."""
    parts = []
    for head, pattern in enumerate(patterns, first):
        away = pattern.copy()
        away[:, 0] = 0.0
        np.fill_diagonal(away, 0.0)
        query, key = map(int, np.unravel_index(int(away.argmax()), away.shape))
        parts.append(
            words(
                "alt.pattern",
                head=head,
                query=labels[query],
                key=labels[key],
                weight=f"{away[query, key]:.2f}",
            )
        )
    return words("alt.patterns", n=len(patterns)) + " " + " ".join(parts[:16])


def tensor_tiles(
    name: str,
    arrays: Sequence[Array],
    titles: Sequence[str],
    words: Words,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    symbol: str,
    colours: Sequence[str] | None = None,
    across: int | None = None,
    axes: tuple[str, str] = ("feature", "token"),
    pickable: bool = True,
    tokens: str = "",
    largest: int | None = None,
) -> Picture:
    """Signed matrices side by side on one scale; shorter ones are filled up with blanks.

    Args:
        axes: axis words of rows and columns.
        name, titles, rows, columns, row_title, column_title, colours, across: as in `heat.tiles`.
        arrays: a matrix a tile.
        words: the reader's words.
        symbol: what a number is called.
        pickable: whether a cell can be picked.
    """
    high = max(array.shape[0] for array in arrays)
    wide = max(array.shape[1] for array in arrays)
    stacked = np.full((len(arrays), high, wide), np.nan)
    for place, array in enumerate(arrays):
        stacked[place, : array.shape[0], : array.shape[1]] = array
    most_rows = min(MOST_TILE_CELLS, max(FEW_ROWS, wide * HIGH_TO_WIDE))
    values, block_rows, block_columns = heat.pool(stacked, most_rows, MOST_TILE_CELLS)
    end = heat.signed_reach(arrays)
    figure = heat.tiles(
        name,
        values,
        titles=[low(title) for title in titles],
        rows=pooled_labels(rows, block_rows),
        columns=pooled_labels(columns, block_columns),
        row_title=row_title,
        column_title=column_title,
        colour=heat.signed_axis(arrays, symbol, reach=end),
        hover=f"{symbol} [{{row}}, {{column}}] = {{value}}",
        title_colours=colours,
        across=across,
        largest=largest,
    )
    finite = stacked[np.isfinite(stacked)] if np.isfinite(stacked).any() else np.zeros(1)
    alt = words(
        "alt.tiles",
        titles=words("list.and").join(titles),
        shape=f"{high} × {wide}",
        low=f"{finite.min():.3f}",
        high=f"{finite.max():.3f}",
    )
    return Picture(
        name,
        figure,
        alt,
        height=None,
        arrays=dict(zip((f"{name}_{n}" for n in range(len(arrays))), arrays, strict=True)),
        axes={f"{name}_{n}": axes for n in range(len(arrays))},
        names={
            axis: labels
            for axis, labels in zip(axes, (rows, columns), strict=True)
            if list(labels) != features(len(labels))
        },
        block=(block_rows, block_columns),
        beyond=heat.count_beyond(arrays, end),
        pickable=pickable,
        tokens=tokens,
    )


def chain(trace: AttentionTrace, head: int, labels: Sequence[str], words: Words) -> Picture:
    """One head from QᵀK to the pattern: raw, scaled, masked, on one signed scale."""
    kv_head = head // trace.config.group
    raw = trace.q_rot[head] @ trace.k_rot[kv_head].T
    scores, cap = raw * trace.config.scale, trace.config.softcap
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    keep = trace.keep if trace.keep.ndim == 2 else trace.keep[head]
    seen = np.where(keep, scores, np.nan)
    return tensor_tiles(
        "chain",
        [raw, scores, seen],
        [words(f"chain.{name}") for name in ("raw", "scores", "masked")],
        words,
        rows=labels,
        columns=labels,
        axes=("query", "key"),
        row_title=words("axis.query"),
        column_title=words("axis.key"),
        symbol=words("axis.score"),
        across=3,
        pickable=False,
        tokens="row",
        largest=SMALL_CELL,
    )
