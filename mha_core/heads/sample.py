"""From documents to a figure: the mean with its interval, and what rules without content score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


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
        values: one number per document, at least one.
        seed: of the draws.
        draws: samples drawn with replacement.

    Source: Efron 1979.
    """
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    means = sample[generator.integers(0, len(sample), (draws, len(sample)))].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(sample.mean()), float(low), float(high), len(sample))


def wilson(hits: int, n: int) -> Interval:
    """A share with Wilson's 95 % interval, which stays between 0 and 1 however small n is.

    Args:
        hits: how many of them.
        n: how many there are, at least one.

    Source: Wilson 1927.

    >>> found = wilson(8, 10)
    >>> found.mean, round(found.low, 2), round(found.high, 2)
    (0.8, 0.49, 0.94)
    """
    z = 1.959963984540054
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5 / (1 + z * z / n)
    # At the ends the reach meets them but for rounding.
    return Interval(share, min(middle - reach, share), max(middle + reach, share), n)


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
