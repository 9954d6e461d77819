"""The one way a picture reaches the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view import compute, state, thread
from mha_view.about import About, about_sentence, said_of
from mha_view.grouping import Grouping
from mha_view.link import settings_of
from mha_view.scene import TOKEN_AXIS, Picked
from mha_view.unlearned import mark_figure, mark_labels
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.trace import AttentionTrace
    from mha_view.components.plot import Cell

Figure = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, what it says in words, and the exact numbers it was drawn from.

    Attributes:
        name: stable ASCII name; the figure's part of a picked cell, and of a file's name.
        figure: a Plotly figure as a plain dict, arrays as NumPy arrays.
        alt: what a reader who cannot see it is told, from the numbers.
        height: pixels; None for square cells.
        low: pixels on a phone, where fewer show as much.
        arrays: the numbers, for the table and the downloads, axes as they are drawn.
        axes: axis words of those numbers, one an axis.
        names: by axis word, what each place on the axis is called, where that is no number.
        block: rows and columns of the numbers that one drawn cell stands for.
        beyond: how many of its numbers lie beyond the colours' ends, and the largest size of them.
        picks: the name its picked cells are kept under, where it is not its own.
        grouping: which tokens each row and column of a pattern stands for, where that is not one.
        whole: the pattern before tokens were merged, [query, key] or one a tile, to pick from.
        tokens: the axis on which the focus token stands, "row" or "column", where no cell of
            the picture is kept.
        pickable: whether a cell can be picked and explained.
        frames_label: what the slider over the figure's frames is called.
        frame: where that slider stands at first.
        toolbar: whether its numbers are offered as a table and as files.
    """

    name: str
    figure: Figure
    alt: str
    height: int | None
    arrays: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    block: tuple[int, int] = (1, 1)
    beyond: tuple[int, float] = (0, 0.0)
    picks: str = ""
    tokens: str = ""
    grouping: Grouping | None = None
    whole: NDArray[Any] | None = None
    pickable: bool = True
    frames_label: str | None = None
    frame: int | None = None
    low: int | None = None
    toolbar: bool = True

    @property
    def kept_as(self) -> str:
        """The name in a picked cell."""
        return self.picks or self.name

    def matrix_of(self, head: int) -> NDArray[np.generic]:
        """The matrix, unpooled, that a head's cells are picked from."""
        arrays = list(self.arrays.values())
        if len(arrays) > 1:
            return arrays[head]
        return arrays[0][head] if arrays[0].ndim == 3 else arrays[0]


def show(
    picture: Picture,
    words: Words,
    explained: tuple[int, int, int] | None = None,
    on_pick: Callable[[Cell | None], None] | None = None,
    *,
    focus: int | None = None,
    band: tuple[int, int] | None = None,
    head_at: Callable[[int], int] | None = None,
    about: About | None = None,
) -> None:
    """Draw a picture; a cell picked in it goes into the scene.

    Args:
        picture: what to draw.
        words: the reader's words.
        explained: head, row and column of the cell that is explained beside it, to be marked.
        on_pick: what a pick does instead of going into the scene as it is.
        focus: the place of the focus token, to be marked where the picture has tokens.
        band: first row and row after the last of the chosen head; other rows recede.
        head_at: the head that a row belongs to, where the picture is not a tile a head.
        about: what it was made from, for the files; the scene's sentence if None.
    """
    from mha_view.components.plot import plot

    now = state.scene()
    key = f"picture_{picture.name}"
    settings = settings_of(now)
    grouping = picture.grouping
    about = about or about_sentence(compute.resolve(now), words)
    notes = []
    if picture.block != (1, 1):
        rows, columns = picture.block
        notes.append(words("pooled", rows=rows, columns=columns))
    if picture.beyond[0]:
        n, largest = picture.beyond
        end = picture.figure["layout"]["coloraxis"]["cmax"]
        notes.append(words("beyond", n=f"{n:,}", end=f"{end:,.2f}", largest=f"{largest:,.0f}"))
    plot(
        mark_figure(
            picture.figure,
            compute.strange_places(now),
            grouping.labels if grouping else compute.reading_of(now).labels,
            grouping,
        ),
        key=key,
        height=picture.height,
        low=picture.low,
        alt=picture.alt,
        words=words.group("plot"),
        selected=_drawn_cell(picture, explained),
        on_pick=on_pick or (lambda cell: _keep_pick(picture, cell, head_at)),
        spot=_spot(picture, focus, band),
        export={
            "name": picture.name,
            "arrays": picture.arrays,
            "axes": picture.axes,
            "labels": {axis: list(names) for axis, names in picture.names.items()},
            "settings": settings,
            "about": said_of(picture.name, words, about, notes),
        },
        frames_label=picture.frames_label,
        frame=picture.frame,
        toolbar=picture.toolbar,
    )
    for line in notes:
        st.caption(line)


