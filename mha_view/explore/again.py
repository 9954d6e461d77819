"""Where the page's figures are from, and measuring them again: started, followed, stopped."""

from __future__ import annotations

import uuid

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view.explore import evidence
from mha_view.explore.evidence import Measuring, Report
from mha_view.words import Words

GLANCE = 0.3  # seconds between two looks at a measurement that the page waits for
TICK = 0.7  # and at one that goes on beside it


@st.cache_resource(
    scope="session", show_spinner=False, max_entries=4, on_release=lambda name: evidence.leave(name)
)
def session_name() -> str:
    """This session's name among the followers; when it ends, it follows no longer."""
    return uuid.uuid4().hex


def load_report(words: Words) -> Report:
    """The measured figures; where none are shipped for these weights, with progress while they
    are measured."""
    if evidence.find() is None:
        measuring = evidence.begin(session_name())
        bar = st.progress(0.0, words("measuring.roles"))
        while not measuring.ended.wait(GLANCE):
            bar.progress(measuring.share, words(f"measuring.{measuring.part}"))
        bar.empty()
    return evidence.measure()


def draw_again(words: Words) -> None:
    """What the figures were measured on, and a measurement on this server beside them."""
    going = _followed() is not None
    st.fragment(_draw, run_every=TICK if going else None)(words, going)


def _followed() -> Measuring | None:
    """The measurement that this session waits for, None where there is none."""
    measuring = evidence.current()
    is_ours = measuring is not None and session_name() in measuring.followers
    return measuring if is_ours and measuring is not None and not measuring.ended.is_set() else None


def _draw(words: Words, was_going: bool) -> None:
    """One look: how far it is, with a way to stop it, or what is known, with a way to begin."""
    measuring = _followed()
    if (measuring is not None) != was_going:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="measure_again"):
        if measuring is not None:
            st.progress(measuring.share, words(f"measuring.{measuring.part}"))
            st.button(words("again.stop"), key="again_stop", on_click=_stop)
            return
        st.caption(_origin(words))
        st.button(words("again.start"), key="again_start", help=words("again.start.help"),
                  on_click=_start)  # fmt: skip
    last = evidence.current()
    failure = None if last is None else last.failure
    if isinstance(failure, TwelveHeadsError):
        st.error(words.error(failure))
    elif failure is not None:
        st.error(words("again.failed"))


def _start() -> None:
    """Measure on this server, or follow who does."""
    evidence.begin(session_name(), anew=True)


def _stop() -> None:
    """Wait no longer; the figures stay as they were."""
    evidence.leave(session_name())


def _origin(words: Words) -> str:
    """What the figures on the page were measured on."""
    from mha_core.heads.report import count_figures, find_differences
    from mha_core.heads.roles import COUNT
    from mha_view import compute

    weights = compute.load_weights().metadata["sha256"][:8]
    shipped, found = evidence.shipped(), evidence.find()
    if found is shipped or found is None:
        return words("again.shipped", weights=weights, n=COUNT)
    if shipped is None:
        return words("again.here", weights=weights, n=COUNT)
    differences, figures = find_differences(shipped, found), count_figures(shipped)
    if not differences:
        return words("again.same", weights=weights, figures=figures)
    most = f"{max(differences.values()):.3f}"
    return words("again.differ", weights=weights, figures=figures, n=len(differences), most=most)
