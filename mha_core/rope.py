"""RoPE: turn each pair of features by an angle that grows with the token's position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import ShapeError
from mha_core.values import check_choice, check_finite, check_positive, check_size

if TYPE_CHECKING:  # torch is loaded by the functions that turn tensors, not by this file
    from torch import Tensor

Pairing = Literal["half", "interleaved"]
AngleType = Literal["float32", "float64"]


@dataclass(frozen=True)
class Rope:
    """How queries and keys are turned.

    Args:
        base: θ; pair number p of w turns by base^(-p / w) radians a token.
        dim: how many features, counted from the first, are turned; all of them unless given.
        pairing: "half" pairs feature p with p + dim/2 (Hugging Face, GPT-NeoX);
            "interleaved" pairs 2p with 2p + 1 (Su et al., Meta's Llama code, GPT-J).
        frequencies: radians a token for every pair, instead of base (scaled RoPE).
        attention_factor: multiplies cosine and sine (YaRN).
        angle_dtype: what position · frequency is rounded to. "float32" is what libraries round
            to, and is off by up to position · 6e-8 radians.

    Raises:
        ConfigError: a setting is outside what it can be.
        ShapeError: `dim` is no size.

    Source: Su et al. 2021, equation 15 ("interleaved").

    >>> Rope(frequencies=[1.0, 0.1]).frequencies
    (1.0, 0.1)
    """

    base: float = 10_000.0
    dim: int | None = None
    pairing: Pairing = "half"
    frequencies: tuple[float, ...] | None = None
    attention_factor: float = 1.0
    angle_dtype: AngleType = "float64"

    def __post_init__(self) -> None:
        check_positive("base", self.base)
        check_finite("attention_factor", self.attention_factor)
        check_choice("pairing", self.pairing, get_args(Pairing))
        check_choice("angle_dtype", self.angle_dtype, get_args(AngleType))
        if self.dim is not None:
            object.__setattr__(self, "dim", check_size("dim", self.dim))
        if self.frequencies is not None:  # a tuple, so that a Rope can be a key
            object.__setattr__(self, "frequencies", tuple(float(f) for f in self.frequencies))
            for frequency in self.frequencies:
                check_finite("frequencies", frequency)

    def width(self, d_head: int) -> int:
        """How many of a head's features are turned.

        Raises:
            ShapeError: the width is odd, wider than the head, or not two per frequency.

        >>> Rope(dim=4).width(16)
        4
        """
        width = d_head if self.dim is None else self.dim
        check_width(width, d_head)
        if self.frequencies is not None and 2 * len(self.frequencies) != width:
            raise ShapeError("rope.frequencies", count=len(self.frequencies), width=width)
        return width


def check_width(width: int, d_head: int) -> None:
    """Refuse a rotary width that does not come in pairs or does not fit in the head."""
    if width % 2 or width < 2:
        raise ShapeError("rope.odd", width=width)
    if width > d_head:
        raise ShapeError("rope.wide", width=width, d_head=d_head)


def pair_frequencies(rope: Rope, d_head: int) -> NDArray[np.float64]:
    """Say how fast each pair turns.

    Returns:
        [pair], radians a token. The width in the exponent is the rotary width, not d_head.

    Raises:
        ShapeError: as `Rope.width`.

    >>> pair_frequencies(Rope(base=100.0), d_head=4)
    array([1. , 0.1])
    """
    width = rope.width(d_head)
    if rope.frequencies is not None:
        return np.array(rope.frequencies)
    return rope.base ** -(np.arange(0, width, 2) / width)


def base_frequencies(rope: Rope, d_head: int) -> NDArray[np.float64]:
    """Say how fast each pair would turn by the base alone, where a model scales them.

    Returns:
        [pair], radians a token: θ^(−i / n) for pair i of n.

    >>> base_frequencies(Rope(base=100.0, frequencies=(1.0, 0.025)), d_head=4)
    array([1. , 0.1])
    """
    n = len(pair_frequencies(rope, d_head))
    return rope.base ** -(np.arange(n) / n)


def half_from_interleaved(width: int) -> list[int]:
    """Say where each feature of the "half" order sits in the "interleaved" order.

    With `order = half_from_interleaved(d_head)`, rotating `x[..., order]` by halves gives
    `y[..., order]`, where y is x rotated in the interleaved way: the two pairings are one
    rotation, written in two feature orders.

    >>> half_from_interleaved(6)
    [0, 2, 4, 1, 3, 5]
    """
    return [*range(0, width, 2), *range(1, width, 2)]


def rotate(x: Tensor, rope: Rope, positions: Tensor | None = None) -> Tensor:
    """Turn every token's features by its position.

    Args:
        x: [..., token, d_head]; with positions per sentence, [batch, head, token, d_head].
        rope: how.
        positions: [token] or [batch, token], in tokens; 0, 1, 2, … unless given.

    Returns:
        As x.

    Raises:
        ShapeError: the rotary width does not fit, or the positions do not fit the tokens.

    Source: Su et al. 2021, equation 34. Angles are computed in float64 and rounded once, unless
    the rope asks for float32, as libraries do.

    >>> import torch
    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), Rope())
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    import torch

    d_head = x.shape[-1]
    if positions is None:
        positions = torch.arange(x.shape[-2])
    # On the CPU: a table is small, and some devices have no float64.
    kind = torch.float32 if rope.angle_dtype == "float32" else torch.float64
    frequencies = torch.from_numpy(pair_frequencies(rope, d_head)).to(kind)
    angles = (positions.to("cpu", kind)[..., None] * frequencies).double()
    factor = rope.attention_factor
    cos, sin = ((wave(angles) * factor).to(x) for wave in (torch.cos, torch.sin))
    return rotate_with(x, cos, sin, pairing=rope.pairing, dim=rope.dim)


