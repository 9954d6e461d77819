"""Circuits: a planted one is found exactly, the shipped one as it is, and sums add up."""

from __future__ import annotations

import itertools
import json
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import torch

from mha_core import load_toy_model
from mha_core.errors import ConfigError
from mha_core.heads.circuits import (
    ROUTE,
    WORTH,
    Bench,
    Circuit,
    as_json,
    find_circuit,
    from_json,
)
from mha_core.heads.composition import measure_composition
from mha_core.heads.prompts import (
    CIRCUIT_TASKS,
    COPYING,
    Prompt,
    copying_prompts,
    cut_after,
    task_prompts,
)
from mha_core.heads.repeats import draw_repeats, repeat_scores, word_ids
from mha_core.model.edits import EMBEDDING, Edits, Path, every_path
from mha_core.model.toy import ToyModel
from tests.core.planted import plant, planted_prompts

PLANTS = [
    (part, sender, receiver)
    for part, sender, receiver in itertools.product("qkv", range(3), range(3))
    if (sender + receiver) % 2 == "qkv".index(part) % 2
]


def last(found: Generator[Any, None, Any]) -> Any:
    """What a generator returns."""
    while True:
        try:
            next(found)
        except StopIteration as end:
            return end.value


@pytest.fixture(scope="module")
def shipped() -> ToyModel:
    return load_toy_model()


@pytest.fixture(scope="module")
def copying(shipped: ToyModel) -> Circuit:
    prompts = [cut_after(prompt) for prompt in task_prompts(COPYING, 9_400_000, 60)]
    found: Circuit = last(find_circuit(Bench(shipped, prompts)))
    return found


@pytest.mark.parametrize(("part", "sender", "receiver"), PLANTS)
@pytest.mark.parametrize("instead", ["corrupted", "mean"])
def test_a_planted_circuit_is_found_and_nothing_else(
    part: str, sender: int, receiver: int, instead: Any
) -> None:
    model = plant(part, sender, receiver, seed=sender)
    bench = Bench(model, planted_prompts(part, 5, 24), instead)
    assert bench.probability() > 0.9
    found: Circuit = last(find_circuit(bench))
    between = {path for path in found.edges if path.sender != EMBEDDING and path.part != "out"}
    assert between == {Path((0, sender), 1, part)}  # type: ignore[arg-type]
    single = {path for path, effect in found.finer.items() if effect.mean >= WORTH}
    assert {path.head for path in single} == {receiver}
    assert Path((0, sender), 1, part, receiver) in single  # type: ignore[arg-type]
    (first, share), *rest = found.routes((0, sender))
    assert first.part == part
    assert share >= 0.7
    assert all(abs(other) < ROUTE for _, other in rest)
    assert {path.sender for path in found.edges if path.part == "out"} == {(1, receiver)}
    assert all(abs(effect.mean) < WORTH for effect in found.others.values())
    if part != "v":  # the other side of the match is what the token is
        other_side = {"k": "q", "q": "k"}[part]
        assert Path(EMBEDDING, 1, other_side) in found.edges  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "sender", "receiver"), PLANTS)
def test_the_weights_alone_tell_the_planted_pair(part: str, sender: int, receiver: int) -> None:
    found = measure_composition(plant(part, sender, receiver, seed=2))
    scores = {name: found.scores[name][0, :, 1] for name in "qkv"}
    place = np.unravel_index(int(np.nanargmax(scores[part])), (3, 3))
    assert place == (sender, receiver)
    assert found.of((0, sender), (1, receiver), part) > 2 * found.limit[part]


def test_composition_of_random_heads_is_the_baseline() -> None:
    model = ToyModel(load_toy_model().sizes, seed=11)
    found = measure_composition(model)
    for part in "qkv":
        scores = found.scores[part]
        real = scores[~np.isnan(scores)]
        assert real.size == 3 * 36
        assert abs(real.mean() - found.baseline[part]) < 0.004
        assert (real > found.limit[part]).mean() < 0.1


def test_composition_by_hand(shipped: ToyModel) -> None:
    found = measure_composition(shipped)
    first, second = (shipped.folded(layer) for layer in (0, 2))
    one, two = slice(16, 32), slice(64, 80)  # heads 1 and 4
    write = (first.w_o[:, one] @ first.w_v[one]).detach().double()
    reads = (second.w_q[two].T @ second.w_k[two]).detach().double()
    moves = (second.w_o[:, two] @ second.w_v[two]).detach().double()
    for part, reader in (("q", reads.T), ("k", reads), ("v", moves)):
        score = (reader @ write).norm() / (reader.norm() * write.norm())
        assert found.of((0, 1), (2, 4), part) == pytest.approx(float(score), rel=1e-4)
    assert np.isnan(found.of((1, 0), (0, 0), "q"))


