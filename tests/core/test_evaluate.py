"""The shipped weights: where they come from, what they can, what their heads do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from mha_core.errors import DataError
from mha_core.evaluate import main
from mha_core.heads.ablation import ablate
from mha_core.heads.evaluate import (
    evaluate,
    evaluate_parts,
    judge,
    measure_accuracy,
    measure_damage,
    measure_means,
    measure_task,
    task_pairs,
)
from mha_core.heads.everyday import everyday_beginnings, everyday_sentences, read_sentence
from mha_core.heads.probe import (
    TASKS,
    Pair,
    find_exact,
    groups_for,
    prefer_right,
    query_logits,
)
from mha_core.heads.report import format_report, read_report
from mha_core.heads.roles import Role, relation_role, relation_rows, repeat_roles
from mha_core.language.mixture import hash_documents
from mha_core.model.checkpoint import (
    FINAL,
    hash_tensors,
    list_checkpoints,
    load_model,
    load_toy_model,
)
from mha_core.model.edits import Head
from mha_core.model.toy import ToyModel

COUNT = 60
# What the shipped weights miss, as the card says: the receiver needs heads below .30 as well.
MISSED = ["knockout receiver", "new english"]
MISSED_CONTROLS = ("receiver",)


@pytest.fixture(scope="module")
def model() -> ToyModel:
    """The shipped model."""
    return load_toy_model()


@pytest.fixture(scope="module")
def report(model: ToyModel) -> dict[str, object]:
    """What the evaluation says, on fewer documents than the model card."""
    return evaluate(model, COUNT, full=False)


def test_the_weights_name_the_data_this_grammar_makes(model: ToyModel) -> None:
    seed = json.loads(model.metadata["seed"])
    assert json.loads(model.metadata["data"]) == hash_documents(seed)
    assert json.loads(model.metadata["recipe"])["seed"] == seed


def test_the_shipped_model_solves_its_tasks(report: dict) -> None:
    for task, found in report["tasks"].items():
        # Sixty pairs: four standard errors below the card's figures are still far above chance.
        assert found["mean"] >= (0.6 if task.endswith("_same") else 0.85), task
    assert report["copying"]["nouns"] >= 0.9


def test_roles_stand_above_their_baselines(report: dict) -> None:
    least = {"pronoun": 0.75, "pronoun_zh": 0.75, "subject": 0.75, "induction": 0.8,
             "previous": 0.5, "sink": 0.3}  # fmt: skip
    for name, mass in least.items():
        role = report["roles"][name]
        assert role["mass"]["mean"] >= mass, name
        assert role["mass"]["mean"] - max(role["baselines"].values()) >= 0.2, name


def test_cutting_the_edge_in_the_role_heads_breaks_the_reference(report: dict) -> None:
    for task in ("reference", "predicate", "receiver", "classifier_zh"):
        cut = report["knockout"][task]
        assert cut["role"]["pair"] <= 0.25, task
        assert cut["distractor"]["pair"] >= 0.9, task
        if task not in MISSED_CONTROLS:
            assert cut["others"]["pair"] >= 0.9, task
    # The Chinese reference has a second route, and still falls below chance.
    assert report["knockout"]["reference_zh"]["role"]["pair"] < 0.5


def test_all_thresholds_but_the_named_ones_are_met(model: ToyModel) -> None:
    passed = read_report(model)["passed"]
    assert [name for name, met in passed.items() if not met] == MISSED
    before = [name for name in passed if name.split()[0] not in ("long", "held", "new", "next")]
    assert len(before) == 31
    assert sum(passed[name] for name in before) >= 29


def test_the_named_heads_find_antecedents_they_know_and_new_ones(report: dict) -> None:
    least = {"core": 0.9, "long": 0.8, "held": 0.8, "pieces": 0.6, "new": 0.55}
    for language, reach in report["reach"].items():
        for tier, share in least.items():
            found = reach["tiers"][tier]
            assert found["found"] >= share, (language, tier)
            assert found["found"] > found["nearest"], (language, tier)


def test_next_words_are_among_the_first_five(report: dict) -> None:
    assert all(found["place"] <= 5 for found in report["next"].values())


def test_typed_sentences_are_read(model: ToyModel) -> None:
    typed = read_report(model)["typed"]
    shares = [typed[language]["antecedents"]["all"] for language in ("english", "chinese")]
    hits = sum(share["found"] * share["n"] for share in shares)
    assert hits / sum(share["n"] for share in shares) >= 0.75


def test_everyday_sentences_are_read(report: dict) -> None:
    for language in ("english", "chinese"):
        assert report["everyday"][language]["found"] >= 0.7
        assert report["everyday"][language]["n"] >= 20
    assert report["everyday"]["agreement"]["n"] >= 20


def test_every_checkpoint_is_whole_and_they_grow_up(model: ToyModel) -> None:
    steps, induction = [], []
    for path in list_checkpoints():
        early = load_model(path)
        assert early.sizes == model.sizes
        steps.append(json.loads(early.metadata["step"]))
        induction.append(json.loads(early.metadata["scores"])["induction"])
        assert path.stem == f"step-{steps[-1]:05d}"
    assert steps == sorted(steps)
    assert induction[0] < 0.3 < 0.6 < induction[-1]


def test_the_checksum_covers_every_number(model: ToyModel) -> None:
    tensors = dict(model.state_dict())
    before = hash_tensors(tensors)
    tensors["norm"] = tensors["norm"] + torch.finfo(torch.float32).eps
    assert hash_tensors(tensors) != before


def test_an_untrained_model_meets_next_to_nothing(model: ToyModel) -> None:
    untrained = ToyModel(model.sizes, seed=4)
    for task in TASKS:
        assert measure_task(untrained, task, COUNT).mean < 0.8
    kinds = ("pronoun", "subject", "classifier_zh")
    roles = {kind: relation_role(untrained, kind, 20) for kind in kinds} | repeat_roles(
        untrained, 20
    )
    assert all(role.mass.mean < 0.35 for role in roles.values())
    assert isinstance(roles["sink"], Role)


def test_pair_and_exact_accuracy_by_hand() -> None:
    logits = torch.tensor([[0.0, 3.0, 2.0, 9.0], [0.0, 1.0, 2.0, 5.0]])
    pairs = [Pair((0,), 0, 1, 2, 0, None), Pair((0,), 0, 1, 2, 0, None)]
    groups = (frozenset({1}), frozenset({2}))
    assert prefer_right(logits, pairs).tolist() == [True, False]
    assert find_exact(logits, pairs, groups).tolist() == [True, False]  # 3 is no option
    assert find_exact(logits, pairs, (frozenset({1, 3}), frozenset({2}))).tolist() == [True, True]


def test_rows_for_choosing_and_scoring_differ() -> None:
    one, two = relation_rows("pronoun", 1, 30), relation_rows("pronoun", 2, 30)
    assert {row.ids for row in one} != {row.ids for row in two}
    assert all(len(row.candidates) == 2 for row in one)


def test_accuracy_without_any_edge_is_the_plain_one(model: ToyModel) -> None:
    plain = measure_accuracy(model, "reference", COUNT, None)
    same = measure_accuracy(model, "reference", COUNT, lambda layer, pair: ([], []))
    assert plain == same


def test_an_evaluation_says_how_far_it_is_and_can_be_left(model: ToyModel) -> None:
    parts = evaluate_parts(model, 2)
    seen = [next(parts) for _ in range(12)]
    shares = [progress.share for progress in seen]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert [progress.part for progress in seen] == ["roles"] * 8 + ["tasks"] * 4
    parts.close()
    every = list(evaluate_parts(model, 2))
    assert [p.part for p in every if p.part == "damage"] == ["damage"] * 12
    assert every[-1].share < 1
    assert len({progress.share for progress in every}) == len(every)


def test_losses_are_those_of_breaking_one_head_or_two_at_a_time(model: ToyModel) -> None:
    count, means = 12, measure_means(model)
    pairs, groups = task_pairs("reference", count), groups_for("reference")
    found = measure_damage(model, "reference", means, count)

    def kept(*heads: Head, mode: Any = "mean") -> tuple[float, float]:
        edit = ablate(model, heads, mode=mode, means=means)
        logits = query_logits(model, pairs, edits=edit)
        return prefer_right(logits, pairs).mean(), find_exact(logits, pairs, groups).mean()

    whole, whole_exact = kept()
    for layer, head in ((0, 0), (1, 3), (2, 5)):
        pair, exact = kept((layer, head))
        assert found["loss"][layer][head] == pytest.approx(whole - pair)
        assert found["exact"][layer][head] == pytest.approx(whole_exact - exact)
        assert found["zero"][layer][head] == pytest.approx(
            whole - kept((layer, head), mode="zero")[0]
        )
    assert len(found["pairs"]) == 6
    for two in found["pairs"]:
        assert two["loss"] == pytest.approx(whole - kept(*two["heads"])[0])
    losses = np.array(found["loss"])
    taken = {head for two in found["pairs"] for head in two["heads"]}
    assert losses.max() == max(losses[head] for head in taken)


def test_every_head_of_a_role_is_scored(report: dict) -> None:
    for name, role in report["roles"].items():
        layer, head = role["head"]
        assert role["heads"][layer][head] == role["mass"], name
        means = np.array([[found["mean"] for found in heads] for heads in role["heads"]])
        assert means.shape == (3, 6)
        assert means.max() <= 1


def test_the_judge_reads_the_report(report: dict) -> None:
    passed = judge(report)
    assert passed == report["passed"]
    spoilt = json.loads(json.dumps(report))
    spoilt["roles"]["induction"]["mass"]["mean"] = 0.1
    assert judge(spoilt)["induction"] is False
    assert format_report(report).count("\n") > 20


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(FINAL), "--json", "--count", "12"])
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) >= {"roles", "tasks", "knockout", "everyday", "heads", "damage"}
    head = printed["heads"]["0.0"]["entropy"]
    assert head["low"] <= head["mean"] <= head["high"]
    for lost in printed["damage"]["tasks"].values():
        assert np.shape(lost["loss"]) == np.shape(lost["zero"]) == (3, 6)


def test_hand_written_sentences_are_enough_and_sound() -> None:
    assert len(everyday_sentences("english")) >= 20
    assert len(everyday_sentences("chinese")) >= 20
    assert len(everyday_beginnings()) >= 20
    for language in ("english", "chinese"):
        for sentence in everyday_sentences(language):
            assert sentence.row.target in sentence.row.candidates
            assert sentence.row.target < sentence.row.query
    with pytest.raises(DataError, match="stands 2 times"):
        read_sentence(("The cat saw the cat and it ran.", "it", "cat"), frozenset())
