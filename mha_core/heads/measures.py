"""What a head does, as numbers: one name and one definition for each, wherever it is shown.

A *measure* gives a number for each row of a pattern, NaN for rows that do not count; a score is
the mean over the rows that do. Which rows count is part of the definition and has a name, so that
it can be printed beside the number. Scores count `<bos>` and the token itself among the keys.
Chance is the same measure of a head that looks at every key it may see alike, so it follows from
the mask and the length. Attention shows where a head looks, not why the model decides.

No row needs another row: the rows of a long text can be measured a stretch at a time, and the
`Tally`s add up to the same score. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mha_core.arrays import Array
from mha_core.brief import brief

Unit = Literal["nats", "keys", "tokens", "share"]

# Which rows count, by name: those that see at least two keys, and of these the ones that
Counted = Literal[
    "choice",  # (all of them)
    "previous",  # may see the token before them
    "next",  # may see the token after them
    "third",  # may see token 0, from the third on
    "punctuation",  # may see punctuation
    "repeated",  # may see an earlier token equal to theirs
    "followed",  # may see what followed an earlier token equal to theirs
]


@dataclass(frozen=True, eq=False)
class Seen:
    """What the rows of a pattern were made from.

    Attributes:
        keep: bool [query, key], True where a query may look.
        ids: [key], the token numbers; equal numbers are equal tokens. Without them nothing is
            known to be said twice.
        punctuation: bool [key], True for punctuation; none if None.
        start: the place of the first query among the keys, in tokens.
    """

    keep: Array
    ids: Array | None = None
    punctuation: Array | None = None
    start: int = 0

    __repr__ = brief

    @property
    def uniform(self) -> Array:
        """The pattern [query, key] of a head that looks at every key it may see alike."""
        visible = self.keep.sum(axis=-1, keepdims=True)
        even: Array = self.keep / np.maximum(visible, 1)
        return even

    @property
    def has_choice(self) -> Array:
        """Whether a row sees at least two keys, bool [query]: elsewhere all heads are alike."""
        several: Array = self.keep.sum(axis=-1) >= 2
        return several

    @property
    def queries(self) -> Array:
        """The queries' places among the keys, [query]."""
        return self.start + np.arange(self.keep.shape[-2])

    @property
    def ahead(self) -> Array:
        """How many places after the query the key stands, [query, key]; negative before it."""
        return np.arange(self.keep.shape[-1]) - self.queries[:, None]

    def between(self, first: int, stop: int) -> Seen:
        """The same for the rows `first` to `stop` − 1 alone."""
        return Seen(self.keep[first:stop], self.ids, self.punctuation, self.start + first)


def entropy(pattern: Array) -> Array:
    """The entropy of each row of a pattern, in nats: 0 is one key, ln n is n keys alike.

    Args:
        pattern: [..., query, key], rows that sum to 1; 0 ln 0 counts as 0.

    Source: Shannon 1948, section 6.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    safe = np.where(pattern > 0, pattern, 1.0)
    rows: Array = np.abs(-(pattern * np.log(safe)).sum(axis=-1))
    return rows


def total_variation(first: Array, second: Array) -> Array:
    """How much of each row's weight lies elsewhere in the other: 0 alike, 1 disjoint.

    Args:
        first, second: [..., key], rows that sum to 1.

    >>> float(total_variation(np.array([0.5, 0.5]), np.array([0.0, 1.0])))
    0.5
    """
    moved: Array = np.abs(second - first).sum(axis=-1) / 2
    return moved


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


def duplicate_cells(seen: Seen) -> Array:
    """The cells where an earlier token equals the query's.

    >>> duplicate_cells(Seen(np.tri(3, dtype=bool), np.array([7, 8, 7]))).astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [1, 0, 0]])
    """
    if seen.ids is None:
        return np.zeros_like(seen.keep)
    same = seen.ids[seen.queries, None] == seen.ids
    cells: Array = same & (seen.ahead < 0) & seen.keep
    return cells


def induction_cells(seen: Seen) -> Array:
    """The cells where the key's predecessor, before the query, equals the query's token.

    The key is what followed the last time (prefix matching, Olsson et al. 2022); after a token
    said twice in a row that is the query itself, as in TransformerLens. On `<bos>` + s + s with
    the L words of s all different it is the key L − 1 places back.

    >>> induction_cells(Seen(np.tri(3, dtype=bool), np.array([7, 8, 7]))).astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [0, 1, 0]])
    """
    cells = np.zeros_like(seen.keep)
    if seen.ids is not None:
        same = seen.ids[seen.queries, None] == seen.ids[:-1]
        cells[:, 1:] = same & (seen.ahead[:, 1:] <= 0) & seen.keep[:, 1:]
    return cells


@dataclass(frozen=True, eq=False)
class Tally:
    """Rows measured so far; the tallies of two stretches of a text add up to that of both.

    Attributes:
        total: [...], the sum over the rows that count.
        count: [...], how many count.
    """

    total: Array
    count: Array

    __repr__ = brief

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.total + other.total, self.count + other.count)

    @property
    def mean(self) -> Array:
        """The score, [...]; NaN where no row counts."""
        nothing = np.full(np.shape(self.total), np.nan)
        mean: Array = np.divide(self.total, self.count, out=nothing, where=self.count > 0)
        return mean


@dataclass(frozen=True)
class Measure:
    """One number about a head.

    Attributes:
        name: stable ASCII name.
        unit: nats, keys, tokens, or share (0 to 1).
        counted: which rows count, by name.
        formula: LaTeX; A is the pattern, i a query, j a key, n_i how many keys i may see.
        source: who measures so.
        of_rows: pattern [..., query, key] and what it was made from, to [..., query].
    """

    name: str
    unit: Unit
    counted: Counted
    formula: str
    source: str
    of_rows: Callable[[Array, Seen], Array]

    def rows(self, pattern: Array, seen: Seen) -> Array:
        """Each row's number, [..., query], NaN where the row does not count."""
        exact = np.asarray(pattern, dtype=np.result_type(pattern, np.float32))
        values: Array = np.where(seen.has_choice, self.of_rows(exact, seen), np.nan)
        return values

    def tally(self, pattern: Array, seen: Seen, only: Array | None = None) -> Tally:
        """The sum and number of the rows that count.

        Args:
            pattern: [..., query, key].
            seen: what it was made from.
            only: bool [query], leaves all other rows out.
        """
        values = self.rows(pattern, seen)
        counted = np.isfinite(values) if only is None else np.isfinite(values) & only
        total = np.where(counted, values, 0.0).sum(axis=-1, dtype=np.float64)
        return Tally(total, counted.sum(axis=-1))

    def score(self, pattern: Array, seen: Seen, only: Array | None = None) -> Array:
        """The mean over the rows that count, [...]; NaN where none does. See `tally`."""
        return self.tally(pattern, seen, only).mean

    def chance(self, seen: Seen, only: Array | None = None) -> float:
        """The score of a head that looks at every visible key alike."""
        return float(self.score(seen.uniform, seen, only))


