"""Every head's row over the text, as the next token is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.arrays import Array
from mha_view.figures import heat
from mha_view.figures.walk import MOST_MATRIX_ROWS, pooled_labels
from mha_view.scene import ColourScale
from mha_view.show import Picture
from mha_view.words import Words

# Heads whose rows are labelled one by one; of more, only where a layer begins.
MOST_NAMED = 40


def rows(
    name: str,
    looks: Sequence[Array],
    labels: Sequence[str],
    words: Words,
    *,
    scale: ColourScale = "linear",
    alt: str,
) -> Picture:
    """Where each head of each layer looks from one token: a row a head, a column a token.

    Args:
        name: the picture's name; a picked cell's row is the head's number over all layers.
        looks: a layer [head, key].
        labels: a label a token.
        words: the reader's words.
        scale: how weights become colours.
        alt: the picture in words.
    """
    values = np.concatenate(list(looks))
    names = [
        words("board.short", layer=layer, head=head)
        for layer, heads in enumerate(looks)
        for head in range(len(heads))
    ]
    drawn, _, block = heat.pool(values, len(values), MOST_MATRIX_ROWS)
    columns = pooled_labels(labels, block)
    figure = heat.matrix(
        name, drawn, rows=names, columns=columns, row_title=words("axis.heads"),
        column_title=words("axis.key"), colour=heat.share_axis(scale, words("axis.weight")),
        hover=words("hover.rows"),
    )  # fmt: skip
    if len(names) > MOST_NAMED:
        starts = np.cumsum([0, *(len(heads) for heads in looks[:-1])])
        figure["layout"]["yaxis"] |= {
            "tickvals": [float(start) for start in starts],
            "ticktext": [words("layer.option", layer=layer) for layer in range(len(looks))],
            "showticklabels": True,
        }
        figure["data"][0] |= {"ygap": 0}
    height = 110 + max(14, min(20, 340 // len(names))) * len(names)
    return Picture(
        name, figure, alt, height=int(min(760, height)), arrays={name: values},
        axes={name: ("head", "key")}, names={"head": names, "key": labels}, block=(1, block),
    )  # fmt: skip
