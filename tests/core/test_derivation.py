"""A derivation's printed terms add up to the printed number, and that number is the layer's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.derivation import (
    derive_head_output,
    derive_output,
    derive_projection,
    derive_rotation,
    derive_weight,
    fold,
    head_contributions,
    head_share,
    head_shares,
)
from mha_core.rope import Rope
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from mha_core.weights import random_embedding, random_weights

CONFIGS = {
    "plain": AttentionConfig(d_model=12, n_heads=3, rope=Rope()),
    "grouped": AttentionConfig(d_model=20, n_heads=4, n_kv_heads=2, d_head=6, d_value=7),
    "interleaved": AttentionConfig(d_model=14, n_heads=1, rope=Rope(pairing="interleaved")),
}


@pytest.fixture(params=CONFIGS, scope="module")
def trace(request: pytest.FixtureRequest) -> AttentionTrace:
    config = CONFIGS[request.param]
    stream = random_embedding(5, config.d_model, 3)
    return walk_layer(stream, random_weights(config, 3), config)


def cells(trace: AttentionTrace) -> list[tuple[int, int, int]]:
    n = trace.n_tokens
    return [(h, q, k) for h in range(trace.config.n_heads) for q in range(n) for k in range(n)]


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=40),
       st.integers(1, 9))  # fmt: skip
def test_what_is_printed_adds_up(pairs: list[tuple[float, float]], shown: int) -> None:
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    folded = fold(left, right, float(left @ right), shown=shown)
    printed = sum(term.product for term in folded.terms) + folded.rest
    assert round(printed, 3) == folded.total == round(float(left @ right), 3)
    assert len(folded.terms) + folded.n_rest == len(pairs)
    if not folded.n_rest:
        assert abs(folded.rest) <= 0.0005 * (len(pairs) + 1)


def test_terms_come_largest_first_and_name_their_place() -> None:
    folded = fold(np.array([1.0, -3.0, 2.0]), np.ones(3), 0.0, shown=2)
    assert [(term.index, term.product) for term in folded.terms] == [(1, -3.0), (2, 2.0)]
    assert (folded.n_rest, folded.rest, folded.total) == (1, 1.0, 0.0)


def test_a_weight_is_derived_from_the_trace(trace: AttentionTrace) -> None:
    for head, query, key in cells(trace):
        derived = derive_weight(trace, head, query, key)
        kv_head = head // trace.config.group
        product = float(trace.q_rot[head, query] @ trace.k_rot[kv_head, key])
        assert derived.raw == pytest.approx(product, abs=1e-5)
        assert derived.score == pytest.approx(product / math.sqrt(trace.config.d_head), abs=1e-5)
        assert derived.may_look == (key <= query)
        if derived.may_look:
            assert derived.exponential / derived.row_sum == pytest.approx(derived.weight, abs=1e-6)
        else:
            assert derived.exponential == derived.weight == 0.0


def test_a_projection_is_a_row_times_a_column(trace: AttentionTrace) -> None:
    for name, matrix in (("q", trace.weights.w_q), ("k", trace.weights.w_k)):
        folded, bias = derive_projection(trace, name, 2, 3)
        assert bias == 0.0
        assert folded.total == pytest.approx(float(matrix[2] @ trace.x[3]), abs=6e-4)


def test_a_bias_is_a_term_of_its_own() -> None:
    config = AttentionConfig(d_model=6, n_heads=2)
    weights = random_weights(config, 0)
    weights = type(weights)(weights.w_q, weights.w_k, weights.w_v, weights.w_o, b_q=np.full(6, 5.0))
    trace = walk_layer(random_embedding(3, 6, 0), weights, config)
    folded, bias = derive_projection(trace, "q", 1, 1, shown=99)
    assert bias == 5.0
    total = sum(term.product for term in folded.terms) + folded.rest + bias
    assert round(total, 3) == folded.total


def test_a_heads_output_weighs_the_values(trace: AttentionTrace) -> None:
    folded = derive_head_output(trace, 0, 1, 4, shown=99)
    assert folded.total == pytest.approx(float(trace.heads[0, 4, 1]), abs=6e-4)
    assert {term.index for term in folded.terms} == set(range(trace.n_tokens))


def test_an_output_cell_is_the_sum_over_heads(trace: AttentionTrace) -> None:
    folded, bias, by_head = derive_output(trace, 3, 2)
    assert bias == 0.0
    assert float(by_head.sum()) == pytest.approx(float(trace.out[2, 3]), abs=1e-5)
    assert folded.total == pytest.approx(float(trace.out[2, 3]), abs=6e-4)


def test_contributions_sum_to_the_output_and_shares_to_one(trace: AttentionTrace) -> None:
    parts = head_contributions(trace)
    assert np.abs(parts.sum(axis=0) - trace.out).max() <= 1e-5 * np.abs(trace.out).max()
    shares = head_shares(trace)
    assert shares.sum(axis=0) == pytest.approx(np.ones(trace.n_tokens), abs=1e-5)
    for head, token in np.ndindex(*shares.shape):
        assert head_share(trace, head, token) == pytest.approx(shares[head, token], abs=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2), st.integers(0, 1), st.integers(0, 4))
def test_a_turned_pair_keeps_its_length_and_its_angle(head: int, pair: int, token: int) -> None:
    config = CONFIGS["plain"]
    trace = walk_layer(random_embedding(5, 12, 1), random_weights(config, 1), config)
    before, after, places = derive_rotation(trace, "q", head, pair, token)
    assert places == (pair, pair + 2)
    assert math.hypot(*before) == pytest.approx(math.hypot(*after), rel=1e-5)
    angle = token * 10_000 ** (-2 * pair / 4)
    turned = complex(*before) * complex(math.cos(angle), math.sin(angle))
    assert (turned.real, turned.imag) == pytest.approx(after, abs=1e-5)
