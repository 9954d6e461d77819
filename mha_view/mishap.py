"""What a reader sees when the program itself is wrong: a message, never a stack trace."""

from __future__ import annotations

import logging

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view import state
from mha_view.words import Words

log = logging.getLogger("twelve_heads")


def show_mishap(error: Exception) -> bool:
    """Tell the reader in their language and keep the trace for the log.

    Returns:
        True, so that nothing else is shown.
    """
    words = Words(state.scene().lang if "scene" in st.session_state else "en")
    if isinstance(error, TwelveHeadsError):
        st.error(words.error(error))
    else:
        log.error("a page failed", exc_info=error)
        st.error(words("page.broken"))
    return True
