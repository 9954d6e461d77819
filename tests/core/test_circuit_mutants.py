"""Mistakes in finding circuits are noticed: each fails the exam of its module."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError
from mha_core.layer import attention, scaled_dot_product
from mha_core.rope import Rope
from mha_core.weights import random_weights
from tests.core.mutants import CIRCUIT_MUTANTS, Mutant, loaded_alone
from tests.core.planted import plant, planted_prompts
from tests.core.test_circuits import last

MODULES = sorted({mutant.module for mutant in CIRCUIT_MUTANTS})
PART, SENDER, RECEIVER = "k", 1, 2


def exam_edits(found: ModuleType) -> None:
    """Paths of the planted model, cut by hand and by the module."""
    model = plant(PART, SENDER, RECEIVER, seed=1)
    ids = torch.tensor(planted_prompts(PART, 2, 1)[0].ids)
    run, nothing = model.run(ids), torch.zeros(96)
    sent = model.contributions(0, run.heads[0])[SENDER]
    paths = found.every_path((0, SENDER), 2)
    cut = model.run(ids, edits=found.Edits(paths=dict.fromkeys(paths, nothing)))
    out = model.run(ids, edits=found.Edits(outputs={(0, SENDER): nothing}))
    assert torch.allclose(cut.logits, out.logits, atol=1e-2)
    one = found.Edits(paths={found.Path((0, SENDER), 1, "k"): nothing})
    assert [*one.changes_at(1, ["q", "v"], {(0, SENDER): sent})] == []
    assert torch.equal(one.changes_at(1, ["k"], {(0, SENDER): sent})["k", None], -sent)
    both = found.Edits(paths={
        found.Path((0, SENDER), 1, "k"): nothing,
        found.Path((0, 0), 1, "k", RECEIVER): nothing,
    })  # fmt: skip
    changes = both.changes_at(1, ["k"], {(0, SENDER): sent, (0, 0): 2 * sent})
    assert torch.allclose(changes["k", RECEIVER], -3 * sent)
    with pytest.raises(ConfigError, match="No path leads"):
        found.Edits(paths={found.Path((1, 0), 1, "q"): nothing}).check(2, 3)
    joined = found.forbid_edges([(0, 0, 3, 1)], 3, 6) | found.forbid_edges([(0, 2, 3, 1)], 3, 6)
    assert joined.forbidden[0].sum() == 2


def exam_reading(found: ModuleType) -> None:
    """A layer with shared keys, some parts of which read something else."""
    config = AttentionConfig(24, 4, n_kv_heads=2, rope=Rope())
    weights = random_weights(config, 3).to_torch()
    x, y, z = torch.randn(3, 7, 24, generator=torch.Generator().manual_seed(1))
    own, of_y, of_z = (attention(each, weights, config) for each in (x, y, z))
    for part, name in (("q", "q_rot"), ("k", "k_rot"), ("v", "v")):
        steps = found.attention_reading(x, {(part, None): y, (part, 3): z}, weights, config)
        parts = {each: getattr(own, each) for each in ("q_rot", "k_rot", "v")}
        for heads, other in (([0, 1, 2], of_y), ([3], of_z)):
            expected = scaled_dot_product(
                *(parts | {name: getattr(other, name)}).values(),
                keep=torch.ones(7, 7, dtype=torch.bool).tril(),
            )
            assert torch.allclose(steps.pattern[heads], expected.pattern[heads], atol=1e-6)
            assert torch.allclose(steps.heads[heads], expected.heads[heads], atol=1e-6)


def exam_circuits(found: ModuleType) -> None:
    """The planted circuit."""
    model = plant(PART, SENDER, RECEIVER, seed=1)
    for instead in ("corrupted", "mean"):
        bench = found.Bench(model, planted_prompts(PART, 7, 12), instead)
        one = bench.replacement((0, SENDER))
        if instead == "mean":
            real = [bench.sent((0, SENDER))[row, : 7 + at] for row, at in enumerate(bench.at - 6)]
            assert torch.allclose(one, torch.cat(real).mean(0), atol=1e-5)
        else:
            assert torch.equal(one, bench.sent((0, SENDER), twin=True))
        circuit = last(found.find_circuit(bench))
        edges = {path for path in circuit.edges if path.sender[0] == 0}
        assert edges == {((0, SENDER), 1, PART, None)}
        assert circuit.margin > 0 > circuit.twin
        assert 0.2 <= circuit.heads[0, SENDER].mean <= 1.3
        assert all(abs(effect.mean) < 0.1 for effect in circuit.others.values())
        assert circuit.others.keys() >= {((-1, 0), 1, PART, None)}
        path, share = circuit.routes((0, SENDER))[0]
        assert share == pytest.approx(circuit.paths[path].mean / circuit.heads[0, SENDER].mean)


def exam_composition(found: ModuleType) -> None:
    """The planted pairs, and a score by hand."""
    for part in "qkv":
        model = plant(part, SENDER, RECEIVER, seed=1)
        scores = found.measure_composition(model).scores
        place = np.unravel_index(int(np.nanargmax(scores[part][0, :, 1])), (3, 3))
        assert place == (SENDER, RECEIVER)
        one, two = model.folded(0), model.folded(1)
        write = one.w_o[:, :32] @ one.w_v[:32]
        reads = {"k": two.w_q[:32].T @ two.w_k[:32], "v": two.w_o[:, :32] @ two.w_v[:32]}
        reads["q"] = reads["k"].T
        score = (reads[part] @ write).norm() / reads[part].norm() / write.norm()
        assert scores[part][0, 0, 1, 0] == pytest.approx(float(score), rel=1e-4)


EXAMS = {
    "heads.circuits": exam_circuits,
    "heads.composition": exam_composition,
    "model.edits": exam_edits,
    "model.reading": exam_reading,
}


@pytest.mark.parametrize("module", MODULES)
def test_without_a_mistake_the_exam_is_passed(module: str) -> None:
    EXAMS[module](loaded_alone(None, module))


@pytest.mark.parametrize("mutant", CIRCUIT_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mistake_fails_its_exam(mutant: Mutant) -> None:
    found = loaded_alone(mutant, mutant.module)
    with pytest.raises(
        (AssertionError, KeyError, RuntimeError, ConfigError, pytest.fail.Exception)
    ):
        EXAMS[mutant.module](found)
