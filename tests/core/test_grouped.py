"""Merging KV heads by hand and in the limit, and decoding against reading all at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.grouped import (
    decode,
    kv_choices,
    output_moved,
    patterns_moved,
    share_again,
    share_kv_heads,
)
from mha_core.masks import named_mask
from mha_core.rope import Rope
from mha_core.sizes import CacheLayers, cache_elements
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from mha_core.weights import AttentionWeights, random_embedding, random_weights


def walk(config: AttentionConfig, n_tokens: int = 7, **settings: object) -> AttentionTrace:
    """A sentence of random tokens through random weights."""
    stream = random_embedding(n_tokens, config.d_model, 3)
    return walk_layer(stream, random_weights(config, 3), config, **settings)  # type: ignore[arg-type]


def test_neighbours_are_averaged_and_in_order() -> None:
    config = AttentionConfig(d_model=2, n_heads=4, d_head=1, causal=False)
    rows = np.array([[1.0, 2.0], [3.0, 6.0], [10.0, 0.0], [20.0, 4.0]])
    weights = AttentionWeights(rows, rows, -rows, rows.T, b_k=rows[:, 0])
    shared, sizes = share_kv_heads(weights, config, 2)
    assert sizes.n_kv_heads == 2
    assert shared.w_k.tolist() == [[2.0, 4.0], [15.0, 2.0]]
    assert shared.w_v.tolist() == [[-2.0, -4.0], [-15.0, -2.0]]
    assert shared.b_k is not None
    assert shared.b_k.tolist() == [2.0, 15.0]
    assert shared.w_q is weights.w_q
    assert shared.w_o is weights.w_o


def test_as_many_kv_heads_as_before_change_nothing() -> None:
    trace = walk(AttentionConfig(d_model=30, n_heads=6, rope=Rope(), d_head=4), norm="rms")
    again = share_again(trace, 6)
    assert np.allclose(again.out, trace.out, atol=1e-6)
    assert output_moved(trace, again) < 1e-6
    assert patterns_moved(trace.pattern, again.pattern).max() < 1e-6


def test_heads_that_are_alike_can_be_merged_for_nothing() -> None:
    config = AttentionConfig(d_model=6, n_heads=4, d_head=3, causal=True)
    one = random_weights(AttentionConfig(d_model=6, n_heads=4, n_kv_heads=1, d_head=3), 5)
    weights = AttentionWeights(one.w_q, np.tile(one.w_k, (4, 1)), np.tile(one.w_v, (4, 1)), one.w_o)
    trace = walk_layer(random_embedding(5, 6, 0), weights, config)
    again = share_again(trace, 1)
    assert again.k.shape == (1, 5, 3)
    assert again.out == pytest.approx(trace.out, abs=1e-6)


@pytest.mark.parametrize("n_kv_heads", [0, 4, 5])
def test_heads_that_cannot_be_shared_equally_are_refused(n_kv_heads: int) -> None:
    config = AttentionConfig(d_model=12, n_heads=6)
    with pytest.raises(ShapeError, match=f"{n_kv_heads} KV heads cannot serve 6"):
        share_kv_heads(random_weights(config, 0), config, n_kv_heads)


@settings(max_examples=20)
@given(
    n_kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    n_tokens=st.integers(1, 9),
    mask=st.sampled_from(["causal", "window", "sink_window"]),
    shift=st.integers(0, 50),
)
def test_decoding_with_a_cache_equals_reading_at_once(
    n_kv_heads: int, group: int, n_tokens: int, mask: str, shift: int
) -> None:
    config = AttentionConfig(
        d_model=10, n_heads=n_kv_heads * group, n_kv_heads=n_kv_heads, d_head=4, d_value=3,
        rope=Rope(), causal=False,
    )  # fmt: skip
    keep = named_mask(mask, n_tokens, window=3, sinks=1)
    trace = walk(config, n_tokens, keep=keep, positions=np.arange(n_tokens) + shift)
    decoding = decode(trace)
    assert decoding.apart.max() <= 1e-5
    assert decoding.pattern == pytest.approx(trace.pattern, abs=1e-6)
    assert decoding.k_rot == pytest.approx(trace.k_rot, abs=1e-5)
    kept = [cache_elements([CacheLayers(1, n_kv_heads * 7)], n + 1) for n in range(n_tokens)]
    assert decoding.elements.tolist() == kept


def test_a_wrong_cache_would_be_seen() -> None:
    config = AttentionConfig(d_model=10, n_heads=2, d_head=4, rope=Rope())
    trace, other = walk(config, 6), walk(config, 6, positions=np.array([0, 1, 2, 3, 5, 6]))
    assert decode(trace).apart.max() <= 1e-5
    assert np.abs(trace.out - other.out).max() > 1e-3


def test_a_mask_that_looks_ahead_cannot_be_decoded() -> None:
    trace = walk(AttentionConfig(d_model=6, n_heads=2, causal=False), 4)
    with pytest.raises(ConfigError, match="Token 0 may look at token 1, which comes later"):
        decode(trace)


def test_choices_are_all_divisors_from_the_largest() -> None:
    for n_heads in range(1, 65):
        choices = kv_choices(n_heads)
        assert choices[0] == n_heads
        assert choices[-1] == 1
        assert choices == sorted({n for n in choices if n_heads % n == 0}, reverse=True)
        assert len(choices) == sum(n_heads % n == 0 for n in range(1, n_heads + 1))
