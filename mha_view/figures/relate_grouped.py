"""Pictures of sharing: who reads whose keys and values, cache bytes, decoding step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mha_core.arrays import Array
from mha_core.grouped import Decoding
from mha_core.trace import AttentionTrace
from mha_view.figures import heat
from mha_view.figures.bars import bars
from mha_view.figures.relate_sizes import binary
from mha_view.figures.walk import head_patterns
from mha_view.scene import ColourScale
from mha_view.show import Figure, Picture
from mha_view.theme import head_colour, ink
from mha_view.words import Words

MOST_ROWS = 16


def sharing(n_heads: int, n_kv_heads: int, chosen: int, words: Words) -> Picture:
    """Query heads above, key and value heads below, a line from each to the one it reads.

    Args:
        n_heads: query heads.
        n_kv_heads: KV heads.
        chosen: the query head whose line is strong.
        words: the reader's words.
    """
    above = (np.arange(n_heads) + 0.5) / n_heads
    below = (np.arange(n_kv_heads) + 0.5) / n_kv_heads
    group = n_heads // n_kv_heads
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": np.array([above[head], below[head // group]]),
            "y": np.array([2.0, 1.0]),
            "line": {"color": head_colour(head), "width": 5 if head == chosen else 2},
            "hoverinfo": "skip",
            "name": words("head.chip", head=head),
        }
        for head in range(n_heads)
    ]
    size = 30 if n_heads <= 16 else 16
    figure: Figure = {
        "data": [
            *lines,
            _boxes(above, 2.0, "Q", "query", size),
            _boxes(below, 1.0, "K", "key", size),
            _boxes(below, 0.42, "V", "value", size),
        ],
        "layout": {
            "showlegend": False,
            "xaxis": {"visible": False, "range": [0, 1], "fixedrange": True},
            "yaxis": {"visible": False, "range": [0.05, 2.35], "fixedrange": True},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }
    readers = words("list.next").join(
        words(
            "alt.reads",
            kv_head=kv,
            heads=words("list.and").join(map(str, range(kv * group, (kv + 1) * group))),
        )
        for kv in range(n_kv_heads)
    )
    return Picture(
        "sharing", figure, words("alt.sharing", n_heads=n_heads, n_kv_heads=n_kv_heads,
                                 readers=readers),
        height=250, pickable=False,
    )  # fmt: skip


def _boxes(x: Array, y: float, letter: str, role: str, size: int) -> Figure:
    """A row of heads as numbered squares in their role's colour."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": np.full(len(x), y),
        "text": [f"{letter}{place}" if size > 20 else str(place) for place in range(len(x))],
        "textfont": {"color": "var(--st-background-color)", "size": 12 if size > 20 else 9},
        "marker": {"symbol": "square", "size": size, "color": ink(role)},
        "hoverinfo": "skip",
        "name": letter,
    }


def patterns(
    trace: AttentionTrace, labels: Sequence[str], words: Words, name: str, scale: ColourScale
) -> Picture:
    """Every query head's pattern, its KV head in the title where heads share."""
    group = trace.config.group
    titles = [
        words("head.chip", head=head) + (f" · KV {head // group}" if group > 1 else "")
        for head in range(trace.config.n_heads)
    ]
    picture = head_patterns(trace, labels, words, scale=scale, titles=titles, name=name)
    picture.figure["data"][0]["meta"]["tile"]["narrow"] = min(3, trace.config.n_heads)
    return replace(picture, pickable=False)


def moved_bars(moved: Array, words: Words) -> Picture:
    """How far each head's pattern moved."""
    labels = [str(head) for head in range(len(moved))]
    listed = words("list.next").join(f"{head} {value:.2f}" for head, value in enumerate(moved))
    return bars(
        "moved", moved[None], labels, colours=[head_colour(head) for head in range(len(moved))],
        title=words("axis.moved"), bounds=(0, 1), height=230,
        alt=words("alt.listed", what=words("axis.moved"), listed=listed),
    )  # fmt: skip


