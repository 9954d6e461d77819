"""The output page's exercises: W_o mixes the heads, and the stream takes what comes out."""

from __future__ import annotations

import numpy as np
from torch.nn.functional import linear

from mha_core.exercises.exercise import Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, array, pick, places, sum_of_products, tensor, whole

TWO_DECIMALS = 0.006


def one(rng: Rng, seed: int) -> Exercise:
    """One cell of O."""
    w_o, concat = whole(rng, 4, 4, most=2), whole(rng, 4, 2)
    feature, token = pick(rng, 0, 1, 2, 3), pick(rng, 0, 1)
    out = array(linear(tensor(concat.T), tensor(w_o))).T
    return Exercise(
        "output.cell",
        seed,
        Number(out[feature, token]),
        (
            Miss("column_of_w_o", float(w_o[:, feature] @ concat[:, token])),
            Miss("first_head_alone", float(w_o[feature, :2] @ concat[:2, token])),
            Miss("other_token", float(out[feature, 1 - token])),
        ),
        (
            Part("W_o", w_o, ("feature", "row_of_concat")),
            Part("Concat", concat, ("row_of_concat", "token")),
        ),
        values={"feature": feature, "token": token},
        hint={"sum": sum_of_products(w_o[feature], concat[:, token])},
    )


def part(rng: Rng, seed: int) -> Exercise:
    """What one head adds to O, at one token."""
    w_o, concat, head = whole(rng, 3, 4, most=2), whole(rng, 4, 1), pick(rng, 0, 1)
    column = concat[:, 0]
    added = [w_o[:, 2 * k : 2 * k + 2] @ column[2 * k : 2 * k + 2] for k in range(2)]
    # The same by the layer's own product: the other head's rows are set to zero.
    alone = np.where(np.arange(4) // 2 == head, column, 0.0)
    right = array(linear(tensor(alone[None]), tensor(w_o)))[0]
    wrong = {
        "all_of_o": added[0] + added[1],
        "what_the_other_adds": added[1 - head],
        "every_other_column": w_o[:, head::2] @ column[head::2],
    }
    return Exercise(
        "output.part",
        seed,
        Matrix(Part(f"c_{head}", right[:, None].copy(), ("feature", "token"))),
        tuple(Miss(name, value[:, None].copy()) for name, value in wrong.items()),
        (
            Part("W_o", w_o, ("feature", "row_of_concat")),
            Part("Concat", concat, ("row_of_concat", "token")),
        ),
        values={"head": head, "d_value": 2},
        hint={
            "sum": sum_of_products(w_o[0, 2 * head : 2 * head + 2], column[2 * head : 2 * head + 2])
        },
    )


def residual(rng: Rng, seed: int) -> Exercise:
    """The stream after the layer."""
    stream, x, out = whole(rng, 3, 3, most=9), whole(rng, 3, 3) / 2, whole(rng, 3, 3, most=5)
    feature, token = places(rng, 2, 3)
    came, normed, added = (matrix[feature, token] for matrix in (stream, x, out))
    return Exercise(
        "output.residual",
        seed,
        Number(came + added),
        (
            Miss("normed_stream", normed + added),
            Miss("change_alone", added),
            Miss("taken_away", came - added),
            Miss("cell_turned", stream[token, feature] + out[token, feature]),
        ),
        (
            Part("X_in", stream, ("feature", "token")),
            Part("X", x, ("feature", "token")),
            Part("O", out, ("feature", "token")),
        ),
        values={"feature": feature, "token": token},
    )


def share(rng: Rng, seed: int) -> Exercise:
    """A head's share of O, in one number."""
    first, second = whole(rng, 2), whole(rng, 2)
    out = first + second
    norm = float(out @ out) or 1.0
    return Exercise(
        "output.share",
        seed,
        Number(float(first @ out) / norm, TWO_DECIMALS),
        (
            Miss("not_by_norm", float(first @ out)),
            Miss("the_others_share", float(second @ out) / norm),
            Miss("length_alone", float(first @ first) / norm),
        ),
        tuple(
            Part(f"c_{k}", column[:, None].copy(), ("feature", "token"))
            for k, column in enumerate((first, second))
        ),
        hint={"product": sum_of_products(first, out), "norm": sum_of_products(out, out)},
    )


MAKERS = {"cell": one, "part": part, "residual": residual, "share": share}
