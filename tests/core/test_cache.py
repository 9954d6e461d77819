"""Reading token by token with a cache gives what reading all at once gives."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.cache import KVCache
from mha_core.config import AttentionConfig
from mha_core.layer import attention, fused_attention
from mha_core.rope import Rope
from tests.core.layers import Layer, layer_of

GROUPED = AttentionConfig(d_model=10, n_heads=6, n_kv_heads=2, d_head=4, d_value=3, rope=Rope())
KINDS = {
    "grouped": GROUPED,
    "one KV head": dataclasses.replace(GROUPED, n_kv_heads=1),
    "window": dataclasses.replace(GROUPED, window=(2, None)),
    "normed and capped": dataclasses.replace(GROUPED, qk_norm="head", softcap=3.0),
}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
@settings(deadline=None, max_examples=20)
@given(pieces=st.lists(st.integers(1, 4), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_pieces_give_what_the_whole_gives(config: AttentionConfig, pieces: list[int], seed: int):
    layer = layer_of(config, sum(pieces), seed, biases=True, sinks=True)
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    whole = attention(x, weights, config)
    cache = None
    outs, fused, patterns = [], [], []
    for piece in x.split(pieces):
        fused.append(fused_attention(piece, weights, config, cache=cache))
        steps = attention(piece, weights, config, cache=cache)
        cache = steps.cache
        outs.append(steps.out)
        patterns.append(torch.nn.functional.pad(steps.pattern, (0, len(x) - cache.n_tokens)))
    torch.testing.assert_close(torch.cat(outs), whole.out, rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.cat(fused), whole.out, rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.cat(patterns, dim=-2), whole.pattern, rtol=0, atol=1e-12)
    torch.testing.assert_close(cache.k_rot, whole.k_rot, rtol=0, atol=1e-12)


def test_a_cache_is_not_changed_by_those_who_read_it():
    layer = layer_of(GROUPED, 5, seed=0)
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    cache = attention(x[:3], weights, GROUPED).cache
    first, second = (attention(x[3:], weights, GROUPED, cache=cache).out for _ in range(2))
    assert cache.n_tokens == 3
    assert torch.equal(first, second)


def test_the_wrong_position_is_noticed():
    """A cache that forgets how many tokens it holds would turn the next token by 0."""
    layer: Layer = layer_of(GROUPED, 5, seed=0)
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    cache = attention(x[:4], weights, GROUPED).cache
    right = attention(x[4:], weights, GROUPED, cache=cache)
    wrong = attention(x[4:], weights, GROUPED, cache=cache, positions=torch.tensor([0]))
    assert (right.out - wrong.out).abs().max() > 1e-2


def test_a_cache_holds_kv_heads_only():
    cache: KVCache = attention(
        torch.zeros(2, 5, 10, dtype=torch.float64),
        layer_of(GROUPED, 5, seed=0).weights.to_torch(),
        GROUPED,
    ).cache
    assert cache.k_rot.shape == (2, 2, 5, 4)
    assert cache.v.shape == (2, 2, 5, 3)
