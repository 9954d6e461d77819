"""The last step's pictures: W_o by head, what each head adds, its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mha_core.arrays import Array
from mha_core.config import AttentionConfig
from mha_view.figures import heat
from mha_view.figures.bars import bars
from mha_view.figures.walk import (
    MOST_MATRIX_COLUMNS,
    MOST_MATRIX_ROWS,
    features,
    pooled_labels,
)
from mha_view.show import Picture
from mha_view.theme import head_colour
from mha_view.words import Words


def share_bars(shares: Array, token: int, labels: Sequence[str], words: Words) -> Picture:
    """Each head's share of O at one token.

    Args:
        shares: [head, token].
        token: which one.
        labels: a label a token.
        words: the reader's words.
    """
    column = shares[:, token]
    heads = [words("head.chip", head=head) for head in range(len(column))]
    largest = int(column.argmax())
    drawn = bars(
        "shares",
        column[None, :],
        heads,
        colours=[head_colour(head) for head in range(len(column))],
        title=words("axis.share"),
        alt=words("alt.shares", token=labels[token], head=largest, share=f"{column[largest]:.2f}"),
    )
    return replace(drawn, low=190)


def contributions_at(contributions: Array, out: Array, token: int, words: Words) -> Picture:
    """What each head adds to O at one token, a row a head, and their sum below.

    Args:
        contributions: [head, token, feature].
        out: [token, feature].
        token: which one.
        words: the reader's words.
    """
    n_heads, _, d_model = contributions.shape
    rows = np.vstack([contributions[:, token], out[None, token]])
    names = [words("head.chip", head=head) for head in range(n_heads)] + ["O"]
    values, _, block = heat.pool(rows, len(rows), MOST_MATRIX_COLUMNS)
    figure = heat.matrix(
        "contributions",
        values,
        rows=names,
        columns=pooled_labels(features(d_model), block),
        row_title="",
        column_title=words("axis.feature"),
        colour=heat.signed_axis([rows], words("axis.contribution")),
        hover="{row} [{column}] = {value}",
    )
    return Picture(
        "contributions",
        figure,
        words("alt.tiles", titles=words("list.and").join(names), shape=f"1 × {d_model}",
              low=f"{rows.min():.3f}", high=f"{rows.max():.3f}"),
        height=110 + 26 * len(rows),
        low=110 + 18 * len(rows),
        arrays={"contributions": rows},
        axes={"contributions": ("part", "feature")},
        names={"part": names},
        block=(1, block),
        pickable=False,
    )  # fmt: skip


def writing_heads(w_o: Array, n_heads: int) -> Array:
    """Which share of each row of W_o, by squares, lies in each head's columns, [head, feature].

    >>> writing_heads(np.array([[3.0, 4.0], [0.0, 2.0]]), 2).tolist()
    [[0.36, 0.0], [0.64, 1.0]]
    """
    squares = (w_o.astype(np.float64) ** 2).reshape(len(w_o), n_heads, -1).sum(axis=-1)
    totals = squares.sum(axis=1, keepdims=True)
    shares: Array = np.divide(squares, totals, out=np.zeros_like(squares), where=totals > 0).T
    return shares


def w_o_by_head(w_o: Array, config: AttentionConfig, words: Words) -> Picture:
    """Which heads each feature of O is made from, the features of one strongest head together."""
    shares = writing_heads(w_o, config.n_heads)
    strongest = shares.argmax(axis=0)
    order = np.lexsort((-shares.max(axis=0), strongest))
    ordered = shares[:, order]
    names = [words("head.chip", head=head) for head in range(config.n_heads)]
    values, _, block = heat.pool(ordered, len(ordered), MOST_MATRIX_COLUMNS)
    figure = heat.matrix(
        "w_o_heads",
        values,
        rows=names,
        columns=pooled_labels([str(feature) for feature in order], block),
        row_title="",
        column_title=words("axis.feature_by_head"),
        colour=heat.share_axis("linear", words("axis.share_of_row")),
        hover=words("hover.w_o_heads"),
    )
    figure["layout"]["xaxis"]["showticklabels"] = False
    return Picture(
        "w_o_heads",
        figure,
        words("alt.w_o_heads", n=config.n_heads, share=f"{shares.max(axis=0).mean():.2f}",
              equal=f"{1 / config.n_heads:.2f}"),
        height=110 + 26 * len(names),
        low=110 + 18 * len(names),
        arrays={"share": ordered, "feature": order},
        axes={"share": ("head", "feature"), "feature": ("feature",)},
        block=(1, block),
        pickable=False,
    )  # fmt: skip


def w_o_matrix(w_o: Array, config: AttentionConfig, words: Words) -> Picture:
    """W_o, with a bar and a number over the columns that read each head."""
    values, block_rows, block_columns = heat.pool(w_o, MOST_MATRIX_ROWS, MOST_MATRIX_COLUMNS)
    each = config.d_value / block_columns
    bars_above = [
        {
            "type": "rect", "yref": "paper", "y0": 1.0, "y1": 1.02, "line": {"width": 0},
            "x0": head * each - 0.5, "x1": (head + 1) * each - 0.5,
            "fillcolor": head_colour(head),
            "label": {"text": str(head), "font": {"size": 12}, "textposition": "top center",
                      "yanchor": "bottom", "padding": 1},
        }
        for head in range(config.n_heads)
    ]  # fmt: skip
    figure = heat.matrix(
        "w_o",
        values,
        rows=pooled_labels(features(config.d_model), block_rows),
        columns=pooled_labels(features(w_o.shape[1]), block_columns),
        row_title=words("axis.feature"),
        column_title=words("axis.row_of_concat"),
        colour=heat.signed_axis([w_o], "W_o"),
        hover="W_o [{row}, {column}] = {value}",
        shapes=bars_above,
    )
    figure["layout"]["margin"]["t"] = 32
    return Picture(
        "w_o",
        figure,
        words("alt.matrix", symbol="W_o", shape=f"{w_o.shape[0]} × {w_o.shape[1]}",
              low=f"{w_o.min():.3f}", high=f"{w_o.max():.3f}"),
        height=460,
        arrays={"w_o": w_o},
        axes={"w_o": ("feature", "concat_feature")},
        block=(block_rows, block_columns),
        pickable=False,
    )  # fmt: skip
