"""The concat page's exercises: bands stacked in order, and counted."""

from __future__ import annotations

import numpy as np

from mha_core.exercises.exercise import Cell, Choice, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, array, pick, shape, tensor, whole
from mha_core.layer import join_heads


def row(rng: Rng, seed: int) -> Exercise:
    """The head that a row of Concat comes from."""
    h, d_value = pick(rng, 3, 4, 6, 8), pick(rng, 4, 5, 8, 16)
    place = int(rng.integers(d_value, h * d_value))
    return Exercise(
        "concat.row",
        seed,
        Number(place // d_value),
        (
            Miss("place_in_band", place % d_value),
            Miss("rows_dealt_out", place % h),
            Miss("heads_from_one", place // d_value + 1),
        ),
        values={"h": h, "d_value": d_value, "row": place},
        hint={"division": f"{place} ÷ {d_value}"},
    )


def stack(rng: Rng, seed: int) -> Exercise:
    """One token's column of Concat."""
    heads, token = whole(rng, 2, 2, 2, most=9), pick(rng, 0, 1)  # [head, feature, token]
    by_token = heads.transpose(0, 2, 1)  # [head, token, feature]
    right = array(join_heads(tensor(by_token)))[token]
    wrong = {
        "heads_swapped": np.concatenate(by_token[::-1, token]),
        "alternating": by_token[:, token].T.reshape(-1),
        "rows_of_heads": heads[:, token].reshape(-1),
        "not_transposed": by_token.reshape(2, 4)[token],
    }
    return Exercise(
        "concat.stack",
        seed,
        Matrix(Part("Concat", right[:, None].copy(), ("feature", "token"), (), (str(token),))),
        tuple(Miss(name, value[:, None].copy()) for name, value in wrong.items()),
        tuple(Part(f"head_{k}", heads[k], ("feature_of_head", "token")) for k in range(2)),
        values={"token": token},
    )


def shapes(rng: Rng, seed: int) -> Exercise:
    """The shape of Concat."""
    h, d_value, n = pick(rng, 2, 3, 4, 6), pick(rng, 4, 8, 16), pick(rng, 5, 7, 9)
    right = shape(h * d_value, n)
    wrong = {
        "side_by_side": shape(d_value, h * n),
        "added_up": shape(d_value, n),
        "concat_turned": shape(n, h * d_value),
    }
    options = [right, *wrong.values()]
    return Exercise(
        "concat.shape",
        seed,
        Choice(right, tuple(options[place] for place in rng.permutation(4))),
        tuple(Miss(name, value) for name, value in wrong.items()),
        values={"h": h, "d_value": d_value, "n": n},
        hint={"rows": f"{h} × {d_value}"},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """One feature of one head, in Concat."""
    head, feature, token = pick(rng, 1, 2), pick(rng, 0, 1), int(rng.integers(0, 4))
    return Exercise(
        "concat.point",
        seed,
        Cell((0, head * 2 + feature, token)),
        (
            Miss("alternating", (0, feature * 3 + head, token)),
            Miss("head_from_one", (0, (head - 1) * 2 + feature, token)),
        ),
        (Part("Concat", whole(rng, 6, 4, most=9), ("feature", "token")),),
        values={"h": 3, "d_value": 2, "head": head, "feature": feature, "token": token},
    )


MAKERS = {"row": row, "stack": stack, "shape": shapes, "point": point}
