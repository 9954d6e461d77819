"""What a head does, as numbers: from an attention pattern to a score, and what chance gives.

A *measure* takes a pattern and the sentence it was made from and gives a number a row, NaN for
rows that do not count; a score is the mean over the rows that do. Chance is the same measure of a
head that looks at every key it may see alike, so it follows from the mask and the length. Scores
over many documents, and against gold relations, are in `metrics`. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mha_core.brief import brief

Array = NDArray[Any]
Unit = Literal["nats", "keys", "tokens", "share"]


@dataclass(frozen=True, eq=False)
class Seen:
    """What a pattern was made from.

    Attributes:
        keep: bool [query, key], True where a query may look.
        ids: [token], the token numbers; equal numbers are equal tokens.
        punctuation: bool [token], True for punctuation; none if None.
    """

    keep: Array
    ids: Array
    punctuation: Array | None = None

    __repr__ = brief

    @property
    def uniform(self) -> Array:
        """The pattern [query, key] of a head that looks at every key it may see alike."""
        visible = self.keep.sum(axis=-1, keepdims=True)
        even: Array = self.keep / np.maximum(visible, 1)
        return even


def entropy(pattern: Array) -> Array:
    """The entropy of each row of a pattern, in nats: 0 is one key, ln n is n keys alike.

    Args:
        pattern: [..., query, key], rows that sum to 1.

    Source: Shannon 1948, section 6.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    safe = np.where(pattern > 0, pattern, 1.0)
    rows: Array = np.abs(-(pattern * np.log(safe)).sum(axis=-1))
    return rows


def offset_cells(n_tokens: int, offset: int) -> Array:
    """The cells [query, key] where the key is `offset` places after the query.

    >>> offset_cells(3, -1).astype(int)
    array([[0, 0, 0],
           [1, 0, 0],
           [0, 1, 0]])
    """
    return np.eye(n_tokens, k=offset, dtype=bool)


def duplicate_cells(ids: Array) -> Array:
    """The cells where an earlier token equals the query's.

    >>> duplicate_cells(np.array([7, 8, 7])).astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [1, 0, 0]])
    """
    numbers = np.asarray(ids)
    cells: Array = np.tril(numbers[:, None] == numbers[None, :], k=-1)
    return cells


def induction_cells(ids: Array) -> Array:
    """The cells where the key's predecessor, before the query, equals the query's token.

    The key is what followed the last time (prefix matching, Olsson et al. 2022); after a token
    said twice in a row that is the query itself, as in TransformerLens.

    >>> induction_cells(np.array([7, 8, 7])).astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [0, 1, 0]])
    """
    cells = np.zeros((len(ids), len(ids)), dtype=bool)
    cells[:, 1:] = duplicate_cells(ids)[:, :-1]
    return cells


def mass(pattern: Array, cells: Array) -> Array:
    """The weight each row puts on some cells; NaN for rows that have none of them.

    Args:
        pattern: [..., query, key].
        cells: bool [query, key].

    Returns:
        [..., query], shares of 1.
    """
    put = (pattern * cells).sum(axis=-1)
    rows: Array = np.where(cells.any(axis=-1), put, np.nan)
    return rows


def detected_share(pattern: Array, cells: Array) -> Array:
    """The share of *all* weight of *all* rows that lies on some cells.

    This is TransformerLens's head detector with its measure "mul" and nothing excluded: rows that
    have no such cell, the first half of a repeat for example, count as misses. Ours is the mean
    over the rows that have one.

    Args:
        pattern: [..., query, key].
        cells: bool [query, key].

    Source: TransformerLens, head_detector.py, `compute_head_attention_similarity_score`.

    >>> previous = offset_cells(2, -1)
    >>> perfect = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> float(detected_share(perfect, previous)), float(np.nanmean(mass(perfect, previous)))
    (0.5, 1.0)
    """
    share: Array = (pattern * cells).sum(axis=(-2, -1)) / pattern.sum(axis=(-2, -1))
    return share


