"""The RoPE page's parts: which token, the shift, the two pairings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_core.rope import Rope, base_frequencies, pair_frequencies
from mha_core.trace import AttentionTrace
from mha_core.whatif import look_again, pair_order, turn, turn_again
from mha_view import state
from mha_view.figures.rope import SCALED
from mha_view.figures.walk import pattern_tiles, regroup
from mha_view.page import Page
from mha_view.panel import literal
from mha_view.show import Picture

# Rounding in float32 stays below this share of the largest score.
ROUNDING = 1e-4


def with_and_without(page: Page) -> Picture:
    """The chosen head's pattern with RoPE and without it, on one scale."""
    words, trace = page.words, page.trace
    grouping = page.grouping
    both, keep, labels = regroup(grouping, _both(page), trace.keep, page.labels)
    figure, block = pattern_tiles(
        "pattern", both, keep, labels, words, merged=grouping.merges,
        titles=[words("rope.with"), words("rope.without")], scale=page.scene.scale, across=2,
    )  # fmt: skip
    return Picture(
        "rope_patterns",
        figure,
        words("alt.rope", head=page.head),
        height=None,
        arrays=dict(zip(("with", "without"), both, strict=True)),
        axes=dict.fromkeys(("with", "without"), ("query", "key")),
        names={"query": labels, "key": labels},
        grouping=grouping,
        block=(block, block),
        picks="pattern",
        tokens="row",
        pickable=False,
    )


def say_both(page: Page, query: int, key: int) -> str:
    """What RoPE makes of one look."""
    weights = [float(pattern[query, key]) for pattern in _both(page)]
    return page.words(
        "rope.both.caption",
        query=literal(page.labels[query]),
        key=literal(page.labels[key]),
        on=f"{weights[0]:.3f}",
        off=f"{weights[1]:.3f}",
    )


def _both(page: Page) -> NDArray[np.floating]:
    """The chosen head's pattern with RoPE and without it, [2, query, key]."""
    rope = page.config.rope
    off = look_again(page.trace, page.head, rope=None)
    on = look_again(page.trace, page.head, rope=Rope()) if rope is None else None
    return np.stack([page.trace.pattern[page.head] if on is None else on, off])


def compare_positions(
    trace: AttentionTrace, before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Scores of every head at two sets of positions: largest change, largest score, mean growth.

    One head at a time, so that a long text takes little memory.
    """
    rope = trace.config.rope
    changes, largest, growth = [0.0], [0.0], [0.0]
    if rope is not None:
        for head in range(trace.config.n_heads):
            one = turn_again(trace, head, rope, before)
            two = turn_again(trace, head, rope, after)
            changes.append(float(np.abs(two - one).max()))
            largest.append(float(np.abs(one).max()))
            growth.append(float(np.abs(two).mean() - np.abs(one).mean()))
    return max(changes), max(largest), sum(growth)


def judge_shift(trace: AttentionTrace, by: int) -> tuple[str, float]:
    """What moving every token does to the scores: the right answer's id, the largest change."""
    here = np.arange(trace.n_tokens)
    change, largest, growth = compare_positions(trace, here, here + by)
    if change <= ROUNDING * max(largest, 1.0):
        return "same", change
    return ("grow" if growth > 0 else "shrink"), change


def draw_shift(page: Page) -> None:
    """Move every token by n positions: rotated queries change, scores do not."""
    words, trace = page.words, page.trace
    if page.scene.weights == "real":  # read as it was made: the slider asks, and moves nothing
        shift = st.slider(words("rope.shift.label"), 0, 256, key="real_shift")
        st.caption(words("rope.shift.real"))
    else:
        st.slider(words("rope.shift.label"), 0, 256, **state.bind("shift"))
        shift = page.scene.shift
    if shift == 0:
        st.markdown(words("rope.shift.start"))
        return
    here = np.arange(trace.n_tokens)
    change, largest, _ = compare_positions(trace, here, here + shift)
    rope = trace.config.rope
    still = trace.q if rope is None else turn(trace.q, rope, here)
    turned = float(np.abs(trace.q_rot - still).max())
    st.markdown(
        words(
            "rope.shift.result",
            shift=shift,
            turned=f"{turned:.6f}",
            change=f"{change:.6f}",
            largest=f"{largest:.6f}",
        )
    )


def draw_pairings(page: Page) -> None:
    """Both pairings on one head: wrong when mixed, equal after the permutation."""
    trace = page.trace
    rope = trace.config.rope or Rope()
    other = replace(rope, pairing="interleaved" if rope.pairing == "half" else "half")
    here, order = np.arange(trace.n_tokens), pair_order(trace.config.d_head, other.pairing)
    straight = turn_again(trace, page.head, rope, here)
    mixed = turn_again(trace, page.head, other, here)
    permuted = turn_again(trace, page.head, other, here, order)
    st.markdown(
        page.words(
            "rope.pairings.result",
            mixed=f"{np.abs(mixed - straight).max():.3f}",
            permuted=f"{np.abs(permuted - straight).max():.1e}",
        )
    )


def say_scaling(page: Page, rope: Rope) -> None:
    """Where a model's RoPE is scaled: how far its turns are from those of its base alone."""
    if rope.frequencies is None:
        return
    n, d_head = len(rope.frequencies), page.config.d_head
    with np.errstate(divide="ignore"):
        slower = base_frequencies(rope, d_head) / pair_frequencies(rope, d_head)
    changed = np.abs(slower - 1) > SCALED
    key = "rope.scaled" if changed.any() else "rope.unscaled"
    st.caption(
        page.words(
            key, n=n, changed=int(changed.sum()), base=f"{rope.base:,.0f}",
            most=f"{slower[np.isfinite(slower)].max():.1f}", factor=f"{rope.attention_factor:.3f}",
        )
    )  # fmt: skip
