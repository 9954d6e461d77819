"""What breaks without a head: by task and head, the two that matter most, one task head by head."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view import state
from mha_view.about import About
from mha_view.explore.board import Board
from mha_view.explore.evidence import Report
from mha_view.explore.passport import plain_table
from mha_view.figures.bars import bars
from mha_view.figures.damage import damage
from mha_view.scene import TaskName
from mha_view.show import show
from mha_view.table_files import draw_table
from mha_view.theme import ink

if TYPE_CHECKING:
    from mha_view.components.plot import Cell

SILENT = 0.05  # a loss smaller than this is not counted as one


def losses_of(report: Report) -> NDArray[np.float64]:
    """The loss on pairs without each head, its mean instead, [task, place]."""
    tasks = report["damage"]["tasks"].values()
    return np.array([np.ravel(found["loss"]) for found in tasks])


def choose_head(board: Board, heads: list[int] | None = None) -> Callable[[Cell | None], None]:
    """What a picked column does: choose its head.

    Args:
        board: the page.
        heads: each column's place; in order if None.
    """

    def choose(cell: Cell | None) -> None:
        if cell is not None:
            place = cell.column if heads is None else heads[cell.column]
            layer, head = divmod(place, board.n_heads)
            state.change(layer=layer, head=head)

    return choose


def draw_damage(board: Board, report: Report) -> None:
    """Heads × tasks; a picked column chooses the head."""
    words, found = board.words, report["damage"]
    lost, heads = losses_of(report), board.names()
    tasks = [words(f"task.{task}") for task in found["tasks"]]
    measured = About(words("picture.measured"))
    show(damage(lost, tasks, heads, words), words, None, choose_head(board), about=measured)
    row, place = (int(n) for n in np.unravel_index(int(lost.argmax()), lost.shape))
    silent = int((np.abs(lost).max(axis=0) < SILENT).sum())
    st.caption(
        words("damage.caption", n=found["n"], head=board.short(place), task=tasks[row],
              lost=f"{100 * lost[row, place]:.0f}", silent=silent, heads=lost.shape[1])
    )  # fmt: skip


def draw_jurors(board: Board, report: Report) -> None:
    """For each task the two heads whose loss costs most."""
    words, found = board.words, report["damage"]
    rows = []
    table: dict[str, list[Any]] = {name: [] for name in (
        "task", "intact", "first", "first_lost", "second", "second_lost",
    )}  # fmt: skip
    for task, losses in zip(found["tasks"], losses_of(report), strict=True):
        best = np.argsort(-losses, kind="stable")[:2]
        cells = [task, report["tasks"][task]["mean"]]
        for place in best:
            cells += [board.short(int(place)), float(losses[place])]
        for column, cell in zip(table.values(), cells, strict=True):
            column.append(cell)
        told = [
            f"{board.short(int(place))}  −{100 * losses[place]:.0f}" if losses[place] > 0 else "–"
            for place in best
        ]
        rows.append([words(f"task.{task}"), f"{report['tasks'][task]['mean']:.0%}", *told])
    names = [words(f"jurors.{name}") for name in ("task", "intact", "first", "second")]
    draw_table("jurors", plain_table(names, rows), table, words, board.scene)


def draw_task(board: Board, report: Report) -> None:
    """One task: what it loses without each head, counted in three ways, and without two."""
    words, scene = board.words, board.scene
    st.selectbox(
        words("losses.task"), get_args(TaskName), width=420,
        format_func=lambda task: words(f"task.{task}"), **state.bind("task"),
    )  # fmt: skip
    found: dict[str, Any] = report["damage"]["tasks"][scene.task]
    kinds = [kind for kind in ("loss", "zero", "exact") if found[kind] is not None]
    lost = np.array([np.ravel(found[kind]) for kind in kinds])
    labels = board.names()
    place = int(lost[0].argmax())
    picture = bars(
        "losses", -lost, labels,
        colours=[ink(role) for role in ("pattern", "key", "value")[: len(kinds)]],
        title=words("axis.accuracy"), series=[words(f"losses.{kind}") for kind in kinds],
        alt=words("alt.losses", task=words(f"task.{scene.task}"), head=labels[place],
                  lost=f"{100 * lost[0, place]:.0f}"),
        height=110 + 34 * len(labels), sideways=True,
    )  # fmt: skip
    show(picture, words, about=About(words("picture.measured"), words(f"task.{scene.task}")))
    st.caption(words("losses.caption" if len(kinds) == 3 else "losses.caption.number"))
    _draw_pairs(board, found)


def _draw_pairs(board: Board, found: dict[str, Any]) -> None:
    """Two heads at a time, the dearest first, beside what each costs alone."""
    words, alone = board.words, np.array(found["loss"])

    def told(lost: float) -> str:
        return f"{-100 * lost:+.0f}".replace("-", "−")

    pairs = sorted(found["pairs"], key=lambda pair: -pair["loss"])
    rows = [
        [
            words("losses.two", first=words("board.short", layer=one[0], head=one[1]),
                  second=words("board.short", layer=two[0], head=two[1])),
            told(float(alone[*one])), told(float(alone[*two])), told(pair["loss"]),
        ]
        for pair in pairs
        for one, two in [pair["heads"]]
    ]  # fmt: skip
    table: dict[str, list[Any]] = {}
    for number, name in enumerate(("first", "second")):
        heads = [pair["heads"][number] for pair in pairs]
        table[name] = [words("board.short", layer=one[0], head=one[1]) for one in heads]
        table[f"{name}_lost"] = [float(alone[*one]) for one in heads]
    table["both_lost"] = [pair["loss"] for pair in pairs]
    names = [words(f"losses.pairs.{name}") for name in ("heads", "first", "second", "both")]
    st.markdown(f"**{words('losses.pairs')}**")
    st.caption(words("losses.pairs.caption", n=len(rows)))
    draw_table("pairs", plain_table(names, rows), table, words, board.scene)
