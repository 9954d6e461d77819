"""Fewer KV heads: who shares whose keys and values, what it changes, what the cache saves."""

import streamlit as st

from mha_view.page_python import draw_python
from mha_view.relate import grouped

page = grouped.open_grouped()

with st.container(border=True):
    grouped.draw_slider(page)

grouped.draw_patterns(page)
st.caption(page.text("picture"))

grouped.draw_costs(page)

with st.container(border=True):
    grouped.draw_player(page)

grouped.draw_reading_on(page)
draw_python("grouped", page.words, page.scene)
