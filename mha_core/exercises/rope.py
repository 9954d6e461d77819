"""The RoPE page's exercises: turned by quarter turns, which keep whole numbers whole."""

from __future__ import annotations

from math import pi

import numpy as np

from mha_core.arrays import Array
from mha_core.exercises.exercise import Cell, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, array, pick, places, tensor, vector, whole
from mha_core.rope import Rope, half_from_interleaved, rotate

QUARTER = Rope(frequencies=(pi / 2,))
QUARTER_AND_HALF = (pi / 2, pi)


def turned(column: Array, position: int, rope: Rope = QUARTER) -> Array:
    """A token's features, [feature], turned as at a position."""
    (column,) = array(rotate(tensor(column[None]), rope, tensor(np.array([position]))))
    return column


def partner(rng: Rng, seed: int) -> Exercise:
    """Which feature makes a pair with another, by halves."""
    d_head = pick(rng, 6, 8, 10, 12, 16)
    feature = int(rng.integers(0, d_head))
    order = half_from_interleaved(d_head)  # a feature by halves → its place among neighbours
    right = order.index(order[feature] ^ 1)
    return Exercise(
        "rope.partner",
        seed,
        Number(right),
        (
            Miss("neighbour", feature ^ 1),
            Miss("mirrored", d_head - 1 - feature),
            Miss("in_between", order[feature]),
        ),
        values={"d_head": d_head, "feature": feature},
        hint={"half": f"{d_head} ÷ 2"},
    )


def turn(rng: Rng, seed: int) -> Exercise:
    """Two pairs of one query, turned."""
    q, position = whole(rng, 4), pick(rng, 1, 2, 3)
    by_halves = Rope(frequencies=QUARTER_AND_HALF)
    neighbours = Rope(frequencies=QUARTER_AND_HALF, pairing="interleaved")
    ways = {
        "other_way": turned(q, -position, by_halves),
        "neighbours_turned": turned(q, position, neighbours),
        "one_too_far": turned(q, position + 1, by_halves),
        "one_angle": turned(q, position, Rope(frequencies=(pi / 2, pi / 2))),
    }
    return Exercise(
        "rope.turn",
        seed,
        Matrix(_column("q̃", turned(q, position, by_halves), position)),
        tuple(Miss(name, value[:, None]) for name, value in ways.items()),
        (_column("q", q, position),),
        values={"position": position},
        hint={"first": 90 * position, "second": 180 * position},
    )


def _column(symbol: str, values: Array, position: int) -> Part:
    """One token's features as a column."""
    return Part(
        symbol, values[:, None].copy(), ("feature_of_head", "token"), columns=(str(position),)
    )


def score(rng: Rng, seed: int) -> Exercise:
    """The product of a query and a key, both turned."""
    q, k = whole(rng, 2), whole(rng, 2)
    m, n = (int(place) for place in rng.integers(0, 6, 2))
    q_rot, k_rot = turned(q, m), turned(k, n)
    # How far the key lags behind the query, in quarter turns, for each mistake: with two equal
    # lags two mistakes are one.
    lags = {"not_turned": 0, "queries_only": m % 4, "turned_apart": (n - m) % 4}
    products = {
        "not_turned": float(q @ k),
        "queries_only": float(q_rot @ k),
        "turned_apart": float(turned(q, -m) @ turned(k, -n)),
    }
    seen = [(m - n) % 4]
    misses = []
    for name, lag in lags.items():
        if lag not in seen:
            seen.append(lag)
            misses.append(Miss(name, products[name]))
    return Exercise(
        "rope.score",
        seed,
        Number(float(q_rot @ k_rot)),
        tuple(misses),
        (_column("q", q, m), _column("k", k, n)),
        values={"query": m, "key": n},
        hint={"q": vector(q_rot), "k": vector(k_rot)},
    )


def same(rng: Rng, seed: int) -> Exercise:
    """Which cell of another row has the same score, as the distance is the same."""
    # No two of the four angles may give the same score.
    q, k = whole(rng, 2), whole(rng, 2)
    while len({abs(float(q @ k)), abs(float(q[0] * k[1] - q[1] * k[0])), 0.0}) < 3:
        q, k = whole(rng, 2), whole(rng, 2)
    scores = _all_positions(q) @ _all_positions(k).T + 0.0
    row, query = places(rng, 2, 4)
    key = int(rng.integers(max(0, query - row), min(4, 4 + query - row)))
    ways = {"distance_mirrored": row + query - key, "same_key": key}
    return Exercise(
        "rope.same",
        seed,
        Cell((0, row, row - query + key)),
        tuple(
            Miss(name, (0, row, at)) for name, at in ways.items() if 0 <= at < 4 and key != query
        ),
        (Part("QᵀK", scores, ("query", "key")),),
        values={"query": query, "key": key, "row": row},
        hint={"distance": f"{query} − {key}"},
    )


def _all_positions(column: Array) -> Array:
    """[position, feature]: the same features at positions 0 to 3."""
    return array(rotate(tensor(np.tile(column, (4, 1))), QUARTER))


MAKERS = {"partner": partner, "turn": turn, "score": score, "same": same}
