"""The last step's pictures: W_o by head, what each head adds, its share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.config import AttentionConfig
from mha_view.figures.bars import bars
from mha_view.figures.walk import features, tensor_tiles
from mha_view.show import Picture
from mha_view.theme import head_colour
from mha_view.words import Words

Array = NDArray[np.floating]


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
    return bars(
        "shares",
        column[None, :],
        heads,
        colours=[head_colour(head) for head in range(len(column))],
        title=words("axis.share"),
        alt=words("alt.shares", token=labels[token], head=largest, share=f"{column[largest]:.2f}"),
    )


def contribution_tiles(contributions: Array, labels: Sequence[str], words: Words) -> Picture:
    """What each head adds to O, [head, token, feature], one tile a head on one scale."""
    n_heads, _, d_model = contributions.shape
    return tensor_tiles(
        "contributions",
        list(contributions.transpose(0, 2, 1)),
        [words("head.chip", head=head) for head in range(n_heads)],
        words,
        rows=features(d_model),
        columns=labels,
        row_title=words("axis.feature"),
        column_title=words("axis.token"),
        symbol="W_o · head_k",
        colours=[head_colour(head) for head in range(n_heads)],
        pickable=False,
    )


def w_o_matrix(w_o: Array, config: AttentionConfig, words: Words) -> Picture:
    """W_o cut into the columns that read each head."""
    blocks = np.split(w_o, config.n_heads, axis=1)
    return tensor_tiles(
        "w_o",
        blocks,
        [words("head.chip", head=head) for head in range(config.n_heads)],
        words,
        rows=features(config.d_model),
        columns=features(config.d_value),
        row_title=words("axis.feature"),
        column_title=words("axis.feature_of_head"),
        symbol="W_o",
        colours=[head_colour(head) for head in range(config.n_heads)],
        pickable=False,
    )
