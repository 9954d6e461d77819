"""Pictures of what a decoder keeps: its cache against S, what fits beside it, RoPE's waves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.sizes import CacheLayers, RopeWaves, Sizes, cache_bytes
from mha_view.figures.relate_sizes import (
    POINTS,
    UNITS,
    against_tokens,
    binary,
    line_of,
)
from mha_view.scene import FloatType, WeightType
from mha_view.show import Figure, Picture
from mha_view.theme import head_colour, ink
from mha_view.words import Words

GIB = 2**30


def cache_curves(
    caches: Mapping[str, Sequence[CacheLayers]],
    n_tokens: int,
    float_type: FloatType,
    batch: int,
    words: Words,
) -> Picture:
    """Bytes of each model's cache against the context; a line bends where windows are full.

    Args:
        caches: what each model keeps, by its title.
        n_tokens: S as chosen; the axis reaches twice as far.
        float_type: how a number is stored.
        batch: sequences kept at once.
        words: the reader's words.
    """
    tokens = np.unique(np.linspace(1, 2 * n_tokens, POINTS).astype(int))
    kept = {
        title: np.array([cache_bytes(layers, int(n), float_type, batch) for n in tokens], float)
        for title, layers in caches.items()
    }
    largest = max(float(line.max()) for line in kept.values())
    power = min(int(math.log2(max(largest, 1)) // 10), len(UNITS) - 1)
    hover = f"S = %{{x:,}}: %{{y:.4g}} {UNITS[power]}<extra>%{{fullData.name}}</extra>"
    lines = [
        line_of(tokens, line / 1024**power, title, head_colour(place)) | {"hovertemplate": hover}
        for place, (title, line) in enumerate(kept.items())
    ]
    told = words("list.next").join(
        f"{title} {binary(cache_bytes(layers, n_tokens, float_type, batch))}"
        for title, layers in caches.items()
    )
    figure = against_tokens(
        lines, n_tokens, words("axis.cache", unit=UNITS[power]), words, tickformat="~g"
    )
    return Picture(
        "cache",
        figure,
        words("alt.listed", what=words("cache.at", n=f"{n_tokens:,}", batch=batch), listed=told),
        height=380,
        arrays={"n_tokens": tokens, **kept},
        axes=dict.fromkeys(("n_tokens", *kept), ("point",)),
        pickable=False,
    )


def fits_curves(
    models: Mapping[str, Sizes],
    memory: int,
    weight_type: WeightType,
    float_type: FloatType,
    batch: int,
    n_tokens: int,
    words: Words,
) -> Picture:
    """The longest context that fits beside the weights, against the memory; both by doublings.

    A line begins where the weights leave room for the first token, and ends on top where the
    cache stops growing.

    Args:
        models: whose weights and caches are known, by title.
        memory: GiB as chosen; the axis holds it.
        weight_type: how the weights are stored.
        float_type: how a cached number is stored.
        batch: sequences kept at once.
        n_tokens: S as chosen, drawn as a level line.
        words: the reader's words.
    """
    needed = [(sizes.weight_bytes(weight_type) or 1) / GIB for sizes in models.values()]
    low, high = min([memory, *needed]) / 1.5, 4 * max([memory, *needed])
    gib = np.geomspace(low, high, 4 * POINTS)
    lines, arrays, told = [], {"memory_gib": gib}, []
    for place, (title, sizes) in enumerate(models.items()):
        found = [
            sizes.context_that_fits(int(each * GIB), weight_type, float_type, batch) for each in gib
        ]
        fitting = np.array([np.nan if tokens == 0 else tokens or np.nan for tokens in found], float)
        lines.append(
            line_of(gib, fitting, title, head_colour(place))
            | {"hovertemplate": "%{x:.3g} GiB: S = %{y:,.0f}<extra>%{fullData.name}</extra>"}
        )
        arrays[title] = fitting
        here = sizes.context_that_fits(memory * GIB, weight_type, float_type, batch)
        number = words("fits.any") if here is None else f"{here:,}"
        told.append(f"{title} {number}")
    figure: Figure = {
        "data": lines,
        "layout": {
            "xaxis": {"title": {"text": words("axis.memory")}, "type": "log", "dtick": "D2",
                      "tickformat": "~g"},
            "yaxis": {"title": {"text": words("axis.context")}, "type": "log", "tickformat": "~s"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": [
                _level(memory, is_upright=True), _level(n_tokens, is_upright=False),
            ],
        },
    }  # fmt: skip
    return Picture(
        "fits",
        figure,
        words(
            "alt.listed", what=words("fits.at", memory=memory), listed=words("list.next").join(told)
        ),
        height=380,
        arrays=arrays,
        axes=dict.fromkeys(arrays, ("point",)),
        pickable=False,
    )


def _level(at: float, *, is_upright: bool) -> Figure:
    """A dotted line across the picture at a chosen number."""
    along, across = ("x", "y") if is_upright else ("y", "x")
    return {
        "type": "line", f"{along}0": at, f"{along}1": at, f"{across}0": 0, f"{across}1": 1,
        f"{across}ref": "paper",
        "line": {"width": 1.5, "dash": "dot", "color": ink("residual")},
    }  # fmt: skip


def wavelengths(rope: Sequence[RopeWaves], n_tokens: int, words: Words) -> Picture:
    """Tokens after which each pair of RoPE is back, scaled as the file asks and as it was.

    Args:
        rope: settings by kind of layer.
        n_tokens: S as chosen; two kinds of scaling depend on it.
        words: the reader's words.
    """
    lines: list[Figure] = []
    arrays: dict[str, Array] = {}
    told = []
    levels: dict[int, str] = {}
    for place, waves in enumerate(rope):
        name = waves.layers or words("waves.all")
        plain, told_waves = np.array(waves.plain()), waves.scaled(n_tokens)
        scaled = None if told_waves is None else np.array(told_waves)
        pairs = np.arange(len(plain))
        colour = ink("query" if place == 0 else "key")
        lines.append(_wave(pairs, plain, words("waves.before", layers=name), colour, "dot"))
        arrays[f"plain {name}"] = plain
        if scaled is not None and waves.is_scaled:
            lines.append(_wave(pairs, scaled, words("waves.after", layers=name), colour, "solid"))
            arrays[f"scaled {name}"] = scaled
            finite = scaled[np.isfinite(scaled)]
            told.append(
                words("alt.waves.scaled", layers=name, before=f"{plain[-1]:,.0f}",
                      after=f"{finite[-1]:,.0f}" if len(finite) else "∞")
            )  # fmt: skip
        else:
            told.append(words("alt.waves.plain", layers=name, before=f"{plain[-1]:,.0f}"))
        if waves.original:
            levels[waves.original] = words("waves.original", n=f"{waves.original:,}")
        if waves.trained:
            levels[waves.trained] = words("waves.trained", n=f"{waves.trained:,}")
    figure: Figure = {
        "data": lines,
        "layout": {
            "xaxis": {"title": {"text": words("axis.pair")}, "rangemode": "tozero",
                      "zeroline": False},
            "yaxis": {"title": {"text": words("axis.wavelength")}, "type": "log",
                      "tickformat": "~s"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": [_level(at, is_upright=False) for at in levels],
            "annotations": [_level_label(at, text) for at, text in levels.items()],
        },
    }  # fmt: skip
    return Picture(
        "wavelengths",
        figure,
        " ".join(told),
        height=380,
        arrays=arrays,
        axes=dict.fromkeys(arrays, ("point",)),
        pickable=False,
    )


def _wave(pairs: NDArray[np.int64], waves: Array, name: str, colour: str, dash: str) -> Figure:
    """A line of wavelengths; a pair that never turns leaves a gap."""
    finite = np.where(np.isfinite(waves), waves, np.nan)
    hover = "%{x}: %{y:,.1f}<extra>%{fullData.name}</extra>"
    return line_of(pairs, finite, name, colour, dash) | {"hovertemplate": hover}


def _level_label(at: int, text: str) -> Figure:
    """What a level line is, on the paper's colour at its left end."""
    return {
        "x": 0.01, "xref": "paper", "y": math.log10(at), "text": text, "showarrow": False,
        "xanchor": "left", "yanchor": "bottom", "borderpad": 1,
        "bgcolor": "var(--st-background-color)", "font": {"size": 13},
    }  # fmt: skip