def _drawn_cell(picture: Picture, explained: tuple[int, int, int] | None) -> Cell | None:
    """The explained cell where it is drawn: in a pooled picture, its block."""
    from mha_view.components.plot import Cell

    if explained is None:
        return None
    head, row, column = explained
    rows, columns = picture.block
    if picture.grouping is not None:
        shown = picture.grouping.find(row), picture.grouping.find(column)
        if shown[0] is None or shown[1] is None:
            return None
        row, column = shown[0], shown[1]
    return Cell(picture.kept_as, head, row // rows, column // columns)


def _spot(
    picture: Picture, focus: int | None, band: tuple[int, int] | None
) -> dict[str, Any] | None:
    """The focus token and the chosen head's rows, as cells that are drawn."""
    axis = picture.tokens or TOKEN_AXIS.get(picture.kept_as, "")
    if focus is None or not axis:
        return None
    if picture.grouping is not None:
        focus = picture.grouping.find(focus)
    if focus is None:
        return None
    rows, columns = picture.block
    spot: dict[str, Any] = {"axis": axis, "place": focus // (rows if axis == "row" else columns)}
    if band is not None:
        spot["band"] = [band[0] // rows, max(band[0] // rows + 1, band[1] // rows)]
    return spot


def _keep_pick(
    picture: Picture, cell: Cell | None, head_at: Callable[[int], int] | None = None
) -> None:
    """Put a cell picked in the browser into the scene; in a picture whose cells stand for several
    numbers, the largest of them, which in a pooled picture is the number that was drawn."""
    if not picture.pickable:
        return
    if cell is None:
        state.change(picked=None)
        return
    rows, columns = picture.block
    row, column = cell.row * rows, cell.column * columns
    if picture.grouping is not None and picture.whole is not None:
        whole = picture.whole[cell.head] if picture.whole.ndim == 3 else picture.whole
        row, column = picture.grouping.largest(
            whole, slice(row, row + rows), slice(column, column + columns)
        )
    elif picture.block != (1, 1):
        matrix = picture.matrix_of(cell.head)
        block = np.abs(matrix[row : row + rows, column : column + columns])
        down, across = np.unravel_index(int(block.argmax()), block.shape)
        row, column = row + int(down), column + int(across)
    head = {} if head_at is None else {"head": head_at(row)}
    state.change(picked=Picked(cell.figure, cell.head, row, column), **head)


def show_links(
    words: Words,
    trace: AttentionTrace,
    labels: Sequence[str],
    head: int,
    query: int,
    grouping: Grouping | None = None,
) -> None:
    """Draw one head's looks as lines between the tokens; others can be added in the browser.

    Args:
        words: the reader's words.
        trace: the layer.
        labels: a label a token.
        head: the head drawn at first.
        query: the token isolated at first.
        grouping: the tokens that are shown as one; every token alone if None.
    """
    from mha_view.components.links import MOST_TOKENS, links
    from mha_view.figures.walk import regroup
    from mha_view.theme import head_colour

    alt = words("alt.links", head=head, query=labels[query])
    pattern, keep, labels = regroup(grouping, trace.pattern, trace.keep, labels)
    first = slice(None, MOST_TOKENS)
    shown = np.where(keep[..., first, first], pattern[:, first, first], np.nan)
    heads, now = range(len(shown)), state.scene()
    links(
        mark_labels(labels, compute.strange_places(now), grouping),
        shown,
        heads=heads,
        colours=[head_colour(number) for number in heads],
        key="links",
        alt=alt,
        words=words.group("plot") | words.group("links"),
        shown_heads=[head],
        query=query if grouping is None else grouping.find(query),
        on_token=thread.place_focus
        if grouping is None
        else lambda row: thread.place_focus(grouping.first(row)),
        export={
            "name": "links",
            "arrays": {"pattern": shown},
            "axes": {"pattern": ("head", "query", "key")},
            "labels": {axis: list(labels[:MOST_TOKENS]) for axis in ("query", "key")},
            "settings": settings_of(now),
            "about": said_of("links", words, about_sentence(compute.resolve(now), words)),
        },
    )