def cache_bars(
    n_bytes: Mapping[int, int], names: Mapping[int, str], chosen: int, words: Words
) -> Picture:
    """Bytes of the cache for each number of KV heads; the chosen one is strong.

    Args:
        n_bytes: by number of KV heads.
        names: a label each.
        chosen: the number chosen.
        words: the reader's words.
    """
    picture = bars(
        "cache_bytes",
        np.array([list(n_bytes.values())], dtype=float) / 1024,
        [names[kv] for kv in n_bytes],
        colours=[ink("key" if kv == chosen else "residual") for kv in n_bytes],
        title=words("axis.cache", unit="KiB"),
        height=230,
        alt=words(
            "alt.listed",
            what=words("axis.cache", unit="KiB"),
            listed=words("list.next").join(
                f"{names[kv]} {binary(value)}" for kv, value in n_bytes.items()
            ),
        ),
    )
    picture.figure["data"][0] |= {
        "text": [binary(value) for value in n_bytes.values()],
        "textangle": 0,
        "textposition": "auto",
    }
    return picture


def player(
    decoding: Decoding, head: int, kv_head: int, labels: Sequence[str], words: Words
) -> Picture:
    """Decoding step by step: the KV head's cache grows by a column, the new token looks back.

    Args:
        decoding: the sentence read token by token.
        head: the query head whose weights stand above.
        kv_head: the KV head it reads.
        labels: a label a token.
        words: the reader's words.
    """
    keys, values = decoding.k_rot[kv_head].T, decoding.v[kv_head].T
    drawn = [heat.pool(part, MOST_ROWS, len(labels))[0] for part in (keys, values)]
    field = np.vstack([drawn[0], np.full((1, len(labels)), np.nan), drawn[1]]).astype(np.float32)
    middles = [(len(drawn[0]) - 1) / 2, len(drawn[0]) + 1 + (len(drawn[1]) - 1) / 2]
    frames: list[Figure] = []
    for token in range(len(labels)):
        grown = field.copy()
        grown[:, token + 1 :] = np.nan
        frames.append(
            {
                "name": words(
                    "decode.frame",
                    token=labels[token],
                    n=token + 1,
                    numbers=f"{decoding.elements[token]:,}",
                    apart=f"{decoding.apart[token]:.0e}",
                ),
                "data": [{"z": grown}, {"y": decoding.pattern[head, token].astype(np.float32)}],
                "traces": [0, 1],
            }
        )
    figure: Figure = {
        "data": [
            {
                "type": "heatmap",
                "z": field,
                "coloraxis": "coloraxis",
                "hoverongaps": False,
                "hovertemplate": "%{z:.3f}<extra></extra>",
                "name": "K, V",
                "xgap": 1,
            },
            {
                "type": "bar",
                "x": np.arange(len(labels)),
                "y": decoding.pattern[head, -1].astype(np.float32),
                "yaxis": "y2",
                "marker": {"color": ink("pattern")},
                "hovertemplate": "%{y:.3f}<extra></extra>",
                "name": words("axis.weight"),
            },
        ],
        "frames": frames,
        "layout": {
            "xaxis": heat.labels_axis(labels, [0], words("decode.cached"))
            | {"range": [-0.5, len(labels) - 0.5]},
            "yaxis": {"domain": [0, 0.66], "autorange": "reversed", "tickmode": "array",
                      "tickvals": middles, "ticktext": ["K", "V"], "showgrid": False,
                      "zeroline": False, "tickfont": {"size": 15}},
            "yaxis2": {"domain": [0.74, 1], "range": [0, 1], "zeroline": True,
                       "title": {"text": words("axis.weight")}},
            "coloraxis": heat.signed_axis([keys, values], words("decode.number"))
            | {"colorbar": heat.colour_bar(words("decode.number")) | {"len": 0.66, "y": 0.33}},
            "showlegend": False,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        },
    }  # fmt: skip
    return Picture(
        "decode", figure,
        words("alt.decode", n=len(labels), apart=f"{decoding.apart.max():.0e}"),
        height=430,
        arrays={"k_rot": decoding.k_rot, "v": decoding.v, "pattern": decoding.pattern},
        axes={"k_rot": ("kv_head", "key", "d_head"), "v": ("kv_head", "key", "d_value"),
              "pattern": ("head", "query", "key")},
        names={"query": labels, "key": labels},
        pickable=False, frames_label=words("decode.step"), frame=len(labels) - 1,
    )  # fmt: skip
