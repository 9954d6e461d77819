"""Patterns made easier to read, honestly: tokens hidden, pieces merged, heads compared.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
        groups: places, each in one group, in order.

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


def divergences(patterns: Array) -> Array:
    """How far heads are apart, pair by pair: 0 alike, 1 never on the same key.

    Args:
        patterns: [head, query, key], rows that sum to 1.

    Returns:
        [head, head], the Jensen-Shannon divergence in bits, averaged over queries.

    Source: Clark et al. 2019, section 6.

    >>> divergences(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    array([[0., 1.],
           [1., 0.]])
    """
    n_heads = len(patterns)
    apart = np.zeros((n_heads, n_heads))
    each = _bits(patterns)
    for head in range(n_heads - 1):
        middle = (patterns[head] + patterns[head + 1 :]) / 2
        between = _bits(middle) - (each[head] + each[head + 1 :]) / 2
        apart[head, head + 1 :] = apart[head + 1 :, head] = np.maximum(between.mean(axis=-1), 0)
    return apart


def _bits(pattern: Array) -> Array:
    """The entropy of each row in bits."""
    safe = np.where(pattern > 0, pattern, 1.0)
    rows: Array = -(pattern * np.log2(safe)).sum(axis=-1)
    return rows
