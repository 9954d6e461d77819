"""Role labels on heads: those that were measured and passed, where the model is used as trained."""

from __future__ import annotations

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view import compute, state
from mha_view.explore import evidence
from mha_view.explore.board import Board
from mha_view.heavy import line, session_name
from mha_view.jobs import Job
from mha_view.link import link_of
from mha_view.menu import page_file
from mha_view.words import Words

Labels = dict[tuple[int, int], list[str]]
GLANCE = 1.0  # seconds between two looks at a measurement that goes on


def find_labels(board: Board) -> Labels | None:
    """The roles of each (layer, head); None while they are being measured.

    There are none for other weights, and none where the model is used as it was not trained.
    """
    if board.scene.weights != "toy" or compute.outside_training(board.scene):
        return {}
    report = evidence.find()
    if report is not None:
        return evidence.labels_of(report)
    return {} if "labels_failed" in st.session_state else None


def short_label(labels: Labels, head: tuple[int, int], words: Words, *, count: bool = True) -> str:
    """A head's roles in few letters: the first by name, then how many more; empty without any."""
    names = labels.get(head, [])
    if not names:
        return ""
    more = f" +{len(names) - 1}" if count and len(names) > 1 else ""
    return words(f"role.{names[0]}.short") + more


def draw_pending(words: Words) -> None:
    """Say that labels are on their way, and draw the page anew when they are there."""
    st.fragment(_wait, run_every=GLANCE)(words)


def _wait(words: Words) -> None:
    """One look at the measurement; asked for at the second look, when the page has been drawn."""
    has_waited = st.session_state.setdefault("labels_waited", False)
    st.session_state["labels_waited"] = True
    job: Job | None = st.session_state.get("measuring")
    try:
        if job is None and has_waited:
            job = st.session_state["measuring"] = evidence.ask(session_name())
    except TwelveHeadsError:  # too much waits already: a page without labels is whole
        st.session_state["labels_failed"] = True
        st.rerun()
    progress = None
    if job is not None:
        line().check(job, session_name())
        progress = evidence.progress_of(job)
        if job.ended.is_set():
            if evidence.find() is None:
                st.session_state["labels_failed"] = True
            st.rerun()
    share = 0.0 if progress is None else progress.share
    st.caption(words("labels.pending", share=f"{share:.0%}"))


def draw_links(board: Board, labels: Labels) -> None:
    """The chosen head's roles, each a way to its evidence."""
    words, head = board.words, (board.layer, board.head)
    if head not in labels:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="head_roles"):
        st.markdown(words("labels.roles"), width="content")
        for name in labels[head]:
            if st.button(words(f"role.{name}"), key=f"role_{name}", help=words("labels.open"),
                         **state.setter(role=name)):  # fmt: skip
                st.switch_page(page_file("specialisation"), query_params=link_of(state.scene()))
