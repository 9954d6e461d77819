"""The same sentence, one thing changed: what a reader tries to see why the layer is as it is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.layer import scaled_dot_product
from mha_core.masks import keep_mask
from mha_core.options import softmax_type
from mha_core.rope import Pairing, Rope, half_from_interleaved, rotate
from mha_core.scores import score
from mha_core.trace import AttentionTrace, as_sentence
from mha_core.walk import walk_layer
from mha_core.weights import KEY_NORM, KV_PARAMETERS, NORMS, AttentionWeights, Floats


def walk_again(
    trace: AttentionTrace,
    *,
    weights: AttentionWeights[Floats] | None = None,
    config: AttentionConfig | None = None,
    keep: NDArray[np.bool_] | None = None,
    bias: Array | None = None,
    positions: NDArray[np.int64] | None = None,
    stream: Array | None = None,
    n_tokens: int | None = None,
    **settings: Any,
) -> AttentionTrace:
    """Walk the same stream through the same parameters with some things changed.

    What is not named stays as it was: norm, mask, bias, positions, device and float type too.

    Args:
        trace: the walk to vary.
        weights: other parameters.
        config: other sizes.
        keep: bool [query, key] or [head, query, key], another mask; it then says alone who may
            look, unless `causal` or `window` are named too.
        bias: [query, key] or [head, query, key], other numbers added to the scores.
        positions: [token], other positions.
        stream: [token, feature], another stream, such as one with a token more.
        n_tokens: only the first so many tokens of the walk.
        settings: fields of `AttentionConfig` to change. `causal` and `window` change what the
            layer itself allows; what else the walk's mask forbids stays forbidden.

    Raises:
        ShapeError: the walk's mask, bias or positions are for another number of tokens, or heads.
        ConfigError: another stream, where an MLP beside attention has read this one.
        DataError: the walk begins at the heads.

    >>> from mha_core import random_embedding, random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> trace = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> bool((walk_again(trace).out == trace.out).all())
    True
    >>> int(trace.keep.sum()), int(walk_again(trace, causal=False).keep.sum())
    (15, 25)
    """
    if keep is None:
        keep = _kept_besides(trace)
    else:
        settings = {"causal": False, "window": (None, None)} | settings
    first = slice(n_tokens)
    trace.check_whole()
    if stream is not None and trace.after is not None and trace.after.beside is not None:
        raise ConfigError("whatif.beside")
    there = (trace.stream if stream is None else stream)[first]
    changed = replace(config or trace.config, **settings)
    sizes = (changed.n_heads, len(there))
    positions = trace.positions if positions is None else positions
    return walk_layer(
        there,
        weights or trace.weights,
        changed,
        norm=trace.norm,
        after=None if trace.after is None else trace.after.first(n_tokens),
        keep=_for_sizes("keep", keep, first, *sizes),
        bias=_for_sizes("bias", trace.bias if bias is None else bias, first, *sizes),
        positions=None if positions is None else positions[first],
        device=trace.device,
        dtype=getattr(torch, trace.dtype),
    )


def _kept_besides(trace: AttentionTrace) -> NDArray[np.bool_] | None:
    """What the walk's mask forbids besides the layer's own settings; None when that is nothing.

    Where the layer itself forbids, nobody knows whether the mask would have: it is left open.
    """
    left, right = trace.config.window
    own = keep_mask(
        trace.n_tokens, trace.n_tokens, causal=trace.config.causal, left=left, right=right
    ).numpy()
    besides: NDArray[np.bool_] = trace.keep | ~own
    return None if besides.all() else besides


def _for_sizes(
    name: str, mask: Any, first: slice, n_heads: int, n_tokens: int
) -> NDArray[Any] | None:
    """Cut a mask or bias to the first tokens, and refuse one that other sizes cannot take over."""
    if mask is None:
        return None
    cut: NDArray[Any] = mask[..., first, first]
    expected = (n_heads, n_tokens, n_tokens)[3 - cut.ndim :]
    if cut.shape != expected:
        raise ShapeError("whatif.mask", name=name, shape=cut.shape, expected=expected)
    return cut


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
        trace: whose queries and keys.
        head: which query head.
        keep: bool [query, key], another mask.
        scale: what Qᵀ K is multiplied by.
        rope: how queries and keys are turned; None for not at all.

    Raises:
        ConfigError: there is no such head.
    """
    trace.check_head(head)
    config, dtype = trace.config, getattr(torch, trace.dtype)
    kv_head = head // config.group
    as_it_is = rope == "as it is"
    q, k, v = (
        torch.tensor(array[place][None], dtype=dtype)
        for array, place in (
            (trace.q_rot if as_it_is else trace.q, head),
            (trace.k_rot if as_it_is else trace.k, kv_head),
            (trace.v, kv_head),
        )
    )
    if isinstance(rope, Rope):
        here = np.arange(trace.n_tokens) if trace.positions is None else trace.positions
        q, k = (rotate(x, rope, torch.tensor(here)) for x in (q, k))
    bias, sinks = _of_head(trace.bias, head), trace.weights.sinks
    steps = scaled_dot_product(
        q,
        k,
        v,
        keep=torch.tensor(_of_head(trace.keep, head) if keep is None else keep),
        bias=None if bias is None else torch.tensor(bias),
        scale=config.scale if scale is None else scale,
        softcap=config.softcap,
        sinks=None if sinks is None else torch.tensor(sinks[head : head + 1], dtype=dtype),
        softmax_dtype=softmax_type(config),
    )
    return as_sentence(steps.pattern[0], 2)


