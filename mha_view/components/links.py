"""Who looks at whom, as lines between tokens; a token is isolated without a trip to the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike

from mha_view.components.mount import mount
from mha_view.components.plot import prepare_export

MOST_TOKENS = 128
MOST_LINES = 1200
RESERVE = 290  # pixels kept free until the lines are drawn


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
    on_token: Callable[[int], None] | None = None,
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
            masked; those of the tokens beyond `MOST_TOKENS` are not needed.
        heads: each pattern's number.
        colours: each pattern's colour.
        key: unique on the page, stable over reruns.
        alt: what a reader who cannot see it is told.
        words: the texts under "plot." and "links.", by the rest of their key.
        layout: "arcs" or "columns".
        shown_heads: which of `heads` are drawn at first; all if None.
        query: the token that is isolated at first.
        threshold: the least weight that is drawn at first.
        on_token: called with the place of a token that is clicked, before the script runs again.
        export: as in `plot`.

    Raises:
        ValueError: if the sizes do not fit together.
    """
    # Beyond this nobody can follow a line; the browser says what it shows.
    n_shown = min(len(tokens), MOST_TOKENS)
    weights = np.asarray(patterns)[..., :n_shown, :n_shown].astype(np.float32)
    expected = (len(heads), n_shown, n_shown)
    if weights.shape != expected or len(colours) != len(heads):
        raise ValueError(
            f"patterns have shape {weights.shape} and there are {len(colours)} colours; "
            f"{len(heads)} heads and {len(tokens)} tokens need {expected} and {len(heads)}"
        )
    header = {
        "tokens": list(tokens)[:n_shown],
        "all_tokens": len(tokens),
        "weights": weights,
        "heads": list(heads),
        "colours": list(colours),
        "shown_heads": None if shown_heads is None else list(shown_heads),
        "layout": layout,
        "query": query if query is not None and query < n_shown else None,
        "threshold": threshold,
        "most_lines": MOST_LINES,
        "reserve": RESERVE,
        "alt": alt,
        "words": dict(words),
        "export": prepare_export(export, key),
        "toolbar": True,
    }

    def hear() -> None:
        told = st.session_state.get(key, {}).get("token")
        place = told.get("place") if isinstance(told, dict) else None
        if on_token is not None and type(place) is int and 0 <= place < n_shown:
            on_token(place)

    mount("links.js", header, key=key, callbacks={"wanted": lambda: None, "token": hear})
