"""What a pattern looks like, in numbers: pure functions, pattern → number, one per head.

Every function takes `pattern` [..., query, key], rows that sum to 1 over the keys a query may
look at (a row with nothing to look at is all zeros), and gives one number for each of the leading
axes. Scores count `<bos>` and the token itself among the keys unless said otherwise. Attention
shows where a head looks, not why the model decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]
Metric = Callable[[Floats], Floats]


def _causal(n_tokens: int) -> Bools:
    """The mask [query, key] in which a query sees itself and what came before."""
    return np.tri(n_tokens, dtype=np.bool_)


def visible(keep: Bools) -> NDArray[np.int_]:
    """How many keys each query may look at, in tokens.

    >>> visible(_causal(3)).tolist()
    [1, 2, 3]
    """
    return np.asarray(keep.sum(-1))


def entropy(pattern: Floats) -> Floats:
    """Mean entropy of the rows, in nats: −Σ p ln p.

    0 when every row looks at one key; a uniform causal pattern has mean ln(visible).
    Source: Shannon 1948; for heads, Ghader and Monz 2017.

    >>> float(entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4))
    0.3466
    """
    return np.asarray(row_entropy(pattern).mean(-1))


def row_entropy(pattern: Floats) -> Floats:
    """Entropy of each row [..., query], in nats; 0 ln 0 counts as 0."""
    safe = np.where(pattern > 0, pattern, 1.0)
    return np.asarray(-(safe * np.log(safe)).sum(-1))


def entropy_share(pattern: Floats, keep: Bools | None = None) -> Floats:
    """Mean over rows of entropy / ln(visible), from 0 to 1; rows that see one key are left out.

    A uniform pattern scores 1 under any mask.
    """
    counts = visible(_causal(pattern.shape[-1]) if keep is None else keep)
    rows = counts > 1
    if not rows.any():
        return np.zeros(pattern.shape[:-2])
    return np.asarray((row_entropy(pattern)[..., rows] / np.log(counts[rows])).mean(-1))


def effective_keys(pattern: Floats) -> Floats:
    """Mean over rows of exp(entropy), in keys: as many as a uniform row of that entropy has.

    A uniform causal pattern of S tokens scores (S + 1) / 2. Source: perplexity; Hill 1973.
    """
    return np.asarray(np.exp(row_entropy(pattern)).mean(-1))


def mean_distance(pattern: Floats) -> Floats:
    """Mean of |query − key| weighted by the pattern, in tokens.

    A uniform causal pattern of S tokens scores (S − 1) / 4. Source: Vig and Belinkov 2019, eq. 3.

    >>> float(mean_distance(np.array([[1.0, 0.0], [0.5, 0.5]])))
    0.25
    """
    places = np.arange(pattern.shape[-1])
    apart = np.abs(places[:, None] - places)
    return np.asarray((pattern * apart).sum(-1).mean(-1))


def offset_score(pattern: Floats, offset: int, *, first: int | None = None) -> Floats:
    """Mean of pattern[q, q − offset] over the queries that have such a key.

    Args:
        pattern: [..., query, key].
        offset: tokens back; 1 is the previous token, 0 itself, −1 the next.
        first: only queries from this one on; all unless given.

    A uniform causal pattern scores the mean of 1 / (q + 1) over these queries.
    Source: TransformerLens's head detector takes the sum over all rows by their number.
    """
    n_tokens = pattern.shape[-1]
    start = max(offset, 0 if first is None else first, 0)
    queries = np.arange(start, n_tokens + min(offset, 0))
    if not len(queries):
        return np.zeros(pattern.shape[:-2])
    return np.asarray(pattern[..., queries, queries - offset].mean(-1))


def previous_score(pattern: Floats, *, first: int | None = None) -> Floats:
    """Mean of pattern[q, q − 1]; on random repeats, over the second half."""
    return offset_score(pattern, 1, first=first)


def next_score(pattern: Floats) -> Floats:
    """Mean of pattern[q, q + 1]; 0 under a causal mask."""
    return offset_score(pattern, -1)


def self_score(pattern: Floats) -> Floats:
    """Mean of pattern[q, q]. A uniform causal pattern scores the mean of 1 / (q + 1)."""
    return offset_score(pattern, 0)


def sink_score(pattern: Floats, *, first: int = 2) -> Floats:
    """Mean of pattern[q, 0] for q ≥ `first`: how much goes to the first token.

    A uniform causal pattern scores the mean of 1 / (q + 1). Source: Xiao et al. 2023.
    """
    rows = pattern[..., first:, 0]
    return np.asarray(rows.mean(-1)) if rows.shape[-1] else np.zeros(pattern.shape[:-2])


def confidence(pattern: Floats) -> Floats:
    """Mean over rows of the largest entry, from 1/visible to 1. Source: Voita et al. 2019."""
    return np.asarray(pattern.max(-1).mean(-1))


def induction_score(pattern: Floats, length: int) -> Floats:
    """Mean of pattern[q, q − length + 1] on the second half of bos + s + s.

    `length` is the length of s, in tokens: the key is the token after the earlier occurrence.
    Source: Olsson et al. 2022, prefix matching.
    """
    return offset_score(pattern, length - 1, first=length + 1)


def duplicate_score(pattern: Floats, length: int) -> Floats:
    """Mean of pattern[q, q − length] on the second half of bos + s + s: the same token earlier."""
    return offset_score(pattern, length, first=length + 1)


def share_by_detection(pattern: Floats, detection: Bools) -> Floats:
    """The share of all attention that falls on marked edges: Σ pattern · detection / Σ pattern.

    TransformerLens's definition (`detect_head`, error measure "mul"), over all rows; ours are
    means over the rows where the role can show. For a row-normalised pattern the two agree when
    every row has one marked edge.
    """
    total = pattern.sum((-2, -1))
    return np.asarray((pattern * detection).sum((-2, -1)) / np.where(total > 0, total, 1.0))


def previous_detection(n_tokens: int) -> Bools:
    """TransformerLens's previous-token edges [query, key]: one below the diagonal."""
    return np.eye(n_tokens, k=-1, dtype=np.bool_)


