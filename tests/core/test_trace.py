"""The record of a layer: every step declared, checked, listed, and never changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.layer import attention
from mha_core.rope import Rope
from mha_core.trace import KEPT_BYTES, AttentionTrace, Later, ModelTrace, Step
from mha_core.walk import compare, walk_layer
from mha_core.weights import random_embedding, random_weights

SIZES = AttentionConfig(d_model=14, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=Rope())
ARTICLE = {
    "stream": (14, 11),
    "x": (14, 11),
    "q_full": (24, 11),
    "k_full": (12, 11),
    "v_full": (15, 11),
    "q": (4, 11),
    "k": (4, 11),
    "v": (5, 11),
    "q_rot": (4, 11),
    "k_rot": (4, 11),
    "raw": (11, 11),
    "scores": (11, 11),
    "masked": (11, 11),
    "pattern": (11, 11),
    "heads": (5, 11),
    "concat": (30, 11),
    "out": (14, 11),
    "residual": (14, 11),
}


@pytest.fixture(scope="module")
def trace() -> AttentionTrace:
    return walk_layer(random_embedding(11, 14, 0), random_weights(SIZES, 0), SIZES)


def test_the_steps_come_in_order_with_the_articles_shapes(trace):
    assert {step.name: step.article_shape for step in trace} == ARTICLE
    assert list(AttentionTrace.names()) == list(ARTICLE)


def test_a_step_by_name_is_the_field(trace):
    for name in trace.names():
        assert np.array_equal(trace[name].value, getattr(trace, name))
        assert trace[name].shape == getattr(trace, name).shape
    with pytest.raises(KeyError, match="weights"):
        trace["weights"]


def test_the_articles_order_has_features_in_rows_and_queries_in_rows(trace):
    assert np.array_equal(trace["x"].article_value, trace.x.T)
    assert np.array_equal(trace["q"].article_value[2], trace.q[2].T)
    assert np.array_equal(trace["pattern"].article_value[2], trace.pattern[2])
    assert trace["heads"].article_value.shape == (6, 5, 11)


def test_nothing_can_be_changed(trace):
    for step in trace:
        with pytest.raises(ValueError, match="read-only"):
            step.value[..., 0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError, match="pattern"):
        trace.pattern = trace.scores


def test_an_axis_has_one_length(trace):
    with pytest.raises(ShapeError, match="token is 10 long in out, but 11 in stream"):
        dataclasses.replace(trace, out=trace.out[:10])
    with pytest.raises(ShapeError, match="token is 9 long in pattern"):
        dataclasses.replace(trace, pattern=trace.pattern[:, :, :9])
    with pytest.raises(ShapeError, match=r"pattern has shape \(11, 11\).*head query key"):
        dataclasses.replace(trace, pattern=trace.pattern[0])


def test_a_batch_is_not_one_sentence():
    weights = random_weights(SIZES, 0)
    steps = attention(torch.zeros(2, 5, 14), weights.to_torch(), SIZES)
    with pytest.raises(ShapeError, match=r"one sentence, but the batch has shape \(2, 5, 14\)"):
        AttentionTrace.from_steps(steps, stream=np.zeros((5, 14)), weights=weights, config=SIZES)


def test_a_batch_of_one_is_one_sentence():
    weights, stream = random_weights(SIZES, 0), random_embedding(5, 14, 0)
    steps = attention(torch.tensor(stream)[None], weights.to_torch(), SIZES)
    trace = AttentionTrace.from_steps(steps, stream=stream, weights=weights, config=SIZES)
    assert trace["pattern"].shape == (6, 5, 5)
    assert trace.keep.shape == (5, 5)
    np.testing.assert_array_equal(trace.residual, stream + trace.out)


def test_small_arrays_are_worked_out_once_and_large_ones_each_time():
    calls = []

    def make(size: int) -> np.ndarray:
        calls.append(size)
        return np.zeros(size, dtype=np.uint8)

    small = Step("raw", "", ("key",), ("key",), Later((4,), lambda: make(4)))
    large = Step("raw", "", ("key",), ("key",), Later((1,), lambda: make(KEPT_BYTES + 1)))
    assert small.shape == (4,)
    assert calls == []
    for step in (small, small, large, large):
        assert not step.value.flags.writeable
    assert calls == [4, KEPT_BYTES + 1, KEPT_BYTES + 1]


def test_shapes_can_be_listed_without_working_anything_out():
    def refuse() -> np.ndarray:
        raise AssertionError("worked out")

    step = Step("raw", "QᵀK", ("head", "query", "key"), ("query", "key"), Later((2, 3, 3), refuse))
    assert step.article_shape == (3, 3)


def test_a_model_is_its_layers(trace):
    model = ModelTrace(tokens=("a", "b"), layers=(trace, trace), logits=np.zeros((2, 7)))
    assert model.layers[1] is trace


ROUTES = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_a_record_arrives_as_it_was_and_read_only(route):
    generator = np.random.default_rng(0)
    trace = walk_layer(
        random_embedding(11, 14, 0), random_weights(SIZES, 0), SIZES, norm="layer",
        norm_weight=np.linspace(1, 2, 14), keep=np.tri(11, dtype=bool),
        bias=generator.standard_normal((6, 11, 11)), positions=np.arange(11) + 3,
    )  # fmt: skip
    model = route(ModelTrace(tokens=("a",), layers=(trace,), logits=np.zeros((2, 7))))
    again = model.layers[0]
    for name in trace.names():
        np.testing.assert_array_equal(again[name].value, trace[name].value)
        assert not again[name].value.flags.writeable
        assert again[name].axes == trace[name].axes
        assert again[name].article_shape == trace[name].article_shape
    for name in ("keep", "bias", "positions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(trace, name))
        assert not getattr(again, name).flags.writeable
    assert (again.config, again.device, again.dtype) == (trace.config, trace.device, trace.dtype)
    assert dict(again.weights.items()).keys() == dict(trace.weights.items()).keys()
    assert (again.norm.kind, again.norm.eps) == (trace.norm.kind, trace.norm.eps)
    assert max(compare(again).values()) == max(compare(trace).values()) < 1e-5


def test_a_record_crosses_to_another_process_without_torch(tmp_path):
    """What reads it needs no torch, so its steps go as arrays."""
    path = tmp_path / "trace.pickle"
    path.write_bytes(
        pickle.dumps(walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES))
    )
    code = (
        "import pickle, sys; trace = pickle.load(open(sys.argv[1], 'rb'));"
        "assert trace.scores.shape == (6, 5, 5); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_a_mask_that_is_spread_is_recorded_whole():
    weights, stream = random_weights(SIZES, 0), random_embedding(5, 14, 0)
    config = dataclasses.replace(SIZES, causal=False)
    row = torch.tensor([True, True, False, True, True])
    for keep in (row, row[None], row[None, None], row.expand(1, 1, 5, 5)):
        steps = attention(torch.tensor(stream)[None], weights.to_torch(), config, keep=keep)
        trace = AttentionTrace.from_steps(steps, stream=stream, weights=weights, config=config)
        np.testing.assert_array_equal(trace.keep, np.broadcast_to(row.numpy(), (5, 5)))


def test_keys_from_other_tokens_are_not_recorded():
    weights = random_weights(SIZES, 0)
    x = torch.tensor(random_embedding(5, 14, 0))
    steps = attention(x, weights.to_torch(), SIZES, x_kv=x.flip(0))
    with pytest.raises(ConfigError, match="keys and values came from x_kv"):
        AttentionTrace.from_steps(steps, stream=x.numpy(), weights=weights, config=SIZES)
    same = attention(x, weights.to_torch(), SIZES, x_kv=x)
    AttentionTrace.from_steps(same, stream=x.numpy(), weights=weights, config=SIZES)


def test_the_record_loads_without_torch():
    code = (
        "import sys, mha_core.trace, mha_core.masks, mha_core.weights, mha_core.config;"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
