"""Mounting a component of ours: the loader goes along, the rest is fetched once and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_view import assets
from mha_view.components.packet import pack

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


@cache
def renderer() -> ComponentRenderer:
    """Return Streamlit's renderer for our components."""
    loader = (assets.BROWSER_DIR / "loader.js").read_text(encoding="utf-8")
    return st.components.v2.component("twelve_heads.component", js=loader, isolate_styles=False)


def mount(
    module: str,
    header: Mapping[str, Any],
    *,
    key: str,
    callbacks: Mapping[str, Callable[[], None]],
) -> Mapping[str, Any]:
    """Mount `browser/<module>` with `header` and return the state it sent last.

    Args:
        module: a file of `browser/` that exports `render(component, header)`.
        header: what it draws; arrays travel as bytes.
        key: unique on the page, stable over reruns.
        callbacks: what runs before the script when a state changes, by the state's name.
    """
    addresses = {"module": f"{assets.components_address()}/{module}"}
    packet = pack({**header, "addresses": {**addresses, "plotly": assets.plotly_address()}})
    watched: dict[str, Any] = {f"on_{name}_change": run for name, run in callbacks.items()}
    state: Mapping[str, Any] = renderer()(key=key, data=packet, **watched)
    return state
