"""The experiment bench: switch heads off, see what the model then expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import streamlit as st

from mha_core.heads.ablation import ablate
from mha_core.heads.measures import total_variation
from mha_view import compute, state
from mha_view.explore.board import Board
from mha_view.explore.evidence import head_means
from mha_view.explore.passport import Line, draw_lines
from mha_view.panel import literal
from mha_view.scene import Ablation, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

Heads = tuple[tuple[int, int], ...]
SHOWN = 8


def chances(scene: Scene, after: int, heads: Heads) -> NDArray[np.float64]:
    """The probability of every token after a place, with some heads switched off."""
    import torch

    model = compute.load_weights()
    reading = compute.reading_of(scene)
    ids = torch.tensor([token.id for token in reading.tokens])
    means = head_means() if scene.ablation == "mean" else None
    edit = ablate(model, heads, mode=scene.ablation, means=means)
    keep = torch.from_numpy(compute.keep_of(scene, len(reading)))
    with torch.no_grad():
        logits = model.run(ids, keep=keep, rope=scene.rope, edits=edit).logits[after]
    found: NDArray[np.float64] = logits.double().softmax(-1).numpy()
    return found


def place_of(board: Board) -> int:
    """The token after which is asked: the chosen one, else the last that is no punctuation."""
    tokens = board.reading.tokens
    if 0 <= board.scene.after < len(tokens):
        return board.scene.after
    return next(
        (place for place in reversed(range(len(tokens))) if tokens[place].kind != "punctuation"), 0
    )


def draw_bench(board: Board) -> None:
    """Heads to switch off, the place, and the predictions before and after."""
    words, scene = board.words, board.scene
    labels, place = board.reading.labels, place_of(board)
    every = [(layer, head) for layer in range(compute.TOY_LAYERS) for head in range(board.n_heads)]
    off = [pair for pair in scene.off if pair in every]
    _draw_choices(board, every, off, place)
    before = chances(scene, place, ())
    after = chances(scene, place, tuple(off))
    entries = compute.load_weights().tokenizer.entries
    left, right = st.columns(2)
    for column, found, other, name in (
        (left, before, after, "before"), (right, after, before, "after"),
    ):  # fmt: skip
        lines = [
            Line(entries[int(number)].display, float(found[number]), "share", float(other[number]))
            for number in np.argsort(-found)[:SHOWN]
        ]
        with column:
            draw_lines(
                f"bench_{name}", lines, words, scene, rows=[line.label for line in lines],
                caption=words(f"bench.{name}", token=labels[place]),
                chance=words(f"bench.{name}.tick"),
            )  # fmt: skip
    moved = float(total_variation(before, after))
    best, then = (entries[int(found.argmax())].display for found in (before, after))
    st.markdown(
        words(
            "bench.none" if not off else "bench.kept" if best == then else "bench.changed",
            before=literal(best), after=literal(then), moved=f"{moved:.0%}",
            first=f"{before.max():.0%}", second=f"{after[int(before.argmax())]:.0%}",
        )
    )  # fmt: skip


def _draw_choices(
    board: Board, every: list[tuple[int, int]], off: list[tuple[int, int]], place: int
) -> None:
    """Which heads, how, and after which token."""
    words, labels = board.words, board.reading.labels
    st.session_state["bench_off"] = off
    st.multiselect(
        words("bench.off"),
        every,
        format_func=lambda pair: words("board.short", layer=pair[0], head=pair[1]),
        placeholder=words("bench.placeholder"),
        key="bench_off",
        on_change=lambda: state.change(off=tuple(sorted(st.session_state["bench_off"]))),
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench_row"):
        st.segmented_control(
            words("bench.how"),
            get_args(Ablation),
            required=True,
            format_func=lambda name: words(f"bench.{name}"),
            **state.bind("ablation"),
        )
        st.session_state["bench_after"] = place
        st.select_slider(
            words("bench.where"),
            list(range(len(labels))),
            format_func=[f"{number} · {label}" for number, label in enumerate(labels)].__getitem__,
            key="bench_after",
            on_change=lambda: state.change(after=st.session_state["bench_after"]),
        )
        st.button(
            words("bench.role_off"),
            help=words("bench.role_off.help"),
            **state.setter(off=tuple(sorted(set(off) | {(board.layer, board.head)}))),
        )
