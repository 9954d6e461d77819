"""From text to the columns of X_in: pieces, ids, and one column of numbers for each."""

import streamlit as st

from mha_view import compute
from mha_view.figures.walk import feature_matrix
from mha_view.page import open_page
from mha_view.walk import tokens

page = open_page("tokens")
words, trace = page.words, page.trace
page.draw_chips("d", "S", "stream", "x")
strange = compute.strange_places(page.scene)
st.html(tokens.pieces(page.reading, page.scene.text, strange, words))
st.caption(words("tokens.legend.real" if page.scene.weights == "real" else "tokens.legend"))
tokens.draw_falls(page)
left, right = st.columns([6, 5])
with left.container(border=True):
    page.show(feature_matrix(trace["stream"], page.labels, words))
    st.caption(page.text("picture"))
with right.container(border=True):
    st.markdown(f"##### {words('tokens.table')}")
    tokens.draw_table(page)
tokens.draw_column(page)

counts = {
    "words": len(page.scene.text.split()),
    "characters": len(page.scene.text),
    "tokens": len(page.reading),
}
page.draw_closing(page.options(*counts, **counts), "tokens", **counts)
