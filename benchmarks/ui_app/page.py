"""A slider and twelve attention matrices: `?how=ours` or `?how=subplots`, `&tokens=64`.

Both draw the same numbers with the same labels, scale and hover; both are a full rerun.
"""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

N_HEADS = 12
COLUMNS = 4
HEIGHT = 860


@st.cache_data(max_entries=64)
def make_pattern(seed: int, n_tokens: int) -> NDArray[np.float32]:
    """A causal pattern [head, query, key]; outside the timed part after its first use."""
    scores = 2 * np.random.default_rng(seed).standard_normal((N_HEADS, n_tokens, n_tokens))
    scores = np.where(np.tri(n_tokens, dtype=bool), scores, -np.inf)
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    return (exponents / exponents.sum(-1, keepdims=True)).astype(np.float32)


def draw_ours(pattern: NDArray[np.float32], tokens: list[str]) -> None:
    """The app's own way."""
    from mha_view.components.plot import plot
    from mha_view.figures.heat import share_axis, tiles
    from mha_view.words import Words

    figure = tiles(
        "pattern",
        pattern,
        titles=[f"head {head}" for head in range(N_HEADS)],
        rows=tokens,
        columns=tokens,
        row_title="query",
        column_title="key",
        colour=share_axis("linear", "weight"),
        hover="{row} → {column}: {value}",
        across=COLUMNS,
    )
    export = {"name": "pattern", "arrays": {"pattern": figure["data"][0]["z"]}, "settings": {}}
    words = Words("en").group("plot")
    plot(figure, key="grid", alt="Twelve heads.", words=words, export=export)


def draw_subplots(pattern: NDArray[np.float32], tokens: list[str]) -> None:
    """What Plotly's documentation and Streamlit's suggest."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=N_HEADS // COLUMNS,
        cols=COLUMNS,
        subplot_titles=[f"head {head}" for head in range(N_HEADS)],
    )
    for head in range(N_HEADS):
        figure.add_trace(
            go.Heatmap(z=pattern[head], coloraxis="coloraxis"),
            row=head // COLUMNS + 1,
            col=head % COLUMNS + 1,
        )
    places = list(range(len(tokens)))
    figure.update_xaxes(tickvals=places, ticktext=tokens, showticklabels=False)
    figure.update_yaxes(
        tickvals=places, ticktext=tokens, showticklabels=False, autorange="reversed"
    )
    figure.update_layout(coloraxis={"cmin": 0, "cmax": 1, "colorscale": "Cividis"}, height=HEIGHT)
    st.plotly_chart(figure, key="grid")


st.set_page_config(layout="wide")
seed = st.slider("Seed", 0, 40, 0)
n_tokens = int(st.query_params.get("tokens", 64))
tokens = [f"token{place}" for place in range(n_tokens)]
draw = draw_ours if st.query_params.get("how", "ours") == "ours" else draw_subplots
draw(make_pattern(seed, n_tokens), tokens)
