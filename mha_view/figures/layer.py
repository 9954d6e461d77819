"""A layer's steps as pictures, each as its page draws it: what pages and notebooks share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.trace import AttentionTrace
from mha_core.whatif import split_wrongly
from mha_view.figures.walk import features, tensor_tiles
from mha_view.show import Picture
from mha_view.theme import head_colour
from mha_view.words import Words


def head_tiles(trace: AttentionTrace, name: str, labels: Sequence[str], words: Words) -> Picture:
    """A step that has heads, [d_head, token] of each head side by side on one signed scale.

    Args:
        trace: the layer.
        name: one of "q", "k", "v", "q_rot", "k_rot", "heads".
        labels: a label a token.
        words: the reader's words.
    """
    step = trace[name]
    return tensor_tiles(
        name, list(step.article_value), head_titles(len(step.value), words), words,
        rows=features(step.article_shape[0]), columns=labels,
        row_title=words("axis.feature_of_head"), column_title=words("axis.token"),
        symbol=step.symbol, colours=head_inks(len(step.value)),
    )  # fmt: skip


def score_tiles(trace: AttentionTrace, name: str, labels: Sequence[str], words: Words) -> Picture:
    """A step between the queries and the pattern, [query, key] of each head side by side.

    Args:
        trace: the layer.
        name: one of "raw", "scores", "masked"; what a mask forbids stays blank.
        labels: a label a token.
        words: the reader's words.
    """
    value = trace[name].value
    shown = np.where(np.isfinite(value), value, np.nan)
    return tensor_tiles(
        name, list(shown), head_titles(len(shown), words), words,
        rows=labels, columns=labels,
        row_title=words("axis.query"), column_title=words("axis.key"),
        symbol=trace[name].symbol, colours=head_inks(len(shown)), axes=("query", "key"),
    )  # fmt: skip


def projections(trace: AttentionTrace, words: Words) -> Picture:
    """W_q, W_k and W_v side by side on one signed scale."""
    weights = [np.asarray(getattr(trace.weights, name)) for name in ("w_q", "w_k", "w_v")]
    return tensor_tiles(
        "matrices", weights, ["W_q", "W_k", "W_v"], words, symbol="W", across=3,
        rows=features(max(len(matrix) for matrix in weights)),
        columns=features(trace.config.d_model),
        row_title=words("axis.feature"), column_title=words("axis.feature_in"),
        axes=("feature", "feature_in"), pickable=False,
    )  # fmt: skip


def two_splits(trace: AttentionTrace, head: int, words: Words) -> tuple[Picture, float]:
    """One head of Q cut out as it should be and without the transpose, and how far they differ.

    Args:
        trace: the layer.
        head: which head.
        words: the reader's words.

    Returns:
        The two side by side, and max |right − wrong|.
    """
    wrong = split_wrongly(np.asarray(trace.q_full), trace.config.n_heads)[head].T
    right = trace["q"].article_value[head]
    # The columns of the wrong one are no tokens, so both are numbered.
    picture = tensor_tiles(
        "split", [right, wrong],
        [words("heads.right_way", head=head), words("heads.wrong_way", head=head)], words,
        rows=features(trace.config.d_head), columns=features(trace.n_tokens),
        row_title=words("axis.feature_of_head"), column_title=words("axis.column"),
        symbol="Q", across=2, axes=("feature", "column"), pickable=False,
    )  # fmt: skip
    return picture, float(np.abs(right - wrong).max())


def head_titles(n_heads: int, words: Words) -> list[str]:
    """Each head's name."""
    return [words("head.chip", head=head) for head in range(n_heads)]


def head_inks(n_heads: int) -> list[str]:
    """Each head's colour."""
    return [head_colour(head) for head in range(n_heads)]
