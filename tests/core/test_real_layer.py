"""A layer of somebody's model in our own walk: proved against the model, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mha_core.errors import ConfigError, DataError
from mha_core.real.folder import ModelCard
from mha_core.real.labels import Encoded
from mha_core.real.layer import NEAR, real_layer, real_layers
from mha_core.real.load import RealModel, open_network
from mha_core.real.mapping import Mapped
from mha_core.walk import compare, compare_fused, limits
from tests.core.real_families import (
    BEFORE_SINKS,
    FAMILIES,
    NORMED,
    TWICE_AS_WIDE,
    Family,
    build,
)
from tests.core.real_folders import words_tokenizer

ALL = (*FAMILIES, *NORMED)
BY_NAME = {family.name: family for family in ALL}
PROVED = [family for family in ALL if family.name != "deepseek-v3"]
TEXT = " ".join(f"w{(7 * place * place + 3 * place) % 90 + 4}" for place in range(21))
TOKENIZER = words_tokenizer()


def opened(family: Family) -> tuple[RealModel, Encoded]:
    model = open_network(build(family), TOKENIZER, ModelCard(family.name, Path()))
    return model, model.encode(TEXT)


@pytest.mark.parametrize("family", PROVED, ids=lambda family: family.name)
def test_every_layer_is_proved_and_is_the_articles(family: Family) -> None:
    model, read = opened(family)
    layers = real_layers(model, read)
    assert [layer.number for layer in layers] == list(range(model.n_layers))
    for layer in layers:
        assert set(layer.proof) == {
            "x", "q_rot", "k_rot", "v", "pattern", "concat", "out", "residual",
        }  # fmt: skip
        assert max(layer.proof.values()) <= NEAR
        assert layer.hidden is None
        trace, allowed = layer.trace, limits(layer.trace)
        assert trace.config.n_heads == model.n_heads[layer.number]
        far = {name: apart / allowed[name] for name, apart in compare(trace).items()}
        assert max(far.values()) <= 1, far
        assert compare_fused(trace) <= allowed["out"]
        assert np.array_equal(np.broadcast_to(trace.keep, trace.pattern.shape), _allowed(layer))
    # One layer by itself: the rest of the model does not run, and it is the same layer.
    alone = real_layer(model, read, 0)
    for step in layers[0].trace:
        np.testing.assert_allclose(alone.trace[step.name].value, step.value, rtol=0, atol=1e-6)
    assert alone.proof.keys() == layers[0].proof.keys()


def test_only_as_much_of_a_model_runs_as_is_looked_on() -> None:
    model, read = opened(BY_NAME["llama"])
    ran = list[int]()
    for number, part in enumerate(model.network.model.layers):
        part.register_forward_hook(lambda *_, number=number: ran.append(number))
    for asked in ([0], [1], [0, 1]):
        ran.clear()
        real_layers(model, read, asked)
        assert max(ran) == max(asked), asked


def _allowed(layer: Any) -> Any:
    """What the model's own mask lets through."""
    keep = layer.call.keep()
    return np.broadcast_to(True if keep is None else keep[0].numpy(), layer.trace.pattern.shape)


def test_where_the_projections_are_not_the_articles_the_walk_begins_after_them() -> None:
    """DeepSeek's queries and keys come from compressed vectors, with a norm between."""
    model, read = opened(BY_NAME["deepseek-v3"])
    for layer in real_layers(model, read):
        assert str(layer.hidden) == "queries, keys and values out of X"
        trace, allowed = layer.trace, limits(layer.trace)
        assert trace.absent == ("q_full", "k_full", "v_full", "q", "k")
        assert max(layer.proof.values()) <= NEAR
        assert all(apart <= allowed[name] for name, apart in compare(trace).items())
        assert compare_fused(trace) <= allowed["out"]
        with pytest.raises(DataError, match="holds no Q_k"):
            assert trace.q is not None
    model.maps[1] = replace(model.maps[1], config=replace(model.maps[1].config, scale=0.2))
    with pytest.raises(DataError, match="Layer 1 of deepseek-v3 is not shown: in "):
        real_layer(model, read, 1)


