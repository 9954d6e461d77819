"""What holds for attention whatever the numbers: causality, gradients, batches, refusals."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

import mha_core.layer as layer_module
from mha_core.cache import KVCache
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, DataError, DeviceError, ShapeError
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


HALVES = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("softmax_dtype", [None, torch.float32], ids=str)
@pytest.mark.parametrize("softcap", [None, 50.0])
def test_scores_beyond_float16_stay_as_finite_as_pytorchs(dtype, softmax_dtype, softcap):
    """Products of 90,000 and more, where float16 ends at 65,504."""
    q = torch.tensor([[[300.0, 0.0], [0.0, 300.0]]], dtype=dtype)
    k = torch.tensor([[[300.0, 0.0], [299.0, 300.0]]], dtype=dtype)
    v = torch.tensor([[[1.0, 2.0], [3.0, 5.0]]], dtype=dtype)
    keep = torch.ones(2, 2, dtype=torch.bool).tril()
    chosen = {"keep": keep, "scale": 1.0, "softmax_dtype": softmax_dtype}
    steps = scaled_dot_product(q, k, v, softcap=softcap, **chosen)
    exact = scaled_dot_product(q.double(), k.double(), v.double(), softcap=softcap, **chosen)
    assert steps.pattern.dtype == steps.heads.dtype == steps.scores.dtype == dtype
    torch.testing.assert_close(steps.pattern.double(), exact.pattern, rtol=0, atol=2e-3)
    if softcap is None:
        pytorchs = torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], attn_mask=keep, scale=1.0
        )[0]
        torch.testing.assert_close(steps.heads, pytorchs)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_a_layer_of_large_numbers_in_two_bytes_agrees_with_the_fused_form(dtype, config):
    layer = layer_of(dataclasses.replace(config, scale=1.0), 6, seed=1, sinks=True, keep=True)
    weights = layer.weights.to_torch(dtype=dtype)
    weights = dataclasses.replace(weights, w_q=weights.w_q * 200, w_k=weights.w_k * 200)
    x = torch.tensor(layer.x, dtype=dtype)
    bias = torch.linspace(-1e5, 1e5, 36).view(6, 6)  # float32, beyond float16
    for options in (layer.inputs(), {"bias": bias}):
        steps = attention(x, weights, layer.config, **options)
        fused = fused_attention(x, weights, layer.config, **options)
        assert steps.out.isfinite().all()
        torch.testing.assert_close(fused, steps.out, rtol=0.02, atol=0.05)


def test_a_sentence_without_a_token_is_refused():
    layer = layer_of(CAUSAL, 5, seed=0)
    x, weights = torch.tensor(layer.x), layer.weights.to_torch()
    for compute in (attention, fused_attention):
        with pytest.raises(ShapeError, match=r"x has shape \(0, 10\), no token at all"):
            compute(x[:0], weights, CAUSAL)
        with pytest.raises(ShapeError, match=r"x_kv has shape \(0, 10\), no token at all"):
            compute(x, weights, CAUSAL, x_kv=x[:0])
    q = torch.ones(2, 3, 4)
    with pytest.raises(ShapeError, match="none of them empty"):
        scaled_dot_product(q[:, :0], q, q)
    with pytest.raises(ShapeError, match="none of them empty"):
        scaled_dot_product(q, q[:, :0], q[:, :0], bias=torch.zeros(3, 0))


def test_a_batch_without_a_sentence_is_a_batch():
    layer = layer_of(CAUSAL, 5, seed=0)
    x, weights = torch.tensor(layer.x)[None][:0], layer.weights.to_torch()
    assert attention(x, weights, CAUSAL).pattern.shape == (0, 6, 5, 5)
    assert fused_attention(x, weights, CAUSAL).shape == (0, 5, 10)


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


LAYER = layer_of(CAUSAL, 5, seed=0)
MASK = torch.ones(5, 5, dtype=torch.bool)
OPTIONS = {
    "a NumPy mask": ({"keep": MASK.numpy()}, DataError, "keep is of the type ndarray"),
    "a list": ({"keep": [[True] * 5] * 5}, DataError, r"list.*torch\.as_tensor\(keep\)"),
    "a NumPy bias": ({"bias": np.zeros((5, 5))}, DataError, "bias is of the type ndarray"),
    "a bias of yes": ({"bias": MASK}, DataError, "bias is torch.bool.*Pass a mask as keep"),
    "a bias of wholes": ({"bias": MASK.long()}, DataError, "bias is torch.int64"),
    "NumPy positions": ({"positions": np.arange(5)}, DataError, "positions is of the type ndarray"),
    "a NumPy x_kv": ({"x_kv": LAYER.x}, DataError, "x_kv is of the type ndarray"),
    "x_kv's type": (
        {"x_kv": torch.ones(5, 10)},
        DataError,
        "tokens are torch.float32 and the weights torch.float64: x, x_kv",
    ),
    "x_kv in a batch": (
        {"x_kv": torch.ones(2, 5, 10, dtype=torch.float64)},
        ShapeError,
        r"x has shape \(5, 10\) and x_kv \(2, 5, 10\)",
    ),
    "x_kv of one axis": (
        {"x_kv": torch.ones(10, dtype=torch.float64)},
        ShapeError,
        r"x_kv \(10,\): both must be",
    ),
    "x_kv's width": (
        {"x_kv": torch.ones(5, 9, dtype=torch.float64)},
        ShapeError,
        r"w_k has shape \(8, 10\), but these sizes need \(8, 9\)",
    ),
    "another place": ({"keep": MASK.to("meta")}, DeviceError, "keep is on meta.*on cpu"),
    "another cache": (
        {"cache": KVCache(torch.ones(1, 3, 4).double(), torch.ones(1, 3, 3).double())},
        ShapeError,
        r"cache's k_rot has shape \(1, 3, 4\).*\(2, 5, 4\)",
    ),
    "another cache's type": (
        {"cache": KVCache(torch.ones(2, 3, 4), torch.ones(2, 3, 3))},
        ShapeError,
        r"k_rot has shape \(2, 3, 4\) in torch.float32.*torch.float64",
    ),
}


@pytest.mark.parametrize("compute", [attention, fused_attention])
@pytest.mark.parametrize(("options", "kind", "words"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_that_does_not_fit_is_named(compute, options, kind, words):
    with pytest.raises(kind, match=words):
        compute(torch.tensor(LAYER.x), LAYER.weights.to_torch(), CAUSAL, **options)


ONE = torch.ones(2, 3, 4)
SCORES = {
    "NumPy": ((ONE.numpy(), ONE, ONE), {}, DataError, "q is of the type ndarray"),
    "ranks": ((ONE[None], ONE, ONE), {}, ShapeError, "do not fit together"),
    "batches": ((ONE[None], ONE.expand(2, 2, 3, 4), ONE[None]), {}, ShapeError, "do not fit"),
    "types": ((ONE, ONE.double(), ONE), {}, DataError, "k torch.float64.*one float type"),
    "whole numbers": ((ONE.long(),) * 3, {}, DataError, "q is torch.int64"),
    "sinks": ((ONE,) * 3, {"sinks": torch.ones(3)}, ShapeError, r"shape \(3,\).*2 query heads"),
    "softcap": ((ONE,) * 3, {"softcap": 0.0}, ConfigError, "softcap = 0.0 is out of range"),
    "scale": ((ONE,) * 3, {"scale": float("nan")}, ConfigError, "scale = nan cannot be computed"),
}


@pytest.mark.parametrize(("given", "options", "kind", "words"), SCORES.values(), ids=SCORES)
def test_scores_that_cannot_be_made_are_refused(given, options, kind, words):
    with pytest.raises(kind, match=words):
        scaled_dot_product(*given, **options)


def counting(check, counts):
    def count(*given):
        counts[check.__name__] += 1
        check(*given)

    return count


def test_one_call_checks_what_it_was_given_once(monkeypatch):
    """A checked value is not checked again further in."""
    counts: Counter[str] = Counter()
    for name in ("check_inputs", "check_masks", "check_heads", "check_cache"):
        check = getattr(layer_module, name)
        monkeypatch.setattr(layer_module, name, counting(check, counts))
    x, weights = torch.tensor(LAYER.x), LAYER.weights.to_torch()
    attention(x, weights, CAUSAL, keep=MASK)
    assert counts == {"check_inputs": 1, "check_masks": 1}
    fused_attention(x, weights, CAUSAL, keep=MASK)
    assert counts == {"check_inputs": 2, "check_masks": 2}
