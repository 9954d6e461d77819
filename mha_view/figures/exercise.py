"""The picture that an exercise is answered in, by pointing at a cell."""

from __future__ import annotations

import numpy as np

from mha_core.exercises.exercise import Part
from mha_view.figures import heat
from mha_view.show import Picture
from mha_view.words import Words

LARGEST_CELL = 58


def pointing(part: Part, words: Words) -> Picture:
    """A part as a heatmap with its numbers in the cells, a tile for each head."""
    tiles = part.value if part.value.ndim == 3 else part.value[None]
    are_weights = bool(((tiles >= 0) & (tiles <= 1)).all())
    colour = heat.share_axis("linear", "") if are_weights else heat.signed_axis([tiles], "")
    titles = (
        [words("head.chip", head=head) for head in range(len(tiles))]
        if part.value.ndim == 3
        else [part.symbol.replace("_in", "ᵢₙ")]
    )
    down, across = (words(f"axis.{word}") for word in part.axes)
    figure = heat.tiles(
        "exercise", tiles, titles=titles, rows=part.rows, columns=part.columns,
        row_title=down, column_title=across, colour=colour, hover=words("exercise.hover"),
        across=len(tiles), largest=LARGEST_CELL,
    )  # fmt: skip
    figure["data"][0] |= {
        "texttemplate": "%{z:.1f}" if are_weights else "%{z:.0f}",
        "textfont": {"size": 15},
        "showscale": False,
    }
    figure["layout"]["coloraxis"] = colour | {"showscale": False}
    return Picture(
        "exercise",
        figure,
        words("exercise.picture", symbol=part.symbol),
        height=None,
        arrays={"given": np.ascontiguousarray(part.value)},
        axes={"given": (("head",) if part.value.ndim == 3 else ()) + part.axes},
        names={},
    )