def _entropy_share(pattern: Array, seen: Seen) -> Array:
    """Entropy over its largest possible value."""
    visible = np.maximum(seen.keep.sum(axis=-1), 2)
    share: Array = entropy(pattern) / np.log(visible)
    return share


def _distance(pattern: Array, seen: Seen) -> Array:
    """Mean distance between query and key."""
    far: Array = (pattern * np.abs(seen.ahead)).sum(axis=-1)
    return far


def _at(offset: int) -> Callable[[Array, Seen], Array]:
    """Weight on the key a fixed number of places away, where the mask lets it be seen."""
    return lambda pattern, seen: mass(pattern, (seen.ahead == offset) & seen.keep)


def _first(pattern: Array, seen: Seen) -> Array:
    """Weight on token 0, for queries from the third on."""
    rows: Array = np.where(seen.keep[:, 0] & (seen.queries >= 2), pattern[..., 0], np.nan)
    return rows


def _punctuation(pattern: Array, seen: Seen) -> Array:
    """Weight on punctuation, where any can be seen."""
    return mass(pattern, seen.keep & (False if seen.punctuation is None else seen.punctuation))


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("entropy", "nats", "choice", r"-\sum_j A_{ij}\ln A_{ij}", "Shannon 1948",
                lambda pattern, seen: entropy(pattern)),
        Measure("entropy_share", "share", "choice", r"H_i/\ln n_i", "", _entropy_share),
        Measure("effective_keys", "keys", "choice", r"e^{H_i}", "Hill 1973",
                lambda pattern, seen: np.exp(entropy(pattern))),
        Measure("confidence", "share", "choice", r"\max_j A_{ij}", "Voita et al. 2019",
                lambda pattern, seen: pattern.max(axis=-1)),
        Measure("distance", "tokens", "choice", r"\sum_j A_{ij}\,|i-j|",
                "Vig and Belinkov 2019, eq. 3", _distance),
        Measure("previous", "share", "previous", r"A_{i,i-1}", "Clark et al. 2019", _at(-1)),
        Measure("current", "share", "choice", r"A_{i,i}", "Clark et al. 2019",
                lambda pattern, seen: mass(pattern, seen.ahead == 0)),
        Measure("next", "share", "next", r"A_{i,i+1}", "Clark et al. 2019", _at(1)),
        Measure("first", "share", "third", r"A_{i,0},\ i\ge 2", "Xiao et al. 2023", _first),
        Measure("punctuation", "share", "punctuation", r"\sum_{j\in P} A_{ij}",
                "Clark et al. 2019", _punctuation),
        Measure("duplicate", "share", "repeated", r"\sum_{j<i,\,t_j=t_i} A_{ij}",
                "Wang et al. 2022",
                lambda pattern, seen: mass(pattern, duplicate_cells(seen))),
        Measure("induction", "share", "followed", r"\sum_{j\le i,\,t_{j-1}=t_i} A_{ij}",
                "Olsson et al. 2022",
                lambda pattern, seen: mass(pattern, induction_cells(seen))),
    )
}  # fmt: skip


def mean_entropy(pattern: Array, keep: Array) -> Array:
    """The measure "entropy" of patterns [..., query, key] under a mask [query, key], in nats."""
    return MEASURES["entropy"].score(pattern, Seen(keep))


def mass_on(rows: Array, targets: ArrayLike) -> Array:
    """The attention on each row's gold target.

    Args:
        rows: [row, ..., key], one query's attention each.
        targets: [row], the key each should look at.

    Returns:
        [row, ...]; its mean is the head's relation score.
    """
    places = np.asarray(targets)
    return np.asarray(rows[np.arange(len(places)), ..., places])


def hits(rows: Array, targets: ArrayLike, queries: ArrayLike) -> Array:
    """Whether each row's largest key is its target, the first token and the query left out.

    Args:
        rows: [row, ..., key].
        targets: [row].
        queries: [row], each row's own place.

    Returns:
        bool [row, ...].
    """
    seen = np.array(rows, dtype=np.float64)
    seen[..., 0] = -1
    for number, query in enumerate(np.asarray(queries)):
        seen[number, ..., query] = -1
    places = np.asarray(targets).reshape(-1, *(1,) * (seen.ndim - 2))
    return np.asarray(seen.argmax(-1) == places)
