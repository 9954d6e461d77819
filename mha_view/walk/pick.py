"""Picking a cell without touching the picture: a row and a column to choose."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mha_view import state
from mha_view.page import Page
from mha_view.scene import Picked


def pick_cell(
    page: Page,
    figure: str,
    cell: tuple[int, int, int],
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Two selectors for the row and the column of the picked cell.

    Args:
        page: the page.
        figure: which picture the cell is in.
        cell: head, row, column as they are.
        rows, columns: what the rows and the columns are called.
    """
    head, row, column = cell
    kind = "pattern" if figure == "pattern" else "matrix"
    left, right = st.columns(2)
    axes = (("row", left, rows, row), ("column", right, columns, column))
    for axis, place, labels, now in axes:
        key = f"pick_{figure}_{axis}"
        st.session_state[key] = now
        place.selectbox(
            page.words(f"pick.{kind}.{axis}"),
            list(range(len(labels))),
            format_func=[_option(number, label) for number, label in enumerate(labels)].__getitem__,
            key=key,
            on_change=_pick,
            args=(figure, head, row, column, axis, key),
        )


def _option(number: int, label: str) -> str:
    """A row's or a column's number, and what it is called where that is more than the number."""
    return label if label == str(number) else f"{number} · {label}"


def _pick(figure: str, head: int, row: int, column: int, axis: str, key: str) -> None:
    """Put the chosen row or column into the scene."""
    chosen = st.session_state[key]
    row, column = (chosen, column) if axis == "row" else (row, chosen)
    state.change(picked=Picked(figure, head, row, column))
