"""The RoPE page's parts: which token, the shift, the two pairings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from mha_core.rope import Rope
from mha_core.trace import AttentionTrace
from mha_core.whatif import permute_pairs, walk_again
from mha_view import state
from mha_view.page import Page

# Rounding in float32 stays below this share of the largest score.
ROUNDING = 1e-4


def choose_token(page: Page) -> int:
    """Which token's query and key are drawn; the last one at first, as position 0 turns nothing."""
    labels = page.labels
    return st.select_slider(
        page.words("rope.token"),
        range(len(labels)),
        value=len(labels) - 1,
        format_func=lambda place: f"{place} · {labels[place]}",
        key=f"rope_token_{len(labels)}",
    )


def largest_change(before: AttentionTrace, after: AttentionTrace) -> tuple[float, float]:
    """The largest change of any score, and the largest score, by size."""
    return (
        float(np.abs(after.scores - before.scores).max()),
        float(np.abs(before.scores).max()),
    )


def judge_shift(before: AttentionTrace, after: AttentionTrace) -> str:
    """Whether scores stayed, grew or shrank: the id of the right answer."""
    change, largest = largest_change(before, after)
    if change <= ROUNDING * max(largest, 1.0):
        return "same"
    grew = np.abs(after.scores).mean() > np.abs(before.scores).mean()
    return "grow" if grew else "shrink"


def draw_shift(page: Page) -> None:
    """Move every token by n positions: rotated queries change, scores do not."""
    words, trace = page.words, page.trace
    st.slider(words("rope.shift.label"), 0, 256, **state.bind("shift"))
    shift = page.scene.shift
    still = walk_again(trace, positions=np.arange(trace.n_tokens))
    change, largest = largest_change(still, trace)
    turned = float(np.abs(trace.q_rot - still.q_rot).max())
    st.markdown(
        words(
            "rope.shift.result",
            shift=shift,
            turned=f"{turned:.3f}",
            change=f"{change:.1e}",
            largest=f"{largest:.2f}",
        )
    )


def draw_pairings(page: Page) -> None:
    """Both pairings on this sentence: wrong when mixed, equal after the permutation."""
    trace = page.trace
    rope = trace.config.rope or Rope()
    other = replace(rope, pairing="interleaved" if rope.pairing == "half" else "half")
    mixed = walk_again(trace, rope=other)
    permuted = walk_again(trace, rope=other, weights=permute_pairs(trace, other.pairing))
    straight = trace if trace.config.rope else walk_again(trace, rope=rope)
    st.markdown(
        page.words(
            "rope.pairings.result",
            mixed=f"{largest_change(straight, mixed)[0]:.3f}",
            permuted=f"{largest_change(straight, permuted)[0]:.1e}",
        )
    )
