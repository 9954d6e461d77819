"""Every measure written out row by row, as a person would count it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = dict[int, float]  # the rows that count, and their numbers


def rows_of(
    name: str,
    pattern: NDArray[Any],
    keep: NDArray[np.bool_],
    ids: list[int],
    punctuation: list[bool],
) -> Rows:
    """The rows that count and their numbers, for one pattern [query, key]."""
    found: Rows = {}
    for query in range(len(ids)):
        visible = [key for key in range(len(ids)) if keep[query, key]]
        if len(visible) < 2:
            continue  # all heads are alike there
        number = _row(name, [float(p) for p in pattern[query]], query, visible, ids, punctuation)
        if number is not None:
            found[query] = number
    return found


def _row(
    name: str, row: list[float], query: int, visible: list[int], ids: list[int], marks: list[bool]
) -> float | None:
    """One row's number, None where it does not count."""
    spread = -sum(row[key] * math.log(row[key]) for key in visible if row[key] > 0)
    plain: dict[str, Callable[[], float]] = {
        "entropy": lambda: spread,
        "entropy_share": lambda: spread / math.log(len(visible)),
        "effective_keys": lambda: math.exp(spread),
        "confidence": lambda: max(row[key] for key in visible),
        "distance": lambda: sum(row[key] * abs(query - key) for key in visible),
        "current": lambda: row[query],
    }
    if name in plain:
        return plain[name]()
    wanted: dict[str, Callable[[int], bool]] = {
        "previous": lambda key: key == query - 1,
        "next": lambda key: key == query + 1,
        "first": lambda key: key == 0 and query >= 2,
        "punctuation": lambda key: marks[key],
        "duplicate": lambda key: key < query and ids[key] == ids[query],
        "induction": lambda key: 0 < key <= query and ids[key - 1] == ids[query],
    }
    cells = [key for key in visible if wanted[name](key)]
    return sum(row[key] for key in cells) if cells else None


def score(rows: Rows) -> float:
    """The mean over the rows that count."""
    return sum(rows.values()) / len(rows) if rows else math.nan
