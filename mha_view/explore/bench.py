"""The experiment bench: switch heads off, or forbid them a look, and see what is then expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import streamlit as st

from mha_core.heads.measures import total_variation
from mha_view import compute, heavy, real, state
from mha_view.explore import known
from mha_view.explore.board import Board
from mha_view.explore.changed import Edge, Heads, chances, display, edge_of, every_head, key_of
from mha_view.explore.passport import Line, draw_lines
from mha_view.heavy import once
from mha_view.panel import literal
from mha_view.scene import Ablation, Scene
from mha_view.store import STORE

SHOWN = 8


def place_of(board: Board) -> int:
    """The token after which is asked on a page."""
    return token_after(board.scene, board.reading)


def token_after(scene: Scene, reading: compute.Reading) -> int:
    """The token after which is asked: the chosen one, else the last that is no punctuation."""
    tokens = reading.tokens
    if 0 <= scene.after < len(tokens):
        return scene.after
    return next(
        (
            place for place in reversed(range(len(tokens)))
            if tokens[place].kind not in ("punctuation", "special")
        ),
        0,
    )  # fmt: skip


def off_of(board: Board) -> Heads:
    """The heads that are changed, those among the chosen ones that there are."""
    every = set(every_head(board.scene))
    return tuple(pair for pair in board.scene.off if pair in every)


def draw_bench(board: Board) -> None:
    """Heads to switch off, the place, and the predictions before and after."""
    words, scene = board.words, board.scene
    labels, place, off = board.reading.labels, place_of(board), off_of(board)
    draw_heads_off(board, get_args(Ablation), place)
    edge = _draw_edge(board, place) if scene.ablation == "look" else None
    if scene.weights == "real":
        _bring(board, place, off, edge)
    before, after = chances(scene, place, ()), chances(scene, place, off, edge)
    left, right = st.columns(2)
    for column, found, other, name in (
        (left, before, after, "before"), (right, after, before, "after"),
    ):  # fmt: skip
        lines = [
            Line(display(scene, int(number)), float(found[number]), "share", float(other[number]))
            for number in np.argsort(-found)[:SHOWN]
        ]
        is_look = name == "after" and scene.ablation == "look"
        title = words("bench.after.look" if is_look else f"bench.{name}", token=labels[place])
        with column:
            draw_lines(
                f"bench_{name}", lines, words, scene, rows=[line.label for line in lines],
                caption=title, chance=words(f"bench.{name}.tick"),
            )  # fmt: skip
    moved = float(total_variation(before, after))
    best, then = (display(scene, int(found.argmax())) for found in (before, after))
    st.markdown(
        words(
            "bench.none" if not off else "bench.kept" if best == then else "bench.changed",
            before=literal(best), after=literal(then), moved=f"{moved:.0%}",
            first=f"{before.max():.0%}", second=f"{after[int(before.argmax())]:.0%}",
        )
    )  # fmt: skip


def _bring(board: Board, place: int, off: Heads, edge: Edge | None) -> None:
    """Wait until another people's model has answered, with all its heads and with some changed."""
    words, scene = board.words, board.scene
    if off and scene.ablation == "mean":
        known.bring(words, real.name_of(scene))  # the means come with it
    for heads in dict.fromkeys(((), off)):
        key = key_of(scene, place, heads, edge)
        if key not in STORE:
            heavy.wait_for(words, "bench", key, once(chances, scene, place, heads, edge))


def draw_heads_off(board: Board, ways: tuple[Ablation, ...], place: int | None = None) -> None:
    """Which heads are changed, how, and after which token is asked.

    Args:
        board: the page.
        ways: how they can be.
        place: the token; not asked for where None.
    """
    words, labels, off = board.words, board.reading.labels, off_of(board)
    st.session_state["bench_off"] = list(off)  # as it comes back, so that nothing has changed
    st.multiselect(
        words("bench.off"),
        every_head(board.scene),
        format_func=lambda pair: words("board.short", layer=pair[0], head=pair[1]),
        placeholder=words("bench.placeholder"),
        key="bench_off",
        on_change=lambda: state.change(off=tuple(sorted(st.session_state["bench_off"]))),
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench_row"):
        st.segmented_control(
            words("bench.how"),
            ways,
            required=True,
            format_func=lambda name: words(f"bench.{name}"),
            **state.bind("ablation", shown=_way(board, ways)),
        )
        if place is not None:
            st.session_state["bench_after"] = place
            st.select_slider(
                words("bench.where"),
                list(range(len(labels))),
                format_func=_number(labels),
                key="bench_after",
                on_change=lambda: state.change(after=st.session_state["bench_after"]),
            )
        st.button(
            words("bench.role_off"),
            help=words("bench.role_off.help"),
            **state.setter(off=tuple(sorted({*off, (board.layer, board.head)}))),
        )


def _number(labels: tuple[str, ...]) -> Callable[[int], str]:
    """Tokens with their places, so that a word said twice is two."""
    return [f"{number} · {label}" for number, label in enumerate(labels)].__getitem__


def _way(board: Board, ways: tuple[Ablation, ...]) -> Ablation:
    """How heads are changed: the chosen way where it is offered."""
    return board.scene.ablation if board.scene.ablation in ways else ways[0]


def _draw_edge(board: Board, place: int) -> Edge:
    """Which look is forbidden: from which token, at which."""
    words, labels = board.words, board.reading.labels
    edge = edge_of(board.scene, board.walk.patterns, place)
    with st.container(horizontal=True, key="bench_edge"):
        for field, value in zip(("edge_query", "edge_key"), edge, strict=True):
            st.selectbox(
                words(f"bench.{field}"), list(range(len(labels))), format_func=_number(labels),
                width=260, **state.bind(field, shown=value),
            )  # fmt: skip
    return edge
