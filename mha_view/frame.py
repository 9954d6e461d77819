"""The frame around every page: the strip of steps with live shapes, previous and next."""

from __future__ import annotations

import streamlit as st

from mha_core.config import AttentionConfig
from mha_core.errors import TwelveHeadsError
from mha_view import state
from mha_view.menu import neighbours, page_file
from mha_view.scene import write_link
from mha_view.symbols import glossary
from mha_view.words import Words

# The eight steps: name, page.
STEPS = (
    ("tokens", "tokens"),
    ("projection", "projection"),
    ("heads", "heads"),
    ("rope", "rope"),
    ("attention", "attention"),
    ("concat", "concat"),
    ("w_o", "output"),
    ("residual", "output"),
)


def step_shapes(config: AttentionConfig, n_tokens: int, axes: str) -> dict[str, str]:
    """The shape of each step's tensor, as printed in the strip.

    >>> step_shapes(AttentionConfig(d_model=768, n_heads=12), 1024, "article")["heads"]
    '12×[64, 1024]'
    >>> step_shapes(AttentionConfig(d_model=768, n_heads=12), 1024, "torch")["attention"]
    '[1, 12, 1024, 1024]'
    """
    d, h, d_head, d_value, s = (
        config.d_model, config.n_heads, config.d_head, config.d_value, n_tokens,
    )  # fmt: skip
    if axes == "torch":
        whole = f"[1, {s}, {d}]"
        split = f"[1, {h}, {s}, {d_head}]"
        return {
            "tokens": f"[1, {s}]",
            "projection": f"[1, {s}, {h * d_head}]",
            "heads": split,
            "rope": split,
            "attention": f"[1, {h}, {s}, {s}]",
            "concat": f"[1, {s}, {h * d_value}]",
            "w_o": whole,
            "residual": whole,
        }
    whole, split = f"[{d}, {s}]", f"{h}×[{d_head}, {s}]"
    return {
        "tokens": f"[1, {s}]",
        "projection": f"[{h * d_head}, {s}]",
        "heads": split,
        "rope": split,
        "attention": f"{h}×[{s}, {s}]",
        "concat": f"[{h * d_value}, {s}]",
        "w_o": whole,
        "residual": whole,
    }


def draw_strip(words: Words, current: str, config: AttentionConfig, n_tokens: int) -> None:
    """The eight steps as links, each with the shape of its tensor; the current page's are lit."""
    link = write_link(state.scene())
    shapes = step_shapes(config, n_tokens, state.scene().axes)
    with st.container(horizontal=True, key="strip", gap=None):
        for step, page in STEPS:
            lit = "lit" if page == current else "dim"
            with st.container(key=f"step_{lit}_{step}", width="content"):
                st.page_link(
                    page_file(page),
                    label=f"**{words(f'step.{step}')}**  \n`{shapes[step]}`",
                    query_params=link,
                )


def draw_glossary(words: Words) -> None:
    """Every symbol in one sentence with its number for this sentence, from any page."""
    try:
        told = glossary(state.scene(), words)
    except TwelveHeadsError:
        return  # the page says what is wrong with the sizes
    with st.popover(words("symbols.all"), type="tertiary"):
        st.html(told)


def draw_neighbours(words: Words, current: str) -> None:
    """Previous and next page, also by Shift+Left and Shift+Right."""
    before, after = neighbours(current)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="neighbours"):
        for name, shortcut, way in (
            (before, "Shift+Left", "previous"),
            (after, "Shift+Right", "next"),
        ):
            if name is None:
                st.space("small")
                continue
            label = words(f"nav.{way}", title=words(f"nav.{name}"))
            if st.button(label, key=way, shortcut=shortcut, type="tertiary"):
                st.switch_page(page_file(name), query_params=write_link(state.scene()))
