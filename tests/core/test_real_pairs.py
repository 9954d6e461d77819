"""What a real model knows by minimal pairs, against whole sentences' probabilities."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from mha_core.errors import DataError
from mha_core.model.edits import Edits, zeros_for
from mha_core.real.edited import mean_heads
from mha_core.real.folder import ModelCard
from mha_core.real.load import RealModel, open_network
from mha_core.real.pairs import MinimalPair, PairScores, load_pairs, score_pairs
from tests.core.real_families import FAMILIES, Family, build
from tests.core.real_folders import bytes_tokenizer

BY_NAME = {family.name: family for family in FAMILIES}
TASKS = {
    "short": (MinimalPair("the cat", " is", " are"), MinimalPair("the cats", " are", " is")),
    "chinese": (MinimalPair("她有一", "本", "条"), MinimalPair("我", "们", "")),
    "alike": (MinimalPair("a", "b", "b"),),
}


def opened(name: str) -> RealModel:
    family = BY_NAME[name]
    wide = Family(name, name, family.settings | {"vocab_size": 300})
    return open_network(build(wide), bytes_tokenizer(), ModelCard(name, Path()))


def log_of(model: RealModel, sentence: str) -> float:
    """A sentence's probability but for its first token, one token after the other."""
    ids = model.encode(sentence).ids
    total = 0.0
    for place in range(1, len(ids)):
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor([ids[:place]])).logits[0, -1]
        total += float(logits.double().log_softmax(-1)[ids[place]])
    return total


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_margin_is_the_ratio_of_two_whole_sentences(name: str) -> None:
    model = opened(name)
    *_, found = score_pairs(model, tasks=TASKS)
    assert [task.task for task in found.tasks] == list(TASKS)
    for task in found.tasks:
        for margin, pair in zip(task.margins, TASKS[task.task], strict=True):
            right, wrong = (log_of(model, sentence) for sentence in pair.sentences)
            assert margin == pytest.approx(right - wrong, abs=1e-4)


def test_the_means_are_those_over_all_tokens_that_were_read() -> None:
    model = opened("llama")
    first, *_, found = score_pairs(model, tasks=TASKS)
    assert first.means is None
    assert found.means is not None
    pairs = [pair for task in TASKS.values() for pair in task]
    texts = [torch.tensor(model.encode(pair.sentences[0]).ids[:-1]) for pair in pairs]
    for mine, theirs in zip(found.means, mean_heads(model, texts), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_heads_are_changed_in_every_sentence() -> None:
    model = opened("llama")
    heads = [(0, 1), (1, 3)]
    *_, whole = score_pairs(model, tasks=TASKS)
    *_, without = score_pairs(model, zeros_for(heads), tasks=TASKS)
    assert whole.means is not None
    kept = Edits({(layer, head): whole.means[layer][head] for layer, head in heads})
    *_, averaged = score_pairs(model, kept, tasks=TASKS)
    for found in (without, averaged):
        assert (np.abs(found.tasks[0].margins - whole.tasks[0].margins) > 1e-4).all()
    assert without.tasks[2].margins.tolist() == [0]


def test_a_task_is_known_where_its_interval_lies_above_one_half() -> None:
    for n_right, known in ((20, True), (15, True), (14, False), (10, False), (0, False)):
        margins = np.array([1.0] * n_right + [-1.0] * (20 - n_right))
        assert PairScores("x", margins).is_known is known
    assert PairScores("x", np.zeros(20)).right.mean == 0, "equally probable is not right"


def test_a_model_that_does_not_say_what_comes_next_is_refused() -> None:
    with pytest.raises(DataError, match="does not say what comes next"):
        next(score_pairs(opened("bert")))


def test_the_pairs_that_ship_cannot_be_guessed() -> None:
    """Half of a task's pairs ask for each kind of ending, so that no preference helps."""
    tasks = load_pairs()
    assert set(tasks) == {"agreement", "reference", "copying", "indirect_object", "classifier_zh",
                          "reference_zh"}  # fmt: skip
    for task, pairs in tasks.items():
        assert len(pairs) == 20
        assert len({pair.sentences for pair in pairs}) == 20
        right = Counter(pair.right for pair in pairs)
        wrong = Counter(pair.wrong for pair in pairs)
        if task != "copying":
            assert right == wrong, task
        for pair in pairs:
            assert pair.right.strip() != pair.wrong.strip()
            assert pair.beginning == pair.beginning.strip()
            assert pair.right.startswith(" ") == (not task.endswith("_zh"))
        if task in ("copying", "indirect_object"):
            for pair in pairs:
                assert pair.right.strip() in pair.beginning
                assert pair.wrong.strip() in pair.beginning
