"""Who may look at whom. In every mask here, True means *may look*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import ConfigError, Note

if TYPE_CHECKING:  # torch is loaded by the function that makes tensors, not by this file
    import torch
    from torch import Tensor

MaskName = Literal["causal", "two_way", "window", "prefix", "sink_window"]
MASK_NAMES: tuple[MaskName, ...] = get_args(MaskName)


def keep_mask(
    n_query: int,
    n_key: int,
    *,
    causal: bool = True,
    offset: int | Tensor = 0,
    left: int | None = None,
    right: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Say which keys each query may look at, by position alone.

    Args:
        n_query: queries.
        n_key: keys; key number j is at position j.
        causal: whether keys after the query are out of reach.
        offset: the position of the first query: the number of tokens in a cache, or one number
            per sentence, [batch]. With 0 the mask is aligned at the top left.
        left: how many keys before itself a query may look at; None is unbounded.
        right: how many after.
        device: where the mask is made; where `offset` is, or the CPU, unless given.

    Returns:
        bool [query, key], or [batch, query, key] when `offset` is [batch].

    Raises:
        ConfigError: a negative left or right.

    Source: ONNX Attention, opset 24. Hugging Face's `sliding_window` w is left = w - 1.

    >>> keep_mask(2, 4, offset=2, left=1).int()
    tensor([[0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    import torch

    check_reach(left, right)
    start = torch.as_tensor(offset, device=device)
    query = start[..., None, None] + torch.arange(n_query, device=start.device)[:, None]
    ahead = torch.arange(n_key, device=start.device) - query  # how far the key is ahead
    keep = torch.ones_like(ahead, dtype=torch.bool)
    if causal:
        keep &= ahead <= 0
    if left is not None:
        keep &= ahead >= -left
    if right is not None:
        keep &= ahead <= right
    return keep


def named_mask(
    name: MaskName, n_tokens: int, *, window: int = 4, prefix: int = 2, sinks: int = 1
) -> NDArray[np.bool_]:
    """Make one of the masks the app offers. Needs no torch.

    Args:
        name: "causal": itself and everything before; "two_way": everything; "window": itself and
            the `window - 1` tokens before; "prefix": the first `prefix` tokens see each other
            both ways, the rest is causal; "sink_window": the window, and the first `sinks` tokens.
        n_tokens: tokens, queries and keys alike.
        window: tokens in the window, the query counted.
        prefix: tokens in the prefix.
        sinks: tokens at the start that every later query may look at.

    Returns:
        bool [query, key].

    Raises:
        ConfigError: an unknown name, an empty window, or a negative number.

    Source: prefix: Raffel et al. 2020, figure 4; sinks and window: Xiao et al. 2023, figure 1.

    >>> named_mask("sink_window", 5, window=2, sinks=1).astype(int)
    array([[1, 0, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [1, 1, 1, 0, 0],
           [1, 0, 1, 1, 0],
           [1, 0, 0, 1, 1]])
    """
    if window < 1:
        raise ConfigError("setting.positive", name="window", value=window)
    for label, count in (("prefix", prefix), ("sinks", sinks)):
        if count < 0:
            raise ConfigError("setting.negative", name=label, value=count)
    query, key = np.ogrid[:n_tokens, :n_tokens]
    causal = key <= query
    near = query - key < window
    masks: dict[MaskName, NDArray[np.bool_]] = {
        "causal": causal,
        "two_way": np.ones((n_tokens, n_tokens), dtype=bool),
        "window": causal & near,
        "prefix": causal | ((query < prefix) & (key < prefix)),
        "sink_window": causal & (near | (key < sinks)),
    }
    if name not in masks:
        raise ConfigError("setting.choice", name="mask", value=name, choices=", ".join(MASK_NAMES))
    return masks[name]


def check_reach(left: int | None, right: int | None) -> None:
    """Refuse a window that reaches a negative number of tokens."""
    for side, reach in (("left", left), ("right", right)):
        if reach is not None and reach < 0:
            raise ConfigError("window.negative", side=Note(f"window.{side}"), reach=reach)
