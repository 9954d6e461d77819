"""Pictures of the small ViT: where a patch looks on the image, every head, the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.model.digits import MAX_INK
from mha_core.model.vit import VitTrace
from mha_view.figures import heat
from mha_view.figures.bars import bars
from mha_view.scene import ColourScale
from mha_view.show import Figure, Picture
from mha_view.theme import head_colour, ink
from mha_view.words import Words

LARGEST_DOT = 21


def fold(row: Array) -> Array:
    """A row over the patches [..., patch] back into the square [..., row, column].

    >>> fold(np.arange(4))
    array([[0, 1],
           [2, 3]])
    """
    side = int(np.sqrt(row.shape[-1]))
    return row.reshape(*row.shape[:-1], side, side)


def looking(
    image: NDArray[np.uint8],
    row: Array,
    patch: int,
    words: Words,
    *,
    head: int,
    scale: ColourScale,
) -> Picture:
    """One patch's row of the pattern, folded over the image; the image's ink as dots.

    Args:
        image: [row, column], 0 to 16.
        row: [patch], one query's weights.
        patch: the query.
        words: the reader's words.
        head: whose pattern.
        scale: how weights become colours.
    """
    square = fold(row)
    side, each = len(square), len(image) // len(square)
    middles = np.arange(side) * each + (each - 1) / 2
    down, across = np.nonzero(image)
    figure: Figure = {
        "data": [
            {
                "type": "heatmap",
                "z": square.astype(np.float32),
                "x": middles,
                "y": middles,
                "coloraxis": "coloraxis",
                "xgap": 2,
                "ygap": 2,
                "meta": {
                    "figure": "patches",
                    "head": head,
                    "rows": [str(n) for n in range(side)],
                    "columns": [str(n) for n in range(side)],
                    "hover": words("hover.patch"),
                },
            },
            {
                "type": "scatter",
                "mode": "markers",
                "x": across,
                "y": down,
                "hoverinfo": "skip",
                "marker": {
                    "size": LARGEST_DOT * np.sqrt(image[down, across] / MAX_INK),
                    "color": "#ffffff",
                    "opacity": 1,
                    "line": {"color": "#101418", "width": 1.5},
                },
            },
        ],
        "layout": {
            "xaxis": {"visible": False, "range": [-0.5, len(image) - 0.5], "constrain": "domain"},
            "yaxis": {"visible": False, "range": [len(image) - 0.5, -0.5], "scaleanchor": "x",
                      "constrain": "domain"},
            "coloraxis": heat.share_axis(scale, words("axis.weight")),
            "showlegend": False,
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }  # fmt: skip
    strongest = int(row.argmax())
    alt = words("alt.patches", head=head, patch=patch, strongest=strongest,
                weight=f"{row[strongest]:.2f}")  # fmt: skip
    return Picture(
        "patches",
        figure,
        alt,
        height=340,
        arrays={"image": image, "weights": square},
        axes={"image": ("row", "column"), "weights": ("patch_row", "patch_column")},
    )


def every_head(patterns: Array, patch: int, words: Words, scale: ColourScale) -> Picture:
    """The same patch's look in every head of the layer, folded.

    Args:
        patterns: [head, query, key].
        patch: the query.
        words: the reader's words.
        scale: how weights become colours.
    """
    squares = fold(patterns[:, patch])
    places = [str(n) for n in range(squares.shape[-1])]
    figure = heat.tiles(
        "folded", squares,
        titles=[words("head.chip", head=head) for head in range(len(squares))],
        rows=places, columns=places,
        row_title=words("axis.patch_row"), column_title=words("axis.patch_column"),
        colour=heat.share_axis(scale, words("axis.weight")), hover=words("hover.patch"),
        across=len(squares), title_colours=[head_colour(head) for head in range(len(squares))],
    )  # fmt: skip
    figure["data"][0]["meta"]["tile"] |= {"largest": 34, "narrow": 2}
    strongest = words("list.next").join(
        f"{head}: {int(row.argmax())}" for head, row in enumerate(patterns[:, patch])
    )
    return Picture(
        "folded", figure, words("alt.folded", patch=patch, strongest=strongest), height=None,
        arrays={"weights": squares}, axes={"weights": ("head", "patch_row", "patch_column")},
    )  # fmt: skip


def whole_matrix(pattern: Array, head: int, words: Words, scale: ColourScale) -> Picture:
    """One head's matrix, patches numbered from left to right and from top to bottom."""
    labels = [str(patch) for patch in range(len(pattern))]
    figure = heat.matrix(
        "patch_pattern", pattern, rows=labels, columns=labels,
        row_title=words("axis.query_patch"), column_title=words("axis.key_patch"),
        colour=heat.share_axis(scale, words("axis.weight")), hover=words("hover.board"), head=head,
    )  # fmt: skip
    return Picture(
        "patch_pattern", figure,
        words("alt.patch_pattern", head=head, n=len(pattern), low=f"{pattern.min():.3f}",
              high=f"{pattern.max():.3f}"),
        height=400, arrays={"pattern": pattern}, axes={"pattern": ("query", "key")},
    )  # fmt: skip


def answer(trace: VitTrace, words: Words) -> Picture:
    """How probable each digit is to the model; the most probable is strong."""
    share = trace.probabilities
    colours = [ink("output" if digit == trace.digit else "residual") for digit in range(len(share))]
    listed = words("list.next").join(f"{digit} {value:.2f}" for digit, value in enumerate(share))
    return bars(
        "answer", share[None], [str(digit) for digit in range(len(share))], colours=colours,
        title=words("axis.probability"), bounds=(0, 1), height=200,
        alt=words("alt.listed", what=words("axis.probability"), listed=listed),
    )  # fmt: skip


def two_masks(
    patterns: Sequence[Array],
    keeps: Sequence[NDArray[np.bool_]],
    titles: Sequence[str],
    labels: Sequence[str],
    words: Words,
    scale: ColourScale,
) -> Picture:
    """One head of the sentence under two masks, side by side on one scale."""
    from mha_view.figures.explore import gallery

    everything = np.ones_like(keeps[0])
    shown = np.stack([np.where(keep, p, np.nan) for keep, p in zip(keeps, patterns, strict=True)])
    picture = gallery(
        "two_masks", shown, everything, titles, labels, words,
        colours=[ink("pattern")] * len(shown), scale=scale, across=2,
        alt=words("alt.compare", titles=words("list.next").join(titles)), largest=24,
    )  # fmt: skip
    picture.figure["data"][0]["meta"]["tile"]["narrow"] = 1
    return replace(picture, pickable=False)
