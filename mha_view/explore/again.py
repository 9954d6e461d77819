"""Where the page's figures are from, and measuring them again: asked for, followed, stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view.explore import evidence
from mha_view.explore.evidence import Report
from mha_view.heavy import line, session_name, tell_failure

if TYPE_CHECKING:
    from mha_view.jobs import Job
    from mha_view.words import Words

GLANCE = 0.3  # seconds between two looks at a measurement that the page waits for
TICK = 0.7  # and at one that goes on beside it


def load_report(words: Words) -> Report:
    """The measured figures; where none are shipped for these weights, with progress while they
    are measured, or the page ends with a message."""
    if evidence.find() is None:
        bar = st.progress(0.0, words("measuring.roles"))
        try:
            job = evidence.ask(session_name())
            while not job.ended.wait(GLANCE):
                bar.progress(*_told(job, words))
        except TwelveHeadsError as full:
            tell_failure(full, words)
            st.stop()
        bar.empty()
        if job.failure is not None:
            tell_failure(job.failure, words)
            st.button(words("heavy.again"), type="primary")
            st.stop()
    report = evidence.find()
    if report is None:  # it was stopped by a newer wish of the same session
        st.stop()
    return report


def _told(job: Job, words: Words) -> tuple[float, str]:
    """How far a job is, as a share and in words; asking keeps it alive."""
    before, progress = line().check(job, session_name()), evidence.progress_of(job)
    if before:
        return 0.0, words("heavy.waiting", n=before)
    if progress is None:
        return 0.0, words("measuring.roles")
    return progress.share, words(f"measuring.{progress.part}")


def draw_again(words: Words) -> None:
    """What the figures were measured on, and a measurement on this server beside them."""
    going = _going() is not None
    st.fragment(_draw, run_every=TICK if going else None)(words, going)


def _going() -> Job | None:
    """The measurement that this session waits for, None where there is none."""
    job: Job | None = st.session_state.get("measuring")
    return None if job is None or job.ended.is_set() else job


def _draw(words: Words, was_going: bool) -> None:
    """One look: how far it is, with a way to stop it, or what is known, with a way to begin."""
    job = _going()
    if (job is not None) != was_going:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="measure_again"):
        if job is not None:
            st.progress(*_told(job, words))
            st.button(words("again.stop"), key="again_stop", on_click=_stop)
            return
        st.caption(_origin(words))
        st.button(words("again.start"), key="again_start", help=words("again.start.help"),
                  on_click=_start)  # fmt: skip
    last: Job | None = st.session_state.get("measuring")
    failure = st.session_state.get("measuring_refused") or (last and last.failure)
    if isinstance(failure, TwelveHeadsError):
        tell_failure(failure, words)
    elif failure is not None:
        st.error(words("again.failed"))


def _start() -> None:
    """Measure on this server, or join who does."""
    st.session_state.pop("measuring_refused", None)
    try:
        st.session_state["measuring"] = evidence.ask(session_name())
    except TwelveHeadsError as full:
        st.session_state["measuring_refused"] = full


def _stop() -> None:
    """Wait no longer; the figures stay as they were."""
    evidence.leave(session_name())
    st.session_state.pop("measuring", None)


def _origin(words: Words) -> str:
    """What the figures on the page were measured on."""
    from mha_core.heads.report import count_figures, find_differences
    from mha_core.heads.roles import COUNT

    weights = evidence.weights_name()[:8]
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
