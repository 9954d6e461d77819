"""Bringing what a choice has opened into view."""

from __future__ import annotations

import streamlit as st

from mha_view.components.mount import mount

TURN = "revealed"


def reveal(target: str) -> None:
    """Have the browser scroll to a container whenever `ask` was called, if it is out of sight.

    Args:
        target: the container's key.
    """
    turn = st.session_state.get(TURN, 0)
    mount("reveal.js", {"target": target, "turn": turn}, key="reveal", callbacks={})


def ask() -> None:
    """Ask for it; called where the choice is made."""
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1
