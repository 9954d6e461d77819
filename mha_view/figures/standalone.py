"""A picture as a Plotly figure that stands alone, in a notebook or a file.

On a page the browser lays the tiles out, writes what a cell says and follows the theme. Here all
of that is in the figure itself: light, of a fixed width, with the very numbers of the picture.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from mha_view.components.plot import escape_label
from mha_view.home import HOME
from mha_view.show import Figure, Picture
from mha_view.words import Words

WIDTH = 860
LARGEST_CELL = 26  # pixels
SMALLEST_LABELLED = 11
LETTER = 13
LEFT, TOP, RIGHT, BELOW = 84, 58, 20, 84  # room for labels, the colour bar, and titles
PLACES = {"head": "%{customdata}", "row": "%{y}", "column": "%{x}", "value": "%{z:.4g}"}


def standalone(picture: Picture, words: Words) -> go.Figure:
    """Make a figure that needs nothing of ours.

    Args:
        picture: any picture of the pages.
        words: the reader's words.

    Returns:
        The same numbers and words; `layout.meta["alt"]` says what the picture says.
    """
    figure = _resolve(picture.figure)
    traces = [_plain(trace) for trace in figure["data"]]
    layout = _template() | {"width": WIDTH, "height": picture.height or 420} | figure["layout"]
    tiled = [trace["meta"]["tile"] for trace in figure["data"] if _has_tiles(trace)]
    if tiled:
        traces, layout = _lay_out(figure["data"][0], layout)
    made = go.Figure(traces, layout | {"meta": {"alt": picture.alt}})
    if picture.block != (1, 1):
        rows, columns = picture.block
        _add_note(made, words("notebook.pooled", rows=rows, columns=columns))
    if "frames" in figure:
        _add_slider(made, picture, figure)
    return made


def _has_tiles(trace: Figure) -> bool:
    """Whether a trace is a stack of matrices for the browser to lay out."""
    return "tile" in trace.get("meta", {}) and np.ndim(trace["z"]) == 3


def _plain(trace: Figure) -> Figure:
    """A trace as Plotly knows it, a cell's text in it."""
    meta = trace.get("meta", {})
    plain = {name: value for name, value in trace.items() if name != "meta"}
    if "hover" in meta and np.ndim(trace["z"]) == 2:
        head = np.full(np.shape(trace["z"]), meta.get("head", 0), dtype=np.uint16)
        plain |= _hover(meta["hover"], head)
    return plain


def _hover(text: str, heads: NDArray[np.uint16]) -> Figure:
    """What a cell says: the picture's own words, their places filled in by Plotly."""
    filled = re.sub(r"\{(\w+)\}", lambda found: PLACES[found[1]], text)
    template = f"{filled}<extra></extra>"
    return {"customdata": heads, "hovertemplate": template, "hoverongaps": False}


