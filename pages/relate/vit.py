"""The same layer on an image: patches as tokens, two-way, beside the sentence row for row."""

import streamlit as st

from mha_view.page_python import draw_python
from mha_view.relate import vit

page = vit.open_beside()

left, right = st.columns([2, 3])
with left.container(border=True, height="stretch"):
    vit.draw_source(page)
with right.container(border=True, height="stretch"):
    vit.draw_answer(page)

if not page.is_blank:
    with st.container(border=True):
        vit.draw_looking(page)
        st.caption(page.text("picture"))

vit.draw_sentence(page)

with st.container(border=True):
    st.subheader(page.words("vit.table"))
    vit.draw_properties(page)

with st.expander(page.words("vit.masks", head=page.head)):
    vit.draw_masks(page)

vit.draw_reading_on(page)
draw_python("vit", page.words, page.scene)
