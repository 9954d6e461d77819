"""Which norm a module is: found by what it does, not by what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, rms_norm

from mha_core.brief import brief
from mha_core.config import QkNormKind
from mha_core.norms import Norm
from mha_core.real.seen import Event

NEAR = 1e-5
EPS_NAMES = ("variance_epsilon", "eps", "epsilon", "norm_eps", "layer_norm_eps")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A norm as numbers.

    Args:
        kind: "rms", "layer" or "l2".
        gain: as long as what is normed, one row a head, or None.
        bias: likewise.
        eps: added under the root.
    """

    kind: QkNormKind
    gain: Tensor | None
    bias: Tensor | None
    eps: float

    __repr__ = brief

    def as_norm(self) -> Norm:
        """The record that a walk takes; it has no "l2"."""
        assert self.kind != "l2"
        gain, bias = (None if each is None else each.numpy() for each in (self.gain, self.bias))
        return Norm(self.kind, gain, bias, self.eps)


def is_norm(event: Event) -> bool:
    """Whether a module is called a norm and gives as much as it is given."""
    called = "norm" in type(event.module).__name__.lower()
    return called and event.given.shape == event.out.shape


def fit(event: Event) -> Fitted | None:
    """Find the norm that makes a module's output of its input; None where none does."""
    eps = next((getattr(event.module, n) for n in EPS_NAMES if hasattr(event.module, n)), None)
    gains, biases = _parameters(event.module, "weight"), _parameters(event.module, "bias")
    x = event.given.float()
    found: tuple[float, Fitted] | None = None
    for kind in ("rms", "layer", "l2"):
        for each_eps in (float(eps),) if eps is not None else (1e-5, 1e-6, 1e-12):
            normed = _apply(kind, x, each_eps)
            for gain in [None] if gains is None else [gains, 1 + gains]:
                value = normed if gain is None else normed * _laid(gain, x)
                value = value if biases is None else value + _laid(biases, x)
                apart = float((value - event.out).abs().max() / event.out.abs().max().clamp(1e-30))
                if found is None or apart < found[0]:
                    found = apart, Fitted(kind, gain, biases, each_eps)
    return found[1] if found is not None and found[0] <= NEAR else None


def _apply(kind: str, x: Tensor, eps: float) -> Tensor:
    """The norm of the last axis, without gain."""
    if kind == "rms":
        return rms_norm(x, x.shape[-1:], None, eps)
    if kind == "layer":
        return layer_norm(x, x.shape[-1:], None, None, eps)
    return x * (x.square().sum(-1, keepdim=True) + eps).rsqrt()


def _parameters(module: Any, name: str) -> Tensor | None:
    """A norm's gain or bias; that of a norm for each head, one row a head."""
    own = getattr(module, name, None)
    if isinstance(own, Tensor):
        return own.detach().float()
    inside = [getattr(each, name, None) for each in module.modules() if each is not module]
    rows = [each.detach().float() for each in inside if isinstance(each, Tensor)]
    return torch.stack(rows) if rows else None


def _laid(values: Tensor, x: Tensor) -> Tensor:
    """Lay rows per head where the heads are: before the tokens, or after them."""
    if values.ndim < 2 or x.ndim < 4 or x.shape[-2] == values.shape[0]:
        return values
    return values[:, None]
