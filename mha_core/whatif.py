"""The same sentence, one thing changed: what a reader tries to see why the layer is as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.config import AttentionConfig
from mha_core.layer import scaled_dot_product
from mha_core.rope import Pairing, Rope, half_from_interleaved, rotate
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from mha_core.weights import AttentionWeights, Floats

Array = NDArray[np.floating]


def walk_again(
    trace: AttentionTrace,
    *,
    weights: AttentionWeights[Floats] | None = None,
    config: AttentionConfig | None = None,
    keep: NDArray[np.bool_] | None = None,
    positions: NDArray[np.int64] | None = None,
    stream: Array | None = None,
    **settings: Any,
) -> AttentionTrace:
    """Walk the same stream through the same parameters with some things changed.

    Args:
        trace: the walk to vary.
        weights: other parameters.
        config: other sizes.
        keep: bool [query, key], another mask.
        positions: [token], other positions.
        stream: [token, feature], another stream, such as one with a token more.
        settings: fields of `AttentionConfig` to change.
    """
    norm = trace.norm
    return walk_layer(
        trace.stream if stream is None else stream,
        weights or trace.weights,
        replace(config or trace.config, **settings),
        norm=None if norm is None else norm.kind,
        norm_weight=None if norm is None else norm.weight,
        norm_bias=None if norm is None else norm.bias,
        keep=trace.keep if keep is None else keep,
        positions=trace.positions if positions is None else positions,
    )


def look_again(
    trace: AttentionTrace,
    head: int,
    *,
    keep: NDArray[np.bool_] | None = None,
    scale: float | None = None,
    rope: Rope | Literal["as it is"] | None = "as it is",
) -> Array:
    """One head's pattern [query, key] under another mask, another scale or another rotation.

    Queries and keys stay, so one head of the layer is computed, not the whole of it.

    Args:
        trace: the walk to vary.
        head: which head.
        keep: bool [query, key], another mask.
        scale: another factor of the scores.
        rope: how queries and keys are turned; None for not at all.
    """
    kv_head = head // trace.config.group
    queries, keys = trace.q_rot[head : head + 1], trace.k_rot[kv_head : kv_head + 1]
    if rope != "as it is":
        queries, keys = trace.q[head : head + 1], trace.k[kv_head : kv_head + 1]
        if rope is not None:
            here = np.arange(trace.n_tokens) if trace.positions is None else trace.positions
            queries, keys = turn(queries, rope, here), turn(keys, rope, here)
    q, k, v = map(torch.tensor, (queries, keys, trace.v[kv_head : kv_head + 1]))
    steps = scaled_dot_product(
        q,
        k,
        v,
        keep=torch.tensor(trace.keep if keep is None else keep),
        scale=trace.config.scale if scale is None else scale,
        softcap=trace.config.softcap,
    )
    pattern: Array = steps.pattern[0].numpy()
    return pattern


def turn(x: Array, rope: Rope, positions: NDArray[np.int64]) -> Array:
    """Queries or keys [head, token, d_head] turned by their positions."""
    turned: Array = rotate(torch.tensor(x), rope, torch.tensor(positions)).numpy()
    return turned


def turn_again(
    trace: AttentionTrace,
    head: int,
    rope: Rope,
    positions: NDArray[np.int64],
    order: NDArray[np.int64] | None = None,
) -> Array:
    """One head's scores [query, key] when queries and keys are turned in another way.

    Args:
        trace: whose queries and keys.
        head: which query head.
        rope: how they are turned.
        positions: [token].
        order: [d_head], reorders the features of both before they are turned.
    """
    q, k = trace.q[head], trace.k[head // trace.config.group]
    if order is not None:
        q, k = q[:, order], k[:, order]
    scores: Array = turn(q, rope, positions) @ turn(k, rope, positions).T * trace.config.scale
    return scores


def as_one_head(trace: AttentionTrace) -> AttentionTrace:
    """Walk with the same W_q, W_k, W_v, W_o taken as one head of all features.

    KV heads that are shared are repeated first, so that the one head has as many key features as
    query features.
    """
    config = trace.config
    one = AttentionConfig(
        d_model=config.d_model,
        n_heads=1,
        d_head=config.n_heads * config.d_head,
        d_value=config.n_heads * config.d_value,
        rope=config.rope,
        causal=config.causal,
    )
    repeated = {
        name: _repeat_heads(np.asarray(getattr(trace.weights, name)), config)
        for name in ("w_k", "w_v")
    }
    return walk_again(trace, weights=replace(trace.weights, **repeated), config=one)


def _repeat_heads(matrix: Array, config: AttentionConfig) -> Array:
    """Repeat each KV head's rows for every query head that reads it."""
    heads = matrix.reshape(config.n_kv_heads, -1, matrix.shape[-1])
    repeated: Array = np.repeat(heads, config.group, axis=0).reshape(-1, matrix.shape[-1])
    return repeated


def split_wrongly(full: Array, n_heads: int) -> Array:
    """Split as `view(h, S, d_head)` does: right shape, wrong numbers.

    Args:
        full: [token, feature].
        n_heads: h.

    Returns:
        [head, token, d_head]; each "head" is a stretch of tokens, all features of each.

    >>> split_wrongly(np.arange(8).reshape(2, 4), 2)
    array([[[0, 1],
            [2, 3]],
    <BLANKLINE>
           [[4, 5],
            [6, 7]]])
    """
    n_tokens, width = full.shape
    return full.reshape(n_heads, n_tokens, width // n_heads)


def pair_order(d_head: int, pairing: Pairing) -> NDArray[np.int64]:
    """The feature order in which `pairing` gives the scores that the other pairing gave.

    Reordering a head's rows of W_q and W_k in this way is how checkpoints are converted from one
    pairing to the other.

    Source: the conversion of Meta's Llama checkpoints to Hugging Face's.

    >>> pair_order(4, "half").tolist(), pair_order(4, "interleaved").tolist()
    ([0, 2, 1, 3], [0, 2, 1, 3])
    """
    order: NDArray[np.int64] = np.array(half_from_interleaved(d_head))
    return order if pairing == "half" else np.argsort(order)


def count_parameters(weights: AttentionWeights[Floats]) -> int:
    """How many learned numbers a layer has."""
    return sum(int(np.size(array)) for _, array in weights.items())


def count_products(trace: AttentionTrace) -> int:
    """How many products of two numbers the layer takes: projections, scores, values, W_o.

    The mask saves none here: every score is computed, then masked, as `attention` does.
    """
    config, n_tokens = trace.config, trace.n_tokens
    matrices = sum(int(np.size(getattr(trace.weights, f"w_{name}"))) for name in "qkvo")
    return n_tokens * matrices + config.n_heads * n_tokens**2 * (config.d_head + config.d_value)


def score_variance(trace: AttentionTrace) -> tuple[float, float]:
    """The variance of all scores that the mask lets through, before and after ÷ √d_head.

    Dividing by √d_head divides the variance by d_head, whatever it was.
    """
    kv_heads = np.arange(trace.config.n_heads) // trace.config.group
    scores = trace.q_rot @ trace.k_rot[kv_heads].swapaxes(-1, -2)
    seen = np.broadcast_to(trace.keep, scores.shape)
    before = float(scores[seen].astype(np.float64).var())
    return before, before * trace.config.scale**2
