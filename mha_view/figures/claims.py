"""A hypothesis as a picture: who looks at whom, how much every head does, and how evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mha_core.heads.claim import Finding, Outcome
from mha_view.figures.heat import labels_axis
from mha_view.show import Figure, Picture
from mha_view.theme import ink
from mha_view.words import Words

BINS = 20
MOST_NAMED = 40  # heads whose names stand under the picture


def marked_sentence(
    labels: Sequence[str], query: int, targets: Sequence[int], words: Words, name: str
) -> Picture:
    """One sentence: an arrow from the query to each target.

    Args:
        labels: the tokens, `<bos>` left out.
        query: the place of the query among them.
        targets: the places of the targets.
        words: the reader's words.
        name: the picture's.
    """
    far = max(query - min(targets), 1)
    data: list[Figure] = []
    for target in targets:
        turn = np.linspace(0, np.pi, 40)
        middle, reach = (query + target) / 2, (query - target) / 2
        data.append(
            {
                "type": "scatter", "mode": "lines", "hoverinfo": "skip",
                "x": (middle + reach * np.cos(turn)).astype(np.float32),
                "y": (0.12 + 2 * reach / far * 0.8 * np.sin(turn)).astype(np.float32),
                "line": {"color": ink("pattern"), "width": 3},
            }
        )  # fmt: skip
    for places, role in (([query], "query"), (list(targets), "key")):
        data.append(
            {
                "type": "scatter", "mode": "markers", "hoverinfo": "skip",
                "x": np.array(places, dtype=np.float32),
                "y": np.full(len(places), 0.1, dtype=np.float32),
                "marker": {
                    "color": ink(role), "size": 15,
                    "symbol": "circle" if role == "query" else "triangle-down",
                },
            }
        )  # fmt: skip
    axis = labels_axis(labels, [0], "")
    for place, role in ((query, "query"), *((target, "key") for target in targets)):
        text = axis["ticktext"][place]
        axis["ticktext"][place] = f'<b><span style="color:{ink(role)}">{text}</span></b>'
    axis |= {"range": [-0.6, len(labels) - 0.4], "fixedrange": True}
    axis |= {"tickfont": {"size": 13}, "tickangle": -40}
    figure: Figure = {
        "data": data,
        "layout": {
            "xaxis": axis,
            "yaxis": {"visible": False, "range": [0, 1.05], "fixedrange": True},
            "showlegend": False, "hovermode": False,
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }  # fmt: skip
    told = words(
        "alt.claim", sentence=" ".join(labels), query=labels[query],
        target=words("list.next").join(labels[place] for place in targets),
    )  # fmt: skip
    return Picture(
        name, figure, told, height=190, pickable=False, toolbar=False,
        arrays={"marks": np.array([[query, place] for place in targets], dtype=np.int32)},
        axes={"marks": ("target", "end")},
        names={"end": [words("claim.query"), words("claim.target")]},
    )  # fmt: skip


def head_scores(outcome: Outcome, names: Sequence[str], words: Words) -> Picture:
    """Every head's weight on the target, with its interval and its baselines.

    Args:
        outcome: what came out.
        names: the heads' names, in the order of the findings.
        words: the reader's words.
    """
    findings = outcome.findings
    places = np.arange(len(findings), dtype=np.float32)
    mass = np.array([found.mass.mean for found in findings], dtype=np.float32)
    low = np.array([found.mass.low for found in findings], dtype=np.float32)
    high = np.array([found.mass.high for found in findings], dtype=np.float32)
    anywhere = np.array([found.anywhere for found in findings], dtype=np.float32)
    shuffled = np.array([found.shuffled for found in findings], dtype=np.float32)
    p = np.array([found.p for found in findings], dtype=np.float32)
    chosen = next(n for n, found in enumerate(findings) if found.head == outcome.chosen)
    colours = [ink("pattern" if found.is_called else "residual") for found in findings]
    data: list[Figure] = [
        {
            "type": "bar", "x": places, "y": mass, "name": words("claim.mass"), "showlegend": False,
            "marker": {"color": colours, "opacity": [1 if n == chosen else 0.55 for n in places]},
            "error_y": {
                "type": "data", "symmetric": False, "array": high - mass, "arrayminus": mass - low,
                "thickness": 1.5, "width": 3,
            },
            "customdata": p,
            "hovertemplate": words("hover.claim"),
        },
        _ticks(places, anywhere, words("claim.anywhere"), "line-ew", ink("key")),
        _ticks(places, shuffled, words("claim.shuffled"), "x-thin", ink("output")),
    ]  # fmt: skip
    figure: Figure = {
        "data": data,
        "layout": {
            "xaxis": _heads_axis(findings, names, words),
            "yaxis": {"title": {"text": words("axis.target")}, "range": [0, 1.1]},
            "showlegend": True,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "shapes": [_line("y", outcome.chance)],
            "annotations": [
                {
                    "x": chosen, "y": float(high[chosen]), "text": words("claim.chosen"),
                    "showarrow": False, "yanchor": "bottom", "yshift": 2, "font": {"size": 12},
                },
            ],
        },
    }  # fmt: skip
    best = findings[chosen]
    told = words(
        "alt.claim_heads", n=len(findings), head=names[chosen], mass=f"{best.mass.mean:.2f}",
        low=f"{best.mass.low:.2f}", high=f"{best.mass.high:.2f}", chance=f"{outcome.chance:.2f}",
        called=sum(found.is_called for found in findings),
    )  # fmt: skip
    arrays = {
        "mass": mass, "low": low, "high": high, "anywhere": anywhere, "shuffled": shuffled, "p": p,
        "argmax": np.array([found.argmax.mean for found in findings], dtype=np.float32),
    }  # fmt: skip
    return Picture(
        "claim_heads", figure, told, height=340, pickable=False, arrays=arrays,
        axes=dict.fromkeys(arrays, ("head",)), names={"head": names},
    )  # fmt: skip


def _heads_axis(findings: Sequence[Finding], names: Sequence[str], words: Words) -> Figure:
    """Every head by its name; of a large model each layer by its first head."""
    axis = labels_axis(names, [0], words("axis.head")) | {"tickangle": -90}
    if len(names) <= MOST_NAMED:
        return axis
    layers = [found.head[0] for found in findings]
    first = {layer: layers.index(layer) for layer in dict.fromkeys(layers)}
    return axis | {
        "tickvals": [float(place) for place in first.values()],
        "ticktext": [words("layer.option", layer=layer) for layer in first],
    }


def sentence_masses(outcome: Outcome, words: Words) -> Picture:
    """How the chosen head's weight on the target is spread over the sentences."""
    edges = np.linspace(0, 1, BINS + 1)
    counts, _ = np.histogram(np.clip(outcome.masses, 0, 1), edges)
    found = outcome.finding
    marks: Mapping[str, float] = {
        "claim.chance": outcome.chance, "claim.anywhere": found.anywhere,
        "claim.shuffled": found.shuffled,
    }  # fmt: skip
    colours = (ink("residual"), ink("key"), ink("output"))
    figure: Figure = {
        "data": [
            {
                "type": "bar", "x": ((edges[:-1] + edges[1:]) / 2).astype(np.float32),
                "y": counts.astype(np.float32), "width": 0.92 / BINS,
                "marker": {"color": ink("pattern")}, "showlegend": False,
                "hovertemplate": words("hover.claim_spread"),
            },
            *(
                {
                    "type": "scatter", "mode": "lines", "name": words(key),
                    "x": np.array([value, value], dtype=np.float32),
                    "y": np.array([0, max(counts.max(), 1)], dtype=np.float32),
                    "line": {"color": colour, "dash": dash, "width": 2}, "hoverinfo": "name",
                }
                for (key, value), colour, dash in zip(
                    marks.items(), colours, ("dot", "dash", "dashdot"), strict=True
                )
            ),
        ],
        "layout": {
            "xaxis": {"title": {"text": words("axis.target")}, "range": [0, 1]},
            "yaxis": {"title": {"text": words("axis.sentences")}, "rangemode": "tozero"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        },
    }  # fmt: skip
    told = words(
        "alt.claim_spread", n=len(outcome.masses), median=f"{np.median(outcome.masses):.2f}",
        low=f"{outcome.masses.min():.2f}", high=f"{outcome.masses.max():.2f}",
    )  # fmt: skip
    return Picture(
        "claim_spread", figure, told, height=300, pickable=False,
        arrays={"mass": outcome.masses.astype(np.float32)}, axes={"mass": ("sentence",)},
        names={"sentence": [one.text for one in outcome.sentences]},
    )  # fmt: skip


def _ticks(places: np.ndarray, values: np.ndarray, name: str, symbol: str, colour: str) -> Figure:
    """A baseline: one tick a head."""
    return {
        "type": "scatter", "mode": "markers", "x": places, "y": values, "name": name,
        "marker": {"symbol": symbol, "size": 12, "color": colour,
                   "line": {"width": 2.5, "color": colour}},
        "hovertemplate": f"%{{y:.2f}}<extra>{name}</extra>",
    }  # fmt: skip


def _line(axis: str, value: float) -> Figure:
    """Chance, across the whole picture."""
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value,
        "line": {"width": 1.5, "dash": "dot", "color": ink("residual")}, "yref": axis,
    }  # fmt: skip
