"""Direct contributions: what each part of the model adds to the logit of one next token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view import compute, state
from mha_view.about import about_sentence
from mha_view.explore.bench import place_of
from mha_view.explore.board import Board
from mha_view.figures.bars import bars
from mha_view.panel import literal, number
from mha_view.scene import Scene
from mha_view.show import show
from mha_view.theme import head_colour, ink

OFFERED = 20


@dataclass(frozen=True, eq=False)
class Direct:
    """The logits at one place, and the parts they are the sum of.

    Attributes:
        logits: [vocabulary], as the model computed them.
        embedding: [vocabulary], what the token's own vector adds.
        heads: [layer, head, vocabulary].
        mlps: [layer, vocabulary], by the layers that have one.
    """

    logits: NDArray[np.float32]
    embedding: NDArray[np.float32]
    heads: NDArray[np.float32]
    mlps: dict[int, NDArray[np.float32]]

    def parts(self, token: int) -> NDArray[np.float64]:
        """What each part adds to a token's logit: embedding, heads by layer, MLPs."""
        mlps = [added[token] for added in self.mlps.values()]
        heads = self.heads[:, :, token].ravel()
        return np.array([self.embedding[token], *heads, *mlps], dtype=np.float64)


def direct_at(scene: Scene, place: int) -> Direct:
    """Take the logits after a token of the scene's sentence apart, every head on."""
    import torch

    from mha_core.heads.ablation import logit_parts

    model = compute.load_weights()
    reading = compute.reading_of(scene)
    ids = torch.tensor([token.id for token in reading.tokens])
    keep = torch.from_numpy(compute.keep_of(scene, len(reading)))
    with torch.no_grad():
        steps = model.run(ids, keep=keep, rope=scene.rope)
    parts = logit_parts(model, steps, query=place)
    return Direct(
        steps.logits[place].numpy(),
        parts.embedding[0].numpy(),
        parts.heads[:, :, 0].numpy(),
        {
            layer: parts.mlps[layer, 0].numpy()
            for layer, added in enumerate(steps.mlps)
            if added is not None
        },
    )


def draw_direct(board: Board) -> None:
    """A bar a part for the chosen next token, and their sum, which is its logit."""
    words, place = board.words, place_of(board)
    found = direct_at(board.scene, place)
    token = _choose_token(board, found.logits, place)
    labels, colours = _name_parts(board, found)
    parts = found.parts(token)
    told = literal(compute.load_weights().tokenizer.entries[token].display)
    largest = int(np.abs(parts).argmax())
    alt = words("alt.direct", token=told, part=labels[largest], value=number(parts[largest], 2))
    picture = bars(
        "direct", parts[None], labels, colours=colours, title=words("axis.logit"), alt=alt,
        height=80 + 20 * len(labels), sideways=True,
    )  # fmt: skip
    show(picture, words, about=about_sentence(board.scene, words))
    st.markdown(
        words(
            "direct.sum", n=len(parts), total=number(parts.sum(), 2), token=told,
            after=literal(board.labels[place]), logit=number(float(found.logits[token]), 2),
        )
    )  # fmt: skip
    st.caption(words("direct.caption"))


def _choose_token(board: Board, logits: NDArray[np.float32], place: int) -> int:
    """The next token asked about: the chosen one, else the most probable."""
    entries = compute.load_weights().tokenizer.entries
    best = [int(number) for number in np.argsort(-logits, kind="stable")[:OFFERED]]
    chosen = board.scene.token if 0 <= board.scene.token < len(entries) else best[0]
    following = [token.id for token in board.reading.tokens[place + 1 : place + 2]]
    offered = list(dict.fromkeys([*best, *following, chosen]))
    st.session_state["direct_token"] = chosen
    st.selectbox(
        board.words("direct.token", after=board.labels[place]),
        offered,
        format_func=lambda number: entries[number].display,
        width=320,
        key="direct_token",
        on_change=lambda: state.change(token=st.session_state["direct_token"]),
    )
    return chosen


def _name_parts(board: Board, found: Direct) -> tuple[list[str], list[str]]:
    """A label and a colour a part."""
    words, (n_layers, n_heads) = board.words, found.heads.shape[:2]
    heads = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    labels = [
        words("direct.embedding"),
        *(words("board.short", layer=layer, head=head) for layer, head in heads),
        *(words("direct.mlp", layer=layer) for layer in found.mlps),
    ]
    colours = [
        ink("residual"),
        *(head_colour(head) for _, head in heads),
        *(ink("output") for _ in found.mlps),
    ]
    return labels, colours
