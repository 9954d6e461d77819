"""What a page says of words the model has not learned, and a learned one a click away.

Wherever such a word stands as a token, on chips, axes, links and the stage, it carries the mark
that the sentence begins with.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from mha_view import compute, state
from mha_view.grouping import Grouping
from mha_view.panel import literal
from mha_view.scene import Scene
from mha_view.words import Words

MOST_NAMED, MOST_OFFERED = 6, 3
MARK = "°"


def mark_labels(
    labels: Sequence[str], strange: Collection[int], grouping: Grouping | None = None
) -> list[str]:
    """Labels with the mark behind each word that the model has not learned.

    Args:
        labels: one a token, or one a row of `grouping`.
        strange: the places of such words' tokens.
        grouping: the tokens of each row, where that is not one.

    >>> mark_labels(["<bos>", "a", "zebu"], {2})
    ['<bos>', 'a', 'zebu°']
    """
    rows = grouping.groups if grouping else tuple((place,) for place in range(len(labels)))
    return [
        label + MARK if any(token in strange for token in row) else label
        for label, row in zip(labels, rows, strict=True)
    ]


def mark_figure(
    figure: dict[str, Any],
    strange: Collection[int],
    labels: Sequence[str],
    grouping: Grouping | None = None,
) -> dict[str, Any]:
    """A figure whose axes carry the mark wherever they are the sentence's tokens.

    Args:
        figure: heatmaps with their labels in `meta`, axes with their labels as tick texts.
        strange: the places of words that the model has not learned.
        labels: the sentence's tokens, or the rows of `grouping`.
        grouping: as in `mark_labels`.
    """
    from mha_view.components.plot import escape_label

    plain, told = list(labels), mark_labels(labels, strange, grouping)
    if told == plain:
        return figure
    ticks, told_ticks = (list(map(escape_label, texts)) for texts in (plain, told))
    data = []
    for trace in figure["data"]:
        meta = trace.get("meta") or {}
        new = {name: told for name in ("rows", "columns") if meta.get(name) == plain}
        data.append(trace | {"meta": meta | new} if new else trace)
    layout = dict(figure["layout"])
    for name in ("xaxis", "yaxis"):
        texts = layout.get(name, {}).get("ticktext")
        times = len(texts) // len(ticks) if texts else 0
        if texts and texts == ticks * times:
            layout[name] = layout[name] | {"ticktext": told_ticks * times}
    return figure | {"data": data, "layout": layout}


def tell_unlearned(words: Words, scene: Scene) -> None:
    """One sentence: how many tokens those words are, and what that means."""
    strange = compute.unlearned_of(scene)
    if not strange:
        return
    named = list(dict.fromkeys(one.group.text for one in strange))
    tokens = sum(len(one.group.places) for one in strange)
    more = words("unlearned.more", n=len(named) - MOST_NAMED) if len(named) > MOST_NAMED else ""
    st.caption(
        words(
            "unlearned.tokens",
            words=" · ".join(literal(word) for word in named[:MOST_NAMED]) + more,
            n=tokens,
            total=len(compute.read_text(scene.text, with_bos=False)),
        )
    )


def offer_learned(words: Words, scene: Scene) -> None:
    """A learned word for each of the first ones, a click away."""
    strange = compute.unlearned_of(scene)
    offered = [one for one in strange if one.instead is not None][:MOST_OFFERED]
    tokens_read = compute.reading_of(scene).tokens
    for one in offered:
        start, end = tokens_read[one.group.first].start, tokens_read[one.group.last].end
        text = f"{scene.text[:start]}{one.instead}{scene.text[end:]}"
        st.button(
            words("unlearned.instead", word=one.group.text, instead=one.instead),
            key=f"unlearned_{one.group.first}",
            type="tertiary",
            **state.setter(text=text),
        )