def test_the_shipped_models_own_circuit(shipped: ToyModel, copying: Circuit) -> None:
    """The head that looks back feeds the induction heads' keys; what a token is, their queries."""
    scores = repeat_scores(shipped, draw_repeats(word_ids(), 9_500_000, 30))
    looks_back = np.unravel_index(int(scores["previous"].mean(0).argmax()), (3, 6))
    inducts = np.unravel_index(int(scores["induction"].mean(0).argmax()), (3, 6))
    feeder = copying.feeder(int(inducts[0]), "k")
    assert feeder == looks_back
    assert feeder is not None
    (path, share), *rest = copying.routes(feeder)
    assert (path.layer, path.part) == (inducts[0], "k")
    assert share >= 0.70
    second = [other for other, part in rest if part >= ROUTE]
    assert [(other.layer, other.part) for other in second] in ([], [(inducts[0], "q")])
    queries = {p.sender: e.mean for p, e in copying.edges.items() if p[1:3] == (inducts[0], "q")}
    assert max(queries, key=lambda sender: queries[sender]) == EMBEDDING
    control = {path[1:3]: effect.mean for path, effect in copying.others.items()}
    assert abs(control[int(inducts[0]), "k"]) < WORTH / 2
    assert abs(control[int(inducts[0]), "q"]) < WORTH / 2


def test_patching_nothing_moves_nothing_and_everything_is_the_twin(shipped: ToyModel) -> None:
    bench = Bench(shipped, copying_prompts(3, 8))
    own = {path: bench.sent(path.sender) for path in bench.every_path()}
    for edits in (Edits(), Edits(paths=own)):
        assert bench.effect(edits).mean == pytest.approx(0, abs=1e-5)
    everything = bench.effect(bench.cut(bench.every_path()))
    assert everything.mean == pytest.approx(1, abs=0.1), "but for what layer 0 reads"
    whole = bench.cut(every_path(EMBEDDING, shipped.n_layers))
    assert torch.allclose(bench.logits(whole), bench.twin.logits, atol=1e-3)
    assert bench.effect(whole).mean == pytest.approx(1, abs=1e-5)


def test_a_circuit_survives_being_written_down(copying: Circuit) -> None:
    again = from_json(json.loads(json.dumps(as_json(copying))))
    assert again == copying or as_json(again) == as_json(copying)
    assert again.edges.keys() == copying.edges.keys()


def test_a_search_says_how_far_it_is_and_can_be_left(shipped: ToyModel) -> None:
    search = find_circuit(Bench(shipped, copying_prompts(3, 2)))
    seen = [next(search) for _ in range(40)]
    assert seen == sorted(seen)
    assert seen[0] == 0
    search.close()


@pytest.mark.parametrize("task", CIRCUIT_TASKS)
def test_prompts_ask_for_other_words_of_twins_as_long(task: str, shipped: ToyModel) -> None:
    prompts = task_prompts(task, 9_400_000, 12)
    for prompt in prompts:
        assert len(prompt.ids) == len(prompt.corrupted)
        assert prompt.right != prompt.wrong
        short = cut_after(prompt)
        assert len(short.ids) == prompt.query + 1
    bench = Bench(shipped, prompts)
    assert float(bench.margins.mean()) > float(bench.twins.mean())


def test_what_is_no_prompt_is_refused_in_words(shipped: ToyModel) -> None:
    with pytest.raises(ConfigError, match="3 tokens, the second 2"):
        Prompt((0, 5, 6), (0, 5), 1, 3, 4)
    with pytest.raises(ConfigError, match="ask for the same word"):
        Prompt((0, 5), (0, 6), 1, 3, 3)
    with pytest.raises(ConfigError, match="needs at least one"):
        Bench(shipped, [])
    swapped = [Prompt(p.ids, p.corrupted, p.query, p.wrong, p.right) for p in copying_prompts(1, 2)]
    with pytest.raises(ConfigError, match="no less than"):
        Bench(shipped, swapped).effect(Edits())
