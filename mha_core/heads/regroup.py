"""Patterns made easier to read, honestly: tokens hidden, pieces merged, heads compared.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from mha_core.arrays import Array
from mha_core.heads.measures import Seen, entropy, total_variation


def hide_tokens(pattern: Array, hidden: Sequence[int]) -> Array:
    """Leave tokens out as queries and as keys, and scale what remains of each row back to 1.

    Args:
        pattern: [..., query, key].
        hidden: the places left out.

    Returns:
        [..., query left, key left]; a row that looked only at hidden keys is zeros.

    >>> hide_tokens(np.array([[1.0, 0, 0], [0.6, 0.4, 0], [0.5, 0.1, 0.4]]), [0]).round(2)
    array([[1. , 0. ],
           [0.2, 0.8]])
    """
    left = np.setdiff1d(np.arange(pattern.shape[-1]), np.asarray(hidden, dtype=int))
    rest = pattern[..., left[:, None], left]
    total = rest.sum(axis=-1, keepdims=True)
    scaled: Array = np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
    return scaled


def merge_tokens(pattern: Array, groups: Sequence[Sequence[int]]) -> Array:
    """Make one token of each group: weights of looking at its parts are added, of looking from
    them averaged, so that rows still sum to 1.

    Args:
        pattern: [..., query, key].
        groups: places, each in one group at most, in order; those in none are left out.

    Returns:
        [..., group, group].

    Source: Clark et al. 2019, section 4.1.

    >>> merge_tokens(np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.2, 0.6]]), [[0], [1, 2]])
    array([[1.  , 0.  ],
           [0.35, 0.65]])
    """
    joined = np.zeros((len(groups), pattern.shape[-1]))
    for place, group in enumerate(groups):
        joined[place, list(group)] = 1
    parts = joined.sum(axis=-1, keepdims=True)
    merged: Array = (joined / parts) @ pattern @ joined.T
    return merged


def divergences(patterns: Array, keep: Array) -> Array:
    """How far heads are apart, pair by pair: 0 alike, 1 never on the same key.

    Args:
        patterns: [head, query, key], rows that sum to 1.
        keep: bool [query, key], True where a query may look; rows that see fewer than two keys do
            not count, for there all heads are alike.

    Returns:
        [head, head], the Jensen-Shannon divergence in bits, averaged over the rows that count;
        NaN between two heads where none does.

    Source: Clark et al. 2019, section 6.

    >>> divergences(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.ones((1, 2), dtype=bool))
    array([[0., 1.],
           [1., 0.]])
    """
    n_heads, counted = len(patterns), Seen(keep).has_choice
    apart = np.zeros((n_heads, n_heads))
    if not counted.any():
        return np.where(np.eye(n_heads, dtype=bool), apart, np.nan)
    rows = patterns[:, counted]
    each = entropy(rows)
    for head in range(n_heads - 1):
        middle = (rows[head] + rows[head + 1 :]) / 2
        nats = entropy(middle) - (each[head] + each[head + 1 :]) / 2
        bits = np.maximum(nats.mean(axis=-1), 0) / np.log(2)
        apart[head, head + 1 :] = apart[head + 1 :, head] = bits
    return apart


def divergences_from(pattern: Array, patterns: Array, keep: Array) -> Array:
    """How far one head is from each of many: a row of what `divergences` gives for all of them.

    Args:
        pattern: [query, key], rows that sum to 1.
        patterns: [head, query, key].
        keep: as in `divergences`.

    Returns:
        [head], in bits; NaN where no row counts.

    >>> one = np.array([[1.0, 0.0]])
    >>> divergences_from(one, np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.ones((1, 2), dtype=bool))
    array([0., 1.])
    """
    counted = Seen(keep).has_choice
    if not counted.any():
        return np.full(len(patterns), np.nan)
    one, rows = pattern[counted], patterns[:, counted]
    nats = entropy((one + rows) / 2) - (entropy(one) + entropy(rows)) / 2
    bits: Array = np.maximum(nats.mean(axis=-1), 0) / np.log(2)
    return bits


def moved(first: Array, second: Array, keep: Array) -> float:
    """How much of a row's weight lies elsewhere in the other pattern: 0 alike, 1 disjoint.

    Args:
        first, second: [query, key], rows that sum to 1.
        keep: bool [query, key]; rows that see fewer than two keys do not count.

    Returns:
        The mean over the rows that count; NaN where none does.
    """
    counted = Seen(keep).has_choice
    if not counted.any():
        return float("nan")
    return float(total_variation(first, second)[counted].mean())


def heads_apart(pattern: Array, keep: Array) -> float:
    """How far apart two heads of a layer are on average, as `moved` counts it.

    Args:
        pattern: [head, query, key], at least two heads.
        keep: bool [query, key].

    >>> heads_apart(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.ones((1, 2), dtype=bool))
    1.0
    """
    pairs = combinations(pattern, 2)
    return float(np.mean([moved(one, two, keep) for one, two in pairs]))
