"""What models add to the article's attention, one small function each."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, rms_norm

from mha_core.checks import check_tensor
from mha_core.config import AttentionConfig
from mha_core.masks import keep_mask
from mha_core.rope import rotate
from mha_core.weights import AttentionWeights


def norm_whole(
    q: Tensor, k: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> tuple[Tensor, Tensor]:
    """Norm queries and keys before they are split into heads, if the layer does (OLMo 2)."""
    return _norm_both(q, k, weights, config) if config.qk_norm == "whole" else (q, k)


def norm_heads(
    q: Tensor, k: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> tuple[Tensor, Tensor]:
    """Norm the queries and keys of each head on its own, if the layer does (Qwen3, Cohere)."""
    return _norm_both(q, k, weights, config) if config.qk_norm in ("head", "each") else (q, k)


def _norm_both(
    q: Tensor, k: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> tuple[Tensor, Tensor]:
    """Norm both, each with its own gain and bias."""
    return (
        _norm(q, weights.q_norm, weights.q_norm_bias, config),
        _norm(k, weights.k_norm, weights.k_norm_bias, config),
    )


def _norm(x: Tensor, gain: Tensor | None, shift: Tensor | None, config: AttentionConfig) -> Tensor:
    """Norm the last axis; a gain per head has an axis for tokens put in."""
    width, eps = x.shape[-1:], config.qk_norm_eps
    if gain is not None and gain.ndim == 2:
        gain = gain[:, None]
        shift = shift if shift is None else shift[:, None]
    if config.qk_norm_kind == "rms":
        normed = rms_norm(x, width, None, eps)
    elif config.qk_norm_kind == "layer":
        normed = layer_norm(x, width, None, None, eps)
    else:
        normed = x * (x.square().sum(-1, keepdim=True) + eps).rsqrt()
    normed = normed if gain is None else normed * gain
    return normed if shift is None else normed + shift


def turn(x: Tensor, config: AttentionConfig, positions: Tensor | None, start: int = 0) -> Tensor:
    """Turn by position, if the layer does; without positions, count from `start`."""
    if config.rope is None:
        return x
    if positions is None:
        positions = torch.arange(start, start + x.shape[-2])
    check_tensor("positions", positions)
    return rotate(x, config.rope, positions)


def share(x: Tensor, n_heads: int) -> Tensor:
    """Give every query head its KV head: head i reads KV head i // (n_heads // n_kv_heads)."""
    n_kv_heads = x.shape[-3]
    return x if n_kv_heads == n_heads else x.repeat_interleave(n_heads // n_kv_heads, dim=-3)


def softmax_type(config: AttentionConfig) -> torch.dtype | None:
    """Give the softmax's float type as torch names it; None is the scores' own."""
    name = config.softmax_dtype
    return None if name is None else {"float32": torch.float32, "float64": torch.float64}[name]


def mask_for(
    config: AttentionConfig,
    n_query: int,
    n_key: int,
    offset: int,
    keep: Tensor | None,
    like: Tensor,
) -> Tensor | None:
    """Join what the layer allows and what the caller allows; None when all is allowed."""
    left, right = config.window
    if not config.causal and left is None and right is None:
        return keep
    own = keep_mask(
        n_query,
        n_key,
        causal=config.causal,
        offset=offset,
        left=left,
        right=right,
        device=like.device,
    )
    return own if keep is None else own & keep
