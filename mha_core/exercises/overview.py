"""The overview's exercises: the shapes of the steps, and reading an attention matrix."""

from __future__ import annotations

import numpy as np

from mha_core.config import AttentionConfig
from mha_core.exercises.exercise import Cell, Choice, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, causal_pattern, has_one_maximum, pick, shape

STEPS = ("Q", "Q_k", "A_k", "head_k", "Concat")


def _config(rng: Rng) -> AttentionConfig:
    """A layer of a few heads, whose sizes a hand can multiply."""
    n_heads, d_head = pick(rng, 2, 3, 4, 5), pick(rng, 2, 3, 4, 6, 8)
    return AttentionConfig(d_model=n_heads * d_head, n_heads=n_heads)


def numbers(rng: Rng, seed: int) -> Exercise:
    """How many numbers all attention matrices hold."""
    config, n = _config(rng), pick(rng, 5, 6, 7, 9, 10)
    d, h = config.d_model, config.n_heads
    return Exercise(
        "overview.numbers",
        seed,
        Number(h * n * n),
        (
            Miss("one_matrix", n * n),
            Miss("features_by_tokens", d * n),
            Miss("matrix_a_feature", d * n * n),
            Miss("row_a_head", h * n),
        ),
        values={"d": d, "h": h, "n": n},
        hint={"square": f"{n} × {n}"},
    )


def shapes(rng: Rng, seed: int) -> Exercise:
    """The shape of one step's tensor."""
    config, n = _config(rng), pick(rng, 5, 7, 9, 11)
    d, d_head = config.d_model, config.d_head
    step = str(rng.choice(STEPS))
    if step == "A_k":
        right = shape(n, n)
        wrong = {"pattern_of_features": shape(d_head, n), "features_meet": shape(d_head, d_head)}
        wrong["heads_by_tokens"] = shape(config.n_heads, n)
    else:
        is_part = step in ("Q_k", "head_k")
        width = d_head if is_part else d
        right = shape(width, n)
        wrong = {"turned": shape(n, width), "not_square": shape(n, n)}
        if is_part:
            wrong["all_heads"] = shape(d, n)
        else:
            wrong["part_of_it"] = shape(d_head, n)
    options = [right, *wrong.values()]
    order = rng.permutation(len(options))
    return Exercise(
        "overview.shape",
        seed,
        Choice(right, tuple(options[place] for place in order)),
        tuple(Miss(name, value) for name, value in wrong.items()),
        values={"d": d, "h": config.n_heads, "n": n, "step": step},
        hint={"d_head": f"{d} ÷ {config.n_heads}"},
    )


def table(rng: Rng, seed: int) -> Exercise:
    """The whole table of shapes of a layer."""
    config = _config(rng)
    h, d, d_head = config.n_heads, config.d_model, config.d_head
    n = h * pick(rng, 2, 3)
    right = np.array([[d, n], [d_head, n], [n, n], [d_head, n], [d, n]], dtype=np.float64)
    one_size = right.copy()
    one_size[2] = d_head, n
    uncut = right.copy()
    uncut[[1, 3], 0] = d
    by_tokens = right.copy()
    by_tokens[[1, 3]] = d, n // h
    return Exercise(
        "overview.table",
        seed,
        Matrix(Part("", right, ("tensor", "size"), STEPS, ("n_rows", "n_columns"))),
        (
            Miss("table_turned", right[:, ::-1].copy()),
            Miss("pattern_as_features", one_size),
            Miss("heads_uncut", uncut),
            Miss("tokens_shared_out", by_tokens),
        ),
        values={"d": d, "h": h, "n": n},
        hint={"d_head": f"{d} ÷ {h}"},
    )


def most(rng: Rng, seed: int) -> Exercise:
    """Where a token looks most."""
    query = pick(rng, 1, 2)
    pattern = causal_pattern(rng, 4)
    while not has_one_maximum(pattern[query]):
        pattern = causal_pattern(rng, 4)
    key = int(pattern[query].argmax())
    below = query + 1 + int(pattern[query + 1 :, query].argmax())
    later = pattern.copy()
    later[0] = 0  # the first token has no choice, which is no answer to anything
    largest = np.unravel_index(int(later.argmax()), later.shape)
    return Exercise(
        "overview.most",
        seed,
        Cell((0, query, key)),
        (
            Miss("looked_at_most", (0, below, query)),
            Miss("largest_anywhere", (0, int(largest[0]), int(largest[1]))),
        ),
        (Part("A_k", pattern, ("query", "key")),),
        values={"query": query},
        hint={"row": ", ".join(f"{value:.1f}" for value in pattern[query, : query + 1])},
    )


MAKERS = {"numbers": numbers, "shape": shapes, "table": table, "most": most}
