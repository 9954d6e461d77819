"""RMSNorm and LayerNorm, and the record of which one made x out of the residual stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from mha_core.arrays import Array as Array
from mha_core.brief import brief
from mha_core.errors import ConfigError, ShapeError
from mha_core.values import check_choice, check_not_negative

if TYPE_CHECKING:  # torch is loaded by the functions that compute, not by this file
    from torch import Tensor

NormName = Literal["rms", "layer"]
NORM_EPS: dict[NormName, float] = {"rms": 1e-6, "layer": 1e-5}


@dataclass(frozen=True, eq=False)
class Norm:
    """The norm between the residual stream and x.

    Args:
        kind: "rms" or "layer".
        weight: [feature], the gain, or None.
        bias: [feature], added at the end, or None; only LayerNorm has one.
        eps: added to the mean square, at least 0; the usual one of its kind, 1e-6 or 1e-5,
            unless given.

    Raises:
        ConfigError: an unknown kind, a negative eps, or RMSNorm with a bias.

    >>> Norm("layer").eps
    1e-05
    """

    kind: NormName
    weight: Array | None = None
    bias: Array | None = None
    eps: float = None  # type: ignore[assignment]

    __repr__ = brief

    def __post_init__(self) -> None:
        check_choice("norm", self.kind, get_args(NormName))
        if self.eps is None:
            object.__setattr__(self, "eps", NORM_EPS[self.kind])
        check_not_negative("norm_eps", self.eps)
        if self.kind == "rms" and self.bias is not None:
            raise ConfigError("norm.bias")

    def apply(self, stream: Tensor) -> Tensor:
        """Make x out of the stream, [..., feature], in the stream's float type.

        Raises:
            ShapeError: gain or bias is not one number per feature.
        """
        gain, shift = (
            self._like(stream, name, part)
            for name, part in (("norm_weight", self.weight), ("norm_bias", self.bias))
        )
        if self.kind == "rms":
            return rms_norm(stream, gain, eps=self.eps)
        return layer_norm(stream, gain, shift, eps=self.eps)

    @staticmethod
    def _like(stream: Tensor, name: str, part: Array | None) -> Tensor | None:
        """Bring gain or bias where the stream is."""
        import torch

        if part is None:
            return None
        if np.shape(part) != stream.shape[-1:]:
            expected = tuple(stream.shape[-1:])
            raise ShapeError("norm.shape", name=name, shape=np.shape(part), expected=expected)
        return torch.tensor(part).to(stream)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = NORM_EPS["rms"]) -> Tensor:
    """Divide every token by the root mean square of its features.

    Args:
        x: [..., feature].
        weight: [feature], a gain.
        eps: added to the mean square.

    Source: Zhang and Sennrich 2019, equation 4.

    >>> import torch
    >>> rms_norm(torch.tensor([3.0, -3.0])).round(decimals=3)
    tensor([ 1., -1.])
    """
    from torch.nn import functional

    return functional.rms_norm(x, x.shape[-1:], weight, eps)


def layer_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    eps: float = NORM_EPS["layer"],
) -> Tensor:
    """Move every token's features to mean 0 and variance 1.

    Args:
        x: [..., feature].
        weight: [feature], a gain.
        bias: [feature].
        eps: added to the variance.

    Source: Ba et al. 2016, section 3.

    >>> import torch
    >>> layer_norm(torch.tensor([3.0, 1.0])).round(decimals=3)
    tensor([ 1., -1.])
    """
    from torch.nn import functional

    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
