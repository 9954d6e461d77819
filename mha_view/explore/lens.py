"""The logit lens and direct contributions, place by place, beside what switching off says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view import compute, live, state
from mha_view.explore.bench import place_of
from mha_view.explore.board import Board
from mha_view.figures import heat
from mha_view.figures.bars import bars
from mha_view.heavy import wait_for
from mha_view.panel import literal, number
from mha_view.show import Picture, show
from mha_view.theme import ink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mha_view.components.plot import Cell

MOST_TEXTS = 18  # tokens side by side whose cells have room for a word
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Lens:
    """What each stage would say, and what each part adds.

    Attributes:
        token: the next word asked about.
        chances: [stage, place], its probability after each stage.
        best: [stage, place], the most probable word's number there.
        parts: [part, place], what embedding, heads by layer and MLPs add to its logit.
        logits: [place], that logit.
        off: [head], by how much it falls at the place asked about when a head gives its mean
            over this sentence.
        mlps: the layers that have an MLP.
    """

    token: int
    chances: Floats
    best: NDArray[np.int64]
    parts: Floats
    logits: Floats
    off: Floats
    mlps: tuple[int, ...]


def look_through(model: Any, ids: list[int], place: int, token: int | None) -> Lens:
    """Read a sentence and take its logits apart at every place.

    Args:
        model: an `OpenModel`.
        ids: the sentence.
        place: where the next word is asked for.
        token: that word; the most probable one if None.
    """
    import torch

    from mha_core.heads.ablation import ablate

    with torch.no_grad():
        read = torch.tensor(ids)
        run = model.run(read)
        stages = torch.stack([model.read_out(stream) for stream in run.streams])
        word = int(run.logits[place].argmax()) if token is None else token
        last = run.streams[-1]
        parts = [model.direct(run.streams[0], last)[:, word]]
        for layer, heads in enumerate(run.heads):
            parts += [*model.direct(model.contributions(layer, heads), last)[..., word]]
        mlps = tuple(layer for layer, added in enumerate(run.mlps) if added is not None)
        parts += [model.direct(run.mlps[layer], last)[:, word] for layer in mlps]
        means = torch.stack([heads.mean(-2) for heads in run.heads])
        off = []
        for head in product(range(model.n_layers), range(model.n_heads)):
            edits = ablate(model, [head], mode="mean", means=means)
            without = model.run(read, edits=edits, known=run).logits[place, word]
            off.append(float(run.logits[place, word] - without))
        return Lens(
            word, stages.softmax(-1)[..., word].numpy(), stages.argmax(-1).numpy(),
            torch.stack(parts).numpy(), run.logits[:, word].numpy(),
            np.array(off, dtype=np.float32), mlps,
        )  # fmt: skip


def draw_lens(board: Board) -> None:
    """The lens, the parts, and the parts beside what switching each head off takes away."""
    words, scene = board.words, board.scene
    place = place_of(board)
    model = compute.model_of(scene)
    ids = [token.id for token in board.reading.tokens]
    known = 0 <= scene.token < len(model.tokenizer)
    asked = scene.token if known else None
    kept = live.find(scene)
    key = (tuple(ids), place, asked, None if kept is None else kept.name)

    def make() -> Iterator[Lens]:
        yield look_through(model, ids, place, asked)

    found: Lens = wait_for(words, "lens", key, make)
    display = model.tokenizer.entries[found.token].display
    told = literal(display)
    st.markdown(words("lens.asked", after=literal(board.labels[place]), token=told))

    def choose(cell: Cell | None) -> None:
        if cell is not None:
            state.change(after=cell.column, token=int(found.best[-1, cell.column]))

    show(_lens_picture(board, found, display), words, None, choose)
    st.caption(words("lens.caption"))
    st.markdown(f"##### {words('lens.parts', token=told)}")
    show(_parts_picture(board, found, display), words, None, choose)
    error = float(np.abs(found.parts.sum(0) - found.logits).max())
    st.caption(words("lens.sum", n=len(found.parts), error=f"{error:.1e}"))
    st.markdown(f"##### {words('lens.beside', after=literal(board.labels[place]))}")
    show(_beside_picture(board, found, place), words)
    st.markdown(_tell_beside(board, found, place))


def _stages(board: Board, found: Lens) -> list[str]:
    """What each stage is called."""
    n_layers = len(found.chances) - 1
    after = [board.words("lens.after", layer=layer) for layer in range(n_layers)]
    return [board.words("direct.embedding"), *after]


def _lens_picture(board: Board, found: Lens, token: str) -> Picture:
    """The probability of the word at every place after every stage; in a cell, the favourite."""
    words, stages = board.words, _stages(board, found)
    entries = compute.model_of(board.scene).tokenizer.entries
    figure = heat.matrix(
        "lens", found.chances, rows=stages, columns=board.labels, row_title="",
        column_title=words("axis.token"), colour=heat.share_axis(board.scene.scale, ""),
        hover=words("hover.lens"),
    )  # fmt: skip
    if found.best.shape[1] <= MOST_TEXTS:
        figure["data"][0] |= {
            "text": [[entries[int(n)].display[:9] for n in row] for row in found.best],
            "texttemplate": "%{text}", "textfont": {"size": 11},
        }  # fmt: skip
    best = float(found.chances.max())
    return Picture(
        "lens", figure, words("alt.lens", token=token, best=f"{best:.2f}", n=len(stages)),
        height=110 + 46 * len(stages), arrays={"lens": found.chances},
        axes={"lens": ("stage", "token")}, names={"stage": stages, "token": board.labels},
    )  # fmt: skip


def _part_names(board: Board, found: Lens) -> list[str]:
    """What each part is called."""
    words = board.words
    mlps = [words("direct.mlp", layer=layer) for layer in found.mlps]
    return [words("direct.embedding"), *board.names(), *mlps]


def _parts_picture(board: Board, found: Lens, token: str) -> Picture:
    """What each part adds to the word's logit at every place."""
    words, names = board.words, _part_names(board, found)
    figure = heat.matrix(
        "lens_parts", found.parts, rows=names, columns=board.labels, row_title="",
        column_title=words("axis.token"), colour=heat.signed_axis([found.parts], ""),
        hover=words("hover.lens_parts"),
    )  # fmt: skip
    row, column = (int(n) for n in np.unravel_index(int(np.abs(found.parts).argmax()),
                                                    found.parts.shape))  # fmt: skip
    return Picture(
        "lens_parts", figure,
        words("alt.lens_parts", token=token, part=names[row], place=board.labels[column],
              value=number(float(found.parts[row, column]), 2)),
        height=110 + 22 * len(names), arrays={"parts": found.parts},
        axes={"parts": ("part", "token")}, names={"part": names, "token": board.labels},
    )  # fmt: skip


