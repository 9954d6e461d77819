"""The specialisation page's parts, one at a time."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from mha_view import state
from mha_view.scene import Scene, Tab
from mha_view.words import Words


def tabs_of(scene: Scene) -> list[Tab]:
    """The parts there are: of another people's model no map, whose heads are in the gallery."""
    hidden = ("auto", "map") if scene.weights == "real" else ("auto",)
    return [tab for tab in get_args(Tab) if tab not in hidden]


def tab_of(scene: Scene) -> Tab:
    """The part that is open: the chosen one, else the bench where the scene is about it."""
    if scene.tab in tabs_of(scene):
        return scene.tab
    is_bench = bool(scene.off) or scene.after >= 0 or scene.token >= 0
    return "bench" if is_bench else "roles"


def draw_tabs(words: Words, scene: Scene) -> Tab:
    """Choose a part; returns it.

    Args:
        words: the reader's words.
        scene: what the page is about.
    """
    shown = tab_of(scene)
    st.segmented_control(
        words("tab.label"),
        tabs_of(scene),
        required=True,
        label_visibility="collapsed",
        format_func=lambda tab: words(f"tab.{tab}"),
        **state.bind("tab", shown=shown),
    )
    return shown
