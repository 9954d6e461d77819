"""What is explained before the reader has picked anything: chosen from the numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def strongest_look(pattern: Array) -> tuple[int, int]:
    """The query and key of a head's strongest look away from the first token and from itself.

    Args:
        pattern: [query, key].

    >>> strongest_look(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0.5, 0.3, 0.2]]))
    (2, 1)
    """
    away = np.array(pattern)
    np.fill_diagonal(away, 0.0)
    if away[:, 1:].any():
        away[:, 0] = 0.0
    query, key = np.unravel_index(int(away.argmax()), away.shape)
    return int(query), int(key)


def largest_cell(matrix: Array) -> tuple[int, int]:
    """Row and column of a matrix's largest number by size, the first token left out.

    The first token's numbers are often far larger than all others, and seldom what is asked.

    >>> largest_cell(np.array([[9.0, 1.0, -2.0]])), largest_cell(np.array([[1.0], [-3.0]]))
    ((0, 2), (1, 0))
    """
    first = 1 if matrix.shape[1] > 1 else 0
    rest = np.abs(matrix[:, first:])
    row, column = np.unravel_index(int(rest.argmax()), rest.shape)
    return int(row), int(column) + first