def test_a_pattern_that_is_not_what_mixes_the_values_is_not_held_against_ours() -> None:
    """Its sinks are part of the walk all the same: the heads' outputs say so."""
    model, read = opened(BEFORE_SINKS)
    for layer in real_layers(model, read):
        assert layer.call.pattern is None
        assert layer.trace.weights.sinks is not None
        assert layer.trace.pattern.sum(-1).min() < 0.9
        assert max(layer.proof.values()) <= NEAR
    wrong = replace(model.maps[1].weights, sinks=model.maps[1].weights.sinks + 0.1)
    model.maps[1] = replace(model.maps[1], weights=wrong)
    with pytest.raises(DataError, match=r"in (pattern|concat) our walk is"):
        real_layer(model, read, 1)


def test_a_layer_that_reads_more_than_the_stream_is_refused_by_name() -> None:
    model, read = opened(TWICE_AS_WIDE)
    assert model.n_layers == 2
    with pytest.raises(DataError, match="Layer 0 of zamba is not shown: ZambaAttention makes the"):
        real_layer(model, read, 0)


def test_what_is_read_next_is_the_next_layers_stream() -> None:
    """Where an MLP stands beside attention, the residual is the next layer's stream itself."""
    for name in ("gpt-neox", "phi", "gpt-j", "cohere"):
        model, read = opened(BY_NAME[name])
        first, second = (layer.trace for layer in real_layers(model, read))
        assert first.after is not None
        assert first.after.beside is not None
        size = np.abs(second.stream).max()
        assert np.abs(first.residual - second.stream).max() <= NEAR * size
        assert np.abs(first.stream + first.out - second.stream).max() > 0.01 * size


def test_layers_are_described_as_their_classes_make_them() -> None:
    told = {
        name: real_layer(*opened(BY_NAME[name]), 1).trace
        for name in (
            "gemma2", "olmo2", "granite", "bert", "opt", "llama 3's RoPE", "YaRN", "gpt-oss",
            "modernbert", "llama4", "qk norms of Cohere", "qk norms of Phi", "qk norms of StableLM",
        )
    }  # fmt: skip
    gemma = told["gemma2"]
    assert (gemma.after.norm_out.kind, gemma.config.softcap) == ("rms", 50.0)
    assert (told["olmo2"].norm, told["olmo2"].config.qk_norm) == (None, "whole")
    assert told["granite"].after.factor == 0.7
    assert (told["bert"].after.norm_sum.kind, told["bert"].config.causal) == ("layer", False)
    assert told["opt"].config.scale == pytest.approx(20**-0.5)
    assert told["llama 3's RoPE"].config.rope.base == 5e5
    assert told["YaRN"].config.rope.attention_factor > 1.1
    assert told["gpt-oss"].weights.sinks is not None
    assert told["modernbert"].config.window == (4, 4)
    assert told["llama4"].config.rope.pairing == "interleaved"
    cohere, phi, stable = (told[f"qk norms of {name}"] for name in ("Cohere", "Phi", "StableLM"))
    assert (cohere.config.qk_norm, cohere.config.qk_norm_kind) == ("each", "layer")
    assert (phi.config.qk_norm, phi.weights.q_norm_bias.shape) == ("head", (20,))
    assert stable.weights.k_norm.shape == (2, 20)
    first = real_layer(*opened(BY_NAME["gemma2"]), 0).trace.config
    assert (first.causal, first.window) == (True, (7, None))


