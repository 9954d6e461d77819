"""Multi-head attention, every step kept: torch, rows of tokens, all heads at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import linear

from mha_core.brief import brief
from mha_core.cache import KVCache
from mha_core.checks import check_inputs, check_scores
from mha_core.config import AttentionConfig
from mha_core.fused import attend_fused
from mha_core.options import (
    block_in_place,
    cap,
    mask_for,
    norm_heads,
    norm_whole,
    share,
    softmax_or_zero,
    softmax_type,
    turn,
)
from mha_core.steps import AttentionSteps, Projected
from mha_core.weights import AttentionWeights

__all__ = [
    "AttentionSteps",
    "ScoreSteps",
    "attention",
    "fused_attention",
    "join_heads",
    "project",
    "scaled_dot_product",
    "score",
    "split_heads",
]


@dataclass(frozen=True, eq=False)
class ScoreSteps:
    """From queries, keys and values to the heads' outputs. [..., head, query, key] unless said.

    `raw`, `scores` and `masked` are worked out when first read: each is as large as the pattern,
    and making room for it costs more than computing it again.

    Args:
        pattern: after softmax; rows sum to 1, to less with sinks, to 0 with nothing to look at.
        heads: [..., head, query, d_value].
        q_rot: [..., head, query, d_head], what the scores come from.
        k_shared: [..., head, key, d_head], the key head each query head reads.
        scale: what Qᵀ K is multiplied by.
        softcap: see `AttentionConfig`.
        keep: the mask, True where a query may look, or None.
        bias: what was added to the scores, or None.
    """

    pattern: Tensor
    heads: Tensor
    q_rot: Tensor
    k_shared: Tensor
    scale: float
    softcap: float | None
    keep: Tensor | None
    bias: Tensor | None

    __repr__ = brief

    @cached_property
    def raw(self) -> Tensor:
        """Qᵀ K, before the scale."""
        return self.make_raw()

    @cached_property
    def scores(self) -> Tensor:
        """Qᵀ K times the scale, capped."""
        return self.make_scores()

    @cached_property
    def masked(self) -> Tensor:
        """Scores with the bias added, -∞ where a query may not look."""
        return self.make_masked()

    def make_raw(self) -> Tensor:
        """Work `raw` out without keeping it."""
        return self.q_rot @ self.k_shared.mT

    def make_scores(self) -> Tensor:
        """Work `scores` out without keeping them."""
        return score(self.q_rot, self.k_shared, self.scale, self.softcap)

    def make_masked(self) -> Tensor:
        """Work `masked` out without keeping it."""
        return block_in_place(self.make_scores(), self.keep, self.bias)


def scaled_dot_product(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    softmax_dtype: torch.dtype | None = None,
) -> ScoreSteps:
    """Let every query look at the keys and collect the values it looked at.

    Args:
        q: [..., head, query, d_head].
        k: [..., kv_head, key, d_head].
        v: [..., kv_head, key, d_value].
        keep: bool, True where a query may look; spread to [..., head, query, key].
        bias: added to the scores; spread likewise.
        scale: 1 / √d_head unless given.
        softcap: see `AttentionConfig`.
        sinks: [head], see `AttentionWeights`.
        softmax_dtype: the float type of the softmax; q's own unless given.

    Returns:
        Every step, in q's float type.

    Raises:
        ShapeError: the shapes do not fit together.
        DataError: `keep` is not boolean.

    Source: Vaswani et al. 2017, equation 1, for rows of tokens.

    >>> one = torch.ones(1, 2, 4)
    >>> scaled_dot_product(one, one, one, keep=torch.tensor([[True, False], [True, True]])).pattern
    tensor([[[1.0000, 0.0000],
             [0.5000, 0.5000]]])
    """
    check_scores(q, k, v, keep, bias)
    n_heads, d_head = q.shape[-3], q.shape[-1]
    scale = d_head**-0.5 if scale is None else scale
    k, v = share(k, n_heads), share(v, n_heads)

    scores = score(q, k, scale, softcap)
    masked = block_in_place(scores, keep, bias)
    pattern = softmax_or_zero(masked, keep, bias, sinks, softmax_dtype)
    heads = pattern @ v

    return ScoreSteps(pattern, heads, q, k, scale, softcap, keep, bias)


def score(q: Tensor, k: Tensor, scale: float, softcap: float | None = None) -> Tensor:
    """Hold every query against every key: Qᵀ K / √d_head, capped if the layer caps.

    The scale goes on q, the smallest of the three.

    Args:
        q: [..., head, query, d_head].
        k: [..., head, key, d_head].
        scale: 1 / √d_head, usually.
        softcap: see `AttentionConfig`.

    Returns:
        [..., head, query, key].

    >>> score(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), scale=0.5)
    tensor([[1.5000, 2.0000]])
    """
    return cap((q * scale) @ k.mT, softcap)


def attention(
    x: Tensor,
    weights: AttentionWeights[Tensor],
    config: AttentionConfig,
    *,
    x_kv: Tensor | None = None,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
    positions: Tensor | None = None,
    cache: KVCache | None = None,
) -> AttentionSteps:
    """Take tokens through one multi-head attention layer and keep every step.

    Args:
        x: [..., token, feature], batch axes optional, on any device, in the weights' float type.
        weights: tensors, see `AttentionWeights`.
        config: the layer's sizes and settings.
        x_kv: [..., token, feature], what keys and values are made of; x unless given.
            Its keys stand at positions 0, 1, 2, ….
        keep: bool, True where a query may look, besides what `config` forbids;
            spread to [..., head, query, key].
        bias: added to the scores; spread likewise.
        positions: [token] or [batch, token], for RoPE; they go on from the cache unless given.
        cache: what earlier calls returned as `steps.cache`; the new tokens come after it.

    Returns:
        Every step of the layer. With a cache, keys and scores cover the cached tokens too.

    Raises:
        ShapeError: tokens, weights, mask and sizes do not fit together.
        DataError: the weights are NumPy arrays, the float types differ, or `keep` is not boolean.
        ConfigError: the weights and the config disagree about norms.

    Source: Vaswani et al. 2017, section 3.2.2; RoPE after the split, as Su et al. 2021.

    >>> from mha_core import random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> steps = attention(torch.ones(5, 6), random_weights(config, 0).to_torch(), config)
    >>> steps.pattern.shape, steps.out.shape
    (torch.Size([3, 5, 5]), torch.Size([5, 6]))
    """
    source = x if x_kv is None else x_kv
    start = 0 if cache is None else cache.n_tokens
    check_inputs(x, source, weights, config)

    made = project(x, source, weights, config, positions, start)
    cache = made.cache if cache is None else cache.extend(made.k_rot, made.v)
    check_scores(made.q_rot, cache.k_rot, cache.v, keep, bias)
    keep = mask_for(config, x.shape[-2], cache.n_tokens, start, keep, x)

    steps = scaled_dot_product(
        made.q_rot,
        cache.k_rot,
        cache.v,
        keep=keep,
        bias=bias,
        scale=config.scale,
        softcap=config.softcap,
        sinks=weights.sinks,
        softmax_dtype=softmax_type(config),
    )

    concat = join_heads(steps.heads)
    out = linear(concat, weights.w_o, weights.b_o)  # O = W_o Concat

    return AttentionSteps(x, *made, steps, concat, out, cache)


def project(
    x: Tensor,
    source: Tensor,
    weights: AttentionWeights[Tensor],
    config: AttentionConfig,
    positions: Tensor | None = None,
    start: int = 0,
) -> Projected:
    """Make queries, keys and values, split them into heads, and turn them by position.

    Args:
        x: [..., token, feature], what queries are made of.
        source: [..., token, feature], what keys and values are made of.
        weights: tensors, see `AttentionWeights`.
        config: the layer's sizes and settings.
        positions: see `attention`.
        start: the position of the first token, when `positions` is not given.

    Returns:
        The steps up to `k_rot`.

    Raises:
        ShapeError: the positions do not fit the tokens.
    """
    q_full = linear(x, weights.w_q, weights.b_q)  # Q = W_q X
    k_full = linear(source, weights.w_k, weights.b_k)  # K = W_k X
    v_full = linear(source, weights.w_v, weights.b_v)  # V = W_v X

    q_normed, k_normed = norm_whole(q_full, k_full, weights, config)
    q = split_heads(q_normed, config.n_heads)
    k = split_heads(k_normed, config.n_kv_heads)
    v = split_heads(v_full, config.n_kv_heads)
    q, k = norm_heads(q, k, weights, config)

    q_rot = turn(q, config, positions, start)
    k_rot = turn(k, config, positions if source is x else None, start)
    return Projected(q_full, k_full, v_full, q, k, v, q_rot, k_rot)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the features into equal bands, one per head: a view, no number is copied.

    Args:
        x: [..., token, n_heads · d_head].
        n_heads: bands.

    Returns:
        [..., head, token, d_head].

    >>> split_heads(torch.arange(6.0).view(1, 6), n_heads=2)
    tensor([[[0., 1., 2.]],
    <BLANKLINE>
            [[3., 4., 5.]]])
    """
    return x.view(*x.shape[:-1], n_heads, -1).transpose(-3, -2)


