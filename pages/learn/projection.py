"""Q, K, V = W X: three matrices, one rule; each number is a row of W times a column of X."""

import numpy as np
import streamlit as st

from mha_core.derivation import Projection
from mha_view.figures.layer import projections
from mha_view.figures.walk import feature_matrix, features
from mha_view.page import open_page
from mha_view.show import show
from mha_view.walk import derivations
from mha_view.walk.choose import largest_row
from mha_view.walk.pick import pick_cell

page = open_page("projection")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("d", "S", "x", "w_q", "w_k", "w_v", "q_full", "k_full", "v_full")
names: tuple[Projection, ...] = ("q", "k", "v")
results = {f"{name}_full": trace[f"{name}_full"].article_value for name in names}
each = dict(zip(results, (config.d_head, config.d_head, config.d_value), strict=True))
heads = dict(zip(results, (config.n_heads, config.n_kv_heads, config.n_kv_heads), strict=True))
picked = page.scene.picked
figure = picked.figure if picked and picked.figure in results else "q_full"

first = page.band(each[figure], is_kv=figure != "q_full")
largest = largest_row(results[figure], page.focus, slice(*first))
_, feature, token = page.picked_in(figure, results[figure].shape, largest)

with st.container(border=True):
    reach = list(results.values())
    most = max(float(np.abs(result).max()) for result in reach)
    if not page.scene.present:  # where each is shown alone
        st.markdown(f"##### {words('projection.results', reach=f'{most:.2f}')}")
    for column, name in zip(st.columns(3, gap="xsmall"), results, strict=True):
        with column:
            if page.scene.present:
                symbol = trace[name].symbol
                st.markdown(f"##### {words('projection.one', symbol=symbol, reach=f'{most:.2f}')}")
            drawn = feature_matrix(
                trace[name], page.labels, words, reach=reach, bands=heads[name], bar=False
            )
            cell = (0, feature, token) if name == figure else None
            page.show(drawn, cell, rows_per_head=each[name], is_kv=name != "q_full")
    st.caption(page.text("picture"))
with st.container(border=True):
    pick_cell(page, figure, (0, feature, token), features(len(results[figure])), page.labels)
    derivations.draw_projection(page, names[list(results).index(figure)], feature, token)

st.subheader(words("projection.matrices"))
one, three = st.columns([2, 5])
with one.container(border=True):
    page.show(feature_matrix(trace["x"], page.labels, words))
with three.container(border=True):
    show(projections(trace, words), words)
st.caption(words("projection.matrices.caption"))

w_q = np.asarray(trace.weights.w_q)
longer = np.vstack([trace.x, trace.x[-1:]]) @ w_q.T
changed, kept = longer.shape != trace["q_full"].shape, longer.shape[1] == len(w_q)
page.draw_closing(
    page.options("weights", "result", "both"),
    "result" if changed and kept else "both" if changed else "weights",
)
