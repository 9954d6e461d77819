"""The frame around every page: previous and next."""

from __future__ import annotations

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view import state
from mha_view.link import link_of
from mha_view.menu import neighbours, page_file
from mha_view.symbols import glossary
from mha_view.words import Words


def draw_glossary(words: Words) -> None:
    """Every symbol in one sentence with its number for this sentence, from any page."""
    try:
        told = glossary(state.scene(), words)
    except TwelveHeadsError:
        return  # the page says what is wrong with the sizes
    if not told:
        return  # the model is not there yet
    with st.popover(words("symbols.all"), type="tertiary"):
        st.html(told)


def draw_neighbours(words: Words, current: str) -> None:
    """Previous and next page, also by Shift+Left and Shift+Right."""
    before, after = neighbours(current)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="neighbours"):
        for name, shortcut, way in (
            (before, "Shift+Left", "previous"),
            (after, "Shift+Right", "next"),
        ):
            if name is None:
                st.space("small")
                continue
            label = words(f"nav.{way}", title=words(f"nav.{name}"))
            if st.button(label, key=way, shortcut=shortcut, type="tertiary"):
                st.switch_page(page_file(name), query_params=link_of(state.scene()))
