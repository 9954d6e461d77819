"""What holds for attention whatever the numbers: causality, gradients, batches, refusals."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.layer import attention, fused_attention, scaled_dot_product
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights, from_torch
from tests.core.layers import layer_of

CAUSAL = AttentionConfig(d_model=10, n_heads=6, n_kv_heads=2, d_head=4, d_value=3, rope=Rope())


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(0, 11), st.integers(0, 999))
def test_a_later_token_moves_no_earlier_output_by_one_bit(n_tokens: int, token: int, seed: int):
    token %= n_tokens
    layer = layer_of(CAUSAL, n_tokens, seed, biases=True)
    weights = layer.weights.to_torch(dtype=torch.float32)
    x = torch.tensor(layer.x, dtype=torch.float32)
    changed = x.clone()
    changed[token:] = torch.randn(n_tokens - token, 10) * 100
    before, after = (attention(each, weights, CAUSAL) for each in (x, changed))
    assert torch.equal(before.out[:token], after.out[:token])
    assert torch.equal(before.pattern[:, :token], after.pattern[:, :token])
    assert not torch.equal(before.out[token:], after.out[token:])


KINDS = {
    "plain": CAUSAL,
    "capped": dataclasses.replace(CAUSAL, softcap=2.0),
    "normed": dataclasses.replace(CAUSAL, qk_norm="head"),
    "window": dataclasses.replace(CAUSAL, causal=False, window=(1, 1)),
}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_gradients_agree_with_finite_differences(config: AttentionConfig):
    layer = layer_of(config, 4, seed=3, biases=True, sinks=True, bias=True)
    names, values = zip(*layer.weights.to_torch().items(), strict=True)
    tensors = [value.requires_grad_() for value in (torch.tensor(layer.x), *values)]
    bias = torch.tensor(layer.bias).requires_grad_()

    def run(x: torch.Tensor, bias: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        weights = AttentionWeights(**dict(zip(names, parameters, strict=True)))
        return attention(x, weights, config, bias=bias).out

    assert gradcheck(run, (tensors[0], bias, *tensors[1:]))


def test_a_row_with_nothing_to_look_at_has_gradients_too():
    q, k, v = (torch.randn(2, 3, 4, dtype=torch.float64).requires_grad_() for _ in range(3))
    keep = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    assert gradcheck(lambda *qkv: scaled_dot_product(*qkv, keep=keep).heads, (q, k, v))


def test_a_row_with_nothing_to_look_at_gives_zeros():
    q, k, v = torch.randn(3, 2, 3, 4).unbind()
    keep = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    steps = scaled_dot_product(q, k, v, keep=keep)
    assert torch.equal(steps.pattern[:, 1], torch.zeros(2, 3))
    assert torch.equal(steps.heads[:, 1], torch.zeros(2, 4))
    torch.testing.assert_close(steps.pattern[:, 0].sum(-1), torch.ones(2))


def test_very_negative_numbers_that_add_up_to_infinity_give_zeros():
    """Two float16 minima added are -∞: no NaN may come of it."""
    q = torch.ones(1, 1, 4, dtype=torch.float16)
    bias = torch.full((1, 2), torch.finfo(torch.float16).min).half() * 2
    steps = scaled_dot_product(q, q.expand(1, 2, 4), q.expand(1, 2, 4), bias=bias)
    assert torch.equal(steps.heads, torch.zeros(1, 1, 4, dtype=torch.float16))


def test_a_sink_takes_its_share():
    """Scores 0 and ln 3, sink ln 4: the powers 1, 3 and 4 give 1/8, 3/8, and half is lost."""
    logs = torch.log(torch.tensor([1.0, 3.0, 4.0]))
    q, k = torch.ones(1, 1, 1), logs[:2].view(1, 2, 1)
    steps = scaled_dot_product(q, k, torch.ones(1, 2, 1), sinks=logs[2:])
    torch.testing.assert_close(steps.pattern, torch.tensor([[[1 / 8, 3 / 8]]]))
    torch.testing.assert_close(steps.heads, torch.tensor([[[0.5]]]))


def test_a_batch_is_its_sentences():
    layer = layer_of(CAUSAL, 5, seed=0)
    weights, x = layer.weights.to_torch(), torch.randn(3, 2, 5, 10, dtype=torch.float64)
    together = attention(x, weights, CAUSAL)
    alone = attention(x[2, 1], weights, CAUSAL)
    assert together.pattern.shape == (3, 2, 6, 5, 5)
    torch.testing.assert_close(together.out[2, 1], alone.out, rtol=0, atol=1e-12)
    torch.testing.assert_close(together.masked[2, 1], alone.masked, rtol=0, atol=1e-12)


def test_positions_per_sentence():
    layer = layer_of(CAUSAL, 3, seed=0)
    weights, x = layer.weights.to_torch(), torch.tensor(layer.x)
    positions = torch.tensor([[0, 1, 2], [5, 7, 20]])
    both = attention(torch.stack((x, x)), weights, CAUSAL, positions=positions)
    second = attention(x, weights, CAUSAL, positions=positions[1])
    torch.testing.assert_close(both.out[1], second.out, rtol=0, atol=1e-12)
    assert (both.out[0] - both.out[1]).abs().max() > 1e-3


def test_keys_and_values_from_other_tokens():
    """Cross-attention against PyTorch's own, with another width on the other side."""
    module = torch.nn.MultiheadAttention(12, 3, kdim=7, vdim=7, batch_first=True).eval()
    x, other = torch.randn(2, 4, 12), torch.randn(2, 5, 7)
    config = AttentionConfig(12, 3, causal=False)
    with torch.no_grad():
        out, pattern = module(x, other, other, average_attn_weights=False)
        steps = attention(x, from_torch(module), config, x_kv=other)
        fused = fused_attention(x, from_torch(module), config, x_kv=other)
    torch.testing.assert_close(steps.pattern, pattern, rtol=0, atol=1e-5)
    torch.testing.assert_close(steps.out, out, rtol=0, atol=1e-5)
    torch.testing.assert_close(fused, out, rtol=0, atol=1e-5)


