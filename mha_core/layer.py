"""Multi-head attention from x to O, every step kept: torch, rows of tokens, all heads at once.

`attention` is the chain; below it, in its order, stand the parts: project, split, score, mask,
softmax, values, join.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import linear

from mha_core.cache import KVCache
from mha_core.checks import check_cache, check_heads, check_inputs, check_masks
from mha_core.config import AttentionConfig
from mha_core.fused import attend_fused
from mha_core.options import mask_for, norm_heads, norm_whole, share, softmax_type, turn
from mha_core.scores import block, score, softmax_or_zero
from mha_core.steps import AttentionSteps, Projected, ScoreSteps
from mha_core.values import check_finite, check_positive
from mha_core.weights import AttentionWeights

__all__ = [
    "AttentionSteps",
    "ScoreSteps",
    "attend",
    "attention",
    "fused_attention",
    "join_heads",
    "prepare",
    "project",
    "scaled_dot_product",
    "split_heads",
]


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

    It can be compiled as one graph (`torch.compile(fullgraph=True)`), mapped and differentiated by
    `torch.func`, and given tensors on "meta", which have shapes and no numbers.

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
        ShapeError: tokens, weights, mask, cache and sizes do not fit together, or there are no
            tokens.
        DataError: something is no tensor, the float types differ, or `keep` is not boolean.
        ConfigError: the weights and the config disagree about norms.
        DeviceError: tokens, weights and mask are not in one place.

    Source: Vaswani et al. 2017, section 3.2.2; RoPE after the split, as Su et al. 2021.

    >>> from mha_core import random_weights
    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> steps = attention(torch.ones(5, 6), random_weights(config, 0).to_torch(), config)
    >>> steps.pattern.shape, steps.out.shape
    (torch.Size([3, 5, 5]), torch.Size([5, 6]))
    """
    made, cache, start = prepare(
        x, weights, config, x_kv=x_kv, keep=keep, bias=bias, positions=positions, cache=cache
    )
    keep = mask_for(config, x.shape[-2], cache.n_tokens, start, keep, x)

    steps = attend(
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

    return AttentionSteps(x, *made, steps, concat, out, cache, None if x_kv is x else x_kv)


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
    return x.view(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    keep: Tensor | None,
    bias: Tensor | None,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
    softmax_dtype: torch.dtype | None,
) -> ScoreSteps:
    """Score every query against the keys, hide what it may not see, softmax, collect the values.

    Args:
        q: this and all the others as in `scaled_dot_product`, checked.

    Returns:
        Every step, in q's float type.
    """
    n_heads = q.shape[-3]
    k, v = share(k, n_heads), share(v, n_heads)

    scores = score(q, k, scale, softcap)  # Qᵀ K / √d_head
    masked = block(scores, keep, bias)  # -∞ where a query may not look
    pattern = softmax_or_zero(masked, keep, bias, sinks, softmax_dtype).to(v.dtype)
    heads = pattern @ v  # the article's V · patternᵀ, in rows

    return ScoreSteps(pattern, heads, q, k, scale, softcap, keep, bias)


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
        ShapeError: the shapes do not fit together, or there is no query or no key.
        DataError: something is no tensor, the float types differ, or `keep` is not boolean.
        ConfigError: scale or softcap is outside what it can be.
        DeviceError: the mask is somewhere else than the queries.

    Source: Vaswani et al. 2017, equation 1, for rows of tokens.

    >>> one = torch.ones(1, 2, 4)
    >>> scaled_dot_product(one, one, one, keep=torch.tensor([[True, False], [True, True]])).pattern
    tensor([[[1.0000, 0.0000],
             [0.5000, 0.5000]]])
    """
    check_heads(q, k, v, sinks)
    check_masks(keep, bias, q, k.shape[-2])
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    check_finite("scale", scale)
    if softcap is not None:
        check_positive("softcap", softcap)
    return attend(
        q,
        k,
        v,
        keep=keep,
        bias=bias,
        scale=scale,
        softcap=softcap,
        sinks=sinks,
        softmax_dtype=softmax_dtype,
    )


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

    Softcap is the one setting that PyTorch's fused function lacks; the scores of such a layer are
    made here and handed to it as a bias.

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
    made, cache, start = prepare(
        x, weights, config, x_kv=x_kv, keep=keep, bias=bias, positions=positions, cache=cache
    )
    heads = attend_fused(
        made.q_rot, cache.k_rot, cache.v, weights.sinks, config, start, keep=keep, bias=bias
    )
    return linear(join_heads(heads), weights.w_o, weights.b_o)


def prepare(
    x: Tensor,
    weights: AttentionWeights[Tensor],
    config: AttentionConfig,
    *,
    x_kv: Tensor | None,
    keep: Tensor | None,
    bias: Tensor | None,
    positions: Tensor | None,
    cache: KVCache | None,
) -> tuple[Projected, KVCache, int]:
    """Check what was given, project it, and put keys and values after the cached ones.

    Args:
        x: this and all the others as in `attention`.

    Returns:
        The steps up to `k_rot`, the longer cache, and the position of the first new token.

    Raises:
        ShapeError: as `attention`; so are DataError, ConfigError and DeviceError.
    """
    source = x if x_kv is None else x_kv
    check_inputs(x, source, weights, config)
    start = 0 if cache is None else cache.n_tokens
    made = project(x, source, weights, config, positions, start)
    if cache is None:
        cache = made.cache
    else:
        check_cache(cache, made.k_rot, made.v)
        cache = cache.extend(made.k_rot, made.v)
    check_masks(keep, bias, made.q_rot, cache.n_tokens)
    return made, cache, start
