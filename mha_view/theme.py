"""Colours and their meaning: one for each role, one for each head, chosen nowhere else."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_core.palette import INK

# A role is the same colour on every page. The words name Streamlit's text colours, which
# `.streamlit/config.toml` sets for light and dark.
ROLES: dict[str, str] = {
    "query": "blue",
    "key": "orange",
    "value": "green",
    "pattern": "violet",
    "output": "red",
    "residual": "gray",
}
# Okabe and Ito 2008, told apart by colour-blind readers; a head always carries its number too.
HEADS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#7F6FC4", "#8C564B")
# Signed values, centred on zero: orange below, purple above, the page's own grey in the middle.
# By day Brewer's PuOr, turned; by night its tints on dark, so that zero stays quiet.
SIGNED_LIGHT = ("#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7", "#d8daeb", "#b2abd2",
                "#8073ac", "#542788")  # fmt: skip
SIGNED_DARK = ("#ffc27d", "#e0903c", "#a8682a", "#61462c", "#2a2f35", "#443e63", "#6f63a8",
               "#9c8fd6", "#cfc6ff")  # fmt: skip

# Weights from 0 to 1: cividis (Nuñez, Anderton and Renslow 2018), as Plotly has it.
CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
           "#e1cc55", "#fee838")  # fmt: skip


def head_colour(head: int) -> str:
    """The colour of a head."""
    return HEADS[head % len(HEADS)]


def is_dark() -> bool:
    """Whether the reader's theme is dark; a notebook has no theme of ours, and is light."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return False
    return st.context.theme.type == "dark"


def ink(role: str) -> str:
    """A role's colour in the reader's theme, as hex."""
    return INK[role][is_dark()]


def signed_ramp() -> list[list[float | str]]:
    """The colours of signed numbers in the reader's theme, as a Plotly colour scale."""
    colours = SIGNED_DARK if is_dark() else SIGNED_LIGHT
    return [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)]
