"""RoPE as it is: pairs of features as arrows on circles, turned by this sentence's real angles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha_core.arrays import Array
from mha_core.rope import Rope, base_frequencies, pair_frequencies
from mha_view.components.plot import escape_label
from mha_view.show import Figure, Picture
from mha_view.theme import ink
from mha_view.words import Words

MOST_CIRCLES = 8
SPACING = 2.5
MOST_PAIRS = 16  # in a table of one token's pairs
SCALED = 1e-3  # a pair that turns by this share more or less than its base says is scaled


def shown_pairs(n_pairs: int) -> list[int]:
    """Which pairs get a circle: all, or a spread from the fastest to the slowest.

    >>> shown_pairs(4), shown_pairs(32)
    ([0, 1, 2, 3], [0, 4, 9, 13, 18, 22, 27, 31])
    """
    if n_pairs <= MOST_CIRCLES:
        return list(range(n_pairs))
    return [int(pair) for pair in np.linspace(0, n_pairs - 1, MOST_CIRCLES).round()]


def pair_vectors(vector: Array, rope: Rope) -> Array:
    """A head's features as [pair, 2]."""
    width = rope.width(len(vector))
    turned = vector[:width]
    if rope.pairing == "half":
        return np.stack([turned[: width // 2], turned[width // 2 :]], axis=1)
    return turned.reshape(-1, 2)


def circles(
    vector: Array,
    rope: Rope,
    *,
    role: str,
    position: int,
    n_positions: int,
    words: Words,
    token: str,
) -> Picture:
    """One token's vector of one head: each pair before and after being turned.

    Args:
        vector: [d_head], before RoPE.
        rope: how it is turned.
        role: "query" or "key", for the colour.
        position: the token's own position, shown first.
        n_positions: how many positions the slider offers, from 0.
        words: the reader's words.
        token: what the token is called.
    """
    pairs = shown_pairs(rope.width(len(vector)) // 2)
    points = pair_vectors(vector, rope)[pairs]
    frequencies = pair_frequencies(rope, len(vector))[pairs]
    longest = float(np.linalg.norm(points, axis=1).max()) or 1.0
    points = points / longest
    layout, centres = _circles_layout(
        [
            words("rope.pair", pair=pair, degrees=f"{np.degrees(angle):.3g}")
            for pair, angle in zip(pairs, frequencies, strict=True)
        ]
    )
    across = 2 if len(pairs) <= 4 else 4
    before = arrows(centres, points)
    figure: Figure = {
        "data": [
            _line(before, "#8a9099", words("rope.before"), width=2, dash="dot"),
            _line(arrows(centres, turn(points, frequencies, position)), ink(role),
                  words("rope.after"), width=4),
        ],
        "layout": layout,
        "frames": [
            {
                "name": str(place),
                "traces": [1],
                "data": [_ends(arrows(centres, turn(points, frequencies, place)))],
            }
            for place in range(n_positions)
        ],
    }  # fmt: skip
    rows = -(-len(pairs) // across)
    return Picture(
        f"circles_{role}",
        figure,
        words("alt.circles", n=len(pairs), token=token, position=position),
        height=60 + (170 if across == 2 else 125) * rows,
        low=60 + (170 if across == 2 else 90) * rows,
        arrays={"before": points * longest,
                "after": turn(points, frequencies, position) * longest},
        axes={"before": ("pair", "part"), "after": ("pair", "part")},
        pickable=False,
        frames_label=words("rope.position"),
        frame=position,
    )  # fmt: skip


def meeting(
    query: Array,
    key: Array,
    rope: Rope,
    *,
    positions: tuple[int, int],
    n_positions: int,
    words: Words,
    tokens: tuple[str, str],
) -> Picture:
    """A query and a key after turning, pair by pair, with the angle between them marked.

    Args:
        query, key: [d_head], before RoPE.
        rope: how they are turned.
        positions: the query's and the key's.
        n_positions: how far both can be moved together, from 0.
        words: the reader's words.
        tokens: what the two tokens are called.
    """
    pairs = shown_pairs(rope.width(len(query)) // 2)
    frequencies = pair_frequencies(rope, len(query))[pairs]
    before = [pair_vectors(vector, rope)[pairs] for vector in (query, key)]
    turned = [
        turn(points, frequencies, position)
        for points, position in zip(before, positions, strict=True)
    ]
    products = (turned[0] * turned[1]).sum(axis=1)
    between = angles_between(*turned)
    shown = [points / (np.linalg.norm(points, axis=1).max() or 1.0) for points in turned]
    layout, centres = _circles_layout(
        [
            words(
                "rope.meeting.pair",
                pair=pair,
                degrees=f"{np.degrees(angle):+.0f}".replace("-", "−"),
                product=f"{product:+.2f}".replace("-", "−"),
            )
            for pair, angle, product in zip(pairs, between, products, strict=True)
        ],
        lines=2,
    )

    def lines(shift: int) -> list[Array]:
        moved = [turn(points, frequencies, shift) for points in shown]
        return [*(arrows(centres, points) for points in moved), arcs(centres, moved[0], between)]

    query_line, key_line, arc_line = lines(0)
    names = [
        words(f"rope.meeting.{role}", token=escape_label(token))
        for role, token in zip(("query", "key"), tokens, strict=True)
    ]
    figure: Figure = {
        "data": [
            _line(query_line, ink("query"), names[0], width=4),
            _line(key_line, ink("key"), names[1], width=4),
            _ends(arc_line) | {
                "type": "scatter", "mode": "lines", "name": words("rope.meeting.angle"),
                "line": {"color": ink("pattern"), "width": 3}, "hoverinfo": "skip",
                "connectgaps": False,
            },
        ],
        "layout": layout,
        "frames": [
            {
                "name": str(shift),
                "traces": [0, 1, 2],
                "data": [_ends(line) for line in lines(shift)],
            }
            for shift in range(n_positions)
        ],
    }  # fmt: skip
    return Picture(
        "meeting",
        figure,
        words("alt.meeting", query=tokens[0], key=tokens[1], n=len(pairs),
              angles=words("list.next").join(f"{np.degrees(angle):.0f}°" for angle in between)),
        height=60 + (390 if len(pairs) <= 4 else 300),
        low=60 + (390 if len(pairs) <= 4 else 220),
        arrays={"query": turned[0], "key": turned[1], "angle": between, "product": products},
        axes={"query": ("pair", "part"), "key": ("pair", "part"),
              "angle": ("pair",), "product": ("pair",)},
        pickable=False,
        frames_label=words("rope.meeting.move"),
        frame=0,
    )  # fmt: skip


def angles_between(query: Array, key: Array) -> Array:
    """From each query pair to its key pair, radians from −π to π.

    >>> angles_between(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])) * 2 / np.pi
    array([1.])
    """
    both = (query[:, 0] - 1j * query[:, 1]) * (key[:, 0] + 1j * key[:, 1])
    angles: Array = np.angle(both)
    return angles


def arcs(centres: Array, starts: Array, angles: Array) -> Array:
    """Arcs round each centre that begin on its arrow, [15 · pair, 2]; NaN lifts the pen."""
    first = np.arctan2(starts[:, 1], starts[:, 0])
    along = first[:, None] + angles[:, None] * np.linspace(0, 1, 14)
    lines = np.full((len(centres), 15, 2), np.nan)
    lines[:, :14, 0] = centres[:, :1] + 0.45 * np.cos(along)
    lines[:, :14, 1] = centres[:, 1:] + 0.45 * np.sin(along)
    return lines.reshape(-1, 2)


def _circles_layout(titles: Sequence[str], *, lines: int = 1) -> tuple[Figure, Array]:
    """A circle with a title for each pair, two or four a row, and their centres.

    Args:
        titles: what stands above each circle.
        lines: how many lines a title has.
    """
    across = 2 if len(titles) <= 4 else 4
    apart = SPACING * (0.9 + 0.3 * lines)
    centres = np.array(
        [[SPACING * (n % across), -apart * (n // across)] for n in range(len(titles))]
    )
    layout: Figure = {
        "xaxis": _bare() | {"range": [-1.1, SPACING * (min(len(titles), across) - 1) + 1.1],
                            "constrain": "domain"},
        "yaxis": _bare() | {"scaleanchor": "x", "range": [centres[-1, 1] - 1.1, 1.0 + 0.7 * lines],
                            "constrain": "domain", "constraintoward": "top"},
        "shapes": [_circle(x, y) for x, y in centres],
        "annotations": [
            {
                "x": x, "y": y + 0.95, "yanchor": "bottom", "showarrow": False,
                "font": {"size": 13}, "text": title,
            }
            for (x, y), title in zip(centres, titles, strict=True)
        ],
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }  # fmt: skip
    return layout, centres


def turn(points: Array, frequencies: Array, position: int) -> Array:
    """Points [pair, 2] turned by position · frequency radians each."""
    turned = (points[:, 0] + 1j * points[:, 1]) * np.exp(1j * frequencies * position)
    return np.stack([turned.real, turned.imag], axis=1)


def arrows(centres: Array, points: Array) -> Array:
    """Lines from each centre to its point, [3 · pair, 2]; NaN lifts the pen."""
    lines = np.full((len(centres), 3, 2), np.nan)
    lines[:, 0] = centres
    lines[:, 1] = centres + points
    return lines.reshape(-1, 2)


def _ends(lines: Array) -> Figure:
    """Lines as coordinates of a trace."""
    return {"x": lines[:, 0].astype(np.float32), "y": lines[:, 1].astype(np.float32)}


def _line(lines: Array, colour: str, name: str, *, width: int, dash: str = "solid") -> Figure:
    """A trace of lines with a dot at each tip."""
    tips = np.resize([0, 7, 0], len(lines))
    return _ends(lines) | {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "marker": {"color": colour, "size": tips},
        "hoverinfo": "skip",
        "connectgaps": False,
    }


def _circle(x: float, y: float) -> Figure:
    """A thin circle of radius 1."""
    return {
        "type": "circle", "x0": x - 1, "x1": x + 1, "y0": y - 1, "y1": y + 1,
        "line": {"width": 1, "color": "#9aa0a8"}, "layer": "below",
    }  # fmt: skip


def _bare() -> Figure:
    """An axis that is not seen."""
    return {"visible": False, "fixedrange": True, "zeroline": False}


def _by_base(pairs: Array, plain: Array, rope: Rope, words: Words) -> Figure:
    """What the base alone would give, as marks over the bars."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": pairs,
        "y": plain.astype(np.float32),
        "name": words("rope.by_base", base=f"{rope.base:,.0f}"),
        "line": {"color": ink("query"), "dash": "dot", "width": 2},
        "marker": {"size": 5},
        "hovertemplate": words("hover.wavelength") + "<extra></extra>",
    }


def wavelengths(rope: Rope, d_head: int, n_tokens: int, words: Words) -> Picture:
    """How many tokens each pair takes for a full turn, on a logarithmic axis; where a model scales
    its RoPE, beside what the base alone would give."""
    turns, plain = pair_frequencies(rope, d_head), base_frequencies(rope, d_head)
    is_scaled = not np.allclose(turns, plain, rtol=SCALED)
    with np.errstate(divide="ignore"):  # a pair that never turns is never back
        lengths, plain = 2 * np.pi / turns, 2 * np.pi / plain
    finite = lengths[np.isfinite(lengths)]
    pairs = np.arange(len(lengths))
    figure: Figure = {
        "data": [
            {
                "type": "bar",
                "x": pairs,
                "y": lengths.astype(np.float32),
                "marker": {"color": ink("pattern")},
                "showlegend": is_scaled,
                "name": words("rope.as_scaled"),
                "hovertemplate": words("hover.wavelength") + "<extra></extra>",
            },
            *([_by_base(pairs, plain, rope, words)] if is_scaled else []),
        ],
        "layout": {
            "xaxis": {"title": {"text": words("axis.pair")}, "type": "linear"},
            "yaxis": {"title": {"text": words("axis.wavelength")}, "type": "log"},
            "shapes": [
                {
                    "type": "line", "xref": "paper", "x0": 0, "x1": 1,
                    "y0": n_tokens, "y1": n_tokens,
                    "line": {"dash": "dot", "width": 2, "color": "var(--st-text-color)"},
                    "showlegend": True, "name": words("rope.sentence_length", n=n_tokens),
                }
            ],
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        },
    }  # fmt: skip
    return Picture(
        "wavelengths",
        figure,
        words("alt.wavelengths.scaled" if is_scaled else "alt.wavelengths", n=len(lengths),
              low=f"{finite.min():.1f}", high=f"{finite.max():.0f}", before=f"{plain.max():.0f}"),
        height=280,
        arrays={"wavelength": lengths} | ({"by base": plain} if is_scaled else {}),
        axes=dict.fromkeys(("wavelength", "by base") if is_scaled else ("wavelength",), ("pair",)),
        pickable=False,
    )  # fmt: skip