def rotate_with(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    pairing: Pairing = "half",
    dim: int | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """Turn every token's features by ready-made tables.

    Args:
        x: [..., token, d_head]; with tables per sentence, [batch, head, token, d_head].
        cos: [position, pair] or [batch, token, pair], the cosine of each angle.
        sin: as cos.
        pairing: which features make a pair, see `Rope`.
        dim: how many features are turned, counted from the first; all unless given.
        positions: [token] or [batch, token], the rows to take; 0, 1, 2, … unless given.

    Returns:
        As x.

    Raises:
        ShapeError: the rotary width or the tables do not fit x.
        ConfigError: an unknown pairing.

    Source: ONNX RotaryEmbedding, opset 23.

    >>> import torch
    >>> quarter = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> rotate_with(torch.tensor([[3.0, 4.0]]), *quarter)
    tensor([[-4.,  3.]])
    """
    check_choice("pairing", pairing, get_args(Pairing))
    d_head, n_tokens = x.shape[-1], x.shape[-2]
    width = d_head if dim is None else dim
    check_width(width, d_head)
    cos, sin = (_rows_for(table, x, positions) for table in (cos, sin))
    if cos.shape[-2:] != (n_tokens, width // 2):
        raise ShapeError(
            "rope.table", shape=tuple(cos.shape), n_tokens=n_tokens, n_pairs=width // 2
        )
    turned, rest = x[..., :width], x[..., width:]
    first, second = _split_pairs(turned, pairing)
    turned = _join_pairs(first * cos - second * sin, second * cos + first * sin, pairing)
    return _concatenate(turned, rest)


def _rows_for(table: Tensor, x: Tensor, positions: Tensor | None) -> Tensor:
    """Pick each token's row; a table per sentence gets an axis that all heads share."""
    if positions is not None:
        table = table[positions]
    elif table.ndim == 2:
        table = table[: x.shape[-2]]
    return table.unsqueeze(-3) if table.ndim == 3 and x.ndim == 4 else table


def _split_pairs(x: Tensor, pairing: Pairing) -> tuple[Tensor, Tensor]:
    """Give the first and the second feature of every pair."""
    if pairing == "half":
        first, second = x.chunk(2, dim=-1)
        return first, second
    return x[..., 0::2], x[..., 1::2]


def _join_pairs(first: Tensor, second: Tensor, pairing: Pairing) -> Tensor:
    """Put the two features of every pair back where they were."""
    import torch

    if pairing == "half":
        return torch.cat((first, second), dim=-1)
    return torch.stack((first, second), dim=-1).flatten(-2)


def _concatenate(turned: Tensor, rest: Tensor) -> Tensor:
    """Append the features that are not turned, if there are any."""
    import torch

    return torch.cat((turned, rest), dim=-1) if rest.shape[-1] else turned