def _lay_out(trace: Figure, layout: Figure) -> tuple[list[Figure], Figure]:
    """All tiles as one matrix, blank between them, with their titles and labels."""
    meta, values = trace["meta"], np.asarray(trace["z"], dtype=np.float32)
    if (keep := meta.get("keep")) is not None:
        seen = np.broadcast_to(np.asarray(keep, dtype=bool), values.shape)
        values = np.where(seen, values, np.nan)
    count, high, wide = values.shape
    across = min(meta["tile"]["columns"], count)
    room = WIDTH - LEFT - RIGHT
    cell = min(LARGEST_CELL, room / (across * (wide + 1)))
    gap, above = max(1, math.ceil(LETTER / cell)), max(1, math.ceil(1.9 * LETTER / cell))
    down = math.ceil(count / across)
    size = (down * (high + above), across * (wide + gap) - gap)
    laid, heads = np.full(size, np.nan, dtype=np.float32), np.zeros(size, dtype=np.uint16)
    corners = [
        ((place // across) * (high + above) + above, (place % across) * (wide + gap))
        for place in range(count)
    ]
    for (top, left), tile, head in zip(corners, values, meta["heads"], strict=True):
        laid[top : top + high, left : left + wide] = tile
        heads[top : top + high, left : left + wide] = head
    shown = cell >= SMALLEST_LABELLED
    rows = _labels(meta["rows"], sorted({top for top, _ in corners}), shown)
    columns = _labels(meta["columns"], sorted({left for _, left in corners}), shown)
    drawn = {
        "type": "heatmap", "z": laid, "coloraxis": "coloraxis",
        "xgap": 1 if cell >= 8 else 0, "ygap": 1 if cell >= 8 else 0,
        **_hover(meta["hover"], heads),
    }  # fmt: skip
    placed = layout | {
        "xaxis": layout["xaxis"] | columns | {"range": [-0.5, max(size[1], room / cell) - 0.5]},
        "yaxis": layout["yaxis"] | rows
        | {"range": [size[0] - 0.5, -0.5], "scaleanchor": "x", "constrain": "domain",
           "constraintoward": "top"},
        "shapes": [_ground(top, left, high, wide) for top, left in corners],
        "annotations": [
            {"x": left - 0.5, "y": top - 0.5, "text": title, "showarrow": False, "xanchor": "left",
             "yanchor": "bottom", "font": {"size": LETTER}}
            for (top, left), title in zip(corners, meta["tile"]["titles"], strict=True)
        ],
        "coloraxis": _bar_above(layout["coloraxis"]),
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BELOW},
        "height": round(size[0] * cell) + TOP + BELOW,
    }  # fmt: skip
    return [drawn], placed


def _labels(labels: Sequence[str], starts: Sequence[int], shown: bool) -> Figure:
    """Ticks of tiles that start at these places; if letters do not fit, only hover reads them."""
    return {
        "tickmode": "array",
        "tickvals": [start + place for start in starts for place in range(len(labels))],
        "ticktext": [escape_label(label) for label in labels] * len(starts),
        "showticklabels": shown, "tickfont": {"size": LETTER - 3}, "ticks": "",
        "showgrid": False, "zeroline": False,
    }  # fmt: skip


def _ground(top: int, left: int, high: int, wide: int) -> Figure:
    """What lies under a tile and is seen where a mask forbids."""
    return {
        "type": "rect", "layer": "below", "fillcolor": "#f0efeb", "line": {"width": 0},
        "x0": left - 0.5, "x1": left + wide - 0.5, "y0": top - 0.5, "y1": top + high - 0.5,
    }  # fmt: skip


def _bar_above(colour: Figure) -> Figure:
    """A colour axis with its bar above the tiles, where it takes no width from them."""
    bar = colour["colorbar"]
    return colour | {
        "colorbar": bar | {
            "orientation": "h", "lenmode": "pixels", "len": 220, "thickness": 8,
            "x": 0, "xanchor": "left", "xpad": 0, "yref": "container", "y": 1, "yanchor": "top",
            "ypad": 6, "title": bar["title"] | {"side": "right"},
        }
    }  # fmt: skip


def _add_note(made: go.Figure, text: str) -> None:
    """A line under the figure, which grows by it."""
    title = {"text": escape_label(text), "font": {"size": LETTER - 1}, "x": 0.02, "xanchor": "left",
             "yref": "container", "y": 0.01, "yanchor": "bottom"}  # fmt: skip
    room = {"b": (made.layout.margin.b or 0) + 30}
    made.update_layout(title=title, height=made.layout.height + 30, margin=room)


def _add_slider(made: go.Figure, picture: Picture, figure: Figure) -> None:
    """The picture's frames, with Plotly's own slider under them."""
    frames = figure["frames"]
    made.frames = [
        go.Frame(
            name=frame["name"],
            traces=frame["traces"],
            data=[figure["data"][at] | part
                  for at, part in zip(frame["traces"], frame["data"], strict=True)],
        )
        for frame in frames
    ]  # fmt: skip
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}}
    steps = [
        {"label": frame["name"], "method": "animate", "args": [[frame["name"]], at_once]}
        for frame in frames
    ]
    label = {"prefix": f"{picture.frames_label or ''} "}
    made.update_layout(
        sliders=[{"active": picture.frame or 0, "steps": steps, "currentvalue": label}],
        height=(picture.height or 420) + 90,
    )


def _resolve(value: Any) -> Any:
    """Replace `var(--st-…)` by the app's own colour of that name."""
    if isinstance(value, str):
        found = re.fullmatch(r"var\(--st-([\w-]+)\)", value)
        return _colours()[_camel(found[1])] if found else value
    if isinstance(value, Mapping):
        return {name: _resolve(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_resolve(part) for part in value]
    return value


def _camel(name: str) -> str:
    """A setting's name as the settings write it.

    >>> _camel("text-color")
    'textColor'
    """
    first, *rest = name.split("-")
    return first + "".join(map(str.title, rest))


@cache
def _colours() -> dict[str, str]:
    """The app's light colours and its font, by the settings' names."""
    with (HOME / ".streamlit" / "config.toml").open("rb") as file:
        theme = tomllib.load(file)["theme"]
    return {"font": theme["font"], **theme["light"]}


def _template() -> Figure:
    """What a figure leaves open; Streamlit's own template, which its import installs, stays out."""
    colours = _colours()
    axis = {"gridcolor": colours["borderColor"], "zerolinecolor": colours["borderColor"],
            "automargin": True}  # fmt: skip
    return {
        "template": {
            "layout": {
                "font": {"family": colours["font"], "size": LETTER, "color": colours["textColor"]},
                "paper_bgcolor": colours["backgroundColor"],
                "plot_bgcolor": colours["backgroundColor"],
                "hovermode": "closest",
                "xaxis": axis,
                "yaxis": axis,
            }
        }
    }
