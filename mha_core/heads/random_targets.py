"""Chance for marked sentences: what a head puts on targets that are nobody's choice.

The target is drawn anew in each sentence among the keys the query sees, `<bos>` and the query left
out, as many as there are. The same draws for all heads give the distribution of the largest
standardised mean among them, and with it each head's corrected p: the max-statistic of Westfall &
Young 1993 in one step. It holds whatever the lengths, the mask and the heads' habits are, and
however alike the heads are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.arrays import Floats
from mha_core.heads.marks import Marked

DRAWS = 2000
_FLAT = 1e-6  # a head whose weight hardly varies from key to key says nothing


def target_masses(half: Sequence[Marked], read: Sequence[Floats]) -> Floats:
    """The weight on the targets, [sentence, head].

    Args:
        half: the sentences.
        read: each one's weights at its query, [key, head].
    """
    return np.stack([row[list(one.targets)].sum(0) for one, row in zip(half, read, strict=True)])


def even_mass(half: Sequence[Marked]) -> float:
    """What a head that looks everywhere alike puts on the targets, as mask and lengths have it."""
    return float(np.mean([len(one.targets) / (one.query + 1) for one in half]))


def draw_targets(one: Marked, row: Floats, generator: np.random.Generator) -> Floats:
    """The weight on as many random places as there are targets, [draw, head].

    Args:
        one: a sentence.
        row: its weights at the query, [key, head].
        generator: what draws.
    """
    places, n_targets = one.candidates, len(one.targets)
    if n_targets == 1:
        return np.asarray(row[generator.choice(places, DRAWS)])
    keys = generator.random((DRAWS, len(places)))
    drawn = places[np.argsort(keys, axis=1)[:, :n_targets]]
    return np.asarray(row[drawn].sum(1))


def p_values(
    half: Sequence[Marked], read: Sequence[Floats], draws: Floats
) -> tuple[Floats, Floats]:
    """Each head's p against random targets, alone and corrected for all heads, [head].

    A head is measured in spreads of its own chance; mean and spread of a draw without putting back
    are worked out, not taken from the draws.

    Args:
        half: the sentences.
        read: each one's weights at its query, [key, head].
        draws: the mean weights on random targets, [draw, head].
    """
    mean, variance = np.zeros(draws.shape[1]), np.zeros(draws.shape[1])
    for one, row in zip(half, read, strict=True):
        values, k = row[one.candidates], len(one.targets)
        n = len(values)
        mean += k * values.mean(0)
        variance += k * (n - k) / max(n - 1, 1) * values.var(0)
    spread = np.sqrt(variance)
    told = spread / len(half) > _FLAT
    safe = np.where(told, spread, 1.0)

    def standardised(means: Floats) -> Floats:
        return np.where(told, (means * len(half) - mean) / safe, 0.0)

    found, drawn = standardised(target_masses(half, read).mean(0)), standardised(draws)
    close = found - 1e-9  # rounding is no difference
    alone = (1 + (drawn >= close).sum(0)) / (1 + DRAWS)
    corrected = (1 + (drawn.max(1)[:, None] >= close).sum(0)) / (1 + DRAWS)
    return np.where(told, alone, 1.0), np.where(told, corrected, 1.0)


def at_other_distances(half: Sequence[Marked], read: Sequence[Floats]) -> tuple[Floats, bool]:
    """What counting places alone would give: the weight at the other sentences' distances.

    Args:
        half: the sentences.
        read: each one's weights at its query, [key, head].

    Returns:
        [sentence, head], the mean over the distances of all sentences' targets that fit; and
        whether all are the same, which tells nothing apart.
    """
    apart = [tuple(one.query - place for place in one.targets) for one in half]
    distances = {each: apart.count(each) for each in dict.fromkeys(apart)}
    found = []
    for one, row in zip(half, read, strict=True):
        fitting = {each: n for each, n in distances.items() if max(each) < one.query}
        total = sum(
            n * row[[one.query - distance for distance in each]].sum(0)
            for each, n in fitting.items()
        )
        found.append(total / sum(fitting.values()))
    return np.stack(found), len(distances) == 1