def test_splitting_copies_nothing():
    layer = layer_of(CAUSAL, 5, seed=0)
    steps = attention(torch.tensor(layer.x), layer.weights.to_torch(), CAUSAL)
    for part, full in ((steps.q, steps.q_full), (steps.k, steps.k_full), (steps.v, steps.v_full)):
        assert part.data_ptr() == full.data_ptr()


def test_what_does_not_fit_is_refused():
    layer = layer_of(CAUSAL, 5, seed=0)
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    with pytest.raises(DataError, match=r"weights\.to_torch\(\)"):
        attention(x, layer.weights, CAUSAL)
    with pytest.raises(
        DataError, match=r"tokens are torch\.float32 and the weights torch\.float64"
    ):
        attention(x.float(), weights, CAUSAL)
    with pytest.raises(ShapeError, match=r"shape \(5, 9\).*10 features"):
        attention(x[:, :9], weights, CAUSAL)
    with pytest.raises(ShapeError, match=r"w_q has shape \(10, 24\).*\(24, 10\)"):
        attention(x, dataclasses.replace(weights, w_q=weights.w_q.mT), CAUSAL)
    with pytest.raises(ShapeError, match=r"keep has shape \(5, 4\)"):
        attention(x, weights, CAUSAL, keep=torch.ones(5, 4, dtype=torch.bool))
    with pytest.raises(DataError, match=r"keep is torch\.float64"):
        attention(x, weights, CAUSAL, keep=torch.ones(5, 5, dtype=torch.float64))
    with pytest.raises(ConfigError, match="q_norm or k_norm is missing"):
        attention(x, weights, dataclasses.replace(CAUSAL, qk_norm="head"))
    gain = torch.ones(4, dtype=torch.float64)
    with pytest.raises(ConfigError, match="q_norm is given, but the layer does not norm"):
        attention(x, dataclasses.replace(weights, q_norm=gain), CAUSAL)
    with pytest.raises(ShapeError, match="5 KV heads cannot serve 6 query heads"):
        scaled_dot_product(torch.ones(6, 2, 4), torch.ones(5, 2, 4), torch.ones(5, 2, 4))
    with pytest.raises(ShapeError, match="do not fit together"):
        scaled_dot_product(torch.ones(6, 2, 4), torch.ones(6, 2, 3), torch.ones(6, 2, 4))
