"""The whole layer as one picture: touched, played and followed without a trip to the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view.components.mount import mount
from mha_view.components.plot import prepare_export, wait


@dataclass(frozen=True, eq=False)
class Block:
    """One tensor of the picture.

    Attributes:
        symbol: how it is written, an index after `_`.
        label: what it is, for a reader who cannot see it.
        shape: as printed under the symbol.
        role: its colour.
        page: where a click leads.
        values: [row, column], or [head, row, column], NaN where masked; the largest by size of
            each block of `step` numbers; NumPy's uint8 are ready colours, 128 for zero.
        step: rows and columns of the tensor that one number stands for.
        rows: of the tensor, those of one head where it has heads.
        limit: the size at which the colour is full.
    """

    symbol: str
    label: str
    shape: str
    role: str
    page: str
    values: NDArray[np.generic]
    step: tuple[int, int]
    rows: int
    limit: float

    def header(self) -> dict[str, Any]:
        """As it travels to the browser."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Told:
    """What a reader did: each field None where it says nothing.

    Attributes:
        head, token: the new choice.
        step: the step shown, 0 for none.
        page: the page to open.
    """

    head: int | None = None
    token: int | None = None
    step: int | None = None
    page: str | None = None


def stage(
    blocks: Mapping[str, Block],
    *,
    key: str,
    alt: str,
    words: Mapping[str, str],
    settings: Mapping[str, Any],
    on_tell: Callable[[Told], None],
    export: Mapping[str, Any] | None = None,
) -> None:
    """Draw the layer.

    Args:
        blocks: by name: "x", "q", "k", "v" whole; "q_rot", "k_rot", "pattern" by head; "concat",
            "out", "residual". What a head collects is its band of "concat".
        key: unique on the page, stable over reruns.
        alt: what a reader who cannot see it is told.
        words: the texts under "stage." and "plot.", by the rest of their key.
        settings: what else the browser needs; see `mha_view.walk.stage`.
        on_tell: called before the script runs with what the reader did; whatever the browser
            sent, so numbers must be checked.
        export: what the downloads hold, as for a `plot`; no downloads without.
    """

    def tell() -> None:
        on_tell(_told(key))

    header = {
        **settings,
        "reserve": 180 if settings["small"] else 640,
        "blocks": {name: block.header() for name, block in blocks.items()},
        "alt": alt,
        "words": dict(words),
        "turn": _newest(key).get("turn", 0),
        "export": prepare_export(export, key),
        "toolbar": export is not None,
    }
    mount("stage.js", header, key=key, callbacks={"told": tell, "wanted": wait})


def limit_of(values: NDArray[np.generic]) -> float:
    """The size that all but the largest fiftieth of the numbers stay below.

    A few columns, `<bos>`'s first of all, hold numbers many times larger than the rest; a scale
    up to them would show nothing else.

    >>> limit_of(np.arange(-99.0, 1.0)), limit_of(np.zeros((2, 2))), limit_of(np.zeros((0, 2)))
    (97.0, 1.0, 1.0)
    """
    sizes = np.abs(values)
    sizes = sizes[np.isfinite(sizes)]
    return float(np.quantile(sizes, 0.98, method="lower") if sizes.size else 0.0) or 1.0


def shade(values: NDArray[np.floating], limit: float, *, signed: bool) -> NDArray[np.uint8]:
    """Numbers as colours: places on a ramp, 1 to 255; 0 where masked.

    >>> shade(np.array([-9.0, 0.0, 1.0, np.nan]), 2.0, signed=True).tolist()
    [1, 128, 192, 0]
    >>> shade(np.array([0.0, 0.5, 1.0]), 1.0, signed=False).tolist()
    [1, 128, 255]
    """
    share = np.clip(np.nan_to_num(values) / limit, -1.0 if signed else 0.0, 1.0)
    place = np.round(128 + 127 * share) if signed else np.round(1 + 254 * share)
    return np.where(np.isnan(values), 0, place).astype(np.uint8)


def _newest(key: str) -> Mapping[str, Any]:
    """What the browser told last."""
    told = st.session_state.get(key, {}).get("told")
    return told if isinstance(told, dict) else {}


def _told(key: str) -> Told:
    """What the browser told last, as far as it can be one of ours."""
    newest = _newest(key)
    numbers = {
        name: value
        for name in ("head", "token", "step")
        if type(value := newest.get(name)) is int and value >= 0
    }
    page = newest.get("page")
    return Told(**numbers, page=page if isinstance(page, str) else None)
