"""Input that cannot be computed with is refused here, in words."""

from __future__ import annotations

import torch
from torch import Tensor

from mha_core.cache import KVCache
from mha_core.config import AttentionConfig
from mha_core.errors import DataError, DeviceError, ShapeError
from mha_core.weights import AttentionWeights


def check_tensor(name: str, value: object) -> None:
    """Refuse what is no tensor."""
    if not isinstance(value, Tensor):
        raise DataError("input.tensor", name=name, kind=type(value).__name__)


def check_inputs(
    x: Tensor, source: Tensor, weights: AttentionWeights[Tensor], config: AttentionConfig
) -> None:
    """Refuse tokens or weights that do not fit the layer, or tokens that do not fit each other."""
    if not isinstance(weights.w_q, Tensor):
        raise DataError("weights.numpy")
    for name, tokens in (("x", x), ("x_kv", source)):
        check_tensor(name, tokens)
        if tokens.ndim >= 2 and tokens.shape[-2] == 0:
            raise ShapeError("input.empty", name=name, shape=tuple(tokens.shape))
    if x.ndim < 2 or x.shape[-1] != config.d_model:
        raise ShapeError("input.width", shape=tuple(x.shape), d_model=config.d_model)
    if source.ndim < 2 or source.shape[:-2] != x.shape[:-2]:
        raise ShapeError("input.batch", x=tuple(x.shape), x_kv=tuple(source.shape))
    weights.check(config, source.shape[-1])
    for tokens in (x, source):
        if tokens.dtype != weights.w_q.dtype:
            raise DataError("input.dtype", given=tokens.dtype, expected=weights.w_q.dtype)
        _check_device("x", tokens, weights.w_q.device)


def check_cache(cache: KVCache, k_rot: Tensor, v: Tensor) -> None:
    """Refuse cached keys and values that these do not go on from."""
    for name, kept, new in (("k_rot", cache.k_rot, k_rot), ("v", cache.v, v)):
        lengths = ((*each.shape[:-2], each.shape[-1]) for each in (kept, new))
        if len(set(lengths)) > 1 or kept.dtype != new.dtype:
            raise ShapeError(
                "cache.shape", name=name, shape=tuple(kept.shape), dtype=kept.dtype,
                new=tuple(new.shape), expected=new.dtype,
            )  # fmt: skip


def check_heads(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None = None) -> None:
    """Refuse queries, keys and values that do not fit together."""
    for name, value in (("q", q), ("k", k), ("v", v)):
        check_tensor(name, value)
    fit = q.ndim == k.ndim >= 3 and q.shape[-1] == k.shape[-1] and k.shape[:-1] == v.shape[:-1]
    if not fit or q.shape[:-3] != k.shape[:-3] or 0 in (q.shape[-2], *k.shape[-3:-1]):
        raise ShapeError("heads.shapes", q=tuple(q.shape), k=tuple(k.shape), v=tuple(v.shape))
    if q.shape[-3] % k.shape[-3]:
        raise ShapeError("heads.groups", n_heads=q.shape[-3], n_kv_heads=k.shape[-3])
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        raise DataError("heads.dtype", q=q.dtype, k=k.dtype, v=v.dtype)
    if sinks is not None and sinks.shape != q.shape[-3:-2]:
        raise ShapeError("heads.sinks", shape=tuple(sinks.shape), n_heads=q.shape[-3])


def check_masks(keep: Tensor | None, bias: Tensor | None, q: Tensor, n_key: int) -> None:
    """Refuse a mask or a bias that cannot be laid over the scores."""
    shape = (*q.shape[:-1], n_key)
    for name, mask in (("keep", keep), ("bias", bias)):
        if mask is None:
            continue
        check_tensor(name, mask)
        if name == "keep" and mask.dtype != torch.bool:
            raise DataError("mask.bool", dtype=mask.dtype)
        if name == "bias" and not mask.is_floating_point():
            raise DataError("mask.bias", dtype=mask.dtype)
        if not _spreads_to(mask.shape, shape):
            raise ShapeError("mask.shape", name=name, shape=tuple(mask.shape), expected=shape)
        _check_device(name, mask, q.device)


def _check_device(name: str, value: Tensor, expected: torch.device) -> None:
    """Refuse a tensor that is somewhere else than what it meets."""
    if value.device != expected:
        raise DeviceError("input.device", name=name, given=value.device, expected=expected)


def _spreads_to(shape: torch.Size, target: tuple[int, ...]) -> bool:
    """Whether an array of this shape can be broadcast to the target."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(size in (1, wanted) for size, wanted in pairs)
