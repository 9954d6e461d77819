"""From queries and keys to the pattern: scores, what may not be seen, softmax."""

from __future__ import annotations

import torch
from torch import Tensor


def score(q: Tensor, k: Tensor, scale: float, softcap: float | None = None) -> Tensor:
    """Hold every query against every key: Qᵀ K / √d_head, capped if the layer caps.

    The scale goes on q, the smallest of the three. Types of two bytes are multiplied in float32,
    as PyTorch's fused attention does: float16 ends at 65,504, which a score can pass.

    Args:
        q: [..., head, query, d_head].
        k: [..., head, key, d_head].
        scale: 1 / √d_head, usually.
        softcap: see `AttentionConfig`.

    Returns:
        [..., head, query, key], at least float32.

    >>> score(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), scale=0.5)
    tensor([[1.5000, 2.0000]])
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    return cap((q.to(wide) * scale) @ k.to(wide).mT, softcap)


def cap(scores: Tensor, softcap: float | None) -> Tensor:
    """Bend scores so that none passes ± softcap (Gemma 2)."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def block(scores: Tensor, keep: Tensor | None, bias: Tensor | None) -> Tensor:
    """Add the bias, and -∞ where a query may not look; the scores may be overwritten."""
    wall = wall_of(keep, bias, scores.dtype)
    if wall is None:
        return scores
    return scores + wall if is_transformed() else scores.add_(wall)


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
    `dtype` is the float type of the exponents, the sum and the pattern; None is that of the
    scores.
    """
    if sinks is not None:
        column = sinks.to(masked)[:, None, None].expand(*masked.shape[:-1], 1)
        with_sink = torch.cat((masked, column), dim=-1)
        return with_sink.softmax(dim=-1, dtype=dtype)[..., :-1]
    empty = rows_without_keys(masked, keep, bias)
    if empty is not None:
        masked = masked.masked_fill(empty, 0)
    # New room costs more than the sum, so the scores' own is taken where nobody needs it again.
    free = dtype is None and not masked.requires_grad and not is_transformed()
    pattern = torch.softmax(masked, dim=-1, dtype=dtype, out=masked if free else None)
    return pattern if empty is None else pattern.masked_fill(empty, 0)


def rows_without_keys(masked: Tensor, keep: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Find the rows with nothing to look at, [..., query, 1]; None when there are none.

    A mask is small and shared by the heads, so it is asked first. A bias of very negative
    numbers can add up to -∞, so with a bias the scores themselves are asked.
    """
    if bias is None:
        if keep is None:
            return None
        empty = ~keep.any(dim=-1, keepdim=True)
    else:
        empty = masked.amax(dim=-1, keepdim=True) == -torch.inf
    if empty.is_meta or is_transformed():  # there is no number to ask for
        return empty
    return empty if bool(empty.any()) else None


def is_transformed() -> bool:
    """Whether this call is being compiled, mapped over a batch, or differentiated as a function.

    Then no tensor may be overwritten and no number may decide what happens next.
    """
    if torch.compiler.is_compiling():
        return True
    return bool(torch._C._are_functorch_transforms_active())
