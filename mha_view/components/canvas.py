"""A board of 32 × 32 pixels to draw on, with a pointer or with keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from mha_view.components.mount import mount


def canvas(
    ink: str,
    *,
    key: str,
    label: str,
    words: Mapping[str, str],
    on_draw: Callable[[str], None],
) -> None:
    """Draw the board; each finished stroke comes back before the script runs again.

    Strokes are five pixels thick, about as thick as the digits'. By keyboard the arrows move a
    cursor, Space puts the pen down or takes it up, Delete clears the board. What is drawn is told
    as the whole drawing, packed as `mha_view.relate.drawing` packs it.

    Args:
        ink: the drawing that is shown at first, and whenever the server changes it.
        key: unique on the page, stable over reruns.
        label: what a reader who cannot see the board is told.
        words: the texts under "canvas.", by the rest of their key.
        on_draw: called with the new drawing; whatever the browser sent, so it must be checked.
    """

    def tell() -> None:
        drawn = _drawn(key).get("ink")
        if isinstance(drawn, str):
            on_draw(drawn)

    turn = _drawn(key).get("turn", 0)
    header = {"ink": ink, "turn": turn, "label": label, "words": dict(words), "reserve": 370}
    mount("canvas.js", header, key=key, callbacks={"drawn": tell})


def _drawn(key: str) -> Mapping[str, Any]:
    """What the browser sent last."""
    drawn = st.session_state.get(key, {}).get("drawn")
    return drawn if isinstance(drawn, dict) else {}
