"""What a head does, as numbers: from an attention pattern to a score, and what chance gives.

A *measure* takes a pattern and the sentence it was made from and gives a number a row, NaN for
rows that do not count; a score is the mean over the rows that do. Chance is the same measure of a
head that looks at every key it may see alike, so it follows from the mask and the length.
Needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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


def offset_score(pattern: Array, offset: int, start: int = 0) -> Array:
    """Mean weight on the key `offset` places after the query, over queries from `start` on.

    Args:
        pattern: [..., query, key].
        offset: negative looks back.
        start: the first query that counts.

    Returns:
        [...]; NaN where no query has such a key.

    >>> float(offset_score(np.tril(np.ones((4, 4))) / [[1], [2], [3], [4]], -1, start=2))
    0.29166666666666663
    """
    rows = mass(pattern, offset_cells(pattern.shape[-1], offset))[..., start:]
    kept = rows[..., np.isfinite(rows).all(axis=tuple(range(rows.ndim - 1)))]
    if not kept.shape[-1]:
        return np.full(pattern.shape[:-2], np.nan)
    mean: Array = kept.mean(axis=-1)
    return mean


def repeat_scores(pattern: Array, length: int) -> dict[str, Array]:
    """Scores on `<bos>` + s + s, over the queries of the second s.

    Previous looks one back, duplicate at the same word of the first s (length back), induction at
    the word after it (length - 1 back): the standard offsets, whatever words were drawn.

    Args:
        pattern: [..., query, key] of 1 + 2 · length tokens.
        length: words in s.

    Source: Olsson et al. 2022, "prefix matching"; Elhage et al. 2021.
    """
    start = 1 + length
    return {
        "previous": offset_score(pattern, -1, start),
        "duplicate": offset_score(pattern, -length, start),
        "induction": offset_score(pattern, 1 - length, start),
    }


@dataclass(frozen=True)
class RelationChance:
    """What the simple explanations of a relation reach, each a share of the cases.

    Attributes:
        offset: the distance query - target that is right most often.
        fixed: how often it is right.
        nearest: how often the nearest candidate is right; NaN without candidates.
        uniform: the weight an even look at every visible key puts on the target.
    """

    offset: int
    fixed: float
    nearest: float
    uniform: float


def relation_chance(
    queries: Sequence[int], targets: Sequence[int], candidates: Sequence[Sequence[int]] = ()
) -> RelationChance:
    """Say how far one gets on a relation without knowing the language, under a causal mask.

    Args:
        queries: the query of each case, a token's place with `<bos>` counted.
        targets: the place each should look at.
        candidates: the places that could be the target, of each case.

    >>> chance = relation_chance([5, 6, 9], [3, 4, 4], [(1, 3), (4, 6), (4, 7)])
    >>> chance.offset, round(chance.fixed, 2), round(chance.nearest, 2), round(chance.uniform, 2)
    (2, 0.67, 0.33, 0.14)
    """
    back = np.asarray(queries) - np.asarray(targets)
    distances, counts = np.unique(back, return_counts=True)
    best = int(counts.argmax())
    hits = [
        max(place for place in places if place <= query) == target
        for query, target, places in zip(queries, targets, candidates, strict=False)
        if any(place <= query for place in places)
    ]
    return RelationChance(
        offset=int(distances[best]),
        fixed=float(counts[best] / len(back)),
        nearest=float(np.mean(hits)) if hits else float("nan"),
        uniform=float(np.mean(1 / (np.asarray(queries) + 1))),
    )


def target_mass(pattern: Array, queries: Sequence[int], targets: Sequence[int]) -> Array:
    """The weight on each case's target.

    Args:
        pattern: [..., query, key] of one sentence.
        queries, targets: a place a case.

    Returns:
        [..., case].
    """
    picked: Array = pattern[..., list(queries), list(targets)]
    return picked


def target_hits(pattern: Array, queries: Sequence[int], targets: Sequence[int]) -> Array:
    """Whether each case's query looks most at its target, bool [..., case]."""
    hits: Array = pattern[..., list(queries), :].argmax(axis=-1) == np.asarray(targets)
    return hits


def bootstrap(
    values: Array, *, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> tuple[Array, Array]:
    """An interval for the mean of independent sentences, by drawing them anew.

    Args:
        values: [sentence, ...], one number a sentence; NaN where a sentence does not count.
        level: how often such an interval holds the true mean.
        draws: how many times the sentences are drawn, with replacement.
        seed: the same seed gives the same interval.

    Returns:
        Lower and upper end, [...].

    Source: Efron 1979, percentile interval.

    >>> low, high = bootstrap(np.array([0.0, 1.0] * 50))
    >>> bool(0.38 < low < 0.45 < 0.55 < high < 0.62)
    True
    """
    numbers = np.asarray(values, dtype=float)
    generator = np.random.Generator(np.random.PCG64(seed))
    even = np.full(len(numbers), 1 / len(numbers))
    drawn = generator.multinomial(len(numbers), even, size=draws).astype(float)
    counted = np.isfinite(numbers)
    total = np.tensordot(drawn, np.where(counted, numbers, 0.0), axes=1)
    count = np.tensordot(drawn, counted.astype(float), axes=1)
    means = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    tail = (1 - level) / 2
    low, high = np.nanquantile(means, [tail, 1 - tail], axis=0)
    return low, high
