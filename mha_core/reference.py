"""The article, written down: columns of tokens, head by head, float64, RoPE in complex numbers.

It shares no line with `layer.py`, so that their agreement means something. Capitals are the
article's matrices; they are [features, tokens].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha_core.after import After
from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights

Matrix = NDArray[np.float64]
AnyArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class HeadSteps:
    """One head, step by step. Scores have queries in rows, as the article writes them."""

    Q: Matrix  # [d_head, token]
    K: Matrix  # [d_head, token]
    V: Matrix  # [d_value, token]
    Q_rot: Matrix  # [d_head, token]
    K_rot: Matrix  # [d_head, token]
    raw: Matrix  # [query, key], as are the next three
    scores: Matrix
    masked: Matrix
    pattern: Matrix
    head: Matrix  # [d_value, token]

    __repr__ = brief


def project(W: AnyArray, X: AnyArray, b: AnyArray | None = None) -> Matrix:
    """W X, and a bias if there is one.

    >>> project(np.array([[2.0, 0.0]]), np.array([[1.0, 3.0], [5.0, 7.0]])).tolist()
    [[2.0, 6.0]]
    """
    product = np.asarray(W, np.float64) @ np.asarray(X, np.float64)
    return product if b is None else product + np.asarray(b, np.float64).reshape(-1, 1)


def rotate_columns(Q: Matrix, rope: Rope | None, positions: AnyArray | None = None) -> Matrix:
    """Multiply each pair of features, as one complex number, by e^(i · angle).

    >>> turned = rotate_columns(np.array([[1.0, 1.0], [0.0, 0.0]]), Rope())
    >>> bool(np.allclose(turned[:, 1], [np.cos(1), np.sin(1)]))
    True
    """
    if rope is None:
        return Q
    width = len(Q) if rope.dim is None else rope.dim
    pairs = np.arange(width // 2)
    real, imaginary = (2 * pairs, 2 * pairs + 1)
    if rope.pairing == "half":
        real, imaginary = pairs, pairs + width // 2
    speeds = np.power(rope.base, -2 * pairs / width)
    if rope.frequencies is not None:
        speeds = np.asarray(rope.frequencies, np.float64)
    when = np.arange(Q.shape[1]) if positions is None else np.asarray(positions, np.float64)
    kind = np.float32 if rope.angle_dtype == "float32" else np.float64
    angles = np.outer(speeds.astype(kind), np.asarray(when).astype(kind)).astype(np.float64)
    Z = (Q[real] + 1j * Q[imaginary]) * np.exp(1j * angles)
    turned = Q.copy()
    turned[real], turned[imaginary] = rope.attention_factor * Z.real, rope.attention_factor * Z.imag
    return turned


def allow(config: AttentionConfig, n_tokens: int, keep: AnyArray | None = None) -> AnyArray:
    """Go through every query and key: may look, or may not.

    >>> allow(AttentionConfig(4, 2), 2).tolist()
    [[True, False], [True, True]]
    """
    allowed = np.ones((n_tokens, n_tokens), dtype=bool)
    left, right = config.window
    for query in range(n_tokens):
        if config.causal:
            allowed[query, query + 1 :] = False
        if left is not None:
            allowed[query, : max(0, query - left)] = False
        if right is not None:
            allowed[query, query + 1 + right :] = False
    return allowed if keep is None else np.logical_and(allowed, keep)


def attend(
    Q: Matrix,
    K: Matrix,
    V: Matrix,
    config: AttentionConfig,
    *,
    allowed: AnyArray,
    positions: AnyArray | None = None,
    bias: AnyArray | float = 0.0,
    sink: float | None = None,
) -> HeadSteps:
    """One head: V · softmax(QᵀK / √d_head)ᵀ, with RoPE before and the mask between.

    >>> one = np.ones((4, 2))
    >>> steps = attend(one, one, one, AttentionConfig(4, 1), allowed=np.tri(2, dtype=bool))
    >>> steps.pattern.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    Q_rot = rotate_columns(Q, config.rope, positions)
    K_rot = rotate_columns(K, config.rope, positions)
    raw = Q_rot.T @ K_rot
    scores = raw * config.scale
    if config.softcap is not None:
        scores = config.softcap * np.tanh(scores / config.softcap)
    masked = np.where(allowed, scores + bias, -np.inf)
    pattern = softmax_rows(masked, sink)
    return HeadSteps(Q, K, V, Q_rot, K_rot, raw, scores, masked, pattern, V @ pattern.T)


