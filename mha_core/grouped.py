"""Sharing keys and values: fewer KV heads out of many, and decoding with a cache."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.cache import KVCache
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.layer import attention
from mha_core.trace import AttentionTrace, as_sentence
from mha_core.weights import KEY_NORM, KV_PARAMETERS, AttentionWeights, Floats
from mha_core.whatif import walk_again


def kv_choices(n_heads: int) -> list[int]:
    """From h down to 1, the numbers of KV heads that h query heads can share equally.

    >>> kv_choices(12)
    [12, 6, 4, 3, 2, 1]
    """
    return [n for n in range(n_heads, 0, -1) if n_heads % n == 0]


def share_kv_heads(
    weights: AttentionWeights[Floats], config: AttentionConfig, n_kv_heads: int
) -> tuple[AttentionWeights[Floats], AttentionConfig]:
    """Merge neighbouring KV heads by the mean of their parameters.

    Args:
        weights: NumPy arrays.
        config: the layer's sizes.
        n_kv_heads: KV heads left; divides those there are.

    Returns:
        Weights and sizes with `n_kv_heads` KV heads; queries and outputs as they were.

    Raises:
        ShapeError: the KV heads cannot be merged in equal groups.

    Source: Ainslie et al. 2023, section 2.1, who go on training afterwards.

    >>> from mha_core import random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=2)
    >>> shared, sizes = share_kv_heads(random_weights(config, 0), config, 1)
    >>> shared.w_k.shape, sizes.group
    ((3, 6), 2)
    """
    if n_kv_heads < 1 or config.n_kv_heads % n_kv_heads:
        raise ShapeError("heads.groups", n_heads=config.n_kv_heads, n_kv_heads=n_kv_heads)
    merged = {
        name: _mean_of_neighbours(value, config.n_kv_heads, n_kv_heads)
        for name, value in weights.items()
        if name in KV_PARAMETERS or (name in KEY_NORM and config.qk_norm in ("whole", "each"))
    }
    return replace(weights, **merged), replace(config, n_kv_heads=n_kv_heads)


def _mean_of_neighbours(value: Floats, n_before: int, n_after: int) -> Floats:
    """Rows of `n_before` heads become those of `n_after`."""
    width = value.shape[0] // n_before
    heads = value.reshape(n_after, n_before // n_after, width, *value.shape[1:])
    mean: Floats = heads.mean(axis=1, dtype=np.float64).astype(value.dtype)
    return mean.reshape(n_after * width, *value.shape[1:])


def share_again(
    trace: AttentionTrace,
    n_kv_heads: int,
    *,
    keep: NDArray[np.bool_] | None = None,
    n_tokens: int | None = None,
) -> AttentionTrace:
    """Walk the same stream through the layer with its KV heads merged; see `share_kv_heads`.

    Args:
        trace: the walk to vary.
        n_kv_heads: KV heads left.
        keep: bool [query, key], another mask for all tokens of the walk.
        n_tokens: only the first so many.
    """
    weights, config = share_kv_heads(trace.weights, trace.config, n_kv_heads)
    return walk_again(trace, weights=weights, config=config, keep=keep, n_tokens=n_tokens)


def patterns_moved(before: Array, after: Array) -> Array:
    """How far each head's rows moved on average: total variation, 0 not at all, 1 wholly.

    Args:
        before, after: [head, query, key], rows that sum to 1.

    Returns:
        [head].

    >>> patterns_moved(np.array([[[1.0, 0.0]]]), np.array([[[0.25, 0.75]]])).tolist()
    [0.75]
    """
    moved: Array = np.abs(after - before).sum(axis=-1).mean(axis=-1) / 2
    return moved


def output_moved(before: AttentionTrace, after: AttentionTrace) -> float:
    """How far the layer's output moved, as a share of its size: ‖O′ − O‖ / ‖O‖.

    Where O is zero, the share is 0 if O′ is zero too, else infinite.
    """
    size = float(np.linalg.norm(before.out))
    moved = float(np.linalg.norm(after.out - before.out))
    return moved / size if size else (math.inf if moved else 0.0)


@dataclass(frozen=True, eq=False)
class Decoding:
    """A sentence read one token at a time, each step with what the steps before left behind.

    Args:
        k_rot: [kv_head, token, d_head], the cached keys after the last step.
        v: [kv_head, token, d_value], the cached values.
        pattern: [head, query, key], row t from step t; 0 for keys not there yet.
        apart: [token], after each step max |out − out without a cache|.
        elements: [token], numbers in the cache after each step.
        largest: max |out|, to hold `apart` against.
    """

    k_rot: Array
    v: Array
    pattern: Array
    apart: Array
    elements: NDArray[np.int64]
    largest: float

    __repr__ = brief


def decode(trace: AttentionTrace) -> Decoding:
    """Read the sentence of a walk again, token by token with a cache, and compare.

    Args:
        trace: a walk under a mask that looks back only.

    Raises:
        ConfigError: a token may look at a later one, which is not there yet.

    >>> from mha_core import random_embedding, random_weights, walk_layer
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> walked = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
    >>> decoding = decode(walked)
    >>> decoding.elements.tolist(), bool(decoding.apart.max() < 1e-5)
    ([12, 24, 36, 48, 60], True)
    """
    keep = trace.keep
    if np.triu(keep, 1).any():
        query, later = map(int, np.argwhere(np.triu(keep, 1))[0][-2:])
        raise ConfigError("decode.ahead", query=query, later=later)
    trace.check_whole()
    x = torch.tensor(trace.x, dtype=getattr(torch, trace.dtype))
    weights = trace.weights.to_torch(dtype=x.dtype)
    may_look = torch.tensor(keep)
    bias = None if trace.bias is None else torch.tensor(trace.bias)
    positions = torch.arange(len(x)) if trace.positions is None else torch.tensor(trace.positions)
    pattern = np.zeros_like(trace.pattern)
    apart, elements = np.zeros(len(x)), np.zeros(len(x), dtype=np.int64)
    cache: KVCache | None = None
    with torch.inference_mode():
        for token in range(len(x)):
            here, so_far = slice(token, token + 1), slice(token + 1)
            steps = attention(
                x[here], weights, trace.config, cache=cache, keep=may_look[..., here, so_far],
                bias=None if bias is None else bias[..., here, so_far], positions=positions[here],
            )  # fmt: skip
            cache = steps.cache
            pattern[:, token, so_far] = as_sentence(steps.pattern, 3)[:, 0]
            apart[token] = np.abs(as_sentence(steps.out, 2)[0] - trace.out[token]).max()
            elements[token] = cache.k_rot.numel() + cache.v.numel()
    assert cache is not None
    largest = float(np.abs(trace.out).max())
    return Decoding(
        as_sentence(cache.k_rot, 3), as_sentence(cache.v, 3), pattern, apart, elements, largest
    )
