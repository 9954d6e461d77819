"""Which head fills which role: chosen on documents of one seed, scored on documents of another.

Every score comes with its sample, a bootstrap interval and its baselines; no training run uses
either seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from mha_core.arrays import Floats
from mha_core.heads.measures import hits, mass_on
from mha_core.heads.probe import Row, attention_rows, rows_for
from mha_core.heads.repeats import draw_repeats, repeat_chance, repeat_scores, word_ids
from mha_core.heads.sample import (
    Interval,
    best_fixed_offset,
    bootstrap,
    nearest_candidate,
    uniform_mass,
)
from mha_core.language.documents import Kind
from mha_core.language.repeats import LONGEST, SHORTEST
from mha_core.model.edits import Head
from mha_core.model.toy import ToyModel

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
        heads: [layer][head], the mean attention of every head on the same target.
    """

    name: str
    head: Head
    mass: Interval
    argmax: Interval | None
    baselines: Mapping[str, float]
    heads: tuple[tuple[Interval, ...], ...]


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
    return mass_on(attention_rows(model, rows), [row.target for row in rows])


def best_head(scores: Floats) -> Head:
    """The head [layer, head] with the highest score."""
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return int(layer), int(head)


def every_head(masses: Floats) -> tuple[tuple[Interval, ...], ...]:
    """Each head's mean with its interval, [layer][head], from [document, layer, head]."""
    n_layers, n_heads = masses.shape[1:]
    return tuple(
        tuple(bootstrap(masses[:, layer, head]) for head in range(n_heads))
        for layer in range(n_layers)
    )


def _of(heads: tuple[tuple[Interval, ...], ...], head: Head) -> Interval:
    """One head's."""
    return heads[head[0]][head[1]]


def relation_role(model: ToyModel, kind: Kind, count: int = COUNT) -> Role:
    """The head of a relation, chosen on one seed and scored on another."""
    head = best_head(relation_masses(model, kind, CHOOSE_SEED, count).mean(0))
    rows = relation_rows(kind, SCORE_SEED, count)
    targets, queries = [row.target for row in rows], [row.query for row in rows]
    seen = attention_rows(model, rows)
    untrained = relation_masses(random_model(model), kind, SCORE_SEED, count).mean(0)
    baselines = {
        "offset": best_fixed_offset(queries, targets)[1],
        "uniform": uniform_mass(queries),
        "random": float(untrained.max()),
    }
    candidates = [row.candidates for row in rows]
    if min(map(len, candidates)) > 1:
        baselines["nearest"] = nearest_candidate(targets, candidates)
    heads, argmax = every_head(mass_on(seen, targets)), hits(seen[:, *head], targets, queries)
    return Role(kind, head, _of(heads, head), bootstrap(argmax), baselines, heads)


def repeat_roles(model: ToyModel, count: int = COUNT) -> dict[str, Role]:
    """Previous token, induction, duplicate token and sink, on random repeats."""
    chosen = repeat_scores(model, draw_repeats(word_ids(), CHOOSE_SEED, count))
    repeats = draw_repeats(word_ids(), SCORE_SEED, count)
    scored = repeat_scores(model, repeats)
    untrained = repeat_scores(random_model(model), repeats)
    roles = {}
    for name, scores in chosen.items():
        head = best_head(scores.mean(0))
        heads = every_head(scored[name])
        baselines = {
            "random": float(untrained[name].mean(0).max()),
            "uniform": repeat_chance(name, repeats),
        }
        if name == "induction":
            baselines["offset"] = 1 / (LONGEST - SHORTEST + 1)  # each length has its own
        roles[name] = Role(name, head, _of(heads, head), None, baselines, heads)
    return roles