def _beside(found: Lens, place: int) -> tuple[Floats, Floats]:
    """What every head adds directly at a place, and what is lost without it."""
    return found.parts[1 : 1 + len(found.off), place], found.off


def _beside_picture(board: Board, found: Lens, place: int) -> Picture:
    """Two bars a head: what it adds directly, what is lost without it."""
    words, names = board.words, board.names()
    direct, off = _beside(found, place)
    largest = int(np.abs(off).argmax())
    return bars(
        "lens_beside", np.stack([direct, off]), names,
        colours=[ink("value"), ink("output")], title=words("axis.logit"),
        series=[words("lens.direct"), words("lens.off")],
        alt=words("alt.lens_beside", head=names[largest], direct=number(float(direct[largest]), 2),
                  off=number(float(off[largest]), 2)),
        height=120 + 26 * len(names), sideways=True,
    )  # fmt: skip


def _tell_beside(board: Board, found: Lens, place: int) -> str:
    """The head whose loss is farthest from what it adds itself."""
    direct, off = _beside(found, place)
    apart = int(np.abs(off - direct).argmax())
    key = "lens.more" if off[apart] > direct[apart] else "lens.less"
    return board.words(
        key, head=board.names()[apart], direct=number(float(direct[apart]), 2),
        off=number(float(off[apart]), 2),
    )  # fmt: skip
