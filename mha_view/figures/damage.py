"""Heads × tasks: what each task loses when one head is taken out."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np

from mha_core.arrays import Array
from mha_view.components.plot import escape_label
from mha_view.figures import heat
from mha_view.show import Picture
from mha_view.words import Words

LABEL_WIDTH = 18  # letters; a longer task takes a second line


def damage(lost: Array, tasks: Sequence[str], heads: Sequence[str], words: Words) -> Picture:
    """The damage matrix, a task a row, a head a column, centred on zero.

    Args:
        lost: [task, head], share of accuracy lost.
        tasks, heads: labels.
        words: the reader's words.
    """
    figure = heat.matrix(
        "damage",
        -lost,
        rows=tasks,
        columns=heads,
        row_title="",
        column_title=words("axis.head_off"),
        colour=heat.signed_axis([lost], words("axis.accuracy")),
        hover=words("hover.damage"),
    )
    figure["layout"]["yaxis"]["ticktext"] = [
        "<br>".join(map(escape_label, wrap(task, LABEL_WIDTH))) for task in tasks
    ]
    row, column = (int(n) for n in np.unravel_index(int(lost.argmax()), lost.shape))
    return Picture(
        "damage",
        figure,
        words("alt.damage", task=tasks[row], head=heads[column], lost=f"{lost[row, column]:.2f}"),
        height=120 + 32 * len(tasks),
        arrays={"damage": -lost},
    )
