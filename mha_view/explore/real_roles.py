"""Which heads of another people's model fill the roles that random tokens said twice can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from mha_view import heavy, state
from mha_view.explore.board import Board
from mha_view.explore.passport import Line, draw_lines
from mha_view.heavy import once
from mha_view.real import SHELF
from mha_view.store import STORE

if TYPE_CHECKING:
    from mha_core.real.roles import HeadScores

SHOWN = 5  # heads a role
OFF = 4  # that can be switched off together


def scores_of(name: str) -> HeadScores:
    """A model's scores in every role, measured once."""
    from mha_core.real.roles import score_heads

    return STORE.get(("roles", ("real", name)), lambda: score_heads(SHELF.load(name)))


def draw_roles(board: Board) -> None:
    """The best heads of each role, with interval and chance; measured when the reader asks."""
    words, name = board.words, board.scene.real
    st.markdown(f"##### {words('real.roles')}")
    st.caption(words("real.roles.caption"))
    key = ("roles", ("real", name))
    if key not in STORE and st.session_state.get("real_roles") != name:
        st.button(
            words("real.roles.measure"), key="real_roles_measure",
            on_click=st.session_state.__setitem__, args=("real_roles", name),
        )  # fmt: skip
        return
    if key not in STORE:
        heavy.wait_for(words, "roles", key, once(scores_of, name))
    scores = scores_of(name)
    columns = st.columns(2)
    for place, role in enumerate(scores.values):
        ranked = scores.ranked(role)[:SHOWN]
        chance = float(scores.chance[role].mean())
        lines = [
            Line(
                words("board.short", layer=layer, head=head), found.mean, "share", chance,
                found.low, found.high,
            )
            for (layer, head), found in ranked
        ]  # fmt: skip
        with columns[place % 2]:
            draw_lines(
                f"real_role_{role}", lines, words, board.scene, caption=words(f"role.{role}"),
                rows=[f"L{layer} H{head}" for (layer, head), _ in ranked],
            )  # fmt: skip
            (layer, head), _ = ranked[0]
            st.button(
                words("real.roles.open", head=words("board.short", layer=layer, head=head)),
                key=f"real_role_{role}", type="tertiary",
                **state.setter(layer=layer, head=head, picked=None),
            )  # fmt: skip
            best = tuple(sorted(place for place, _ in ranked[:OFF]))
            if board.name == "specialisation":
                st.button(
                    words("real.roles.off", n=len(best)), key=f"real_off_{role}", type="tertiary",
                    **state.setter(off=best, tab="damage"),
                )  # fmt: skip
