"""The projection page's exercises: a row of W times a column of X."""

from __future__ import annotations

import numpy as np

from mha_core.arrays import Array
from mha_core.config import AttentionConfig
from mha_core.exercises.exercise import Cell, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, array, pick, places, sum_of_products, tensor, whole
from mha_core.layer import project
from mha_core.weights import AttentionWeights, weight_shapes


def _project(x: Array, w_q: Array, w_k: Array) -> tuple[Array, Array]:
    """Q and K, features in rows, of X with features in rows."""
    weights = AttentionWeights(*map(tensor, (w_q, w_k, w_k, w_k)))
    columns = tensor(x).T
    made = project(columns, columns, weights, AttentionConfig(d_model=len(x), n_heads=1))
    return array(made.q_full.T), array(made.k_full.T)


def one(rng: Rng, seed: int) -> Exercise:
    """One cell of Q."""
    w_q, w_k, x = (whole(rng, 3, 3, most=2) for _ in range(3))
    q, k = _project(x, w_q, w_k)
    feature, token = places(rng, 2, 3)
    return Exercise(
        "projection.cell",
        seed,
        Number(q[feature, token]),
        (
            Miss("column_of_w", float(w_q[:, feature] @ x[:, token])),
            Miss("row_of_x", float(w_q[feature] @ x[token])),
            Miss("keys_weights", k[feature, token]),
        ),
        (
            Part("W_q", w_q, ("feature", "feature_in")),
            Part("W_k", w_k, ("feature", "feature_in")),
            Part("X", x, ("feature", "token")),
        ),
        values={"feature": feature, "token": token},
        hint={"sum": sum_of_products(w_q[feature], x[:, token])},
    )


def matrix(rng: Rng, seed: int) -> Exercise:
    """All of K."""
    w_k, x = whole(rng, 2, 2, most=2), whole(rng, 2, 2)
    _, k = _project(x, w_k, w_k)
    return Exercise(
        "projection.matrix",
        seed,
        Matrix(Part("K", k, ("feature", "token"))),
        (
            Miss("weights_turned", w_k.T @ x),
            Miss("other_order", x @ w_k),
            Miss("cell_by_cell", w_k * x),
        ),
        (Part("W_k", w_k, ("feature", "feature_in")), Part("X", x, ("feature", "token"))),
        hint={"sum": sum_of_products(w_k[0], x[:, 0])},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """Which number of W_q meets a number of X."""
    feature, met, token = places(rng, 3, 4)
    return Exercise(
        "projection.point",
        seed,
        Cell((0, feature, met)),
        (
            Miss("turned_cell", (0, met, feature)),
            Miss("token_in_w", (0, feature, token)),
            Miss("same_cell", (0, met, token)),
        ),
        (Part("W_q", whole(rng, 4, 4), ("feature", "feature_in")),),
        values={"feature": feature, "token": token, "met": met},
    )


def count(rng: Rng, seed: int) -> Exercise:
    """How many learned numbers the three projections have."""
    h_kv, d_head = pick(rng, 1, 2), pick(rng, 2, 3, 4)
    h, n = h_kv * pick(rng, 2, 3), pick(rng, 5, 7, 9)
    d = h * d_head
    config = AttentionConfig(d_model=d, n_heads=h, n_kv_heads=h_kv)
    sizes = {name: int(np.prod(lengths)) for name, lengths in weight_shapes(config).items()}
    right = sizes["w_q"] + sizes["w_k"] + sizes["w_v"]
    return Exercise(
        "projection.count",
        seed,
        Number(right),
        (
            Miss("all_alike", 3 * d * d),
            Miss("one_of_three", sizes["w_q"]),
            Miss("results_counted", right // d * n),
            Miss("output_too", right + sizes["w_o"]),
        ),
        values={"d": d, "h": h, "h_kv": h_kv, "d_head": d_head, "n": n},
        hint={"q": f"{h} × {d_head}", "kv": f"{h_kv} × {d_head}"},
    )


MAKERS = {"cell": one, "matrix": matrix, "point": point, "count": count}
