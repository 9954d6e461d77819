"""A Plotly figure that keeps its place, answers when touched, and can be taken away.

Streamlit's own chart forgets zoom at every change and swallows clicks on a heatmap. This one
calls `Plotly.react` on one node that stays.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import streamlit as st

from mha_view.components.mount import mount
from mha_view.components.packet import pack

OWN: Final = "own"
# Numbers beyond this many bytes wait on the server until a reader wants to save them.
MOST_EXPORT_BYTES = 32_768


@dataclass(frozen=True)
class Cell:
    """A cell of a heatmap: which figure, which head, which row and column of its matrix."""

    figure: str
    head: int
    row: int
    column: int


def escape_label(text: str) -> str:
    """Return `text` so that Plotly prints it as it is.

    Plotly reads `<b>`, `<br>` and `&lt;` in tick labels, titles and hover texts as markup, and
    drops line breaks.

    >>> escape_label("the 12 <b> & co")
    'the 12 &lt;b&gt; &amp; co'
    """
    return html.escape(text, quote=False).replace("\r", "␍").replace("\n", "↵")


def plot(
    figure: Mapping[str, Any],
    *,
    key: str,
    alt: str,
    words: Mapping[str, str],
    height: int | None = None,
    low: int | None = None,
    selected: Cell | Literal["own"] | None = OWN,
    on_pick: Callable[[Cell | None], None] | None = None,
    spot: Mapping[str, Any] | None = None,
    export: Mapping[str, Any] | None = None,
    frames_label: str | None = None,
    frame: int | None = None,
    toolbar: bool = True,
) -> Cell | None:
    """Draw a figure and return the cell that is picked in it, or None.

    **Figure.** A plain dict with Plotly's `data` and `layout`, optionally `config` and `frames`.
    Arrays are NumPy arrays of numbers, any type; they travel as bytes. A string
    `"var(--name)"` is replaced by that CSS variable's value and follows the theme; colours the
    figure leaves open are the theme's.

    **Picking.** A heatmap trace with `meta={"figure": str, "head": int}` can be picked by click,
    tap, or keyboard (focus, arrow keys; Page Up and Page Down change the matrix, Home and End go
    to the ends of a row, Escape clears). `meta` or `layout.meta` may carry `rows` and `columns`
    (the unescaped labels) and `hover`, a text with `{head} {row} {column} {value}`; they are used
    on hover, in the table, and read aloud.

    **Tiles.** One heatmap that holds every head is faster than twelve subplots:

    - `z` [head, row, column] with `meta={"figure", "heads": [...], "tile": {"columns": 4,
      "gap": 2, "titles": [...], "narrow": 2}}`: the browser lays the tiles out, writes the
      titles over them, and uses `narrow` columns on a phone. `height=None` fits square cells.
    - `z` already tiled, [row, column], with `meta["tile"]` = {"rows", "columns", "n_rows",
      "n_columns", "gap"}.

    `meta["keep"]`, an array of the last two axes or of all, draws as masked what is 0 in it, so
    that `z` may be the very array that is exported.
    `meta["transform"]` "sqrt" or "log" colours by the root or the logarithm; numbers that are
    read stay the exact ones. NaN is drawn as empty.

    **Frames.** `figure["frames"]` is a list of `{"data": [partial traces], "traces": [...]}`,
    optionally `"name"`, shown beside the range input. Moving it takes no trip to the server;
    `frame_position(key)` gives where it was let go.

    Args:
        figure: what to draw.
        key: unique on the page, stable over reruns.
        alt: what a reader who cannot see the figure is told.
        words: the texts under "plot." in the reader's language, by the rest of their key.
        height: pixels; None fits tiles, and is 360 otherwise.
        low: the same on a phone, where fewer do.
        selected: the cell to mark. "own" keeps the reader's own pick.
        on_pick: called with a new pick before the script runs again.
        spot: `{"axis": "row" or "column", "place": int}` outlines that row or column of every
            matrix; with `"band": [first, after]`, other rows recede but for that column.
        export: `{"name": str, "arrays": {name: array}, "settings": {...}}` and optionally
            `"axes": {name: (axis word, …)}` and `"labels": {axis word: [name, …]}`, what each
            place on an axis is called: what the downloads hold. Large arrays travel only when a
            reader saves them.
        frames_label: the range input's label.
        frame: where the range input stands at first.
        toolbar: whether the table and the downloads are offered.

    Returns:
        The reader's newest pick if it came in with this run, else `selected`.
    """
    newest, seen = _picked(key), f"{key}:seen"
    turn = newest.get("turn", 0)
    if selected == OWN or (turn and turn != st.session_state.get(seen, 0)):
        marked = _cell(newest.get("cell"))
    else:
        marked = selected
    st.session_state[seen] = turn

    def pick() -> None:
        if on_pick is not None:
            on_pick(_cell(_picked(key).get("cell")))

    header = {
        "figure": figure,
        # Lets the browser see that only the pick has changed, and move the mark without a redraw.
        "digest": _digest({"figure": figure, "height": height, "low": low}),
        "alt": alt,
        "words": dict(words),
        "height": height,
        "low": low,
        "tiles": _tiles(figure),
        "reserve": figure.get("layout", {}).get("height") or 360,
        "selected": asdict(marked) if marked else None,
        "turn": turn,
        "spot": None if spot is None else dict(spot),
        "export": prepare_export(export, key),
        "frames_label": frames_label,
        "frame": frame,
        "toolbar": toolbar,
    }
    callbacks = {"picked": pick, "frame": wait, "wanted": wait}
    mount("plot.js", header, key=key, callbacks=callbacks)
    return marked


def frame_position(key: str) -> int | None:
    """Return where the range input of the figure `key` was last let go, or None."""
    position = st.session_state.get(key, {}).get("frame")
    return position if isinstance(position, int) else None


def prepare_export(export: Mapping[str, Any] | None, key: str) -> dict[str, Any] | None:
    """Return what travels of an export: without its arrays if they are large and not wanted.

    A browser that wants them counts up the component's state "wanted" and gets them once, with
    that count as "delivery".
    """
    if export is None:
        return None
    arrays = {name: np.asarray(array) for name, array in export["arrays"].items()}
    wanted, served = st.session_state.get(key, {}).get("wanted") or 0, f"{key}:served"
    is_new = wanted != st.session_state.get(served, 0)
    st.session_state[served] = wanted
    sent = {**export, "arrays": arrays, "names": list(arrays), "delivery": wanted if is_new else 0}
    if not is_new and sum(array.nbytes for array in arrays.values()) > MOST_EXPORT_BYTES:
        del sent["arrays"]
    return sent


def _tiles(figure: Mapping[str, Any]) -> dict[str, int] | None:
    """Return how a figure's tiles are set, from which their height follows; None without tiles."""
    for trace in figure["data"]:
        tile = trace.get("meta", {}).get("tile", {})
        if tile and np.ndim(trace["z"]) == 3:
            count, height, breadth = np.shape(trace["z"])
            columns = tile.get("columns", 4)
            return {
                "count": count, "height": height, "breadth": breadth, "columns": columns,
                "narrow": tile.get("narrow", 2), "largest": tile.get("largest", 26),
            }  # fmt: skip
    return None


def _digest(drawn: Mapping[str, Any]) -> str:
    """Return a name for what is drawn: equal for equal figures."""
    return hashlib.blake2b(pack(drawn), digest_size=12).hexdigest()


def wait() -> None:
    """Register a state: Streamlit keeps only those that have a callback."""


def _picked(key: str) -> Mapping[str, Any]:
    """Return the newest pick that the browser sent."""
    picked = st.session_state.get(key, {}).get("picked")
    return picked if isinstance(picked, dict) else {}


def _cell(picked: Any) -> Cell | None:
    """Return a pick as a cell; None for anything that is not one."""
    if not isinstance(picked, dict) or not isinstance(picked.get("figure"), str):
        return None
    places: list[Any] = [picked.get(name) for name in ("head", "row", "column")]
    if not all(type(place) is int and place >= 0 for place in places):
        return None
    return Cell(picked["figure"], *places)
