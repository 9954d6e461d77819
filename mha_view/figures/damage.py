"""A head a column: what each task loses without it, and how well it fills each role."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.arrays import Array
from mha_view.components.plot import escape_label
from mha_view.figures import heat
from mha_view.scene import ColourScale
from mha_view.show import Figure, Picture
from mha_view.words import Words

ROW, GAP, FRAME = 44, 20, 150  # pixels: a row with its name, the name alone, the rest


def damage(lost: Array, tasks: Sequence[str], heads: Sequence[str], words: Words) -> Picture:
    """The damage matrix, a task a row, a head a column, centred on zero.

    Args:
        lost: [task, head], share of accuracy lost.
        tasks, heads: labels.
        words: the reader's words.
    """
    figure = _by_heads(
        "damage", -lost, tasks, heads, column_title=words("axis.head_off"),
        colour=heat.signed_axis([lost], words("axis.accuracy")), hover=words("hover.damage"),
    )  # fmt: skip
    row, column = (int(n) for n in np.unravel_index(int(lost.argmax()), lost.shape))
    return Picture(
        "damage",
        figure,
        words("alt.damage", task=tasks[row], head=heads[column], lost=f"{lost[row, column]:.2f}"),
        height=FRAME + ROW * len(tasks),
        arrays={"damage": -lost},
        axes={"damage": ("task", "head")},
        names={"task": tasks, "head": heads},
    )


def role_map(
    scores: Array,
    roles: Sequence[str],
    heads: Sequence[str],
    words: Words,
    scale: ColourScale,
    name: str = "role_map",
) -> Picture:
    """How well every head fills every role, a role a row, a head a column, from 0 to 1.

    Args:
        scores: [role, head], mean weight on the role's target.
        roles, heads: labels.
        words: the reader's words.
        scale: how weights become colours.
        name: the picture's.
    """
    # Over a single row a phone has no room for what the bar is called; the alt text says it.
    figure = _by_heads(
        name, scores, roles, heads, column_title=words("axis.head"),
        colour=heat.share_axis(scale, words("axis.target") if len(roles) > 1 else ""),
        hover=words("hover.role_map"),
    )  # fmt: skip
    row, column = (int(n) for n in np.unravel_index(int(scores.argmax()), scores.shape))
    told = words(
        "alt.role_map", role=roles[row], head=heads[column], score=f"{scores[row, column]:.2f}"
    )
    return Picture(
        name,
        figure,
        told,
        height=FRAME + ROW * len(roles),
        arrays={name: scores},
        axes={name: ("role", "head")},
        names={"role": roles, "head": heads},
    )


def _by_heads(
    name: str,
    values: Array,
    rows: Sequence[str],
    heads: Sequence[str],
    *,
    column_title: str,
    colour: Figure,
    hover: str,
) -> Figure:
    """A matrix whose rows have their names over them, so that a phone has room for the cells."""
    figure = heat.matrix(
        name, values, rows=rows, columns=heads, row_title="", column_title=column_title,
        colour=colour, hover=hover,
    )  # fmt: skip
    figure["data"][0]["ygap"] = GAP
    layout = figure["layout"]
    layout["yaxis"] |= {"showticklabels": False, "ticks": ""}
    # On a phone the names below stand upright, and the axis' own name must keep clear of them.
    layout["xaxis"] |= {"tickangle": -90}
    layout["xaxis"]["title"]["standoff"] = 34
    layout["annotations"] = [
        {
            "x": 0, "xref": "paper", "xanchor": "left", "y": place - 0.5, "yanchor": "middle",
            "text": escape_label(row), "showarrow": False, "font": {"size": 12},
        }
        for place, row in enumerate(rows)
    ]  # fmt: skip
    return figure