def faults(mapped: Mapped) -> Iterator[tuple[str, Mapped]]:
    """Every number that a layer is made of, a little wrong, one at a time."""
    for name, value in mapped.weights.items():
        wrong = np.array(value)
        wrong.flat[:: 2 if wrong.size > 1 else 1] *= 1.1
        wrong.flat[0] += 0.05
        yield name, replace(mapped, weights=replace(mapped.weights, **{name: wrong}))
    config = mapped.config
    yield "scale", replace(mapped, config=replace(config, scale=1.01 * config.scale))
    rope = config.rope
    if rope is not None:
        other = None if rope.dim == config.d_head else rope.dim
        base = replace(rope, frequencies=None, base=9_000.0, dim=other)
        yield "base", replace(mapped, config=replace(config, rope=base))
        pairing = "half" if rope.pairing == "interleaved" else "interleaved"
        yield (
            "pairing",
            replace(mapped, config=replace(config, rope=replace(rope, pairing=pairing))),
        )
        factor = replace(rope, attention_factor=1.01 * rope.attention_factor)
        yield "rope factor", replace(mapped, config=replace(config, rope=factor))
    if config.softcap is not None:
        yield "softcap", replace(mapped, config=replace(config, softcap=None))
    if config.qk_norm is not None:
        yield "qk eps", replace(mapped, config=replace(config, qk_norm_eps=0.01))
    for where in ("norm", "norm_out", "norm_sum"):
        norm = mapped.norm if where == "norm" else getattr(mapped.after, where)
        if norm is None:
            continue
        for part in fields(norm):
            value = getattr(norm, part.name)
            if isinstance(value, np.ndarray):
                wrong_norm = replace(norm, **{part.name: value + 0.05})
            elif part.name == "eps":
                wrong_norm = replace(norm, eps=norm.eps + 0.1)
            else:
                continue
            if where == "norm":
                yield f"norm.{part.name}", replace(mapped, norm=wrong_norm)
            else:
                after = replace(mapped.after, **{where: wrong_norm})
                yield f"{where}.{part.name}", replace(mapped, after=after)
    if mapped.after.norm_out is None:  # a norm takes a factor off again
        factor_off = replace(mapped.after, factor=mapped.after.factor * 1.01)
        yield "factor", replace(mapped, after=factor_off)
    if mapped.beside is not None:
        yield "beside", replace(mapped, beside=None)


BROKEN = [
    "llama, biases", "YaRN", "gpt2", "bert", "gemma2", "gpt-oss", "olmo2", "gpt-neox", "gpt-j",
    "granite", "llama4", "nemotron", "qk norms of Cohere", "qk norms of Phi",
]  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_layer_that_is_a_little_wrong_is_refused_by_name(name: str) -> None:
    model, read = opened(BY_NAME[name])
    real_layer(model, read, 1)
    right = model.maps[1]
    found = dict(faults(right))
    assert len(found) >= 5
    for part, wrong in found.items():
        model.maps[1] = wrong
        try:
            real_layer(model, read, 1)
        except DataError as error:
            assert str(error).startswith(f"Layer 1 of {name} is not shown: in ")  # noqa: PT017
        else:
            pytest.fail(f"{part} a little wrong was shown")
    model.maps[1] = right
    real_layer(model, read, 1)


def test_a_mask_that_is_not_the_models_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from mha_core.real import layer as module

    model, read = opened(BY_NAME["mistral"])
    real_layer(model, read, 0)
    mask_of: Callable[..., Any] = module._mask_of

    def wider(*given: Any) -> Any:
        config, keep = mask_of(*given)
        return replace(config, window=(config.window[0] + 1, None)), keep

    monkeypatch.setattr(module, "_mask_of", wider)
    with pytest.raises(DataError, match="in pattern our walk is"):
        real_layer(model, read, 0)


def test_a_layer_that_is_not_there_is_refused() -> None:
    model, read = opened(BY_NAME["llama"])
    with pytest.raises(ConfigError, match="layer = 2 is not known: expected one of 0 … 1"):
        real_layer(model, read, 2)


def test_one_token_and_another_text_are_walked_by_the_same_map() -> None:
    model, _ = opened(BY_NAME["gpt-neox"])
    one = real_layer(model, model.encode("w9"), 0)
    kept = model.maps[0]
    other = real_layer(model, model.encode("w9 w10 w11 w9"), 0)
    assert model.maps[0] is kept
    assert (one.trace.n_tokens, other.trace.n_tokens) == (1, 4)
    assert one.trace.config.causal