def join_heads(heads: Tensor) -> Tensor:
    """Put the heads' features one after another again.

    Args:
        heads: [..., head, token, d_value].

    Returns:
        [..., token, n_heads · d_value].

    >>> join_heads(split_heads(torch.arange(6.0).view(1, 6), n_heads=2))
    tensor([[0., 1., 2., 3., 4., 5.]])
    """
    return heads.transpose(-3, -2).flatten(-2)


def fused_attention(
    x: Tensor,
    weights: AttentionWeights[Tensor],
    config: AttentionConfig,
    *,
    x_kv: Tensor | None = None,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
    positions: Tensor | None = None,
    cache: KVCache | None = None,
) -> Tensor:
    """Give the same output as `attention`, fast and without the steps.

    Softcap is the one setting that PyTorch's fused function lacks; such a layer is computed as
    `attention` computes it.

    Args:
        x: [..., token, feature]; this and all the others as in `attention`.

    Returns:
        [..., token, feature], equal to `attention(...).out` up to rounding.

    Raises:
        ShapeError: as `attention`.
        DataError: as `attention`.
        ConfigError: as `attention`.

    Source: torch.nn.functional.scaled_dot_product_attention.

    >>> from mha_core import random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> weights, x = random_weights(config, 0).to_torch(), torch.linspace(-1, 1, 30).view(5, 6)
    >>> fused, traced = fused_attention(x, weights, config), attention(x, weights, config).out
    >>> torch.allclose(fused, traced, atol=1e-6)
    True
    """
    source = x if x_kv is None else x_kv
    start = 0 if cache is None else cache.n_tokens
    check_inputs(x, source, weights, config)
    made = project(x, source, weights, config, positions, start)
    cache = made.cache if cache is None else cache.extend(made.k_rot, made.v)
    q, k, v = made.q_rot, cache.k_rot, cache.v
    check_scores(q, k, v, keep, bias)

    if config.softcap is None:
        heads = attend_fused(q, k, v, weights.sinks, config, start, keep=keep, bias=bias)
    else:
        keep = mask_for(config, q.shape[-2], k.shape[-2], start, keep, x)
        heads = scaled_dot_product(
            q,
            k,
            v,
            keep=keep,
            bias=bias,
            scale=config.scale,
            softcap=config.softcap,
            sinks=weights.sinks,
            softmax_dtype=softmax_type(config),
        ).heads
    return linear(join_heads(heads), weights.w_o, weights.b_o)