def _of_head(mask: Any, head: int) -> Any:
    """One head's [query, key] of a mask or bias that may be the same for all."""
    return mask if mask is None or mask.ndim == 2 else mask[head]


def turn(x: Array, rope: Rope, positions: NDArray[np.int64]) -> Array:
    """Queries or keys [head, token, d_head] turned by their positions."""
    turned: Array = rotate(torch.tensor(x), rope, torch.tensor(positions)).numpy()
    return turned


def turn_again(
    trace: AttentionTrace,
    head: int,
    rope: Rope | None,
    positions: NDArray[np.int64],
    order: NDArray[np.int64] | None = None,
) -> Array:
    """One head's scores [query, key] when queries and keys are turned in another way.

    Args:
        trace: whose queries and keys.
        head: which query head.
        rope: how they are turned; None turns nothing.
        positions: [token].
        order: [d_head], reorders the features of both before they are turned.

    Returns:
        Scaled and capped as the layer does, before bias and mask.

    Raises:
        ConfigError: there is no such head.
    """
    trace.check_head(head)
    config, dtype = trace.config, getattr(torch, trace.dtype)
    q, k = (
        torch.tensor(array if order is None else array[:, order], dtype=dtype)
        for array in (trace.q[head], trace.k[head // config.group])
    )
    if rope is not None:
        q, k = (rotate(x, rope, torch.tensor(positions)) for x in (q, k))
    return as_sentence(score(q, k, config.scale, config.softcap), 2)


def as_one_head(trace: AttentionTrace) -> AttentionTrace:
    """Walk with the same W_q, W_k, W_v, W_o taken as one head of all features.

    KV heads that are shared are repeated first, so that the one head has as many key features as
    query features. The scale becomes that of the wider head, unless the layer has set its own.

    Raises:
        ConfigError: the layer has a sink for each of its heads: one head has one.
        ShapeError: each head has a mask or bias of its own, or the layer's RoPE names a
            frequency for each pair of a head.
    """
    config, weights = trace.config, trace.weights
    if weights.sinks is not None and config.n_heads > 1:
        raise ConfigError("whatif.sinks", n_heads=config.n_heads)
    own_scale: Any = None if config.scale == 1 / math.sqrt(config.d_head) else config.scale
    one = replace(
        config,
        n_heads=1,
        n_kv_heads=1,
        d_head=config.n_heads * config.d_head,
        d_value=config.n_heads * config.d_value,
        scale=own_scale,
    )
    repeated = {
        name: _repeat_heads(value, config)
        for name, value in weights.items()
        if name in KV_PARAMETERS or (name in KEY_NORM and config.qk_norm in ("whole", "each"))
    }
    for name, value in weights.items():
        if config.qk_norm == "head" and name in NORMS:  # the wide head has the one gain h times
            repeated[name] = np.tile(np.asarray(value), config.n_heads)
        elif config.qk_norm == "each" and name in NORMS:
            repeated[name] = np.asarray(repeated.get(name, value)).reshape(1, -1)
    return walk_again(trace, weights=replace(weights, **repeated), config=one)


def _repeat_heads(parameter: Floats, config: AttentionConfig) -> Floats:
    """Repeat each KV head's rows for every query head that reads it."""
    heads = parameter.reshape(config.n_kv_heads, -1, *parameter.shape[1:])
    return np.repeat(heads, config.group, axis=0).reshape(-1, *parameter.shape[1:])


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


def pair_order(d_head: int, pairing: Pairing, dim: int | None = None) -> NDArray[np.int64]:
    """The feature order in which `pairing` gives the scores that the other pairing gave.

    Reordering a head's rows of W_q and W_k in this way is how checkpoints are converted from one
    pairing to the other.

    Args:
        d_head: features of one head.
        pairing: the pairing to change to.
        dim: how many features are turned, counted from the first; all unless given.

    Source: the conversion of Meta's Llama checkpoints to Hugging Face's.

    >>> pair_order(4, "half").tolist(), pair_order(6, "interleaved", dim=4).tolist()
    ([0, 2, 1, 3], [0, 2, 1, 3, 4, 5])
    """
    width = d_head if dim is None else dim
    order: NDArray[np.int64] = np.array(half_from_interleaved(width))
    turned = order if pairing == "half" else np.argsort(order)
    return np.concatenate((turned, np.arange(width, d_head)))


def count_parameters(weights: AttentionWeights[Floats]) -> int:
    """How many learned numbers a layer has."""
    return sum(int(np.size(array)) for _, array in weights.items())


def count_products(trace: AttentionTrace) -> int:
    """How many products of two numbers the layer takes: projections, scores, values, W_o.

    The mask saves none here: every score is computed, then masked, as `attention` does.
    """
    trace.check_whole()
    config, n_tokens = trace.config, trace.n_tokens
    matrices = sum(int(np.size(getattr(trace.weights, f"w_{name}"))) for name in "qkvo")
    return n_tokens * matrices + config.n_heads * n_tokens**2 * (config.d_head + config.d_value)


def score_variance(trace: AttentionTrace) -> tuple[float, float]:
    """The variance of all scores that the mask lets through, before and after ÷ √d_head.

    Dividing by √d_head divides the variance by d_head, whatever it was. A softcap, which comes
    after, is not looked at; NaN where the mask lets nothing through.
    """
    raw = trace.raw
    seen = np.broadcast_to(trace.keep, raw.shape)
    before = float(raw[seen].astype(np.float64).var()) if seen.any() else math.nan
    return before, before * trace.config.scale**2
