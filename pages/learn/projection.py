"""Q, K, V = W X: three matrices, one rule; each number is a row of W times a column of X."""

import numpy as np
import streamlit as st

from mha_core.whatif import walk_again
from mha_view import derivations
from mha_view.choose import largest_cell
from mha_view.figures.walk import feature_matrix, features, tensor_tiles
from mha_view.page import open_page
from mha_view.pick import pick_cell
from mha_view.show import show

page = open_page("projection")
words, trace = page.words, page.trace
page.draw_chips("x", "q_full", "k_full", "v_full")
names = ("q", "k", "v")
results = [trace[f"{name}_full"].article_value for name in names]
row_names, titles = features(max(len(result) for result in results)), ["Q", "K", "V"]
common = {"row_title": words("axis.feature")}

left, right = st.columns([11, 10])
with left.container(border=True):
    st.markdown(f"##### {words('projection.results')}")
    show(
        tensor_tiles(
            "projected", results, titles, words, rows=row_names, columns=page.labels,
            column_title=words("axis.token"), symbol="Q, K, V", across=3, **common,
        ),
        words,
    )  # fmt: skip
    st.caption(page.text("picture"))
with right.container(border=True):
    which, feature, token = page.picked_in("projected", [r.shape for r in results])
    if page.scene.picked is None:
        feature, token = largest_cell(results[which])
    pick_cell(
        page, "projected", (which, feature, token), features(len(results[which])), page.labels
    )
    derivations.draw_projection(page, names[which], feature, token)

st.subheader(words("projection.matrices"))
weights = [np.asarray(getattr(trace.weights, f"w_{name}")) for name in names]
one, three = st.columns([2, 5])
with one.container(border=True):
    show(feature_matrix(trace["x"], page.labels, words), words)
with three.container(border=True):
    show(
        tensor_tiles(
            "matrices", weights, ["W_q", "W_k", "W_v"], words, rows=row_names,
            columns=features(page.config.d_model), column_title=words("axis.feature_in"),
            symbol="W", across=3, pickable=False, **common,
        ),
        words,
    )  # fmt: skip
st.caption(words("projection.matrices.caption"))

longer = walk_again(
    trace,
    stream=np.vstack([trace.stream, trace.stream[-1:]]),
    keep=np.ones((trace.n_tokens + 1, trace.n_tokens + 1), dtype=bool),
    positions=np.arange(trace.n_tokens + 1),
)
changed = longer["q_full"].shape != trace["q_full"].shape
kept = np.shape(longer.weights.w_q) == np.shape(trace.weights.w_q)
page.draw_closing(
    page.options("weights", "result", "both"),
    "result" if changed and kept else "both" if changed else "weights",
)