def softmax_rows(scores: Matrix, sink: float | None = None) -> Matrix:
    """exp over the row's sum of exp; a sink adds one more term to the sum.

    >>> softmax_rows(np.array([[0.0, -np.inf], [-np.inf, -np.inf]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    top = scores.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)  # any finite number cancels out again
    if sink is not None:
        top = np.maximum(top, sink)
    powers = np.exp(scores - top)
    total = powers.sum(axis=1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - top)
    return powers / np.where(total == 0, 1.0, total)


def walk_heads(
    Q: Matrix,
    K: Matrix,
    V: Matrix,
    weights: AttentionWeights[Any],
    config: AttentionConfig,
    *,
    keep: AnyArray | None = None,
    positions: AnyArray | None = None,
    bias: AnyArray | None = None,
) -> Iterator[HeadSteps]:
    """Split the projections into heads and take the heads one after another.

    Args:
        Q: [n_heads · d_head, token].
        K: [n_kv_heads · d_head, token].
        V: [n_kv_heads · d_value, token].
        weights: only the gains and sinks are read.
        config: the layer's sizes and settings.
        keep: [query, key] or [head, query, key], besides what config forbids.
        positions: [token], for RoPE.
        bias: [query, key] or [head, query, key], added to the scores.
    """
    n_tokens = Q.shape[1]
    kind, eps = config.qk_norm_kind, config.qk_norm_eps
    if config.qk_norm == "whole":
        Q = norm_columns(Q, kind, weights.q_norm, weights.q_norm_bias, eps)
        K = norm_columns(K, kind, weights.k_norm, weights.k_norm_bias, eps)
    for head in range(config.n_heads):
        kv_head = head * config.n_kv_heads // config.n_heads
        Q_head = _band(Q, head, config.d_head)
        K_head = _band(K, kv_head, config.d_head)
        if config.qk_norm == "head":
            Q_head = norm_columns(Q_head, kind, weights.q_norm, weights.q_norm_bias, eps)
            K_head = norm_columns(K_head, kind, weights.k_norm, weights.k_norm_bias, eps)
        elif config.qk_norm == "each":
            gains, shifts = weights.q_norm, weights.q_norm_bias
            Q_head = norm_columns(Q_head, kind, _row(gains, head), _row(shifts, head), eps)
            gains, shifts = weights.k_norm, weights.k_norm_bias
            K_head = norm_columns(K_head, kind, _row(gains, kv_head), _row(shifts, kv_head), eps)
        yield attend(
            Q_head,
            K_head,
            _band(V, kv_head, config.d_value),
            config,
            allowed=allow(config, n_tokens, _of_head(keep, head)),
            positions=positions,
            bias=0.0 if bias is None else np.asarray(_of_head(bias, head), np.float64),
            sink=None if weights.sinks is None else float(weights.sinks[head]),
        )


def multi_head(
    X: AnyArray,
    weights: AttentionWeights[Any],
    config: AttentionConfig,
    *,
    keep: AnyArray | None = None,
    positions: AnyArray | None = None,
    bias: AnyArray | None = None,
) -> tuple[list[HeadSteps], Matrix, Matrix]:
    """W_o · Concat(head_0, …, head_(h-1)).

    Args:
        X: [feature, token].
        weights: NumPy arrays.
        config: the layer's sizes and settings.
        keep: see `walk_heads`; so are positions and bias.

    Returns:
        Every head's steps, Concat [n_heads · d_value, token], and O [feature, token].

    Source: Vaswani et al. 2017, section 3.2.2, with matrices transposed.

    >>> from mha_core import random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> heads, concat, O = multi_head(np.ones((6, 4)), random_weights(config, 0), config)
    >>> heads[0].pattern.shape, concat.shape, O.shape
    ((4, 4), (6, 4), (6, 4))
    """
    Q = project(weights.w_q, X, weights.b_q)
    K = project(weights.w_k, X, weights.b_k)
    V = project(weights.w_v, X, weights.b_v)
    heads = list(walk_heads(Q, K, V, weights, config, keep=keep, positions=positions, bias=bias))
    concat = np.vstack([steps.head for steps in heads])
    return heads, concat, project(weights.w_o, concat, weights.b_o)


def norm_columns(
    X: AnyArray, kind: str, gain: AnyArray | None, shift: AnyArray | None, eps: float
) -> Matrix:
    """RMSNorm ("rms"), LayerNorm ("layer") or length one ("l2") of every token, a column.

    >>> norm_columns(np.array([[3.0], [-3.0]]), "layer", None, None, 0.0).tolist()
    [[1.0], [-1.0]]
    """
    X = np.asarray(X, np.float64)
    if kind == "layer":
        X = X - X.mean(axis=0)
    squares = (X**2).sum(axis=0) if kind == "l2" else (X**2).mean(axis=0)
    normed: Matrix = X / np.sqrt(squares + eps)
    if gain is not None:
        normed = np.asarray(gain, np.float64).reshape(-1, 1) * normed
    return normed if shift is None else normed + np.asarray(shift, np.float64).reshape(-1, 1)


def add_stream(X: AnyArray, O: AnyArray, after: After | None) -> Matrix:  # noqa: E741
    """What is read next: the stream plus O, and what the layer does to either.

    >>> add_stream(np.array([[1.0]]), np.array([[2.0]]), After(factor=0.5)).tolist()
    [[2.0]]
    """
    X = np.asarray(X, np.float64)
    if after is None:
        return X + O
    added = after.factor * np.asarray(O, np.float64)
    if after.norm_out is not None:
        norm = after.norm_out
        added = norm_columns(added, norm.kind, norm.weight, norm.bias, norm.eps)
    total: Matrix = X + added
    if after.beside is not None:
        total = total + after.beside.T
    if after.norm_sum is not None:
        norm = after.norm_sum
        total = norm_columns(total, norm.kind, norm.weight, norm.bias, norm.eps)
    return total


def _row(values: AnyArray | None, place: int) -> AnyArray | None:
    """One row, where there are rows."""
    return None if values is None else values[place]


def _band(Q: Matrix, band: int, height: int) -> Matrix:
    """Cut one head's rows out."""
    return Q[band * height : (band + 1) * height]


def _of_head(mask: AnyArray | None, head: int) -> AnyArray | None:
    """Give one head's matrix of a mask that may be the same for all."""
    if mask is None or mask.ndim == 2:
        return mask
    matrix: AnyArray = mask[0] if len(mask) == 1 else mask[head]
    return matrix
