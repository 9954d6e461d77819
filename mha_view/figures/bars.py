"""Bars: one number a head or a token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.arrays import Array
from mha_view.figures.heat import labels_axis
from mha_view.show import Figure, Picture


def bars(
    name: str,
    values: Array,
    labels: Sequence[str],
    *,
    colours: Sequence[str],
    title: str,
    alt: str,
    series: Sequence[str] = (),
    bounds: tuple[float, float] | None = None,
    height: int = 260,
    sideways: bool = False,
) -> Picture:
    """Bars in groups.

    Args:
        name: the picture's name.
        values: [series, label].
        labels: a label a group.
        colours: a colour a bar if there is one series, else a colour a series.
        title: what the numbers are, with their unit.
        alt: the picture in words.
        series: a name a series.
        bounds: lowest and highest number on the axis; Plotly's choice if None.
        height: pixels.
        sideways: bars lie, each beside its label, which leaves many labels legible on a phone.
    """
    several = len(values) > 1
    figure: Figure = {
        "data": [
            {
                "type": "bar",
                "x": np.arange(len(labels)),
                "y": row.astype(np.float32),
                "name": series[place] if series else "",
                "marker": {"color": colours[place] if several else list(colours)},
                "hovertemplate": "%{x}: %{y:.3f}<extra></extra>",
            }
            for place, row in enumerate(values)
        ],
        "layout": {
            # Slanted to the left, so that the last label stays inside the picture.
            "xaxis": labels_axis(labels, [0], "")
            | ({"tickangle": -45} if len(labels) > 12 else {}),
            "yaxis": {"title": {"text": title}, "zeroline": True}
            | ({"range": list(bounds)} if bounds else {}),
            "barmode": "group",
            "showlegend": several,
            "legend": {"orientation": "h", "y": 1.15},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        },
    }
    if sideways:
        _lay_down(figure)
    return Picture(
        name, figure, alt, height=height, arrays={name: values}, pickable=False,
        axes={name: ("series", "bar")},
        names={"bar": labels} | ({"series": series} if series else {}),
    )  # fmt: skip


def _lay_down(figure: Figure) -> None:
    """Let bars lie, the first label on top."""
    for trace in figure["data"]:
        trace["x"], trace["y"] = trace["y"], trace["x"]
        trace["orientation"] = "h"
        trace["hovertemplate"] = "%{y}: %{x:.3f}<extra></extra>"
    layout = figure["layout"]
    labels, numbers = layout["xaxis"], layout["yaxis"]
    labels.pop("tickangle", None)
    layout["yaxis"] = labels | {"autorange": "reversed"}
    layout["xaxis"] = numbers
