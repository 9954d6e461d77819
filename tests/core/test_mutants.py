"""Every hand-made mistake is noticed, so the agreement with the article can be trusted."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from mha_core.after import After
from mha_core.config import AttentionConfig
from mha_core.norms import Norm
from mha_core.rope import Rope
from mha_core.steps import AttentionSteps
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from tests.core.exams import EXAMS, exam_after, exam_masks
from tests.core.layers import Attend, distances, layer_of
from tests.core.mutants import EXAMINED_MUTANTS, MUTANTS, Mutant, loaded, loaded_alone

# h · d_head = h · d_value = d, so that every mistake still gives the right shapes.
LAYERS = (
    layer_of(
        AttentionConfig(d_model=24, n_heads=6, n_kv_heads=3, rope=Rope(base=100.0)),
        n_tokens=7,
        seed=1,
        biases=True,
    ),
    layer_of(
        AttentionConfig(
            d_model=24, n_heads=6, n_kv_heads=6, window=(2, None), softcap=2.0, rope=Rope()
        ),
        n_tokens=6,
        seed=2,
        bias=True,
    ),
    # Positions so far on that float32 angles are off by a tenth of a radian.
    dataclasses.replace(
        layer_of(
            AttentionConfig(
                24,
                6,
                3,
                qk_norm="each",
                qk_norm_kind="layer",
                rope=Rope(10.0, angle_dtype="float32"),
            ),
            n_tokens=5,
            seed=3,
            biases=True,
        ),
        positions=np.array([3_000_001, 1_000_003, 5_000_011, 70_001, 9]),
    ),
    layer_of(AttentionConfig(24, 6, qk_norm="head", qk_norm_kind="l2"), n_tokens=5, seed=4),
)


# With and without gradients some lines differ.
GRADIENTS = pytest.mark.parametrize("gradients", [False, True], ids=["plain", "gradients"])


def farthest(attention: Attend, gradients: bool) -> float:
    """How far the layers are from the article at most, with or without gradients asked for."""

    def attend(x: torch.Tensor, *given: Any, **options: Any) -> AttentionSteps:
        return attention(x.requires_grad_(gradients), *given, **options)

    return max(max(distances(layer, attend).values()) for layer in LAYERS)


@GRADIENTS
def test_without_a_mistake_the_layers_agree(gradients: bool):
    with loaded(None) as module:
        assert farthest(module.attention, gradients) < 1e-12


@GRADIENTS
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mistake_is_noticed(mutant: Mutant, gradients: bool):
    with loaded(mutant) as module:
        assert farthest(module.attention, gradients) > 1e-2


def walk(config: AttentionConfig, n_tokens: int, seed: int, **options: Any) -> AttentionTrace:
    """A walk with every parameter there can be, and some numbers for it."""
    chosen = {name: options.pop(name, False) for name in ("biases", "sinks")}
    drawn = layer_of(config, n_tokens, seed, **chosen)
    return walk_layer(drawn.x, drawn.weights, config, **options)


RANDOM = np.random.default_rng(0)
GROUPED = {"d_model": 10, "n_heads": 6, "n_kv_heads": 3, "d_head": 4, "d_value": 3}
WALKS = (
    # All that there is at once, per head.
    walk(
        AttentionConfig(
            **GROUPED, rope=Rope(dim=2, pairing="interleaved"), causal=False, softcap=2.0,
            qk_norm="head",
        ),
        5, 1, biases=True, sinks=True, norm=Norm("layer", RANDOM.random(10), None, 0.5),
        keep=RANDOM.random((6, 5, 5)) < 0.7, bias=RANDOM.standard_normal((6, 5, 5)),
        positions=np.array([3, 1, 8, 2, 5]), dtype=torch.float64,
    ),
    # What one wide head can take over, and what can be decoded.
    walk(
        AttentionConfig(**GROUPED, rope=Rope(base=10.0), softcap=1.5, window=(2, None)),
        6, 2, biases=True, bias=RANDOM.standard_normal((6, 6)), positions=np.arange(6) + 40,
        norm=Norm("rms", None, None, 1.0), after=After(beside=RANDOM.standard_normal((6, 10))),
    ),
    walk(
        AttentionConfig(10, 6, 6, 4, 3, qk_norm="whole", scale=0.7), 4, 3, biases=True, norm=None,
        after=After(0.5, Norm("rms", RANDOM.random(10)), Norm("layer", RANDOM.random(10), None)),
    ),
    # One head, and a type of two bytes.
    walk(AttentionConfig(6, 1, rope=Rope()), 5, 4, dtype=torch.bfloat16),
)  # fmt: skip


def examine(module: str, found: ModuleType) -> None:
    """Put a module through its exams."""
    if module == "masks":
        exam_masks(found)
    if module == "after":
        exam_after(found)
    for exam in EXAMS.get(module, {}).values():
        for trace in WALKS:
            exam(found, trace)


@pytest.mark.parametrize("module", [*EXAMS, "masks", "after"])
def test_without_a_mistake_every_exam_is_passed(module: str):
    examine(module, loaded_alone(None, module))


@pytest.mark.parametrize("mutant", EXAMINED_MUTANTS, ids=lambda m: f"{m.module}: {m.name}")
def test_a_mistake_fails_its_exam(mutant: Mutant):
    found = loaded_alone(mutant, mutant.module)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        examine(mutant.module, found)


@pytest.mark.parametrize("module", [*EXAMS, "masks", "after"])
def test_every_examined_module_has_mistakes_to_notice(module: str):
    assert sum(mutant.module == module for mutant in EXAMINED_MUTANTS) >= 3
