"""What a layer does with its output before anything else reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.errors import ShapeError
from mha_core.norms import Norm
from mha_core.values import check_finite

if TYPE_CHECKING:  # torch is loaded by the functions that compute, not by this file
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class After:
    """What comes between the layer's output and the next reader of the residual stream.

    In order: out · factor, its norm, plus the stream, plus what was computed beside attention, and
    the norm of the sum. An `After()` does nothing: stream + out.

    Args:
        factor: what out is multiplied by (Granite).
        norm_out: the norm of out, before it is added to the stream (Gemma 2, OLMo 2).
        norm_sum: the norm of the sum, which is then the stream itself (BERT).
        beside: [token, feature], what an MLP beside attention adds to the same sum (GPT-NeoX, Phi,
            Cohere).

    >>> After(factor=0.22)
    After(factor=0.22)
    """

    factor: float = 1.0
    norm_out: Norm | None = None
    norm_sum: Norm | None = None
    beside: Array | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        check_finite("factor", self.factor)

    def apply(self, stream: Tensor, out: Tensor) -> Tensor:
        """Make what is read next, [token, feature], in the stream's float type.

        Raises:
            ShapeError: `beside` is not one vector a token, or a norm's gain not one number a
                feature.
        """
        import torch

        added = out if self.factor == 1 else out * self.factor
        if self.norm_out is not None:
            added = self.norm_out.apply(added)
        total = stream + added
        if self.beside is not None:
            if self.beside.shape != stream.shape:
                raise ShapeError(
                    "after.beside",
                    shape=tuple(self.beside.shape), expected=tuple(stream.shape),
                )  # fmt: skip
            total = total + torch.tensor(self.beside).to(total)
        return total if self.norm_sum is None else self.norm_sum.apply(total)

    def first(self, n_tokens: int | None) -> After:
        """The same for the first so many tokens; for all of them when None."""
        return self if self.beside is None else replace(self, beside=self.beside[:n_tokens])
