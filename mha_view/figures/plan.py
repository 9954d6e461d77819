"""The minutes of a class as one bar: a piece a station."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_view.components.plot import escape_label
from mha_view.show import Picture
from mha_view.theme import head_colour
from mha_view.words import Words


def minutes_bar(titles: Sequence[str], minutes: Sequence[int], words: Words) -> Picture:
    """Stations one after the other, each as long as it is planned.

    Args:
        titles: a title a station.
        minutes: how long each is to take.
        words: the reader's words.
    """
    starts = np.concatenate([[0], np.cumsum(minutes)]).astype(np.float32)
    numbers = [str(place + 1) for place in range(len(titles))]
    return Picture(
        name="plan",
        figure={
            "data": [
                {
                    "type": "bar",
                    "orientation": "h",
                    "x": np.asarray([length], dtype=np.float32),
                    "y": [""],
                    "base": [float(start)],
                    "name": escape_label(title),
                    "text": [number],
                    "textposition": "inside",
                    "insidetextanchor": "middle",
                    "textangle": 0,
                    "hovertext": [f"{number} · {escape_label(title)}"],
                    "hoverinfo": "text",
                    "marker": {"color": head_colour(place)},
                }
                for place, (number, title, length, start) in enumerate(
                    zip(numbers, titles, minutes, starts, strict=False)
                )
            ],
            "layout": {
                "barmode": "overlay",
                "showlegend": False,
                "xaxis": {
                    "title": {"text": words("class.minutes")},
                    "range": [0, float(starts[-1]) or 1.0],
                    "tickvals": sorted({float(start) for start in starts}),
                },
                "yaxis": {"showticklabels": False},
                "margin": {"l": 8, "r": 16, "t": 4, "b": 8},
            },
        },
        alt=words("class.plan_alt", n=len(titles), minutes=int(starts[-1])),
        height=110,
        arrays={"minutes": np.asarray(minutes, dtype=np.float32)},
        axes={"minutes": ("station",)},
        names={"station": list(titles)},
        pickable=False,
    )
