"""Who may look at whom. In every mask here, True means *may look*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mha_core.errors import ConfigError, Note
from mha_core.values import check_choice, check_count, is_whole

if TYPE_CHECKING:  # torch is loaded by the function that makes tensors, not by this file
    import torch
    from torch import Tensor

MaskName = Literal["causal", "two_way", "window", "prefix", "sink_window"]
Window = tuple[int | None, int | None]
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
        offset: the position of the first query: the number of tokens in a cache, or one whole
            number per sentence, [batch]. With 0 the mask is aligned at the top left.
        left: how many keys before itself a query may look at; None is unbounded.
        right: how many after.
        device: where the mask is made; where `offset` is, or the CPU, unless given.

    Returns:
        bool [query, key], or [batch, 1, query, key] when `offset` is [batch]: the axis of length
        1 is where the scores have their heads.

    Raises:
        ConfigError: a negative left or right, a number of tokens that is none, or an offset that
            is not whole.

    Source: ONNX Attention, opset 24. Hugging Face's `sliding_window` w is left = w - 1.

    >>> keep_mask(2, 4, offset=2, left=1).int()
    tensor([[0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    import torch

    left, right = check_reach(left, right)
    n_query, n_key = check_count("n_query", n_query), check_count("n_key", n_key)
    start = torch.as_tensor(offset, device=device)
    if start.is_floating_point() or start.dtype == torch.bool:
        raise ConfigError("mask.offset", given=start.dtype)
    start = start if start.ndim == 0 else start[..., None, None, None]
    query = start + torch.arange(n_query, device=start.device)[:, None]
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
    check_choice("mask", name, MASK_NAMES)
    n_tokens, window = check_count("n_tokens", n_tokens), check_count("window", window, least=1)
    prefix, sinks = check_count("prefix", prefix), check_count("sinks", sinks)
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
    return masks[name]


def check_window(window: Any) -> Window:
    """Give a window as two whole numbers or None.

    Raises:
        ConfigError: it is no pair, or reaches a negative or broken number of tokens.

    >>> check_window([np.int64(2), None])
    (2, None)
    """
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise ConfigError("window.pair", window=window)
    return check_reach(*window)


def check_reach(left: Any, right: Any) -> Window:
    """Refuse a window that reaches a negative or broken number of tokens."""
    reaches = []
    for side, reach in (("left", left), ("right", right)):
        if reach is not None and (not is_whole(reach) or reach < 0):
            raise ConfigError("window.negative", side=Note(f"window.{side}"), reach=reach)
        reaches.append(reach if reach is None else int(reach))
    return reaches[0], reaches[1]
