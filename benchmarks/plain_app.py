"""The attention page as a plain Streamlit app would be written: recomputed and redrawn each time.

The layer comes from the same core, so what differs is the app around it.
"""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from mha_core import load_toy_model

st.set_page_config(layout="wide")
query = st.query_params
text = st.text_input("Sentence", query.get("text", "The cat sat on the mat because it was tired."))
layer = st.selectbox("Layer", range(3), int(query.get("layer", 0)))
head = st.selectbox("Head", range(6), int(query.get("head", 0)))
model = st.cache_resource(load_toy_model)()
trace = model.trace(text)
attention, tokens = trace.layers[layer], list(trace.tokens)
places = list(range(len(tokens)))
n_heads = attention.config.n_heads

for name, matrices in (("scores", attention.scores), ("pattern", attention.pattern)):
    figure = make_subplots(rows=2, cols=3, subplot_titles=[f"head {n}" for n in range(n_heads)])
    for number in range(n_heads):
        figure.add_trace(
            go.Heatmap(z=matrices[number], coloraxis="coloraxis"),
            row=number // 3 + 1,
            col=number % 3 + 1,
        )
    figure.update_xaxes(tickvals=places, ticktext=tokens)
    figure.update_yaxes(tickvals=places, ticktext=tokens, autorange="reversed")
    figure.update_layout(coloraxis={"colorscale": "Cividis"}, height=800)
    st.plotly_chart(figure, key=name)
for name in ("q", "k", "v", "heads"):
    matrix = getattr(attention, name)[head].T
    st.plotly_chart(
        go.Figure(go.Heatmap(z=matrix, colorscale="PuOr", zmid=0)).update_xaxes(
            tickvals=places, ticktext=tokens
        ),
        key=name,
    )
st.table({"token": tokens, "entropy": [f"{row.max():.3f}" for row in attention.pattern[head]]})
