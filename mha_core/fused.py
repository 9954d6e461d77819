"""The way from queries, keys and values to the heads that PyTorch computes in one go."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from mha_core.config import AttentionConfig
from mha_core.options import mask_for, wall_of


def attend_fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor | None,
    config: AttentionConfig,
    start: int,
    *,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Give the heads, [..., head, query, d_value], without the pattern.

    Args:
        q: [..., head, query, d_head].
        k: [..., kv_head, key, d_head].
        v: [..., kv_head, key, d_value].
        sinks: [head] or None.
        config: the layer's settings; its softcap is not looked at.
        start: the position of the first query.
        keep: bool, spread to [..., head, query, key].
        bias: spread likewise.
    """
    plain = keep is None and bias is None and sinks is None and config.window == (None, None)
    triangle = plain and config.causal and start == 0 and q.shape[-2] == k.shape[-2]
    mask = None
    if not triangle:
        keep = mask_for(config, q.shape[-2], k.shape[-2], start, keep, q)
        mask = keep if bias is None else wall_of(keep, bias, q.dtype)
    if sinks is not None:
        k, v, mask = _with_sinks(q, k, v, mask, sinks)
    heads = _batched(q, k, v, mask, is_causal=triangle, scale=config.scale)
    return heads if mask is None else _clear_empty_rows(heads, mask)


def _batched(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, is_causal: bool, scale: float
) -> Tensor:
    """Call PyTorch with a batch axis: without one it takes a slow way."""
    lone = q.ndim == 3
    if lone:
        q, k, v = q[None], k[None], v[None]
    heads = scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=q.shape[-3] != k.shape[-3],
    )
    return heads[0] if lone else heads


def _with_sinks(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, sinks: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Add one key of zeros, whose score is then its bias, the sink; its value is zero too."""
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is None or mask.dtype == torch.bool:
        mask = wall_of(mask, None, q.dtype)
    wall = q.new_zeros(shape) if mask is None else mask.expand(shape)
    column = sinks.to(q)[:, None, None].expand(*shape[:-1], 1)
    return pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1)), torch.cat((wall, column), dim=-1)


def _clear_empty_rows(heads: Tensor, mask: Tensor) -> Tensor:
    """Make sure that a row with nothing to look at gives zeros on every device."""
    seen = mask if mask.dtype == torch.bool else mask != -torch.inf
    return heads.masked_fill(~seen.any(dim=-1, keepdim=True), 0)
