"""A graph compiled whole, a map over a batch, derivatives as functions, shapes without numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mha_core.config import AttentionConfig
from mha_core.layer import attention, fused_attention
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights
from tests.core.layers import layer_of

Run = Callable[..., Tensor]

RUNS: dict[str, Run] = {
    "attention": lambda *given, **options: attention(*given, **options).out,
    "fused": fused_attention,
}
SIZES = {"d_model": 10, "n_heads": 6, "n_kv_heads": 2, "d_head": 4, "d_value": 3}
CONFIGS = {
    "causal": AttentionConfig(**SIZES, rope=Rope()),
    "two-way": AttentionConfig(**SIZES, causal=False),
    "everything": AttentionConfig(
        **SIZES, rope=Rope(dim=2, pairing="interleaved"), window=(3, None), softcap=3.0,
        qk_norm="head", softmax_dtype="float32",
    ),
}  # fmt: skip
X = torch.randn(3, 5, 10, generator=torch.Generator().manual_seed(0))
KEEPS = torch.rand(3, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5
KEEPS[1, 2] = False  # a row with nothing to look at
BIAS = torch.randn(5, 5, generator=torch.Generator().manual_seed(2))
OPTIONS: dict[str, dict[str, Tensor]] = {
    "plain": {},
    "mask": {"keep": KEEPS[1]},
    "mask and bias": {"keep": KEEPS[1], "bias": BIAS},
}


def weights_of(config: AttentionConfig, sinks: bool = False) -> AttentionWeights[Tensor]:
    return layer_of(config, 5, seed=0, biases=True, sinks=sinks).weights.to_torch(
        dtype=torch.float32
    )


each_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@each_run
@each_config
@each_option
@pytest.mark.parametrize("sinks", [False, True])
def test_it_is_compiled_as_one_graph(run: Run, config, options, sinks: bool) -> None:
    torch.compiler.reset()
    weights = weights_of(config, sinks)
    compiled = torch.compile(run, fullgraph=True, backend="eager")
    with torch.no_grad():
        torch.testing.assert_close(
            compiled(X, weights, config, **options), run(X, weights, config, **options)
        )


@each_run
@each_config
def test_it_is_mapped_over_sentences_and_masks(run: Run, config) -> None:
    weights = weights_of(config)
    with torch.no_grad():
        alone = [run(x, weights, config, keep=k) for x, k in zip(X, KEEPS, strict=True)]
        mapped = torch.vmap(lambda x, k: run(x, weights, config, keep=k))(X, KEEPS)
        torch.testing.assert_close(mapped, torch.stack(alone))
        alone = [run(X[0], weights, config, keep=k, bias=BIAS) for k in KEEPS]
        mapped = torch.vmap(lambda k: run(X[0], weights, config, keep=k, bias=BIAS))(KEEPS)
        torch.testing.assert_close(mapped, torch.stack(alone))


@each_run
@each_config
@each_option
def test_shapes_are_had_without_numbers(run: Run, config, options) -> None:
    weights = weights_of(config).to_torch("meta")
    there = {name: value.to("meta") for name, value in options.items()}
    out = run(X.to("meta"), weights, config, **there)
    assert (out.shape, out.device.type) == ((3, 5, 10), "meta")


@each_config
def test_derivatives_of_each_sentence_at_once(config) -> None:
    weights = weights_of(config)

    def add_up(x: Tensor, keep: Tensor) -> Tensor:
        return attention(x, weights, config, keep=keep).out.sin().sum()

    at_once = torch.vmap(torch.func.grad(add_up))(X, KEEPS)
    for x, keep, derivative in zip(X, KEEPS, at_once, strict=True):
        here = x.clone().requires_grad_()
        add_up(here, keep).backward()
        torch.testing.assert_close(derivative, here.grad)
