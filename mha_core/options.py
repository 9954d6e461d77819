"""What models add to the article's attention, one small function each."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import rms_norm

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
    return rotate(x, config.rope, positions)


def share(x: Tensor, n_heads: int) -> Tensor:
    """Give every query head its KV head: head i reads KV head i // (n_heads // n_kv_heads)."""
    n_kv_heads = x.shape[-3]
    return x if n_kv_heads == n_heads else x.repeat_interleave(n_heads // n_kv_heads, dim=-3)


def cap(scores: Tensor, softcap: float | None) -> Tensor:
    """Bend scores so that none passes ± softcap (Gemma 2)."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def block_in_place(scores: Tensor, keep: Tensor | None, bias: Tensor | None) -> Tensor:
    """Add the bias, and -∞ where a query may not look; the scores are overwritten."""
    wall = wall_of(keep, bias, scores.dtype)
    return scores if wall is None else scores.add_(wall)


def wall_of(keep: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Turn a mask and a bias into what is added to the scores; None when both are None."""
    if keep is None:
        return None if bias is None else bias.to(dtype)
    wall = torch.zeros((), dtype=dtype, device=keep.device) if bias is None else bias.to(dtype)
    return torch.where(keep, wall, -torch.inf)


def softmax_or_zero(
    masked: Tensor,
    keep: Tensor | None,
    bias: Tensor | None,
    sinks: Tensor | None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Softmax over the keys; a row with nothing to look at becomes zeros.

    The masked scores may be overwritten. A sink takes part in the sum and is then left out.
    `dtype` is the float type of the exponents and the sum; the pattern comes back in that of the
    scores.
    """
    if sinks is not None:
        column = sinks.to(masked)[:, None, None].expand(*masked.shape[:-1], 1)
        with_sink = torch.cat((masked, column), dim=-1)
        return with_sink.softmax(dim=-1, dtype=dtype)[..., :-1].to(masked.dtype)
    empty = rows_without_keys(masked, keep, bias)
    if empty is None and dtype is None and not masked.requires_grad:
        return torch.softmax(masked, dim=-1, out=masked)  # new room costs more than the sum
    if empty is None:
        return masked.softmax(dim=-1, dtype=dtype).to(masked.dtype)
    pattern = masked.masked_fill(empty, 0).softmax(dim=-1, dtype=dtype)
    return pattern.masked_fill(empty, 0).to(masked.dtype)


def softmax_type(config: AttentionConfig) -> torch.dtype | None:
    """Give the softmax's float type as torch names it; None is the scores' own."""
    name = config.softmax_dtype
    return None if name is None else {"float32": torch.float32, "float64": torch.float64}[name]


def rows_without_keys(masked: Tensor, keep: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Find the rows with nothing to look at, [..., query, 1]; None when there are none.

    A mask is small and shared by the heads, so it is asked first. A bias of very negative
    numbers can add up to -∞ in a short float type, so with a bias the scores themselves are asked.
    """
    if bias is None:
        if keep is None:
            return None
        empty = ~keep.any(dim=-1, keepdim=True)
    else:
        empty = masked.amax(dim=-1, keepdim=True) == -torch.inf
    return empty if bool(empty.any()) else None


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
