"""One sentence through one layer, held against the article's own arithmetic."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.layer import fused_attention
from mha_core.masks import MASK_NAMES, named_mask
from mha_core.norms import Norm
from mha_core.rope import Rope
from mha_core.walk import compare, compare_fused, limits, walk_layer
from mha_core.weights import random_embedding, random_weights

SIZES = AttentionConfig(
    d_model=14, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=Rope(), causal=False
)


@pytest.mark.parametrize("name", MASK_NAMES)
@pytest.mark.parametrize("norm", [None, "rms", "layer"])
def test_the_walk_agrees_with_the_article_under_every_mask(name, norm):
    stream = random_embedding(11, 14, seed=3)
    trace = walk_layer(
        stream, random_weights(SIZES, 5), SIZES, norm=norm, keep=named_mask(name, 11)
    )
    allowed = limits(trace)
    assert {step: far for step, far in compare(trace).items() if far > allowed[step]} == {}
    assert compare_fused(trace) <= allowed["out"]


def test_compare_sees_a_number_that_is_wrong():
    trace = walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES)
    wrong = np.array(trace.pattern)
    wrong[2, 3, 1] += 0.25
    bent = dataclasses.replace(trace, pattern=wrong)
    apart = compare(bent)
    assert apart["pattern"] == pytest.approx(0.25, abs=1e-6)
    assert max(far for name, far in apart.items() if name != "pattern") < 1e-4


def test_compare_gives_infinity_where_only_one_side_is_masked():
    trace = walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES)
    wrong = np.array(trace.masked)
    wrong[0, 0, 0] = -np.inf
    assert compare(dataclasses.replace(trace, masked=wrong))["masked"] == np.inf


def test_the_stream_passes_by_the_norm():
    stream = 3 * random_embedding(5, 14, 0)
    trace = walk_layer(stream, random_weights(SIZES, 0), SIZES)
    np.testing.assert_array_equal(trace.residual, stream + trace.out)
    np.testing.assert_allclose((trace.x**2).mean(axis=1), 1, rtol=1e-5)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ConfigError, match="norm = 'batch' is not known"):
        walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES, norm="batch")


def test_tokens_of_another_width_are_refused():
    with pytest.raises(ShapeError, match=r"shape \(5, 15\).*14 features"):
        walk_layer(random_embedding(5, 15, 0), random_weights(SIZES, 0), SIZES)


def walk(config: AttentionConfig = SIZES, **options):
    stream = random_embedding(5, config.d_model, 0)
    return walk_layer(stream, random_weights(config, 0), config, **options)


def test_an_unknown_norm_is_refused_whatever_else_is_given():
    with pytest.raises(ConfigError, match="norm = 'bogus' is not known"):
        walk(norm="bogus", norm_eps=1e-5)


@pytest.mark.parametrize("norm", ["rms", "layer"])
@pytest.mark.parametrize("eps", [0.0, 1e-3, 10.0])
def test_an_eps_is_taken_as_given(norm, eps):
    trace = walk(norm=norm, norm_eps=eps)
    assert trace.norm.eps == eps
    stream = trace.stream.astype(np.float64)
    if norm == "layer":
        stream = stream - stream.mean(axis=1, keepdims=True)
    expected = stream / np.sqrt((stream**2).mean(axis=1, keepdims=True) + eps)
    np.testing.assert_allclose(trace.x, expected, rtol=1e-5, atol=1e-6)
    assert compare(trace)["x"] < 1e-5


def test_each_norm_has_its_usual_eps():
    assert walk(norm="rms").norm.eps == Norm("rms").eps == 1e-6
    assert walk(norm="layer").norm.eps == Norm("layer").eps == 1e-5


GAIN = np.ones(14)
NORMS = {
    "a bias of RMSNorm": ({"norm": "rms", "norm_bias": GAIN}, ConfigError, "RMSNorm has no bias"),
    "a gain of nothing": (
        {"norm": None, "norm_weight": GAIN},
        ConfigError,
        "norm_weight is given, but norm = None has no place",
    ),
    "an eps of nothing": ({"norm": None, "norm_eps": 0.0}, ConfigError, "norm_eps is given, but"),
    "a gain twice": (
        {"norm": Norm("rms"), "norm_weight": GAIN},
        ConfigError,
        "norm_weight is given, but norm = Norm",
    ),
    "a negative eps": ({"norm_eps": -1.0}, ConfigError, "norm_eps = -1.0 is out of range"),
    "an eps of words": ({"norm_eps": "tiny"}, ConfigError, "norm_eps = tiny is out of range"),
    "a short gain": (
        {"norm_weight": GAIN[:3]},
        ShapeError,
        r"norm_weight has shape \(3,\), but the stream needs \(14,\)",
    ),
    "a short bias": (
        {"norm": "layer", "norm_bias": GAIN[:3]},
        ShapeError,
        r"norm_bias has shape \(3,\)",
    ),
    "a number": ({"norm": 3}, ConfigError, "norm = 3 is not known"),
}


@pytest.mark.parametrize(("options", "kind", "words"), NORMS.values(), ids=NORMS)
def test_a_norm_that_cannot_be_honoured_is_refused(options, kind, words):
    with pytest.raises(kind, match=words):
        walk(**options)


def test_a_norm_given_whole_is_the_same_norm():
    gain, shift = np.linspace(0.5, 2, 14), np.linspace(-1, 1, 14)
    whole = walk(norm=Norm("layer", gain, shift, 1e-3))
    parts = walk(norm="layer", norm_weight=gain, norm_bias=shift, norm_eps=1e-3)
    np.testing.assert_array_equal(whole.out, parts.out)


def test_a_stream_without_a_token_is_refused():
    with pytest.raises(ShapeError, match=r"x has shape \(0, 14\), no token at all"):
        walk_layer(np.zeros((0, 14)), random_weights(SIZES, 0), SIZES)


@pytest.mark.parametrize("rank", [2, 3])
def test_a_bias_is_recorded_and_compared(rank):
    bias = np.random.default_rng(0).standard_normal((6, 5, 5)[3 - rank :])
    trace = walk(bias=bias, keep=named_mask("causal", 5))
    np.testing.assert_array_equal(trace.bias, bias)
    allowed = limits(trace)
    assert {step: far for step, far in compare(trace).items() if far > allowed[step]} == {}
    assert compare_fused(trace) <= allowed["out"]
    assert compare(dataclasses.replace(trace, bias=None))["masked"] > 0.1
    assert compare_fused(dataclasses.replace(trace, bias=None)) > 0.1


CAPPED = dataclasses.replace(SIZES, softcap=1.5, causal=True)


def test_a_softcap_left_out_is_seen_by_the_fused_form():
    """The two forms share no line that caps: one that forgets is caught by the other."""
    trace = walk(CAPPED)
    assert compare_fused(trace) <= limits(trace)["out"]
    uncapped = walk(dataclasses.replace(CAPPED, softcap=None))
    assert compare_fused(dataclasses.replace(uncapped, config=CAPPED)) > 1e-2


def test_a_forgetful_cap_is_seen_by_the_fused_form(monkeypatch):
    monkeypatch.setattr("mha_core.scores.cap", lambda scores, softcap: scores)
    assert compare_fused(walk(CAPPED)) > 1e-2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("softcap", [None, 1.5])
def test_the_fused_form_is_computed_in_the_records_float_type(monkeypatch, dtype, softcap):
    asked = []

    def listen(x, *given, **options):
        asked.append(x.dtype)
        return fused_attention(x, *given, **options)

    monkeypatch.setattr("mha_core.walk.fused_attention", listen)
    trace = walk(dataclasses.replace(SIZES, softcap=softcap), dtype=dtype)
    assert trace.dtype == str(dtype).removeprefix("torch.")
    assert compare_fused(trace) <= limits(trace)["out"]
    assert asked == [dtype]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_record_in_two_bytes_is_as_good_as_its_rounding(dtype):
    trace = walk(dtype=dtype)
    allowed = limits(trace)
    assert {step: far for step, far in compare(trace).items() if far > allowed[step]} == {}
    assert max(compare(walk()).values()) < 1e-5 < max(compare(trace).values())
