"""Every head of a large model at once, as small pictures to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view.components.mount import mount
from mha_view.theme import CIVIDIS


def wall(
    pictures: NDArray[np.uint8],
    *,
    key: str,
    label: str,
    words: Mapping[str, str],
    n_heads: Sequence[int],
    told: Sequence[Sequence[str]],
    chosen: tuple[int, int],
    lit: Sequence[int],
    on_choose: Callable[[int, int], None],
) -> None:
    """Draw a column a layer and a row a head; on a narrow screen, a row a layer.

    The arrows move from head to head, Enter chooses one.

    Args:
        pictures: [layer, head, row, column], 255 for the brightest.
        key: unique on the page, stable over reruns.
        label: what a reader who cannot see it is told.
        words: the texts under "wall.", by the rest of their key.
        n_heads: how many heads each layer has.
        told: what is said of a head that is pointed at, by layer and head.
        chosen: layer and head of the chosen one.
        lit: the places of those that stand out, layer · h + head; all where there are none.
        on_choose: called with layer and head of a new choice, before the script runs again.
    """

    def tell() -> None:
        sent = st.session_state.get(key, {}).get("chosen")
        found = _head(sent, n_heads)
        if found is not None:
            on_choose(*found)

    most, size = pictures.shape[1:3]
    header = {
        "pictures": np.ascontiguousarray(pictures),
        "size": size,
        "n_heads": list(n_heads),
        "most": most,
        "told": [list(heads) for heads in told],
        "chosen": list(chosen),
        "lit": list(lit),
        "colours": list(CIVIDIS),
        "label": label,
        "words": dict(words),
        "reserve": 40 + most * 36,
    }
    mount("wall.js", header, key=key, callbacks={"chosen": tell})


def _head(sent: Any, n_heads: Sequence[int]) -> tuple[int, int] | None:
    """What was sent as a layer and a head; None where there is no such head."""
    if not isinstance(sent, dict):
        return None
    layer, head = sent.get("layer"), sent.get("head")
    if type(layer) is not int or type(head) is not int:
        return None
    is_there = 0 <= layer < len(n_heads) and 0 <= head < n_heads[layer]
    return (layer, head) if is_there else None
