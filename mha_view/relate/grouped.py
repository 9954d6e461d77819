"""The parts of the page of shared keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from mha_core.grouped import decode, kv_choices, output_moved, patterns_moved, share_again
from mha_core.sizes import CacheLayers, cache_bytes, looked_at
from mha_view import compute, controls, state
from mha_view.closing import Question, draw_question
from mha_view.figures import relate_grouped as figures
from mha_view.figures.relate_sizes import binary
from mha_view.page import Page, open_page_as
from mha_view.show import show

if TYPE_CHECKING:
    from mha_core.trace import AttentionTrace

MOST_STEPS = 24
AGREES = 1e-5


@dataclass(frozen=True)
class Grouped(Page):
    """The page of shared keys and values: the layer as it is, and with KV heads merged."""

    @property
    def choices(self) -> list[int]:
        """The numbers of KV heads to choose from, the layer's own first."""
        return kv_choices(self.config.n_kv_heads)

    @property
    def n_kv_heads(self) -> int:
        """The number chosen; about half where none, or none that fits, is."""
        choices = self.choices
        return self.scene.shared if self.scene.shared in choices else choices[len(choices) // 2]

    @cached_property
    def after(self) -> AttentionTrace:
        """The walk with KV heads merged."""
        return share_again(self.trace, self.n_kv_heads)

    def sizes(self) -> dict[str, object]:
        """The placeholders, with the chosen number of KV heads."""
        return {**super().sizes(), "n_kv_heads": self.n_kv_heads}

    def kind(self, n_kv_heads: int) -> str:
        """What so many KV heads are called."""
        if n_kv_heads == self.config.n_heads:
            return "MHA"
        return "MQA" if n_kv_heads == 1 else "GQA"

    def label(self, n_kv_heads: int) -> str:
        """A number of KV heads with its name."""
        return f"{n_kv_heads} · {self.kind(n_kv_heads)}"


def open_grouped() -> Grouped:
    """Open the page."""
    return open_page_as(Grouped, "grouped")


def draw_slider(page: Grouped) -> None:
    """From as many KV heads as there are down to one, and who reads which."""
    words = page.words
    if len(page.choices) > 1:
        st.session_state["shared"] = page.n_kv_heads
        st.select_slider(
            words("grouped.slider"),
            page.choices,
            format_func=page.label,
            key="shared",
            on_change=lambda: state.change(shared=st.session_state["shared"]),
        )
    else:
        st.info(words("grouped.one"))
    show(figures.sharing(page.config.n_heads, page.n_kv_heads, page.head, words), words)


def draw_patterns(page: Grouped) -> None:
    """Every query head's pattern before and after merging."""
    words, scale = page.words, page.scene.scale
    left, right = st.columns(2)
    with left:
        st.markdown(f"##### {words('grouped.before', kind=page.label(page.config.n_kv_heads))}")
        show(figures.patterns(page.trace, page.labels, words, "before", scale), words)
    with right:
        st.markdown(f"##### {words('grouped.after', kind=page.label(page.n_kv_heads))}")
        show(figures.patterns(page.after, page.labels, words, "after", scale), words)
    controls.draw_scale(words)


def draw_costs(page: Grouped) -> None:
    """What merging changes, and what it saves."""
    words, config = page.words, page.config
    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        st.markdown(f"##### {words('grouped.moved')}")
        moved = patterns_moved(page.trace.pattern, page.after.pattern)
        show(figures.moved_bars(moved, words), words)
        share = output_moved(page.trace, page.after)
        st.caption(words("grouped.moved.caption", share=f"{share:.0%}"))
    with right.container(border=True, height="stretch"):
        st.markdown(f"##### {words('grouped.cache', n=len(page.labels))}")
        n_layers, width = compute.n_layers_of(page.scene), config.d_head + config.d_value
        layers = {kv: [CacheLayers(n_layers, kv * width)] for kv in page.choices}
        dtype, n_long = page.scene.float_type, page.scene.cost_tokens
        n_bytes = {kv: cache_bytes(each, len(page.labels), dtype) for kv, each in layers.items()}
        names = {kv: page.label(kv) for kv in page.choices}
        show(figures.cache_bars(n_bytes, names, page.n_kv_heads, words), words)
        st.caption(
            words(
                "grouped.cache.caption",
                dtype=dtype,
                n_layers=n_layers,
                n=f"{n_long:,}",
                before=binary(cache_bytes(layers[page.config.n_kv_heads], n_long, dtype)),
                after=binary(cache_bytes(layers[page.n_kv_heads], n_long, dtype)),
            )
        )


def draw_player(page: Grouped) -> None:
    """The sentence read token by token with a cache, and how far that is from all at once."""
    words = page.words
    n_tokens = min(len(page.labels), MOST_STEPS)
    keep = page.trace.keep
    if looks_ahead := bool(np.triu(keep, 1).any()):
        keep = compute.keep_of(page.scene.with_(mask="causal"), len(page.labels))
    walked = share_again(page.trace, page.n_kv_heads, keep=keep, n_tokens=n_tokens)
    decoding = decode(walked)
    kv_head = page.head // walked.config.group
    st.subheader(words("decode.title", head=page.head, kv_head=kv_head))
    show(figures.player(decoding, page.head, kv_head, page.labels[:n_tokens], words), words)
    apart = float(decoding.apart.max())
    told = "decode.passed" if apart <= AGREES * max(1.0, decoding.largest) else "decode.failed"
    st.markdown(words(told, apart=f"{apart:.1e}", largest=f"{decoding.largest:.1f}"))
    st.caption(words("decode.saved", n=n_tokens, without=f"{looked_at(n_tokens, causal=True):,}"))
    if looks_ahead:
        st.caption(words("decode.causal"))
    if len(page.labels) > n_tokens:
        st.caption(words("decode.first", n=n_tokens))


def draw_reading_on(page: Grouped) -> None:
    """The last row: where people trip, a question, and more to read."""
    trip, ask = st.columns(2)
    with trip.container(border=True, height="stretch"):
        st.markdown(f"##### {page.words('card.trip')}")
        st.markdown(page.text("trip"))
    with ask.container(border=True, height="stretch"):
        draw_question("grouped", _ask(page), page.words)
    page.draw_foot()


def _ask(page: Grouped) -> Question:
    """How large the cache is beside the layer's own."""
    words, before, after = page.words, page.config.n_kv_heads, page.n_kv_heads
    said = {"n": before, "n_kv": after}
    shares = {"share": after / before, "square": (after / before) ** 2, "same": 1.0}
    return Question(
        words("question.grouped.ask", **said),
        {name: f"{share:.3g}" for name, share in shares.items()},
        "share",
        words("question.grouped.why", **said),
    )
