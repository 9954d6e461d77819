"""Who looks at whom, as lines between tokens; a token is isolated without a trip to the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mha_view.components.mount import mount

MOST_TOKENS = 128
MOST_LINES = 1200


def links(
    tokens: Sequence[str],
    patterns: ArrayLike,
    *,
    heads: Sequence[int],
    colours: Sequence[str],
    key: str,
    alt: str,
    words: Mapping[str, str],
    layout: Literal["arcs", "columns"] = "arcs",
    shown_heads: Sequence[int] | None = None,
    query: int | None = None,
    threshold: float = 0.06,
    export: Mapping[str, Any] | None = None,
) -> None:
    """Draw attention as lines from the token that looks to the token that is looked at.

    "arcs" sets the tokens in one row, which suits Chinese and a wide screen; "columns" sets
    queries left and keys right. A line is as thick and as strong as its weight. Hovering over,
    focusing or tapping a token leaves only what that token looks at, with the weights under the
    tokens. In the browser the reader chooses heads, the least weight that is drawn, and how many
    links a token has at most; what is hidden is stated.

    Args:
        tokens: as they are to be read, in order.
        patterns: [head, query, key], only the heads to draw, weights from 0 to 1; NaN where
            masked.
        heads: each pattern's number.
        colours: each pattern's colour.
        key: unique on the page, stable over reruns.
        alt: what a reader who cannot see it is told.
        words: the texts under "plot." and "links.", by the rest of their key.
        layout: "arcs" or "columns".
        shown_heads: which of `heads` are drawn at first; all if None.
        query: the token that is isolated at first.
        threshold: the least weight that is drawn at first.
        export: as in `plot`.

    Raises:
        ValueError: if the sizes do not fit together.
    """
    weights = np.asarray(patterns, dtype=np.float32)
    expected = (len(heads), len(tokens), len(tokens))
    if weights.shape != expected or len(colours) != len(heads):
        raise ValueError(
            f"patterns have shape {weights.shape} and there are {len(colours)} colours; "
            f"{len(heads)} heads and {len(tokens)} tokens need {expected} and {len(heads)}"
        )
    # Beyond this nobody can follow a line; the browser says what it shows.
    shown = slice(None, MOST_TOKENS)
    header = {
        "tokens": list(tokens)[shown],
        "all_tokens": len(tokens),
        "weights": np.ascontiguousarray(weights[:, shown, shown]),
        "heads": list(heads),
        "colours": list(colours),
        "shown_heads": None if shown_heads is None else list(shown_heads),
        "layout": layout,
        "query": query if query is not None and query < MOST_TOKENS else None,
        "threshold": threshold,
        "most_lines": MOST_LINES,
        "alt": alt,
        "words": dict(words),
        "export": export,
        "toolbar": True,
    }
    mount("links.js", header, key=key, callbacks={})
