"""The exercises on why there are several heads: what they cost, and what one head loses."""

from __future__ import annotations

import numpy as np

from mha_core.arrays import Array
from mha_core.config import AttentionConfig
from mha_core.exercises.exercise import Cell, Choice, Exercise, Miss, Number, Part
from mha_core.exercises.tiny import Rng, has_one_maximum, pick, places, shares, vector, whole
from mha_core.weights import weight_shapes


def parameters(rng: Rng, seed: int) -> Exercise:
    """How many learned numbers a layer has."""
    h_kv, d_head = pick(rng, 1, 2), pick(rng, 2, 3, 4)
    h = h_kv * pick(rng, 1, 2, 3)
    d = h * d_head
    config = AttentionConfig(d_model=d, n_heads=h, n_kv_heads=h_kv)
    sizes = {name: int(np.prod(lengths)) for name, lengths in weight_shapes(config).items()}
    right = sum(sizes[name] for name in ("w_q", "w_k", "w_v", "w_o"))
    wrong = {
        "output_forgotten": right - sizes["w_o"],
        "matrices_a_head": h * 4 * d * d,
        "all_of_one_head": 4 * d * d_head,
    }
    if h_kv < h:
        wrong["keys_for_all"] = 4 * d * d
    return Exercise(
        "why_heads.parameters",
        seed,
        Number(right),
        tuple(Miss(name, value) for name, value in wrong.items()),
        values={"d": d, "h": h, "h_kv": h_kv, "d_head": d_head},
        hint={"q": f"{h * d_head} × {d}", "kv": f"{h_kv * d_head} × {d}"},
    )


def products(rng: Rng, seed: int) -> Exercise:
    """How many multiplications all scores take."""
    h, d_head, n = pick(rng, 2, 3, 4), pick(rng, 2, 4, 8), pick(rng, 5, 6, 10)
    d = h * d_head
    return Exercise(
        "why_heads.products",
        seed,
        Number(h * n * n * d_head),
        (
            Miss("one_heads_products", n * n * d_head),
            Miss("full_width_each", h * n * n * d),
            Miss("projections_products", n * d * d),
            Miss("numbers_not_products", h * n * n),
        ),
        values={"d": d, "h": h, "n": n},
        hint={"d_head": f"{d} ÷ {h}", "square": f"{n} × {n}"},
    )


def lost(rng: Rng, seed: int) -> Exercise:
    """What a head that splits its weight cannot give back."""
    blend, apart, off = whole(rng, 2), whole(rng, 2), whole(rng, 2)
    pairs = {
        "fits_equal": (blend, blend),
        "fits_apart": (blend + apart, blend - apart),
        "": (blend + off, blend - off + np.array([1.0, -1.0]) * pick(rng, 1, 2)),
    }
    options = {name: f"{vector(one)}, {vector(two)}" for name, (one, two) in pairs.items()}
    texts = list(options.values())
    return Exercise(
        "why_heads.lost",
        seed,
        Choice(options[""], tuple(texts[place] for place in rng.permutation(3))),
        tuple(Miss(name, text) for name, text in options.items() if name),
        values={"blend": vector(blend)},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """Which head looks hardest from one token to another."""
    query, key = places(rng, 2, 3)
    patterns = np.stack([_pattern(rng) for _ in range(3)])
    while not has_one_maximum(patterns[:, query, key]):
        patterns = np.stack([_pattern(rng) for _ in range(3)])
    head = int(patterns[:, query, key].argmax())
    back = int(patterns[:, key, query].argmax())
    largest = np.unravel_index(int(patterns.argmax()), patterns.shape)
    return Exercise(
        "why_heads.point",
        seed,
        Cell((head, query, key)),
        (
            Miss("looks_back", (back, key, query)),
            Miss("hardest_of_all", (int(largest[0]), int(largest[1]), int(largest[2]))),
        ),
        (Part("A", patterns, ("query", "key")),),
        values={"query": query, "key": key},
    )


def _pattern(rng: Rng) -> Array:
    """[query, key]: rows of tenths without a mask."""
    return np.stack([shares(rng, 3, 10) for _ in range(3)]) / 10


MAKERS = {"parameters": parameters, "products": products, "lost": lost, "point": point}
