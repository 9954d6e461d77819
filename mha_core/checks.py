"""Input that cannot be computed with is refused here, in words."""

from __future__ import annotations

import torch
from torch import Tensor

from mha_core.config import AttentionConfig
from mha_core.errors import DataError, ShapeError
from mha_core.weights import AttentionWeights


def check_inputs(
    x: Tensor, source: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> None:
    """Refuse tokens or weights that do not fit the layer."""
    if not isinstance(weights.w_q, Tensor):
        raise DataError("weights.numpy")
    if x.ndim < 2 or x.shape[-1] != config.d_model:
        raise ShapeError("input.width", shape=tuple(x.shape), d_model=config.d_model)
    weights.check(config, source.shape[-1])
    if x.dtype != weights.w_q.dtype:
        raise DataError("input.dtype", given=x.dtype, expected=weights.w_q.dtype)


def check_scores(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, bias: Tensor | None) -> None:
    """Refuse queries, keys, values and masks that do not fit together."""
    if q.ndim < 3 or q.shape[-1] != k.shape[-1] or k.shape[-3:-1] != v.shape[-3:-1]:
        raise ShapeError("heads.shapes", q=tuple(q.shape), k=tuple(k.shape), v=tuple(v.shape))
    if q.shape[-3] % k.shape[-3]:
        raise ShapeError("heads.groups", n_heads=q.shape[-3], n_kv_heads=k.shape[-3])
    if keep is not None and keep.dtype != torch.bool:
        raise DataError("mask.bool", dtype=keep.dtype)
    shape = (*q.shape[:-1], k.shape[-2])
    for name, mask in (("keep", keep), ("bias", bias)):
        if mask is not None and not _spreads_to(mask.shape, shape):
            raise ShapeError("mask.shape", name=name, shape=tuple(mask.shape), expected=shape)


def _spreads_to(shape: torch.Size, target: tuple[int, ...]) -> bool:
    """Whether an array of this shape can be broadcast to the target."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(size in (1, wanted) for size, wanted in pairs)
