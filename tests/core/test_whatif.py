"""One thing changed, the rest the same."""

import numpy as np
import pytest

from mha_core.config import AttentionConfig
from mha_core.rope import Rope
from mha_core.walk import walk_layer
from mha_core.weights import random_embedding, random_weights
from mha_core.whatif import (
    as_one_head,
    count_parameters,
    count_products,
    look_again,
    pair_order,
    score_variance,
    split_wrongly,
    turn_again,
    walk_again,
)

CONFIG = AttentionConfig(d_model=12, n_heads=3, rope=Rope())
TRACE = walk_layer(random_embedding(5, 12, 0), random_weights(CONFIG, 0), CONFIG)


def test_walking_again_unchanged_gives_the_same_numbers() -> None:
    again = walk_again(TRACE)
    assert all(np.allclose(step.value, TRACE[step.name].value, atol=1e-6) for step in again)


def test_another_scale_changes_only_what_comes_after_it() -> None:
    other = walk_again(TRACE, scale=1.0)
    assert np.allclose(other.q_rot, TRACE.q_rot, atol=1e-6)
    assert np.allclose(other.scores, TRACE.scores * 2, atol=1e-5)  # √4 = 2
    assert not np.allclose(other.pattern, TRACE.pattern, atol=1e-3)


@pytest.mark.parametrize("kv_heads", [1, 3])
def test_one_head_without_rope_is_that_of_a_layer_without_rope(kv_heads: int) -> None:
    config = AttentionConfig(d_model=12, n_heads=3, n_kv_heads=kv_heads, rope=Rope())
    x, weights = random_embedding(7, 12, 0), random_weights(config, 0)
    trace = walk_layer(x, weights, config, positions=np.arange(7) + 3)
    for rope in (None, Rope(), Rope(base=50.0)):
        other = walk_again(trace, rope=rope)
        for head in range(3):
            assert np.allclose(look_again(trace, head, rope=rope), other.pattern[head], atol=1e-6)
    assert not np.allclose(look_again(trace, 1, rope=None), trace.pattern[1], atol=1e-3)


@pytest.mark.parametrize("kv_heads", [1, 3])
def test_the_variance_is_of_the_scores_that_may_be_seen(kv_heads: int) -> None:
    config = AttentionConfig(d_model=12, n_heads=3, n_kv_heads=kv_heads, rope=Rope())
    trace = walk_layer(random_embedding(7, 12, 0), random_weights(config, 0), config)
    seen = [
        float(trace.q_rot[head, query] @ trace.k_rot[head // config.group, key])
        for head in range(3)
        for query in range(7)
        for key in range(query + 1)
    ]
    before, after = score_variance(trace)
    assert before == pytest.approx(np.var(seen), rel=1e-5)
    assert after == pytest.approx(np.var(seen) / config.d_head, rel=1e-5)


def test_moving_every_token_keeps_the_scores() -> None:
    moved = walk_again(TRACE, positions=np.arange(5) + 100)
    assert np.allclose(moved.scores, TRACE.scores, atol=1e-5)
    assert not np.allclose(moved.q_rot, TRACE.q_rot, atol=1e-2)


def test_one_head_has_the_same_parameters_and_products() -> None:
    one = as_one_head(TRACE)
    assert one.config.n_heads == 1
    assert one.config.d_head == 12
    assert count_parameters(one.weights) == count_parameters(TRACE.weights) == 4 * 12 * 12
    assert count_products(one) == count_products(TRACE) == 5 * 4 * 144 + 5 * 5 * 24
    assert np.allclose(one.q_full, TRACE.q_full, atol=1e-6)
    assert one.config.scale == pytest.approx(12**-0.5)


def test_one_head_of_shared_keys_repeats_them() -> None:
    config = AttentionConfig(d_model=8, n_heads=4, n_kv_heads=2)
    grouped = walk_layer(random_embedding(3, 8, 0), random_weights(config, 0), config)
    one = as_one_head(grouped)
    assert np.allclose(one.k_full[:, :2], one.k_full[:, 2:4], atol=1e-6)
    assert np.allclose(one.k_full[:, :2], grouped.k_full[:, :2], atol=1e-6)


@pytest.mark.parametrize("head", range(3))
def test_looking_again_equals_walking_again(head: int) -> None:
    two_way = np.ones((5, 5), dtype=bool)
    assert np.allclose(look_again(TRACE, head), TRACE.pattern[head], atol=1e-6)
    assert np.allclose(
        look_again(TRACE, head, scale=1.0), walk_again(TRACE, scale=1.0).pattern[head], atol=1e-6
    )
    walked = walk_again(TRACE, keep=two_way, causal=False).pattern[head]
    assert np.allclose(look_again(TRACE, head, keep=two_way), walked, atol=1e-6)
    assert not np.allclose(walked, TRACE.pattern[head], atol=1e-2)


@pytest.mark.parametrize("head", range(3))
def test_the_other_pairing_equals_after_the_permutation(head: int) -> None:
    here, other = np.arange(5), Rope(pairing="interleaved")
    straight = turn_again(TRACE, head, Rope(), here)
    assert np.allclose(straight, TRACE.scores[head], atol=1e-5)
    assert not np.allclose(turn_again(TRACE, head, other, here), straight, atol=1e-2)
    order = pair_order(4, "interleaved")
    assert np.allclose(turn_again(TRACE, head, other, here, order), straight, atol=1e-5)


def test_the_orders_of_the_two_pairings_undo_each_other() -> None:
    assert pair_order(8, "half")[pair_order(8, "interleaved")].tolist() == list(range(8))


def test_the_wrong_view_has_the_right_shape_and_wrong_numbers() -> None:
    wrong = split_wrongly(TRACE.q_full, 3)
    assert wrong.shape == TRACE.q.shape
    assert not np.allclose(wrong, TRACE.q, atol=1e-2)
    assert np.array_equal(np.sort(wrong, axis=None), np.sort(TRACE.q, axis=None))