@dataclass(frozen=True)
class Measure:
    """One number about a head.

    Attributes:
        name: stable ASCII name.
        unit: nats, keys, tokens, or share (0 to 1).
        formula: LaTeX; A is the pattern, i a query, j a key, n_i how many keys i may see.
        source: who measures so.
        rows: pattern [..., query, key] and what it was made from, to [..., query].
    """

    name: str
    unit: Unit
    formula: str
    source: str
    rows: Callable[[Array, Seen], Array]

    def score(self, pattern: Array, seen: Seen) -> Array:
        """The mean over the rows that count, [...]; NaN where none does."""
        values = self.rows(pattern, seen)
        counted = np.isfinite(values)
        total = np.where(counted, values, 0.0).sum(axis=-1)
        mean: Array = np.divide(
            total, counted.sum(axis=-1), out=np.full(total.shape, np.nan), where=counted.any(-1)
        )
        return mean

    def chance(self, seen: Seen) -> float:
        """The score of a head that looks at every visible key alike."""
        return float(self.score(seen.uniform, seen))


def _seeing(least: int, values: Array, seen: Seen) -> Array:
    """The values of rows that see at least so many keys, NaN elsewhere."""
    rows: Array = np.where(seen.keep.sum(axis=-1) >= least, values, np.nan)
    return rows


def _entropy_share(pattern: Array, seen: Seen) -> Array:
    """Entropy over its largest possible value, where there is a choice."""
    visible = np.maximum(seen.keep.sum(axis=-1), 2)
    return _seeing(2, entropy(pattern) / np.log(visible), seen)


def _distance(pattern: Array, seen: Seen) -> Array:
    """Mean distance between query and key."""
    places = np.arange(pattern.shape[-1])
    far = np.abs(places[:, None] - places[None, :])
    return _seeing(2, (pattern * far).sum(axis=-1), seen)


def _at(offset: int) -> Callable[[Array, Seen], Array]:
    """Weight on the key a fixed number of places away, where the mask lets it be seen."""

    def rows(pattern: Array, seen: Seen) -> Array:
        return _seeing(2, mass(pattern, offset_cells(pattern.shape[-1], offset) & seen.keep), seen)

    return rows


def _first(pattern: Array, seen: Seen) -> Array:
    """Weight on token 0, for queries from the third on."""
    rows = np.where(seen.keep[:, 0], pattern[..., 0], np.nan)
    rows[..., :2] = np.nan
    return rows


def _punctuation(pattern: Array, seen: Seen) -> Array:
    """Weight on punctuation, where any can be seen."""
    marked = np.zeros(len(seen.ids), bool) if seen.punctuation is None else seen.punctuation
    return _seeing(2, mass(pattern, seen.keep & marked), seen)


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("entropy", "nats", r"-\sum_j A_{ij}\ln A_{ij}", "Shannon 1948",
                lambda pattern, seen: _seeing(2, entropy(pattern), seen)),
        Measure("entropy_share", "share", r"H_i/\ln n_i", "", _entropy_share),
        Measure("effective_keys", "keys", r"e^{H_i}", "Hill 1973",
                lambda pattern, seen: _seeing(2, np.exp(entropy(pattern)), seen)),
        Measure("confidence", "share", r"\max_j A_{ij}", "Voita et al. 2019",
                lambda pattern, seen: _seeing(2, pattern.max(axis=-1), seen)),
        Measure("distance", "tokens", r"\sum_j A_{ij}\,|i-j|", "Vig and Belinkov 2019", _distance),
        Measure("previous", "share", r"A_{i,i-1}", "Clark et al. 2019", _at(-1)),
        Measure("current", "share", r"A_{i,i}", "Clark et al. 2019", _at(0)),
        Measure("next", "share", r"A_{i,i+1}", "Clark et al. 2019", _at(1)),
        Measure("first", "share", r"A_{i,0},\ i\ge 2", "Xiao et al. 2023", _first),
        Measure("punctuation", "share", r"\sum_{j\in P} A_{ij}", "Clark et al. 2019", _punctuation),
        Measure("duplicate", "share", r"\sum_{j<i,\,t_j=t_i} A_{ij}", "Wang et al. 2022",
                lambda pattern, seen: mass(pattern, duplicate_cells(seen.ids) & seen.keep)),
        Measure("induction", "share", r"\sum_{j\le i,\,t_{j-1}=t_i} A_{ij}", "Olsson et al. 2022",
                lambda pattern, seen: mass(pattern, induction_cells(seen.ids) & seen.keep)),
    )
}  # fmt: skip
