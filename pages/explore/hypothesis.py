"""A hypothesis of the reader's own about heads: stated, frozen, tested on sentences kept apart."""

import streamlit as st

from mha_view.classroom import share
from mha_view.explore import stated as form
from mha_view.explore import tested
from mha_view.explore.asked_circuit import ask_hypothesis
from mha_view.explore.board import draw_limits
from mha_view.page_python import draw_python

stated = form.open_stated()
words = stated.words
with st.container(horizontal=True, vertical_alignment="bottom", key="title_row"):
    st.title(words.lesson("hypothesis", "title"))
    share.draw_button(words, "hypothesis")
st.markdown(words.lesson("hypothesis", "says"))
form.draw_whose(stated)

if stated.scene.frozen and stated.can_freeze:
    claim = stated.claim
    with st.container(border=True):
        form.draw_frozen(stated, claim)
        outcome = tested.outcome_of(stated, claim)
        tested.draw_verdict(stated, outcome)
        tested.draw_heads(stated, outcome)
    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        tested.draw_spread(stated, outcome)
    with right.container(border=True, height="stretch"):
        tested.draw_cut(stated, outcome)
    with st.container(border=True):
        tested.draw_failing(stated, outcome)
    tested.draw_tested(stated)
else:
    if not stated.scene.marked.strip():
        form.draw_ready(stated)
    with st.container(border=True):
        form.draw_form(stated)

draw_limits("hypothesis", words, ask_hypothesis(stated))
draw_python("hypothesis", words, stated.scene)
