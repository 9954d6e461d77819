"""Every role's score for every head: as a map, and for one role head by head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view import controls, state
from mha_view.about import About
from mha_view.explore.board import Board
from mha_view.explore.evidence import Report
from mha_view.explore.passport import Line, passport
from mha_view.explore.roles import roles_of
from mha_view.figures.damage import role_map
from mha_view.scene import RoleName
from mha_view.show import show
from mha_view.table_files import draw_table

if TYPE_CHECKING:
    from mha_view.components.plot import Cell


def scores_of(report: Report, role: RoleName) -> NDArray[np.float64]:
    """Every head's score in a role, [place]."""
    heads = report["roles"][role]["heads"]
    return np.array([found["mean"] for layer in heads for found in layer])


def order_of(board: Board, report: Report) -> list[int]:
    """The heads' places as the reader wants them: in order, or the role's best first."""
    scores = scores_of(report, board.scene.role)
    if not board.scene.by_score:
        return list(range(len(scores)))
    return [int(place) for place in np.argsort(-scores, kind="stable")]


def draw_strip(board: Board, report: Report) -> None:
    """Every head's score in the chosen role; a picked head shows its evidence."""
    words, role = board.words, board.scene.role
    picture = role_map(
        scores_of(report, role)[None], [words(f"role.{role}")], board.names(), words,
        board.scene.scale, name="role_strip",
    )  # fmt: skip

    def choose(cell: Cell | None) -> None:
        if cell is not None:
            layer, head = divmod(cell.column, board.n_heads)
            state.change(layer=layer, head=head, own=True)

    show(picture, words, None, choose, about=About(words("picture.measured")))


def draw_map(board: Board, report: Report) -> None:
    """Roles × heads; a picked cell opens the role's sentences as that head reads them."""
    words, names, order = board.words, roles_of(report), order_of(board, report)
    with st.container(horizontal=True, vertical_alignment="bottom", key="role_map_controls"):
        _draw_role(board, names)
        st.segmented_control(
            words("map.order"), [False, True], required=True,
            format_func=lambda best: words("map.by_score" if best else "map.in_order"),
            **state.bind("by_score"),
        )  # fmt: skip
        controls.draw_scale(words)
    scores = np.stack([scores_of(report, name) for name in names])
    labels = [words(f"role.{name}") for name in names]
    heads = [board.short(place) for place in order]
    picture = role_map(scores[:, order], labels, heads, words, board.scene.scale)

    def choose(cell: Cell | None) -> None:
        if cell is not None:
            layer, head = divmod(order[cell.column], board.n_heads)
            state.change(role=names[cell.row], layer=layer, head=head, own=True, tab="roles")

    show(picture, words, None, choose, about=About(words("picture.measured")))
    st.caption(words("map.caption"))


def _draw_role(board: Board, names: list[RoleName]) -> None:
    """The role that the order and the list are about."""
    words = board.words
    st.selectbox(
        words("map.role"), names, width=360, format_func=lambda name: words(f"role.{name}"),
        **state.bind("role", "map_"),
    )  # fmt: skip


def draw_list(board: Board, report: Report) -> None:
    """Every head's score in the chosen role, with its interval and what chance gives."""
    words, role = board.words, report["roles"][board.scene.role]
    baselines = role["baselines"]
    lines = []
    for place in order_of(board, report):
        layer, head = divmod(place, board.n_heads)
        found = role["heads"][layer][head]
        lines.append(
            Line(board.short(place), found["mean"], "share", baselines["uniform"], found["low"],
                 found["high"])
        )  # fmt: skip
    st.markdown(f"##### {words('map.list', role=words(f'role.{board.scene.role}'))}")
    told = words("list.next").join(
        words("map.baseline", name=words(f"baseline.{name}"), value=f"{value:.2f}")
        for name, value in baselines.items()
    )
    markup = passport(
        lines, words, words("map.list.caption", n=role["mass"]["n"], baselines=told)
    )  # fmt: skip
    table: dict[str, list[Any]] = {
        "head": [line.label for line in lines], "mass": [line.value for line in lines],
        "low": [line.low for line in lines], "high": [line.high for line in lines],
    }  # fmt: skip
    for name, value in baselines.items():
        table[f"baseline_{name}"] = [value] * len(lines)
    draw_table(f"role_{board.scene.role}", markup, table, words, board.scene)
