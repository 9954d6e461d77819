"""What is explained before the reader has picked anything: chosen from the numbers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array


def clearest_look(pattern: Array, skip: Collection[int] = ()) -> tuple[int, int]:
    """The query and key that show best what a head does.

    A look is clear when it takes more than half of a query's attention. The strongest clear look
    beyond a neighbour comes first, then one at a neighbour, at the query itself, at the first
    token; where none is clear, the strongest at another token.

    Args:
        pattern: [query, key].
        skip: tokens that are only parts of words, taken only where nothing else is there.

    >>> clearest_look(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0.5, 0.3, 0.2]]))
    (2, 1)
    >>> pattern = np.array([[1, 0, 0, 0], [0.2, 0.8, 0, 0], [0.1, 0.7, 0.2, 0], [0, 0.3, 0.6, 0.1]])
    >>> clearest_look(pattern), clearest_look(pattern, skip=(1,))
    ((2, 1), (3, 2))
    >>> clearest_look(np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0.9, 0.1, 0], [0, 0.6, 0, 0.4]]))
    (3, 1)
    >>> clearest_look(np.array([[1.0, 0, 0], [0.4, 0.6, 0], [0.1, 0.1, 0.8]]))
    (2, 2)
    >>> clearest_look(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0.8, 0.1, 0.1]]))
    (2, 0)
    """
    whole = [query for query in range(len(pattern)) if query not in skip]
    queries = np.array(whole or range(len(pattern)))
    return _clearest(pattern[queries], queries, skip)


def clearest_key(pattern: Array, query: int, skip: Collection[int] = ()) -> int:
    """The key that shows best what a query looks at, by the same rules.

    Args:
        pattern: [query, key].
        query: which one.
        skip: tokens that are only parts of words.

    >>> clearest_key(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0.5, 0.3, 0.2]]), 2)
    1
    >>> clearest_key(np.array([[1.0, 0, 0], [0.4, 0.6, 0], [0.8, 0.1, 0.1]]), 2)
    0
    """
    return _clearest(pattern[query : query + 1], np.array([query]), skip)[1]


def _clearest(pattern: Array, queries: NDArray[np.int64], skip: Collection[int]) -> tuple[int, int]:
    """The query and the key of the clearest look in some queries' rows."""
    keys = np.arange(pattern.shape[1])
    whole = pattern * ~np.isin(keys, list(skip))
    pattern = whole if whole.any() else pattern
    distances, others = np.abs(queries[:, None] - keys), keys > 0
    many = (queries > 1)[:, None]  # among one or two keys every look is large
    away = np.where(others & (distances > 0), pattern, 0.0)
    for allowed in (others & (distances > 1), others & (distances > 0), others & many, many):
        looks = np.where(allowed, pattern, 0.0)
        if looks.max() > 0.5:
            break
    else:
        looks = away if away.any() else pattern
    row, key = np.unravel_index(int(looks.argmax()), looks.shape)
    return int(queries[row]), int(key)


def largest_row(matrix: Array, column: int, rows: slice = slice(None)) -> int:
    """The row of a column's largest number by size, among some rows.

    >>> matrix = np.array([[9.0, 1.0], [2.0, -3.0], [0.0, 0.5]])
    >>> largest_row(matrix, 1), largest_row(matrix, 1, slice(2, 3))
    (1, 2)
    """
    start = rows.start or 0
    return start + int(np.abs(matrix[rows, column]).argmax())
