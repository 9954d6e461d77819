"""The way from queries, keys and values to the heads that PyTorch computes in one go."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from mha_core.config import AttentionConfig
from mha_core.options import mask_for, share
from mha_core.scores import wall_of


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
        config: the layer's settings.
        start: the position of the first query.
        keep: bool, spread to [..., head, query, key].
        bias: spread likewise.
    """
    plain = keep is None and bias is None and sinks is None and config.softcap is None
    triangle = plain and config.causal and config.window == (None, None) and start == 0
    triangle = triangle and q.shape[-2] == k.shape[-2]
    mask, kind = None, q.dtype
    if not triangle:
        keep = mask_for(config, q.shape[-2], k.shape[-2], start, keep, q)
        if config.softcap is not None:
            q, k, v, bias = _with_capped_scores(q, k, v, bias, config.scale, config.softcap)
        elif bias is not None:  # a number of a longer type may not fit into q's
            wide = torch.promote_types(q.dtype, bias.dtype) if q.dtype.itemsize < 4 else q.dtype
            q, k, v = q.to(wide), k.to(wide), v.to(wide)
        mask = keep if bias is None else wall_of(keep, bias, q.dtype)
    if sinks is not None:
        k, v, mask = _with_sinks(q, k, v, mask, sinks)
    heads = _batched(q, k, v, mask, is_causal=triangle, scale=config.scale).to(kind)
    return heads if mask is None else _clear_empty_rows(heads, mask)


def _with_capped_scores(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float, softcap: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Make the capped scores a bias, and the queries zeros, whose own scores are zero then."""
    wide = torch.promote_types(q.dtype, torch.float32)
    q, k, v = q.to(wide), k.to(wide), v.to(wide)
    angles = torch.einsum("...qd,...kd->...qk", q, share(k, q.shape[-3])) * (scale / softcap)
    scores = softcap * torch.tanh(angles)
    return torch.zeros_like(q), k, v, scores if bias is None else scores + bias.to(wide)


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
