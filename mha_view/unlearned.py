"""What a page says of words the model has not learned, and a learned one a click away."""

from __future__ import annotations

import streamlit as st

from mha_view import compute, state
from mha_view.panel import literal
from mha_view.scene import Scene
from mha_view.words import Words

MOST_NAMED, MOST_OFFERED = 6, 3


def draw_unlearned(words: Words, scene: Scene) -> None:
    """One sentence: how many tokens those words are, and what that means; and what to put there."""
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
    offered = [one for one in strange if one.instead is not None][:MOST_OFFERED]
    if not offered:
        return
    tokens_read = compute.reading_of(scene).tokens
    with st.container(horizontal=True, key="unlearned"):
        for one in offered:
            start, end = tokens_read[one.group.first].start, tokens_read[one.group.last].end
            text = f"{scene.text[:start]}{one.instead}{scene.text[end:]}"
            st.button(
                words("unlearned.instead", word=one.group.text, instead=one.instead),
                key=f"unlearned_{one.group.first}",
                type="tertiary",
                **state.setter(text=text),
            )
