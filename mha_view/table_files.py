"""A table as a file: CSV for a spreadsheet, Parquet for code, both with the settings in them."""

from __future__ import annotations

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

    >>> write_csv({"head": ["0.1"], "mass": [0.5]}, {"v": "1"}).decode()
    'head,mass,settings\\n0.1,0.5,"{""v"": ""1""}"\\n'
    """
    import pandas as pd

    frame = pd.DataFrame({name: [guard(cell) for cell in each] for name, each in columns.items()})
    told = json.dumps(dict(settings), ensure_ascii=False)
    frame["settings"] = [told, *[""] * (len(frame) - 1)][: len(frame)]
    text: str = frame.to_csv(index=False)
    return text.encode("utf-8", "replace")


def write_parquet(columns: Columns, settings: Mapping[str, str]) -> bytes:
    """The columns as they are, the settings as JSON in the file's metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: list(each) for name, each in columns.items()})
    told = json.dumps(dict(settings)).encode("utf-8")
    table = table.replace_schema_metadata({"settings": told})
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


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
