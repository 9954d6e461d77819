"""What breaks in another people's model: a few tasks, with all its heads and with some off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.heads.sample import bootstrap
from mha_view import real
from mha_view.explore import known
from mha_view.explore.bench import draw_heads_off, off_of
from mha_view.explore.board import Board
from mha_view.explore.passport import Line, draw_lines, plain_table
from mha_view.panel import literal, number
from mha_view.scene import Ablation
from mha_view.store import STORE
from mha_view.table_files import draw_table
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.real.pairs import PairScores, Scored

WAYS: tuple[Ablation, ...] = ("mean", "zero")


def draw_tasks(board: Board) -> None:
    """The tasks, measured when the reader asks; beside them the same with the chosen heads off."""
    words, name = board.words, real.name_of(board.scene)
    st.caption(words("known.caption"))
    draw_heads_off(board, WAYS)
    off = off_of(board)
    how = board.scene.ablation if board.scene.ablation in WAYS else WAYS[0]
    wanted = st.session_state.get("known_wanted") == name
    if known.key_of(name) not in STORE and not wanted:
        st.button(
            words("real.roles.measure"), key="known_measure", type="primary",
            on_click=st.session_state.__setitem__, args=("known_wanted", name),
        )  # fmt: skip
        return
    whole = known.bring(words, name)
    without = known.bring(words, name, off, how) if off else None
    left, right = st.columns(2)
    score, known_tasks = words("known.right"), [task.task for task in whole.tasks if task.is_known]
    with left:
        draw_lines("known_whole", _lines(whole, words), words, board.scene,
                   caption=words("known.whole"), chance=words("passport.chance"), score=score,
                   rows=[task.task for task in whole.tasks])  # fmt: skip
    with right:
        if without is None:
            st.info(words("known.none"))
        else:
            heads = ", ".join(words("board.short", layer=layer, head=head) for layer, head in off)
            draw_lines("known_without", _lines_without(whole, without, words), words, board.scene,
                       caption=words("known.without", heads=heads), score=score,
                       chance=words("bench.after.tick"), rows=known_tasks)  # fmt: skip
    _draw_said(whole, without, words, literal(name))
    with st.expander(words("known.pairs")):
        _draw_pairs(board, whole, without)


def _lines(found: Scored, words: Words) -> list[Line]:
    """The share of pairs that are right, a line a task."""
    return [
        Line(
            words(f"known.{task.task}"), task.right.mean, "share", 0.5, task.right.low,
            task.right.high, "" if task.is_known else words("known.unknown"),
        )
        for task in found.tasks
    ]  # fmt: skip


def _lines_without(whole: Scored, without: Scored, words: Words) -> list[Line]:
    """The same with heads off, of the tasks where there was something to lose."""
    return [
        Line(
            words(f"known.{before.task}"), after.right.mean, "share", before.right.mean,
            after.right.low, after.right.high,
        )
        for before, after in zip(whole.tasks, without.tasks, strict=True)
        if before.is_known
    ]  # fmt: skip


def _draw_said(whole: Scored, without: Scored | None, words: Words, name: str) -> None:
    """What the model knows, and what the heads cost it most."""
    unknown = [words(f"known.{task.task}") for task in whole.tasks if not task.is_known]
    if unknown:
        st.markdown(words("known.said.unknown", name=name, tasks=words("list.and").join(unknown)))
    if without is None:
        return
    lost = {
        before.task: bootstrap(after.margins - before.margins)
        for before, after in zip(whole.tasks, without.tasks, strict=True)
        if before.is_known
    }
    if not lost:
        return
    task = min(lost, key=lambda task: lost[task].mean)
    found = lost[task]
    key = "known.said.lost" if found.high < 0 else "known.said.nothing"
    st.markdown(
        words(key, task=words(f"known.{task}"), change=number(found.mean, 2),
              low=number(found.low, 2), high=number(found.high, 2))
    )  # fmt: skip


def _draw_pairs(board: Board, whole: Scored, without: Scored | None) -> None:
    """Every sentence with both endings, and by how much the right one is ahead."""
    words = board.words
    told = {name: words(f"known.pairs.{name}") for name in ("beginning", "right", "wrong", "lead")}
    if without is not None:
        told["without"] = words("known.pairs.without")
    tabs = st.tabs([words(f"known.{task.task}") for task in whole.tasks])
    for place, (tab, task) in enumerate(zip(tabs, whole.tasks, strict=True)):
        table = _table_of(task, None if without is None else without.tasks[place])
        rows = [
            [str(beginning), str(right), str(wrong), *(number(float(lead), 2) for lead in leads)]
            for beginning, right, wrong, *leads in zip(*table.values(), strict=True)
        ]
        with tab:
            markup = plain_table([told[name] for name in table], rows)
            draw_table(f"known_{task.task}", markup, table, words, board.scene)


def _table_of(task: PairScores, other: PairScores | None) -> dict[str, list[Any]]:
    """A task's pairs and leads by column."""
    from mha_core.real.pairs import load_pairs

    pairs = load_pairs()[task.task]
    table: dict[str, list[Any]] = {
        "beginning": [pair.beginning for pair in pairs],
        "right": [pair.right.strip() for pair in pairs],
        "wrong": [pair.wrong.strip() for pair in pairs],
        "lead": task.margins.tolist(),
    }
    return table if other is None else table | {"without": other.margins.tolist()}
