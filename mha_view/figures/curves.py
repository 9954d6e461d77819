"""How scores grow over a training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mha_core.arrays import Array
from mha_view.show import Figure, Picture
from mha_view.theme import HEADS, ink
from mha_view.words import Words


def curves(
    name: str,
    steps: Sequence[int],
    losses: Sequence[float | None],
    scores: Mapping[str, Array],
    words: Words,
    *,
    here: int | None = None,
    phases: Mapping[str, int] | None = None,
    alt: str,
) -> Picture:
    """Scores from 0 to 1 and the loss over the steps of a run.

    Args:
        name: the picture's name.
        steps: the step of each report.
        losses: nats a token; None where there is none.
        scores: the best head's score at each report, by what it is called.
        words: the reader's words.
        here: a step to mark with a line.
        phases: the step where a score is half way up, by the score's name; marked on its curve.
        alt: the picture in words.
    """
    x = np.array(steps, dtype=np.float32)
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "x": x, "y": np.asarray(values, dtype=np.float32),
            "name": label, "line": {"color": HEADS[place % len(HEADS)], "width": 2},
            "hovertemplate": f"%{{x}}: %{{y:.2f}}<extra>{label}</extra>",
        }
        for place, (label, values) in enumerate(scores.items())
    ]  # fmt: skip
    for place, label in enumerate(scores):
        if phases and label in phases:
            index = list(steps).index(phases[label])
            data.append(
                {
                    "type": "scatter", "mode": "markers", "x": x[index : index + 1],
                    "y": np.asarray(scores[label], dtype=np.float32)[index : index + 1],
                    "marker": {"color": HEADS[place % len(HEADS)], "size": 11, "symbol": "diamond"},
                    "showlegend": False, "name": label,
                    "hovertemplate": words("hover.phase", label=label, step=phases[label]),
                }
            )  # fmt: skip
    known = np.array([np.nan if loss is None else loss for loss in losses], dtype=np.float32)
    data.append(
        {
            "type": "scatter", "mode": "lines", "x": x, "y": known, "yaxis": "y2",
            "name": words("curves.loss"),
            "line": {"dash": "dot", "width": 1.5, "color": ink("residual")},
            "hovertemplate": f"%{{x}}: %{{y:.2f}}<extra>{words('curves.loss')}</extra>",
        }
    )  # fmt: skip
    line = {
        "type": "line", "x0": here, "x1": here, "y0": 0, "y1": 1, "yref": "paper",
        "line": {"width": 1.5, "color": ink("residual")},
    }  # fmt: skip
    figure: Figure = {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": words("axis.step")}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": words("axis.best_score")}, "range": [0, 1.02]},
            "yaxis2": {
                "title": {"text": words("axis.loss")}, "overlaying": "y", "side": "right",
                "rangemode": "tozero", "showgrid": False, "tickmode": "auto",
            },
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": [] if here is None else [line],
        },
    }  # fmt: skip
    arrays = {"steps": np.array(steps), "losses": known}
    arrays |= {label: np.asarray(values) for label, values in scores.items()}
    return Picture(
        name,
        figure,
        alt,
        height=440,
        arrays=arrays,
        axes=dict.fromkeys(arrays, ("point",)),
        pickable=False,
    )
