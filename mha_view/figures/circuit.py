"""A circuit as a small graph over the layers, and its paths beside what the weights say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mha_core.arrays import Array
from mha_core.model.edits import ATTENTION_PARTS, EMBEDDING, Head, Part, Path
from mha_view.show import Figure, Picture
from mha_view.theme import head_colour, ink
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.heads.circuits import Circuit, Effect

ROLE: dict[Part, str] = {"q": "query", "k": "key", "v": "value", "mlp": "pattern", "out": "output"}
LETTER: dict[Part, str] = {"q": "Q", "k": "K", "v": "V", "mlp": "M", "out": "O"}
FAINT = 0.28
THIN, THICK = 1.2, 11.0  # pixels of a line that moves nothing, and of one that moves everything
Place = tuple[float, float]
NAME = np.array([0.1, 0.065])  # how wide and high a head's name is, as shares of its picture
# Where a name's middle is from its point, in names.
SIDES = {"top center": (0.0, 0.95), "middle right": (0.75, 0.0), "bottom center": (0.0, -0.95),
         "middle left": (-0.75, 0.0)}  # fmt: skip


class Layout:
    """Where everything stands: the embedding below, a row of heads a layer, the next word on top.

    Under a layer that reads something stand its three ways in, Q, K and V.
    """

    def __init__(self, circuit: Circuit, n_layers: int, n_heads: int) -> None:
        self.n_layers, self.n_heads = n_layers, n_heads
        paths = list(circuit.edges)
        self.read = {path.layer for path in paths if path.part in ATTENTION_PARTS}
        self.mlps = {path.layer for path in paths if path.part == "mlp"}
        height = 0.0
        self.rows: list[float] = []
        self.ports: dict[int, float] = {}
        for layer in range(n_layers):
            height += 1.0
            if layer in self.read:
                height += 0.35
                self.ports[layer] = height
                height += 0.75
            self.rows.append(height)
        self.top = height + 1.15

    @property
    def middle(self) -> float:
        """The middle of a row."""
        return (self.n_heads - 1) / 2

    def sender(self, sender: Head) -> Place:
        """Where a sender stands."""
        if sender == EMBEDDING:
            return self.middle, 0.0
        layer, head = sender
        return float(head), self.rows[layer]

    def receiver(self, path: Path) -> Place:
        """Where a receiver stands."""
        if path.part == "out":
            return self.middle, self.top
        if path.part == "mlp":
            return self.n_heads - 0.6, self.rows[path.layer] + 0.55
        place = ATTENTION_PARTS.index(path.part)
        return self.middle + (place - 1) * self.n_heads * 0.32, self.ports[path.layer]


def circuit_graph(circuit: Circuit, n_layers: int, n_heads: int, words: Words) -> Picture:
    """The paths that are worth it, as wide as their effect.

    Args:
        circuit: what was found.
        n_layers, n_heads: of the model.
        words: the reader's words.
    """
    layout, edges = Layout(circuit, n_layers, n_heads), circuit.edges
    data: list[Figure] = []
    notes: list[Figure] = []
    for path, effect in circuit.finer.items():
        if path._replace(head=None) in edges and path.head is not None:
            start = layout.receiver(path)
            end = layout.sender((path.layer, path.head))
            data.append(_line(start, end, path.part, effect.mean, 0.45))
    for path, effect in edges.items():
        start, end = layout.sender(path.sender), layout.receiver(path)
        data.append(_line(start, end, path.part, effect.mean, 0.85))
        along = _along(path)
        x, y = (a + (b - a) * along for a, b in zip(start, end, strict=True))
        told = words(
            "hover.path", sender=name_sender(path.sender, words), receiver=name_part(path, words),
            effect=f"{effect.mean:.2f}", low=f"{effect.low:.2f}", high=f"{effect.high:.2f}",
        )  # fmt: skip
        data.append({
            "type": "scatter", "mode": "markers", "x": np.array([x]), "y": np.array([y]),
            "marker": {"size": 30, "color": ink(ROLE[path.part]), "opacity": 0.0},
            "hovertemplate": f"{told}<extra></extra>", "showlegend": False,
        })  # fmt: skip
        notes.append({
            "x": x, "y": y, "text": f"<b>{LETTER[path.part]} {effect.mean:.2f}</b>",
            "showarrow": False, "font": {"size": 13, "color": ink(ROLE[path.part])},
            "xshift": 5, "xanchor": "left", "borderpad": 1, "opacity": 0.9,
            "bgcolor": "var(--st-background-color)",
        })  # fmt: skip
    data += _nodes(circuit, layout, words)
    notes += _signs(layout, words)
    figure: Figure = {
        "data": data,
        "layout": {
            "xaxis": _hidden([-0.6, n_heads - 0.2]),
            "yaxis": _hidden([-0.4, layout.top + 0.4]),
            "annotations": notes, "showlegend": False, "hovermode": "closest",
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }  # fmt: skip
    listed = [f"{name_sender(path.sender, words)} → {name_part(path, words)}" for path in edges]
    effects = np.array([[e.mean, e.low, e.high] for e in edges.values()]).reshape(-1, 3)
    first = listed[0] if listed else words("circuits.nothing")
    return Picture(
        "circuit", figure,
        words("alt.circuit", n=len(edges), first=first,
              effect=f"{effects[0, 0]:.2f}" if listed else "0.00"),
        height=int(70 + 82 * layout.top), pickable=False,
        arrays={"effect": effects}, axes={"effect": ("path", "figure")},
        names={"path": listed,
               "figure": [words(f"circuits.{name}") for name in ("effect", "low", "high")]},
    )  # fmt: skip


def name_sender(sender: Head, words: Words) -> str:
    """A sender as it is called."""
    if sender == EMBEDDING:
        return words("circuits.embedding")
    layer, head = sender
    return words("board.short", layer=layer, head=head)


def name_part(path: Path, words: Words) -> str:
    """A receiver as it is called."""
    if path.head is not None:
        return words(f"circuits.one.{path.part}", layer=path.layer, head=path.head)
    return words(f"circuits.part.{path.part}", layer=path.layer)


def against_weights(
    points: Sequence[tuple[Path, float, Effect]], words: Words, *, chance: float, alt: str
) -> Picture:
    """How strongly the weights say that a path is there, and how far cutting it moves.

    Args:
        points: a path, its composition score as a multiple of chance, its effect.
        words: the reader's words.
        chance: the multiple that one in a hundred random pairs exceeds.
        alt: the picture in words.
    """
    data: list[Figure] = []
    named = [n for n, (_, score, effect) in enumerate(points) if effect.mean >= 0.1 or score > 1.45]
    named.sort(key=lambda n: -points[n][2].mean)
    found = beside([(score, effect.mean) for _, score, effect in points], named) if points else {}
    sides = {points[n][0]: side for n, side in found.items()}
    for part in ATTENTION_PARTS:
        own = [point for point in points if point[0].part == part]
        names = [f"{name_sender(p.sender, words)} → {name_part(p, words)}" for p, _, _ in own]
        data.append({
            "type": "scatter", "mode": "markers+text", "name": words(f"circuits.letter.{part}"),
            "x": np.array([score for _, score, _ in own], dtype=np.float32),
            "y": np.array([effect.mean for _, _, effect in own], dtype=np.float32),
            "text": [name_sender(p.sender, words) if p in sides else "" for p, _, _ in own],
            "textposition": [sides.get(p, "top center") for p, _, _ in own],
            "textfont": {"size": 12},
            "customdata": names,
            "marker": {"size": 10, "color": ink(ROLE[part]),
                       "symbol": {"q": "circle", "k": "square", "v": "diamond"}[part]},
            "hovertemplate": "%{customdata}<br>%{x:.2f} × · %{y:.2f}<extra></extra>",
        })  # fmt: skip
    line = {"type": "line", "x0": chance, "x1": chance, "y0": 0, "y1": 1, "yref": "paper",
            "line": {"width": 1.2, "dash": "dot", "color": ink("residual")}}  # fmt: skip
    figure: Figure = {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": words("axis.composition")}},
            "yaxis": {"title": {"text": words("axis.effect")}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}, "shapes": [line],
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        },
    }  # fmt: skip
    listed = [f"{name_sender(p.sender, words)} → {name_part(p, words)}" for p, _, _ in points]
    both = np.array([[score, effect.mean] for _, score, effect in points]).reshape(-1, 2)
    return Picture(
        "against_weights", figure, alt, height=420, pickable=False, arrays={"points": both},
        axes={"points": ("path", "figure")},
        names={"path": listed, "figure": [words("axis.composition"), words("axis.effect")]},
    )  # fmt: skip


def beside(places: Sequence[Place], named: Sequence[int]) -> dict[int, str]:
    """On which side of its point each name stands, so that none lies on another name or point.

    Args:
        places: every point's x and y.
        named: the points that have names, those first that choose first.

    Returns:
        The side by point; a name that finds none is left out.

    >>> beside([(0.0, 0.0), (0.0, 0.01), (1.0, 1.0)], [0, 1])
    {0: 'top center', 1: 'bottom center'}
    """
    low, high = np.min(places, axis=0), np.max(places, axis=0)
    dots = (np.array(places) - low) / np.maximum(high - low, 1e-9) / NAME
    names: list[Array] = []
    sides = {}
    for place in named:
        others = np.delete(dots, place, axis=0)
        for side, step in SIDES.items():
            middle = dots[place] + step
            hits_dot = (np.abs(others - middle) < (0.6, 0.7)).all(axis=1).any()
            if not hits_dot and all((np.abs(name - middle) >= 1).any() for name in names):
                sides[place] = side
                names.append(middle)
                break
    return sides


def _along(path: Path) -> float:
    """How far along a path its number stands, between the rows of heads."""
    if path.sender == EMBEDDING:
        return 0.22
    return 0.27 if path.part == "out" else 0.5


def _line(start: Place, end: Place, part: Part, effect: float, opacity: float) -> Figure:
    """One path."""
    width = THIN + (THICK - THIN) * min(max(effect, 0.0), 1.0)
    return {
        "type": "scatter", "mode": "lines", "x": np.array([start[0], end[0]]),
        "y": np.array([start[1], end[1]]), "opacity": opacity, "hoverinfo": "skip",
        "line": {"width": width, "color": ink(ROLE[part])}, "showlegend": False,
    }  # fmt: skip


def _nodes(circuit: Circuit, layout: Layout, words: Words) -> list[Figure]:
    """Every head: those of the circuit in their colour, the others faint."""
    taking = {path.sender for path in circuit.edges} | {
        (path.layer, path.head) for path, effect in circuit.finer.items()
        if path.head is not None and effect.mean >= 0.05
    }  # fmt: skip
    heads = [(layer, head) for layer in range(layout.n_layers) for head in range(layout.n_heads)]
    data: list[Figure] = []
    for inside in (False, True):
        chosen = [head for head in heads if (head in taking) == inside]
        places = [layout.sender(head) for head in chosen]
        told = [
            words("hover.sender", head=name_sender(head, words),
                  effect=f"{circuit.heads[head].mean:.2f}")
            for head in chosen
        ]  # fmt: skip
        data.append({
            "type": "scatter", "mode": "markers+text",
            "x": np.array([x for x, _ in places]), "y": np.array([y for _, y in places]),
            "text": [name_sender(head, words) for head in chosen],
            "textfont": {"size": 11, "color": "#ffffff" if inside else ink("residual")},
            "marker": {
                "size": 42, "symbol": "circle",
                "color": [head_colour(head) if inside else "rgba(128,128,128,0.12)"
                          for _, head in chosen],
                "line": {"width": 1, "color": ink("residual")},
            },
            "customdata": told, "hovertemplate": "%{customdata}<extra></extra>",
            "showlegend": False,
        })  # fmt: skip
    return data


def _signs(layout: Layout, words: Words) -> list[Figure]:
    """The embedding, the ways in, the MLPs, the next word."""

    def sign(place: Place, text: str, colour: str) -> Figure:
        return {
            "x": place[0], "y": place[1], "text": f"<b>{text}</b>", "showarrow": False,
            "font": {"size": 13, "color": "#ffffff"}, "bgcolor": colour, "borderpad": 4,
        }  # fmt: skip

    signs = [
        sign((layout.middle, 0.0), words("circuits.embedding"), ink_solid("residual")),
        sign((layout.middle, layout.top), words("circuits.next"), ink_solid("output")),
    ]
    for layer in layout.ports:
        for part in ATTENTION_PARTS:
            place = layout.receiver(Path(EMBEDDING, layer, part))
            signs.append(sign(place, LETTER[part], ink_solid(ROLE[part])))
    for layer in layout.mlps:
        place = layout.receiver(Path(EMBEDDING, layer, "mlp"))
        signs.append(sign(place, words("direct.mlp", layer=layer), ink_solid("pattern")))
    return signs


def ink_solid(role: str) -> str:
    """A role's colour under white letters, the same by day and by night."""
    from mha_core.palette import INK

    return INK[role][0]


def _hidden(bounds: Sequence[float]) -> Figure:
    """An axis that only places things."""
    return {
        "range": list(bounds), "visible": False, "fixedrange": True, "showgrid": False,
        "zeroline": False,
    }  # fmt: skip


def counted(effects: Mapping[Path, Effect], layer: int, part: Part) -> list[tuple[Head, float]]:
    """What moves most through a part of a layer, the largest first."""
    found = [
        (path.sender, effect.mean) for path, effect in effects.items()
        if (path.layer, path.part, path.head) == (layer, part, None)
    ]  # fmt: skip
    return sorted(found, key=lambda one: -one[1])
