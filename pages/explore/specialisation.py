"""What each head is good at: roles with thresholds, the evidence, what breaks without a head."""

import streamlit as st

from mha_view.explore import again, bench, direct, roles
from mha_view.explore.board import draw_reading_on, open_toy_board

board = open_toy_board("specialisation")
words = board.words
report = again.load_report(words)

with st.container(border=True):
    st.markdown(f"##### {words('roles.title')}")
    roles.draw_roles(board, report)
    st.caption(board.text("limits"))
    again.draw_again(words)
with st.container(border=True):
    roles.draw_evidence(board, report)

left, right = st.columns([10, 11])
with left.container(border=True, height="stretch"):
    roles.draw_passport(board, report)
with right.container(border=True, height="stretch"):
    st.markdown(f"##### {words('jurors.title')}")
    st.caption(words("jurors.caption"))
    roles.draw_jurors(board, report)

with st.container(border=True):
    st.markdown(f"##### {words('damage.title')}")
    roles.draw_damage(board, report)
    st.caption(board.text("picture"))

with st.container(border=True):
    st.markdown(f"##### {words('bench.title')}")
    st.caption(words("bench.caption"))
    bench.draw_bench(board)
with st.container(border=True):
    st.markdown(f"##### {words('direct.title')}")
    direct.draw_direct(board)

draw_reading_on(board)
