"""Weights: the same seed gives the same numbers, and PyTorch's own can be read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import MultiheadAttention

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError
from mha_core.layer import attention
from mha_core.weights import from_torch, random_embedding, random_weights

LARGE = AttentionConfig(d_model=256, n_heads=8)


def test_a_seed_is_numpys_stream():
    """PCG64's normal numbers over √d, in the order w_q, w_k, w_v, w_o."""
    config = AttentionConfig(d_model=4, n_heads=2)
    numbers = np.random.Generator(np.random.PCG64(5)).standard_normal((4, 4, 4)) / 2
    weights = random_weights(config, 5)
    for name, expected in zip(("w_q", "w_k", "w_v", "w_o"), numbers, strict=True):
        np.testing.assert_array_equal(getattr(weights, name), expected.astype(np.float32))


def test_scores_have_about_unit_variance_and_patterns_are_not_flat():
    x = torch.tensor(random_embedding(64, 256, 0))
    steps = attention(x, random_weights(LARGE, 0).to_torch(), LARGE)
    assert float(steps.scores.var()) == pytest.approx(1, rel=0.1)
    assert float(steps.out.var()) < 1
    assert float(steps.pattern[:, -1].amax(-1).mean()) > 4 / 64


def test_the_embedding_is_not_the_weights():
    embedding, w_q = random_embedding(256, 256, 3), random_weights(LARGE, 3).w_q
    correlation = np.corrcoef(embedding.ravel(), w_q.ravel())[0, 1]
    assert abs(correlation) < 0.02


def test_gains_start_at_one():
    weights = random_weights(AttentionConfig(6, 3, 1, qk_norm="whole"), 0)
    np.testing.assert_array_equal(weights.q_norm, np.ones(6))
    np.testing.assert_array_equal(weights.k_norm, np.ones(2))


def test_there_and_back():
    weights = random_weights(LARGE, 0)
    for name, value in weights.to_torch().to_numpy().items():
        np.testing.assert_array_equal(value, getattr(weights, name))
    assert weights.to_torch(dtype=torch.bfloat16).to_numpy().w_q.dtype == np.float32


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("other", [None, 5])
def test_pytorchs_own_module_can_be_read(bias: bool, other: int | None):
    module = MultiheadAttention(12, 3, bias=bias, kdim=other, vdim=other, batch_first=True)
    x, source = torch.randn(2, 4, 12), torch.randn(2, 6, other or 12)
    with torch.no_grad():
        out, pattern = module(x, source, source, average_attn_weights=False)
    steps = attention(x, from_torch(module), AttentionConfig(12, 3, causal=False), x_kv=source)
    torch.testing.assert_close(steps.pattern, pattern, rtol=0, atol=1e-6)
    torch.testing.assert_close(steps.out, out, rtol=0, atol=1e-6)
    assert (from_torch(module).b_q is not None) == bias


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_keys_of_its_own_are_refused(option: str):
    with pytest.raises(ConfigError, match="appends keys of its own"):
        from_torch(MultiheadAttention(12, 3, **{option: True}))
