"""One sentence through one layer, with its record, and the record held against the article."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from mha_core import reference
from mha_core.after import After
from mha_core.cache import KVCache
from mha_core.checks import check_heads, check_masks
from mha_core.config import AttentionConfig
from mha_core.device import choose_device
from mha_core.errors import ConfigError
from mha_core.fused import attend_fused
from mha_core.layer import attend, attention, fused_attention, join_heads
from mha_core.norms import Norm, NormName
from mha_core.options import mask_for, softmax_type
from mha_core.steps import AttentionSteps, Projected
from mha_core.trace import Array, AttentionTrace, as_sentence
from mha_core.values import check_choice
from mha_core.weights import AttentionWeights


def walk_layer(
    stream: Array,
    weights: AttentionWeights[Any],
    config: AttentionConfig,
    *,
    norm: str | Norm | None = "rms",
    norm_weight: Array | None = None,
    norm_bias: Array | None = None,
    norm_eps: float | None = None,
    after: After | None = None,
    keep: Array | None = None,
    bias: Array | None = None,
    positions: Array | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> AttentionTrace:
    """Take one sentence through norm, attention and residual, and record every step.

    Args:
        stream: [token, feature], the residual stream that enters the layer.
        weights: NumPy arrays or tensors.
        config: the layer's sizes and settings.
        norm: "rms" or "layer", what makes x out of stream, or a `Norm`; None leaves it as it is.
        norm_weight: [feature], the gain of a norm given by its name.
        norm_bias: [feature], likewise, for "layer".
        norm_eps: likewise; 1e-6 for "rms" and 1e-5 for "layer" unless given.
        after: what is done with the output; it is added to the stream unless given.
        keep: bool [query, key] or [head, query, key], besides what config forbids.
        bias: [query, key] or [head, query, key], added to the scores.
        positions: [token], for RoPE; 0, 1, 2, … unless given.
        device: see `choose_device`.
        dtype: the float type to compute in.

    Returns:
        The record; `residual` is what is read next: stream + out, the stream as it was before the
        norm, and whatever `after` does to them.

    Raises:
        ShapeError: stream, weights and sizes do not fit together, or the stream has no token.
        ConfigError: an unknown norm, or one that lacks a place for what is given.
        DataError: a mask that is not boolean, or a bias that is.
        DeviceError: see `choose_device`.

    Source: the article's chain; the norm before attention as in Xiong et al. 2020, figure 1(b).

    >>> from mha_core import random_embedding, random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> trace = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> trace["concat"].article_shape
    (6, 5)
    """
    here = choose_device(device, dtype)
    tensors = weights.to_torch(here, dtype)
    made = _norm_of(norm, norm_weight=norm_weight, norm_bias=norm_bias, norm_eps=norm_eps)
    with torch.inference_mode():
        before = torch.tensor(stream, device=here, dtype=dtype)
        steps = attention(
            before if made is None else made.apply(before),
            tensors,
            config,
            keep=None if keep is None else torch.tensor(keep, device=here),
            bias=None if bias is None else torch.tensor(bias, device=here),
            positions=None if positions is None else torch.tensor(positions),
        )
        residual = before + steps.out if after is None else after.apply(before, steps.out)
    # The record holds the very numbers that were multiplied.
    used = weights if torch.as_tensor(weights.w_q).dtype == dtype else tensors
    return AttentionTrace.from_steps(
        steps,
        stream=as_sentence(before, 2),
        residual=as_sentence(residual, 2),
        weights=used.to_numpy(),
        config=config,
        norm=made,
        after=after,
        positions=positions,
    )


def walk_from_heads(
    stream: Array,
    q_rot: Array,
    k_rot: Array,
    v: Array,
    weights: AttentionWeights[Any],
    config: AttentionConfig,
    *,
    norm: Norm | None = None,
    after: After | None = None,
    keep: Array | None = None,
    bias: Array | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> AttentionTrace:
    """Take one sentence through attention from queries, keys and values that are ready.

    For a layer that makes them in a way that the article does not have, such as from a compressed
    vector (DeepSeek's MLA). Everything after them is computed as in `walk_layer`.

    Args:
        stream: [token, feature], the residual stream that enters the layer.
        q_rot: [head, token, d_head], turned by position already.
        k_rot: [kv_head, token, d_head], likewise.
        v: [kv_head, token, d_value].
        weights: `w_o`, `b_o` and `sinks` are read; `w_q`, `w_k` and `w_v` are None.
        config: the layer's sizes and settings; `rope` is None, as turning is done.
        norm: what makes x out of the stream; None leaves it as it is.
        after: as in `walk_layer`; so are the others.

    Returns:
        The record without `q_full`, `k_full`, `v_full`, `q` and `k`, its `absent` steps.

    Raises:
        ShapeError: what is given does not fit together.

    >>> from mha_core import random_embedding, random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> whole = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> heads = (whole.q_rot, whole.k_rot, whole.v)
    >>> trace = walk_from_heads(whole.stream, *heads, whole.weights, config, norm=whole.norm)
    >>> trace.absent, bool((trace.out == whole.out).all())
    (('q_full', 'k_full', 'v_full', 'q', 'k'), True)
    """
    here = choose_device(device, dtype)
    kept: AttentionWeights[Any] = AttentionWeights(
        None, None, None, weights.w_o, b_o=weights.b_o, sinks=weights.sinks
    )
    tensors: AttentionWeights[Any] = kept.to_torch(here, dtype)
    with torch.inference_mode():
        before, *heads = (
            torch.tensor(each, device=here, dtype=dtype) for each in (stream, q_rot, k_rot, v)
        )
        q, k, values = heads
        check_heads(q, k, values, tensors.sinks)
        x = before if norm is None else norm.apply(before)
        allowed = None if keep is None else torch.tensor(keep, device=here)
        added = None if bias is None else torch.tensor(bias, device=here)
        check_masks(allowed, added, q, k.shape[-2])
        steps = attend(
            q,
            k,
            values,
            keep=mask_for(config, q.shape[-2], k.shape[-2], 0, allowed, q),
            bias=added,
            scale=config.scale,
            softcap=config.softcap,
            sinks=tensors.sinks,
            softmax_dtype=softmax_type(config),
        )
        concat = join_heads(steps.heads)
        out = linear(concat, tensors.w_o, tensors.b_o)
        residual = before + out if after is None else after.apply(before, out)
    unknown: Any = None
    made = Projected(unknown, unknown, unknown, unknown, unknown, values, q, k)
    return AttentionTrace.from_steps(
        AttentionSteps(x, *made, steps, concat, out, KVCache(k, values)),
        stream=as_sentence(before, 2),
        residual=as_sentence(residual, 2),
        weights=kept.to_numpy(),
        config=config,
        norm=norm,
        after=after,
    )


def _norm_of(norm: str | Norm | None, **parts: Any) -> Norm | None:
    """Make the record of a norm given by its name, and refuse parts that have no place."""
    if isinstance(norm, str):
        names = {name.removeprefix("norm_"): part for name, part in parts.items()}
        return Norm(cast(NormName, norm), **names)
    if norm is not None and not isinstance(norm, Norm):
        check_choice("norm", norm, (None, *get_args(NormName)))
    for name, part in parts.items():
        if part is not None:
            raise ConfigError("norm.part", name=name, norm=norm)
    return norm


def compare(trace: AttentionTrace) -> dict[str, float]:
    """Recompute a record the article's way and say how far apart the two are.

    The reference starts from the record's own stream and goes one head at a time, keeping only
    the maxima, so that a long sentence stays small in memory.

    Returns:
        step name → max |record − reference|. In `masked`, -∞ must meet -∞, else it is ∞.

    >>> from mha_core import random_embedding, random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> trace = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> max(compare(trace).values()) < 1e-5
    True
    """
    columns = _recompute_projections(trace)
    apart = {name: _apart(trace[name].article_value, value) for name, value in columns.items()}
    there = {name: each for name, each in _PER_HEAD.items() if name not in trace.absent}
    values = {name: trace[name].article_value for name in there}
    heads = []
    for head, steps in enumerate(_recompute_heads(trace, columns)):
        for name, (symbol, per_kv_head) in there.items():
            index = head // trace.config.group if per_kv_head else head
            distance = _apart(values[name][index], getattr(steps, symbol))
            apart[name] = max(apart.get(name, 0.0), distance)
        heads.append(steps.head)
    concat = np.vstack(heads)
    out = reference.project(trace.weights.w_o, concat, trace.weights.b_o)
    residual = reference.add_stream(columns["stream"], out, trace.after)
    for name, value in (("concat", concat), ("out", out), ("residual", residual)):
        apart[name] = _apart(trace[name].article_value, value)
    return {name: apart[name] for name in trace.names() if name not in trace.absent}


def _recompute_heads(
    trace: AttentionTrace, columns: dict[str, Array]
) -> Iterator[reference.HeadSteps]:
    """Take the projections, or ready queries, keys and values, through each head."""
    config = trace.config
    if trace.absent:
        config = replace(config, rope=None, qk_norm=None)
        ready = {"q_full": trace.q_rot, "k_full": trace.k_rot, "v_full": trace.v}
        columns = {name: np.concatenate([each.T for each in v]) for name, v in ready.items()}
    return reference.walk_heads(
        columns["q_full"],
        columns["k_full"],
        columns["v_full"],
        trace.weights,
        config,
        keep=trace.keep,
        positions=trace.positions,
        bias=trace.bias,
    )


def _recompute_projections(trace: AttentionTrace) -> dict[str, Array]:
    """Take the record's stream through the norm and the three projections, in columns."""
    norm, weights = trace.norm, trace.weights
    stream = trace.stream.T.astype(np.float64)
    x = stream
    if norm is not None:
        x = reference.norm_columns(stream, norm.kind, norm.weight, norm.bias, norm.eps)
    if trace.absent:
        return {"stream": stream, "x": x}
    return {
        "stream": stream,
        "x": x,
        "q_full": reference.project(weights.w_q, x, weights.b_q),
        "k_full": reference.project(weights.w_k, x, weights.b_k),
        "v_full": reference.project(weights.w_v, x, weights.b_v),
    }


# step → its name in the reference, and whether it has KV heads
_PER_HEAD = {
    "q": ("Q", False),
    "k": ("K", True),
    "v": ("V", True),
    "q_rot": ("Q_rot", False),
    "k_rot": ("K_rot", True),
    "raw": ("raw", False),
    "scores": ("scores", False),
    "masked": ("masked", False),
    "pattern": ("pattern", False),
    "heads": ("head", False),
}


def limits(trace: AttentionTrace) -> dict[str, float]:
    """Say how far apart the record and the reference may be.

    Returns:
        step name → 1e-5 for the pattern, 1e-5 times the largest finite number for the others; in
        a type of two bytes, 40 of its roundings in place of 1e-5.
    """
    unit = max(1e-5, 40 * torch.finfo(getattr(torch, trace.dtype)).eps)
    allowed = {
        step.name: unit if step.name == "pattern" else unit * _largest(step.value) for step in trace
    }
    if trace.after is not None:
        allowed["residual"] += _apart_after(trace, trace.after, allowed["out"], unit)
    return allowed


def _apart_after(trace: AttentionTrace, after: After, apart: float, unit: float) -> float:
    """How far `residual` may be for what `out` is: a norm of small numbers makes them larger."""
    apart *= abs(after.factor) * _steepest(after.norm_out, after.factor * trace.out)
    total = reference.add_stream(trace.stream.T, trace.out.T, replace(after, norm_sum=None))
    return (apart + unit * _largest(total)) * _steepest(after.norm_sum, total.T)


def _steepest(norm: Norm | None, value: Array) -> float:
    """How many times larger a norm makes a difference at most, for these tokens."""
    if norm is None:
        return 1.0
    value = value.astype(np.float64)
    squares = value.var(axis=-1) if norm.kind == "layer" else (value**2).mean(axis=-1)
    gain = 1.0 if norm.weight is None else float(np.abs(norm.weight).max())
    return 2 * gain / max(1e-30, float(np.sqrt(squares + norm.eps).min()))


def compare_fused(trace: AttentionTrace) -> float:
    """Say how far PyTorch's fused attention is from the record's output.

    PyTorch's fused function has no softcap. For a layer with one, the capped scores are made here,
    in other words than `attention` has for them, and handed to PyTorch as a bias: the softmax and
    the values are then still PyTorch's.

    Returns:
        max |out − fused|, computed on the CPU in the float type that the record was computed in.

    >>> from mha_core import AttentionConfig, random_embedding, random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> trace = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> compare_fused(trace) < 1e-5
    True
    """
    dtype = getattr(torch, trace.dtype)
    with torch.inference_mode():
        if trace.absent:
            return _apart(trace.out, as_sentence(_fuse_heads(trace, dtype), 2))
        out = fused_attention(
            torch.tensor(trace.x, dtype=dtype),
            trace.weights.to_torch(dtype=dtype),
            trace.config,
            keep=torch.tensor(trace.keep),
            bias=None if trace.bias is None else torch.tensor(trace.bias),
            positions=None if trace.positions is None else torch.tensor(trace.positions),
        )
    return _apart(trace.out, as_sentence(out, 2))


def _fuse_heads(trace: AttentionTrace, dtype: torch.dtype) -> Tensor:
    """PyTorch's fused form of a record that begins at the heads."""
    weights = trace.weights.to_torch(dtype=dtype)
    q, k, v = (torch.tensor(each, dtype=dtype) for each in (trace.q_rot, trace.k_rot, trace.v))
    heads = attend_fused(
        q,
        k,
        v,
        weights.sinks,
        trace.config,
        0,
        keep=torch.tensor(trace.keep),
        bias=None if trace.bias is None else torch.tensor(trace.bias),
    )
    return linear(join_heads(heads), weights.w_o, weights.b_o)


def _apart(value: Array, expected: Array) -> float:
    """Give the largest distance; infinities must meet the same infinity."""
    if np.isfinite(value).all() and np.isfinite(expected).all():
        return float(np.abs(value - expected).max(initial=0.0))
    finite = np.isfinite(value)
    if not np.array_equal(value[~finite], expected[~np.isfinite(expected)]):
        return float("inf")
    return _apart(value[finite], expected[finite])


def _largest(value: Array) -> float:
    """Give the largest finite size."""
    return float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