def duplicate_detection(ids: Sequence[int]) -> Bools:
    """TransformerLens's duplicate-token edges: every earlier occurrence of the query's token."""
    tokens = np.asarray(ids)
    same = tokens[:, None] == tokens
    return np.asarray(np.tril(same, k=-1))


def induction_detection(ids: Sequence[int]) -> Bools:
    """TransformerLens's induction edges: the token after every earlier occurrence.

    The duplicate edges shifted one key to the right; after a token said twice in a row that key
    is the query itself.

    >>> induction_detection([7, 7, 8]).astype(int).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    """
    shifted = np.roll(duplicate_detection(ids), 1, axis=1)
    shifted[:, 0] = False
    return shifted


def share_on(pattern: Floats, marked: ArrayLike) -> Floats:
    """Mean over rows of the attention on marked keys, such as punctuation.

    Args:
        pattern: [..., query, key].
        marked: bool [key].

    A uniform causal pattern scores the mean share of marked keys among those visible.
    """
    return np.asarray(pattern[..., np.asarray(marked, dtype=np.bool_)].sum(-1).mean(-1))


def mass_on(rows: Floats, targets: ArrayLike) -> Floats:
    """The attention on each row's gold target.

    Args:
        rows: [row, ..., key], one query's attention each.
        targets: [row], the key each should look at.

    Returns:
        [row, ...]; its mean is the head's relation score.
    """
    places = np.asarray(targets)
    return np.asarray(rows[np.arange(len(places)), ..., places])


def hits(rows: Floats, targets: ArrayLike, queries: ArrayLike, *, strict: bool = True) -> Bools:
    """Whether each row's largest key is its target.

    Args:
        rows: [row, ..., key].
        targets: [row].
        queries: [row], each row's own place.
        strict: leave the first token and the query itself out of the keys.

    Returns:
        bool [row, ...].
    """
    seen = np.array(rows, dtype=np.float64)
    if strict:
        seen[..., 0] = -1
        for number, query in enumerate(np.asarray(queries)):
            seen[number, ..., query] = -1
    places = np.asarray(targets).reshape(-1, *(1,) * (seen.ndim - 2))
    return np.asarray(seen.argmax(-1) == places)


def best_fixed_offset(queries: ArrayLike, targets: ArrayLike) -> tuple[int, float]:
    """The one distance that hits most targets, and the share it hits: what no content could do.

    >>> best_fixed_offset([5, 7, 9], [3, 5, 8])[0]
    2
    """
    apart = np.asarray(queries) - np.asarray(targets)
    offsets, counts = np.unique(apart, return_counts=True)
    best = int(counts.argmax())
    return int(offsets[best]), float(counts[best] / len(apart))


def nearest_candidate(targets: Sequence[int], candidates: Sequence[Sequence[int]]) -> float:
    """The share of rows whose target is the nearest of its candidates (the last one)."""
    return float(np.mean([t == max(c) for t, c in zip(targets, candidates, strict=True)]))


def uniform_mass(queries: ArrayLike) -> float:
    """The mean of 1 / visible under a causal mask: what a uniform head puts on any one key."""
    return float((1 / (np.asarray(queries) + 1)).mean())


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval and sample size."""

    mean: float
    low: float
    high: float
    n: int


def bootstrap(values: ArrayLike, *, seed: int = 0, draws: int = 1000) -> Interval:
    """The mean of a sample with the 95 % interval of the percentile bootstrap.

    Args:
        values: one number per document.
        seed: of the draws.
        draws: samples drawn with replacement.

    Source: Efron 1979.
    """
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    means = sample[generator.integers(0, len(sample), (draws, len(sample)))].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(sample.mean()), float(low), float(high), len(sample))


# Metrics that any pattern has, by name: what the gallery sorts by.
PATTERN_METRICS: dict[str, Metric] = {
    "entropy": entropy,
    "entropy_share": entropy_share,
    "effective_keys": effective_keys,
    "distance": mean_distance,
    "previous": previous_score,
    "next": next_score,
    "self": self_score,
    "sink": sink_score,
    "confidence": confidence,
}
UNITS = {
    "entropy": "nats",
    "entropy_share": "share of ln visible",
    "effective_keys": "keys",
    "distance": "tokens",
}  # all others are shares of attention
