"""Training: the same weights for the same seed, resuming, and the smallest live model."""

from __future__ import annotations

import math
import random
from itertools import islice
from pathlib import Path

import pytest
import torch

from mha_core.errors import DataError
from mha_core.heads.curves import Curves, Scores
from mha_core.language.mixture import make_documents
from mha_core.language.repeats import core_words, repeat
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.checkpoint import load_model
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.training.live import live_steps
from mha_core.training.train import (
    IGNORE,
    MAX_TOKENS,
    Recipe,
    batches_for,
    encode_document,
    make_batches,
    make_optimizer,
    optimize,
    rate_at,
    run,
    sampled_loss,
    save_state,
    train,
)

SMALL = Recipe(seed=3, steps=6, tokens=128, documents=60, pool_steps=2, warmup=2)
SIZES = ModelConfig(len(load_tokenizer()), 12, 3, (0, 8))


def weights_of(model: ToyModel) -> list[torch.Tensor]:
    """A copy of all parameters."""
    return [value.clone() for value in model.state_dict().values()]


def test_the_same_seed_gives_the_same_weights_and_another_other_ones() -> None:
    ends = []
    for seed in (3, 3, 4):
        recipe = Recipe(**{**SMALL.as_dict(), "seed": seed})  # type: ignore[arg-type]
        *_, last = train(recipe, sizes=SIZES)
        ends.append(weights_of(last.model))
    assert all(torch.equal(one, two) for one, two in zip(ends[0], ends[1], strict=True))
    assert not torch.equal(ends[0][0], ends[2][0])


def test_a_resumed_run_ends_as_one_that_never_stopped(tmp_path: Path) -> None:
    *_, whole = train(SMALL, sizes=SIZES)
    first = train(SMALL, sizes=SIZES, every=3)
    next(first)
    save_state(tmp_path / "state.pt", next(first), SMALL)
    *_, resumed = train(SMALL, sizes=SIZES, resume=tmp_path / "state.pt")
    for one, two in zip(weights_of(whole.model), weights_of(resumed.model), strict=True):
        assert torch.equal(one, two)
    with pytest.raises(DataError, match="Resume with the same recipe"):
        next(train(Recipe(seed=9), sizes=SIZES, resume=tmp_path / "state.pt"))


def test_batches_hold_every_document_once_and_score_no_padding() -> None:
    documents = list(make_documents(1, 200))
    batches = make_batches(iter(documents), 256, random.Random(0))
    scored = sum(int((following != IGNORE).sum()) for _, following in batches)
    expected = sum(sum(n != IGNORE for n in encode_document(document)[1]) for document in documents)
    assert scored == expected
    assert max(ids.shape[1] for ids, _ in batches) <= MAX_TOKENS
    for ids, following in batches:
        known = following[:, :-1] != IGNORE
        assert torch.equal(following[:, :-1][known], ids[:, 1:][known])


def test_only_the_second_half_of_a_repeat_is_scored() -> None:
    ids, following = encode_document(repeat(["cat", "dog", "cup"]))
    assert following == [IGNORE] * 3 + ids[4:] + [IGNORE]


def test_the_pool_comes_first() -> None:
    nouns = {tuple(ids[0, 1:6].tolist()) for ids, _ in islice(batches_for(SMALL), 2)}
    assert len(nouns) == 2
    batch, following = next(batches_for(SMALL))
    half = (batch.shape[1] - 1) // 2
    row = batch[0][: int((following[0] != IGNORE).nonzero().max()) + 2]
    half = (len(row) - 1) // 2
    assert torch.equal(row[1 : 1 + half], row[1 + half :])


def test_the_rate_rises_and_falls() -> None:
    recipe = Recipe(steps=1000, rate=0.01, warmup=100)
    rates = [rate_at(step, recipe) for step in range(1000)]
    assert max(rates) == rates[100] == rates[99] == 0.01
    assert rates[:100] == sorted(rates[:100])
    assert rates[-1] == pytest.approx(0.0002)


def test_loss_among_some_words_ignores_the_others() -> None:
    model = ToyModel(SIZES, 0)
    among = torch.tensor([300, 301, 302])
    ids = torch.tensor([[0, 300, 301]])
    following = torch.tensor([[300, 301, IGNORE]])
    recipe = Recipe(steps=1, warmup=1)
    optimizer = make_optimizer(model, recipe)
    with torch.no_grad():
        logits = model(ids)[0, :2, among].log_softmax(-1)
    by_hand = -(logits[0, 0] + logits[1, 1]) / 2
    *_, last = optimize(model, optimizer, iter([(ids, following)]), recipe, among=among)
    assert last.loss == pytest.approx(float(by_hand), rel=1e-5)


