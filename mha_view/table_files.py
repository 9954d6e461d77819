"""A table as a file: CSV for a spreadsheet, Parquet for code, both with the settings in them."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from mha_view.link import settings_of
from mha_view.scene import Scene
from mha_view.words import Words

Columns = Mapping[str, Sequence[Any]]


def guard(value: Any) -> Any:
    """A cell that no spreadsheet runs as a formula; numbers stay numbers.

    >>> guard("=1+1"), guard("-3"), guard("+x"), guard(0.5)
    ("'=1+1", '-3', "'+x", 0.5)
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_csv(columns: Columns, settings: Mapping[str, str]) -> bytes:
    """The columns, and the settings as JSON in the first line of one more.

    It begins with a mark of its encoding, which spreadsheets look for.

    >>> write_csv({"head": ["0.1"], "mass": [0.5]}, {"v": "1"}).decode("utf-8-sig")
    'head,mass,settings\\n0.1,0.5,"{""v"": ""1""}"\\n'
    """
    import pandas as pd

    frame = pd.DataFrame({name: [guard(cell) for cell in each] for name, each in columns.items()})
    told = json.dumps(dict(settings), ensure_ascii=False)
    frame["settings"] = [told, *[""] * (len(frame) - 1)][: len(frame)]
    text: str = frame.to_csv(index=False)
    return codecs.BOM_UTF8 + text.encode("utf-8", "replace")


def write_parquet(columns: Columns, settings: Mapping[str, str]) -> bytes:
    """The columns as they are, the settings as JSON in the file's metadata.

    A column of numbers with a word among them is one of words.
    """
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: _alike(each) for name, each in columns.items()})
    told = json.dumps(dict(settings)).encode("utf-8")
    table = table.replace_schema_metadata({"settings": told})
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _alike(cells: Sequence[Any]) -> list[Any]:
    """Cells of one kind, their text such as a file can hold."""
    if not any(isinstance(cell, str) for cell in cells):
        return list(cells)
    return [
        None if cell is None else str(cell).encode("utf-8", "replace").decode() for cell in cells
    ]


def draw_table(name: str, markup: str, columns: Columns, words: Words, scene: Scene) -> None:
    """A table as HTML, and under it the buttons that save it.

    Args:
        name: stable ASCII name of the table, and of its files.
        markup: the table.
        columns: what it shows, by stable ASCII name, all equally long, numbers as they are.
        words: the reader's words.
        scene: what it belongs to.
    """
    st.html(markup)
    draw_save(name, columns, words, scene)


def draw_save(name: str, columns: Columns, words: Words, scene: Scene) -> None:
    """Buttons that save a table.

    Args:
        name: stable ASCII name of the table, and of its files.
        columns: its columns by stable ASCII name, all equally long.
        words: the reader's words.
        scene: what it belongs to.
    """
    settings = {**settings_of(scene), "table": name}
    with st.container(horizontal=True, key=f"save_{name}"):
        for ending, write, kind in (
            ("csv", write_csv, "text/csv"),
            ("parquet", write_parquet, "application/vnd.apache.parquet"),
        ):
            st.download_button(
                words(f"save.{ending}"), partial(write, columns, settings),
                f"{name}.{ending}", kind, key=f"save_{name}_{ending}", type="tertiary",
                on_click="ignore",
            )  # fmt: skip
