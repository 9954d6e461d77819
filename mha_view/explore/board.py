"""A page that shows every head: the patterns of all layers, as the reader wants to see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import streamlit as st

from mha_core.arrays import Array
from mha_core.heads.measures import MEASURES, Seen
from mha_view import compute, heavy, state
from mha_view.about import About, about_sentence
from mha_view.closing import Question, draw_foot, draw_question
from mha_view.grouping import Grouping, group_tokens
from mha_view.page import Page, open_page_as
from mha_view.scene import Picked

if TYPE_CHECKING:
    from mha_view.components.plot import Cell
    from mha_view.words import Words


MOST_HEADS_APART = 60  # heads that are shown one by one; of more, a wall and the first few
MOST_TILES = 18


@dataclass(frozen=True)
class Board(Page):
    """A page about all heads of all layers.

    A head's *place* is its number over all layers: layer · h + head.
    """

    needs: ClassVar[Literal["layer", "patterns", "model"]] = "patterns"

    @cached_property
    def walk(self) -> compute.Walk:
        """The sentence through every layer."""
        return heavy.read_of(self.words, self.scene)

    @property
    def n_heads(self) -> int:
        """Heads of one layer."""
        return self.config.n_heads

    @property
    def layer(self) -> int:
        """The chosen layer, the last one where there are fewer."""
        return min(self.scene.layer, len(self.walk.layers) - 1)

    @property
    def place(self) -> int:
        """The chosen head's place."""
        return self.layer * self.n_heads + self.head

    @cached_property
    def patterns(self) -> Array:
        """[place, query, key], every head of every layer."""
        return np.concatenate(self.walk.patterns)

    @property
    def keep(self) -> Array:
        """[query, key], who may look at whom."""
        return self.walk.keep

    @cached_property
    def seen(self) -> Seen:
        """What the patterns were made from."""
        tokens = self.reading.tokens
        return Seen(
            self.keep,
            np.array([token.id for token in tokens]),
            np.array([token.kind == "punctuation" for token in tokens]),
        )

    @cached_property
    def grouping(self) -> Grouping:
        """Which tokens are left out and which are taken together."""
        scene = self.scene
        return group_tokens(
            self.reading.tokens,
            scene.text,
            hide_special=scene.hide_special,
            whole_words=scene.whole_words,
        )

    def short(self, place: int) -> str:
        """A head's name."""
        layer, head = divmod(place, self.n_heads)
        return self.words("board.short", layer=layer, head=head)

    def names(self) -> list[str]:
        """Every head's name, in the order of places."""
        return [self.short(place) for place in range(len(self.patterns))]

    def scores(self, measure: str) -> Array:
        """Every head's score on this sentence, [place]."""
        scores: Array = MEASURES[measure].score(self.patterns, self.seen)
        return scores

    def order(self) -> list[int]:
        """All places in the reader's order; heads without a score come last."""
        if self.scene.sort == "place":
            return list(range(len(self.patterns)))
        scores = np.nan_to_num(self.scores(self.scene.sort), nan=-np.inf)
        return [int(place) for place in np.argsort(-scores, kind="stable")]

    @property
    def is_large(self) -> bool:
        """Whether there are more heads than can be shown one by one."""
        return len(self.patterns) > MOST_HEADS_APART

    def selection(self) -> list[int]:
        """The places of a large model's heads that are shown one by one: of the layer asked for,
        the first in the reader's order; in the order of places, the chosen layer's."""
        only = self.scene.only
        if only < 0 and self.scene.sort == "place":
            only = self.layer
        layer = min(only, len(self.walk.layers) - 1)
        order = [place for place in self.order() if only < 0 or place // self.n_heads == layer]
        return order[: max(MOST_TILES, self.n_heads if only >= 0 else 0)]

    def pick(self, cell: Cell | None, heads: Sequence[int]) -> None:
        """Choose the head of a picked cell, and its cell for the walk's pages.

        Args:
            cell: in a picture of heads, drawn from the grouped tokens.
            heads: the place of each of the picture's heads.
        """
        if cell is None:
            state.change(picked=None)
            return
        layer, head = divmod(heads[cell.head], self.n_heads)
        row, column = (self.grouping.first(place) for place in (cell.row, cell.column))
        state.change(layer=layer, head=head, picked=Picked("pattern", head, row, column))

    def picked_cell(self) -> tuple[int, int] | None:
        """Row and column of the picked cell as it is drawn, or None."""
        picked = self.scene.picked
        if picked is None or picked.figure != "pattern" or picked.head != self.head:
            return None
        row, column = (self.grouping.find(token) for token in (picked.row, picked.column))
        return None if row is None or column is None else (row, column)


def open_board(name: str) -> Board:
    """Open a page about all heads."""
    return open_page_as(Board, name)


def open_toy_board(name: str) -> Board:
    """Open a page about the shipped model's heads, whatever weights are chosen."""
    now = compute.resolve(state.scene())
    board = open_page_as(Board, name, now.with_(weights="toy"))
    if now.weights != "toy":
        kind = f".{now.weights}" if now.weights in ("live", "real") else ""
        st.info(board.words(f"board.toy_only{kind}"))
    return board


def open_measured_board(name: str) -> Board:
    """Open a page about what heads were seen to do: another people's model's where one is chosen,
    else the shipped model's."""
    is_real = compute.resolve(state.scene()).weights == "real"
    return open_board(name) if is_real else open_toy_board(name)


def draw_reading_on(board: Board, question: Question | None = None) -> None:
    """The last row of a board, and a question where the numbers give one with one answer."""
    about = about_sentence(board.scene, board.words)
    draw_limits(board.name, board.words, question, about, **board.sizes())


def draw_limits(
    name: str,
    words: Words,
    question: Question | None = None,
    about: About | None = None,
    **values: object,
) -> None:
    """The last row: what the page cannot show, where people trip, a question, more to read.

    Args:
        name: the page's.
        words: the reader's words.
        question: what is asked, if anything.
        about: what the page is about, for the file it is saved as; its title if None.
        values: what its lesson's placeholders stand for.
    """
    is_real = compute.resolve(state.scene()).weights == "real"

    def lesson(part: str) -> str:
        own = f"{part}_real"
        part = own if is_real and words.has_lesson(name, own) else part
        return words.lesson(name, part, **values)

    columns = st.columns(2 if question is None else 3)
    for column, part in zip(columns, ("limits", "trip"), strict=False):
        with column.container(border=True, height="stretch"):
            st.markdown(f"##### {words(f'card.{part}')}")
            st.markdown(lesson(part))
    if question is not None:
        with columns[2].container(border=True, height="stretch"):
            draw_question(name, question, words)
    title, more = lesson("title"), lesson("more")
    draw_foot(name, words, state.scene(), about or About(title), title=title, more=more)