def test_a_run_leaves_weights_checkpoints_and_curves(tmp_path: Path) -> None:
    recipe = Recipe(seed=3, steps=2, tokens=128, documents=60, pool_steps=1, warmup=2)
    final = run(recipe, tmp_path, every=1)
    model = load_model(final)
    assert model.metadata["seed"] == "3"
    assert model.metadata["step"] == "2"
    assert Curves.read(tmp_path / "scores.json").steps == [0, 1, 2]
    assert run(recipe, tmp_path, every=1) == final  # nothing left to do
    assert Curves.read(tmp_path / "scores.json").steps == [0, 1, 2]


def test_half_way_is_found_in_the_curve() -> None:
    curves = Curves()
    for step, value in ((0, 0.1), (100, 0.3), (200, 0.6), (300, 0.9)):
        curves.add(step, math.nan, Scores({"induction": [[value, 0.0]]}, {}))
    assert curves.half_way("induction") == 200


def test_half_way_is_measured_from_the_first_to_the_last_score() -> None:
    curves = Curves()
    for step, value in ((0, 0.2), (100, 0.5), (200, 0.0), (300, 1.0), (400, 0.6)):
        curves.add(step, math.nan, Scores({"sink": [[value, 0.0]]}, {}))
    assert curves.half_way("sink") == 100
    curves.add(500, math.nan, Scores({"sink": [[0.9, 0.0]]}, {}))
    assert curves.half_way("sink") == 300


def test_induction_forms_in_the_smallest_live_model() -> None:
    stages = [s for s in live_steps(d_model=32, n_heads=2, seed=0, steps=300, every=50) if s]
    scores = [stage.scores.best()["induction"] for stage in stages]
    assert scores[0] < 0.1
    assert scores[-1] > 0.5
    assert stages[-1].scores.tasks["copying"] > 0.8
    assert stages[-1].loss < stages[1].loss
    # An earlier snapshot keeps its own weights.
    assert not torch.equal(stages[0].model.embedding, stages[-1].model.embedding)
    assert stages[-1].model.trace("The cat sat").logits.shape[0] == 4


def test_a_live_run_can_be_left_at_any_step() -> None:
    steps = live_steps(d_model=12, n_heads=3, steps=7, every=3)
    found = [snapshot and snapshot.step for snapshot in steps]
    assert found == [0, None, None, 3, None, None, 6, 7]
    steps = live_steps(d_model=12, n_heads=3, steps=40, every=3)
    first = next(steps)
    assert first is not None
    assert first.step == 0
    assert next(steps) is None
    steps.close()
    with pytest.raises(StopIteration):
        next(steps)


def test_sampled_loss_with_every_word_drawn_is_the_loss_over_all() -> None:
    generator = torch.Generator().manual_seed(2)
    hidden, unembedding = (
        torch.randn(2, 5, 7, generator=generator),
        torch.randn(40, 7, generator=generator),
    )
    following = torch.randint(40, (2, 5), generator=generator)
    following[0, 3] = IGNORE
    whole = torch.nn.functional.cross_entropy(
        (hidden @ unembedding.T).flatten(0, 1), following.flatten(), ignore_index=IGNORE
    )
    drawn = sampled_loss(hidden, following, unembedding, 4000, generator)
    assert float(drawn) == pytest.approx(float(whole), rel=1e-5)
    # Words drawn stand for all the others: few of them give the same on average.
    few = [
        float(sampled_loss(hidden, following, unembedding, 12, torch.Generator().manual_seed(n)))
        for n in range(400)
    ]
    assert sum(few) / len(few) == pytest.approx(float(whole), rel=0.05)


def test_the_longer_lists_come_last() -> None:
    recipe = Recipe(seed=3, steps=8, tokens=256, documents=40, pool_steps=1, core_steps=3)
    own = {load_tokenizer().id_of(word) for word in core_words()}
    signs = {e.id for e in load_tokenizer().entries if e.kind not in ("word", "piece", "character")}
    first, *rest = (set(ids.flatten().tolist()) for ids, _ in islice(batches_for(recipe), 8))
    assert first <= own | signs
    strange = [len(ids - own - signs) for ids in rest]
    assert sum(strange[2:]) > 5 * sum(strange[:2])
