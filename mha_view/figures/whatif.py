"""One head under several settings, tile by tile on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.heads.measures import mean_entropy
from mha_core.trace import AttentionTrace
from mha_core.whatif import look_again
from mha_view import compute
from mha_view.figures.walk import SMALL_CELL, pattern_tiles, regroup
from mha_view.grouping import Grouping
from mha_view.indices import low
from mha_view.scene import MaskName, Scene
from mha_view.show import Picture
from mha_view.words import Words


def divisors(
    variants: Mapping[str, Array],
    keep: NDArray[np.bool_],
    labels: Sequence[str],
    words: Words,
    grouping: Grouping | None = None,
) -> Picture:
    """One head's pattern under each divisor, with its mean entropy, of single tokens, in the
    title."""
    patterns = np.stack(list(variants.values()))
    return _patterns("divisors", patterns, keep, list(variants), labels, words, grouping)


def masks(
    scene: Scene,
    trace: AttentionTrace,
    head: int,
    labels: Sequence[str],
    words: Words,
    grouping: Grouping | None = None,
) -> Picture:
    """One head's pattern under every mask the app has."""
    names = get_args(MaskName)
    keeps = [compute.keep_of(scene.with_(mask=name), len(labels)) for name in names]
    patterns = np.stack([look_again(trace, head, keep=keep) for keep in keeps])
    titles = [words(f"mask.{name}") for name in names]
    return _patterns("masks", patterns, np.stack(keeps), titles, labels, words, grouping)


def entropy_title(title: str, pattern: Array, keep: NDArray[np.bool_], words: Words) -> str:
    """A title with the pattern's mean entropy, where a row counts."""
    value = float(mean_entropy(pattern, keep))
    if np.isnan(value):
        return title
    return words("title.entropy", title=title, entropy=f"{value:.2f}")


def _patterns(
    name: str,
    patterns: Array,
    keep: NDArray[np.bool_],
    titles: Sequence[str],
    labels: Sequence[str],
    words: Words,
    grouping: Grouping | None,
) -> Picture:
    """Patterns side by side, each with its mean entropy; one mask for all, or one for each."""
    keeps = np.broadcast_to(keep, patterns.shape)
    full = [
        entropy_title(title, pattern, seen, words)
        for title, pattern, seen in zip(titles, patterns, keeps, strict=True)
    ]
    patterns, keep, labels = regroup(grouping, patterns, keep, labels)
    figure, block = pattern_tiles(
        name, patterns, keep, labels, words, titles=[low(title) for title in full],
        across=len(full), largest=SMALL_CELL, merged=grouping is not None and grouping.merges,
    )  # fmt: skip
    return Picture(
        name, figure, words("alt.compare", titles=words("list.next").join(full)), height=None,
        arrays={name: patterns}, axes={name: ("variant", "query", "key")},
        names={"variant": titles, "query": labels, "key": labels},
        block=(block, block), pickable=False, tokens="row", grouping=grouping,
    )  # fmt: skip
