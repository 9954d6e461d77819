"""What comes next, word by word: probabilities, a choice, and where every head looks for it."""

import streamlit as st

from mha_view.explore import continuing
from mha_view.explore.asked import ask_continue
from mha_view.explore.board import draw_reading_on
from mha_view.page_python import draw_python

text = continuing.open_text()

left, right = st.columns([10, 10])
with left.container(border=True, height="stretch"):
    continuing.draw_writing(text)
with right.container(border=True, height="stretch"):
    continuing.draw_rows(text)

with st.container(border=True):
    continuing.draw_settings(text)
    st.caption(text.text("picture"))
    continuing.draw_check(text)

with st.container(border=True):
    continuing.draw_without(text)

draw_reading_on(text, ask_continue(text))
draw_python("continue", text.words, text.scene)
