"""Hand-sized numbers: small whole ones, weights that are tenths or quarters, and their sums."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import Array
from mha_core.derivation import fold
from mha_core.exercises.exercise import told

Rng = np.random.Generator


def whole(rng: Rng, *shape: int, most: int = 3) -> Array:
    """Whole numbers from −most to most, as float64."""
    return rng.integers(-most, most + 1, shape).astype(np.float64)


def pick(rng: Rng, *choices: int) -> int:
    """One of a few whole numbers."""
    return int(rng.choice(choices))


def places(rng: Rng, n: int, of: int) -> list[int]:
    """Different places of an axis, in any order."""
    return [int(place) for place in rng.permutation(of)[:n]]


def shares(rng: Rng, n: int, whole_is: int) -> Array:
    """Positive whole numbers that add up: a row of weights, in tenths or quarters."""
    cuts = np.sort(rng.permutation(whole_is - 1)[: n - 1] + 1)
    return np.diff(np.concatenate([[0], cuts, [whole_is]])).astype(np.float64)


def causal_pattern(rng: Rng, n_tokens: int) -> Array:
    """[query, key]: rows of tenths that add up to 1, nothing after the query."""
    pattern = np.zeros((n_tokens, n_tokens))
    for query in range(n_tokens):
        pattern[query, : query + 1] = shares(rng, query + 1, 10) / 10
    return pattern


def has_one_maximum(values: Array) -> bool:
    """Whether no two numbers are the largest."""
    return int((values == values.max()).sum()) == 1


def tensor(array: Array) -> Tensor:
    """The same numbers for the core's functions."""
    return torch.tensor(array, dtype=torch.float64)


def array(values: Tensor) -> Array:
    """The same numbers for the exercise, rid of rounding."""
    return np.round(values.numpy(), 9) + 0.0


def sum_of_products(left: Array, right: Array) -> str:
    """Both factors of every product, in their order: what a sum is before it is worked out.

    >>> sum_of_products(np.array([2.0, 0.5]), np.array([-1.0, 4.0]))
    '2 × (−1) + 0.5 × 4'
    """
    folded = fold(left, right, float(left @ right), shown=len(left))
    terms = sorted(folded.terms, key=lambda term: term.index)
    return " + ".join(f"{_factor(term.left)} × {_factor(term.right)}" for term in terms)


def _factor(value: float) -> str:
    """A factor, a negative one in brackets."""
    return f"({told(value)})" if value < 0 else told(value)


def vector(values: Array) -> str:
    """A few numbers in a row.

    >>> vector(np.array([1.0, -2.0]))
    '(1, −2)'
    """
    return f"({', '.join(told(float(value)) for value in values)})"


def shape(*lengths: int) -> str:
    """A shape as the pages print it.

    >>> shape(4, 3)
    '[4, 3]'
    """
    return f"[{', '.join(map(str, lengths))}]"
