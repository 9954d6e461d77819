"""The attention page's exercises: scores, mask, softmax, and what a head collects."""

from __future__ import annotations

import numpy as np
import torch

from mha_core.arrays import Array
from mha_core.exercises.exercise import Cell, Exercise, Matrix, Miss, Number, Part, told
from mha_core.exercises.tiny import (
    Rng,
    array,
    pick,
    places,
    shares,
    sum_of_products,
    tensor,
    whole,
)
from mha_core.layer import scaled_dot_product
from mha_core.masks import named_mask
from mha_core.steps import ScoreSteps

TWO_DECIMALS = 0.006


def _attend(q: Array, k: Array, v: Array, keep: Array | None, scale: float | None) -> ScoreSteps:
    """One head's steps, from columns of tokens."""
    one = (tensor(columns.T)[None] for columns in (q, k, v))
    return scaled_dot_product(*one, keep=None if keep is None else torch.tensor(keep), scale=scale)


def _steps_of(exponentials: Array, v: Array, keep: Array | None) -> ScoreSteps:
    """One head's steps, where e^score is given, [query, key]."""
    n = len(exponentials)
    return _attend(np.log(exponentials).T, np.eye(n), v, keep, 1.0)


def score(rng: Rng, seed: int) -> Exercise:
    """A scaled score, of a query and a key."""
    q, k = whole(rng, 4, 1), whole(rng, 4, 1)
    d = pick(rng, 36, 64, 100)
    steps = _attend(q, k, k, None, None)
    raw = float(steps.raw[0, 0, 0])
    return Exercise(
        "attention.score",
        seed,
        Number(float(steps.scores[0, 0, 0])),
        (
            Miss("not_divided", raw),
            Miss("root_of_d", raw / d**0.5),
            Miss("no_root", raw / len(q)),
        ),
        (
            Part("q", q, ("feature_of_head", "token"), columns=("i",)),
            Part("k", k, ("feature_of_head", "token"), columns=("j",)),
        ),
        values={"d": d, "h": d // 4, "d_head": 4},
        hint={"sum": sum_of_products(q[:, 0], k[:, 0])},
    )


def row(rng: Rng, seed: int) -> Exercise:
    """A row of weights, under a causal mask."""
    exponentials = rng.integers(1, 7, (4, 4)).astype(np.float64)
    keep, query = named_mask("causal", 4), pick(rng, 1, 2)
    pattern = array(_steps_of(exponentials, np.eye(4), keep).pattern[0])
    allowed = exponentials * keep
    wrong = {
        "mask_forgotten": exponentials / exponentials.sum(1, keepdims=True),
        "mask_after": exponentials / exponentials.sum(1, keepdims=True) * keep,
        "over_queries": allowed / allowed.sum(0),
        "not_shared": allowed,
    }
    rows = slice(query, query + 1)
    return Exercise(
        "attention.row",
        seed,
        Matrix(Part("A", pattern[rows].copy(), ("query", "key"), (str(query),)), TWO_DECIMALS),
        tuple(Miss(name, value[rows].copy()) for name, value in wrong.items()),
        (Part("e^score", exponentials, ("query", "key")),),
        values={"query": query},
        hint={"terms": " + ".join(told(value) for value in allowed[query, : query + 1])},
    )


def mask(rng: Rng, seed: int) -> Exercise:
    """The keys that a query may see in a window."""
    n, window = 6, pick(rng, 2, 3, 4)
    query = int(rng.integers(window, n))

    def seen(width: int) -> Array:
        """The query's row of the mask with a window of this many tokens."""
        return named_mask("window", n, window=width)[query : query + 1].astype(np.float64)

    right = seen(window)
    itself = np.eye(n)[query : query + 1]
    return Exercise(
        "attention.mask",
        seed,
        Matrix(Part("M", right, ("query", "key"), (str(query),))),
        (
            Miss("window_one_wider", seen(window + 1)),
            Miss("not_itself", right - itself),
            Miss("no_window", seen(n)),
            Miss("looks_ahead", named_mask("window", n, window=window).T[query : query + 1] * 1.0),
        ),
        values={"query": query, "window": window, "n": n},
    )


def head(rng: Rng, seed: int) -> Exercise:
    """A column of head_k: the values, weighted."""
    quarters = np.stack([shares(rng, 3, 4) for _ in range(3)])
    v, query = whole(rng, 2, 3) * 2, pick(rng, 0, 1, 2)
    steps = _steps_of(quarters, v, None)
    pattern = array(steps.pattern[0])
    right = array(steps.heads[0])[query]
    wrong = {
        "column_of_weights": v @ pattern[:, query],
        "not_weighted": v.sum(1),
        "strongest_alone": v[:, int(pattern[query].argmax())],
        "own_value": v[:, query],
    }
    return Exercise(
        "attention.head",
        seed,
        Matrix(
            Part("head_k", right[:, None].copy(), ("feature_of_head", "token"), (), (str(query),))
        ),
        tuple(Miss(name, value[:, None]) for name, value in wrong.items()),
        (Part("A", pattern, ("query", "key")), Part("V", v, ("feature_of_head", "token"))),
        values={"query": query},
        hint={"sum": sum_of_products(pattern[query], v[0])},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """The weight of one look."""
    query, key = places(rng, 2, 4)
    return Exercise(
        "attention.point",
        seed,
        Cell((0, query, key)),
        (Miss("who_looks_turned", (0, key, query)), Miss("looks_at_itself", (0, query, query))),
        (Part("A", _two_way(rng), ("query", "key")),),
        values={"query": query, "key": key},
    )


def _two_way(rng: Rng) -> Array:
    """[query, key]: rows of tenths without a mask."""
    return np.stack([shares(rng, 4, 10) for _ in range(4)]) / 10


MAKERS = {"score": score, "row": row, "mask": mask, "head": head, "point": point}
