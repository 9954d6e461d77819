"""Which head fills which role: chosen on documents of one seed, scored on documents of another.

Every score comes with its sample, a bootstrap interval and its baselines; no training run uses
either seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.brief import brief
from mha_core.heads import metrics
from mha_core.heads.metrics import Interval, bootstrap
from mha_core.heads.probe import KINDS, Row, attention_rows, rows_for
from mha_core.language.documents import Kind
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.toy import Head, ToyModel

Floats = NDArray[np.floating[Any]]

CHOOSE_SEED, SCORE_SEED = 9_100_000, 9_200_000  # training seeds are small numbers
COUNT = 200


@dataclass(frozen=True)
class Role:
    """The head that fills a role best, with the evidence.

    Attributes:
        name: of the role.
        head: (layer, head), chosen on other documents.
        mass: mean attention on the target, with its interval.
        argmax: share of rows whose largest key is the target, `<bos>` and self left out;
            None where the role has no single target.
        baselines: by name, what would score without the role.
    """

    name: str
    head: Head
    mass: Interval
    argmax: Interval | None
    baselines: Mapping[str, float]


@cache
def relation_rows(kind: Kind, seed: int, count: int) -> tuple[Row, ...]:
    """Rows of a relation; pronouns and subjects with a distractor."""
    candidates = 1 if kind in ("measure", "receiver") else 2
    return tuple(rows_for(kind, seed, count, candidates=candidates))


def random_model(model: ToyModel) -> ToyModel:
    """A model of the same sizes before any training."""
    return ToyModel(model.sizes, seed=12_345, tokenizer=model.tokenizer)


def relation_masses(model: ToyModel, kind: Kind, seed: int, count: int = COUNT) -> Floats:
    """The attention on the target: [row, layer, head]."""
    rows = relation_rows(kind, seed, count)
    return metrics.mass_on(attention_rows(model, rows), [row.target for row in rows])


def best_head(scores: Floats) -> Head:
    """The head [layer, head] with the highest score."""
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return int(layer), int(head)


def relation_role(model: ToyModel, kind: Kind, count: int = COUNT) -> Role:
    """The head of a relation, chosen on one seed and scored on another."""
    head = best_head(relation_masses(model, kind, CHOOSE_SEED, count).mean(0))
    rows = relation_rows(kind, SCORE_SEED, count)
    targets, queries = [row.target for row in rows], [row.query for row in rows]
    seen = attention_rows(model, rows)[:, head[0], head[1]]
    untrained = relation_masses(random_model(model), kind, SCORE_SEED, count).mean(0)
    baselines = {
        "offset": metrics.best_fixed_offset(queries, targets)[1],
        "uniform": metrics.uniform_mass(queries),
        "random": float(untrained.max()),
    }
    candidates = [row.candidates for row in rows]
    if min(map(len, candidates)) > 1:
        baselines["nearest"] = metrics.nearest_candidate(targets, candidates)
    mass, argmax = metrics.mass_on(seen, targets), metrics.hits(seen, targets, queries)
    return Role(kind, head, bootstrap(mass), bootstrap(argmax), baselines)


@dataclass(frozen=True)
class Repeats:
    """Scores on random repeats, [sequence, layer, head] each."""

    scores: Mapping[str, Floats]
    copying: float
    copying_nouns: float

    __repr__ = brief


@torch.no_grad()
def measure_repeats(model: ToyModel, seed: int, count: int = COUNT) -> Repeats:
    """Previous, induction, duplicate and sink on bos + s + s, the length drawn anew (5 to 20)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    tokenizer = model.tokenizer
    words = [entry.id for entry in tokenizer.entries if entry.kind == "word"]
    scores: dict[str, list[Floats]] = {
        n: [] for n in ("previous", "induction", "duplicate", "sink")
    }
    for _ in range(count):
        length = int(generator.integers(5, 21))
        ids = [0, *np.tile(generator.choice(words, length), 2)]
        patterns = np.stack([p.numpy() for p in model.run(torch.tensor(ids)).patterns])
        scores["previous"].append(metrics.previous_score(patterns, first=length + 1))
        scores["induction"].append(metrics.induction_score(patterns, length))
        scores["duplicate"].append(metrics.duplicate_score(patterns, length))
        scores["sink"].append(metrics.sink_score(patterns))
    return Repeats(
        {name: np.stack(values) for name, values in scores.items()},
        copying_accuracy(model, words, seed, count),
        copying_accuracy(model, noun_ids(), seed, count),
    )


@cache
def noun_ids() -> list[int]:
    """The nouns of both languages."""
    from mha_core.language.lexicon import load_lexicon

    tokenizer = load_tokenizer()
    nouns = [*load_lexicon("english").nouns, *load_lexicon("chinese").nouns]
    return sorted({tokenizer.id_of(noun.word) for noun in nouns})


@torch.no_grad()
def copying_accuracy(model: ToyModel, words: list[int], seed: int, count: int = COUNT) -> float:
    """The share of the second half of random repeats that is predicted, first word left out."""
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    right: list[bool] = []
    for _ in range(count):
        length = int(generator.integers(5, 21))
        ids = torch.tensor([[0, *np.tile(generator.choice(words, length, replace=False), 2)]])
        guess = model(ids)[0, length + 1 : -1].argmax(-1)
        right += (guess == ids[0, length + 2 :]).tolist()
    return float(np.mean(right))


def _repeat_baselines(name: str, untrained: Floats, count: int) -> dict[str, float]:
    """What a repeat role would score with random weights, uniform attention, or one offset.

    `untrained` is what a model before training scores, [sequence, layer, head].
    """
    lengths = np.random.Generator(np.random.PCG64(SCORE_SEED)).integers(5, 21, count)
    uniform = [float(np.mean(1 / (np.arange(n + 1, 2 * n + 1) + 1))) for n in lengths]
    found = {"random": float(untrained.mean(0).max()), "uniform": float(np.mean(uniform))}
    if name == "sink":
        found["uniform"] = float(np.mean([np.mean(1 / np.arange(3, 2 * n + 2)) for n in lengths]))
    if name == "induction":
        found["offset"] = 1 / 16  # sixteen lengths, equally likely, each with its own offset
    return found


def repeat_roles(model: ToyModel, count: int = COUNT) -> dict[str, Role]:
    """Previous token, induction, duplicate token and sink."""
    chosen = measure_repeats(model, CHOOSE_SEED, count)
    scored = measure_repeats(model, SCORE_SEED, count)
    untrained = measure_repeats(random_model(model), SCORE_SEED, count)
    roles = {}
    for name, scores in chosen.scores.items():
        head = best_head(scores.mean(0))
        mass = bootstrap(scored.scores[name][:, head[0], head[1]])
        baselines = _repeat_baselines(name, untrained.scores[name], count)
        roles[name] = Role(name, head, mass, None, baselines)
    return roles


def measure_roles(model: ToyModel, count: int = COUNT) -> dict[str, Role]:
    """Every role with its best head."""
    found: dict[str, Role] = {kind: relation_role(model, kind, count) for kind in KINDS}
    return found | repeat_roles(model, count)
