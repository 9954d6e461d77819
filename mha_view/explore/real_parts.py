"""The specialisation page on another people's model: roles, tasks, the experiment bench."""

from __future__ import annotations

import streamlit as st

from mha_view import real
from mha_view.explore.bench import draw_bench
from mha_view.explore.board import Board
from mha_view.explore.real_roles import draw_roles
from mha_view.explore.tasks import draw_tasks
from mha_view.panel import literal
from mha_view.real import SHELF
from mha_view.scene import Tab


def draw_part(board: Board, tab: Tab) -> None:
    """One part of the page."""
    words, name = board.words, real.name_of(board.scene)
    with st.container(border=True):
        if tab == "roles":
            draw_roles(board)
            return
        st.markdown(f"##### {words('known.title' if tab == 'damage' else 'bench.title')}")
        if not SHELF.load(name).speaks:
            st.info(words("known.silent", name=literal(name)))
        elif tab == "damage":
            draw_tasks(board)
        else:
            st.caption(words("bench.caption"))
            draw_bench(board)
