"""What models add to the article's attention, one small function each."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import rms_norm

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
    """Norm the queries and keys of each head on its own, if the layer does (Qwen3)."""
    return _norm_both(q, k, weights, config) if config.qk_norm == "head" else (q, k)


def _norm_both(
    q: Tensor, k: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> tuple[Tensor, Tensor]:
    """Divide by the root mean square and multiply by the gain."""
    eps = config.qk_norm_eps
    return (
        rms_norm(q, q.shape[-1:], weights.q_norm, eps),
        rms_norm(k, k.shape[-1:], weights.k_norm, eps),
    )


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
