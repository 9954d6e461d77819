"""The article's arithmetic: worked by hand, and equal to the library form on any layer."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings

from mha_core import reference
from mha_core.config import AttentionConfig
from mha_core.layer import attention, fused_attention
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights
from tests.core.layers import Layer, distance, distances, layers

ROUNDING = 1e-12


@settings(deadline=None, max_examples=300)
@given(layers())
def test_every_step_is_the_articles(layer: Layer):
    assert {name: far for name, far in distances(layer).items() if far > ROUNDING} == {}


@settings(deadline=None, max_examples=150)
@given(layers())
def test_fused_attention_gives_the_same_output(layer: Layer):
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    fused = fused_attention(x, weights, layer.config, **layer.inputs())
    steps = attention(x, weights, layer.config, **layer.inputs())
    assert distance(fused, steps.out.numpy()) <= ROUNDING


def test_one_head_by_hand():
    """Two tokens, d = 1: q = (1, 2), k = (1, 0), v = (10, 20), scale ln 2, two-way.

    Scores are ln 2 · (1, 0) and ln 2 · (2, 0), so the powers are (2, 1) and (4, 1), the patterns
    (2/3, 1/3) and (4/5, 1/5), and the outputs 40/3 and 12; W_o = 3 gives 40 and 36.
    """
    config = AttentionConfig(d_model=3, n_heads=1, d_head=1, causal=False, scale=float(np.log(2)))
    weights = AttentionWeights(
        w_q=np.array([[1.0, 0, 0]]),
        w_k=np.array([[0, 1.0, 0]]),
        w_v=np.array([[0, 0, 1.0]]),
        w_o=np.array([[3.0], [0], [0]]),
    )
    columns = np.array([[1.0, 2.0], [1.0, 0.0], [10.0, 20.0]])
    heads, concat, out = reference.multi_head(columns, weights, config)
    np.testing.assert_allclose(heads[0].raw, [[1, 0], [2, 0]])
    np.testing.assert_allclose(heads[0].pattern, [[2 / 3, 1 / 3], [4 / 5, 1 / 5]])
    np.testing.assert_allclose(concat, [[40 / 3, 12]])
    np.testing.assert_allclose(out, [[40, 36], [0, 0], [0, 0]])
    steps = attention(torch.tensor(columns.T), weights.to_torch(), config)
    np.testing.assert_allclose(steps.out.numpy(), out.T, atol=1e-14)


def test_a_quarter_turn_by_hand():
    """One radian times position π/2 is a quarter turn: (1, 0) becomes (0, 1)."""
    turned = reference.rotate_columns(
        np.array([[1.0], [0.0]]), Rope(frequencies=(1.0,)), np.array([np.pi / 2])
    )
    np.testing.assert_allclose(turned, [[0], [1]], atol=1e-15)


def test_a_row_with_nothing_to_look_at_gives_zeros():
    pattern = reference.softmax_rows(np.full((1, 3), -np.inf))
    np.testing.assert_array_equal(pattern, [[0, 0, 0]])


def test_the_two_forms_share_no_code():
    """Agreement means something only as long as neither is made of the other."""
    source = set(vars(reference)) & {"torch", "attention", "options", "masks", "rotate"}
    assert source == set()
