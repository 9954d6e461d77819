"""Watch the heads form: the shipped run on a slider, and a small run of one's own."""

import streamlit as st

from mha_view import controls
from mha_view.explore import checkpoints, live_run, training
from mha_view.explore.asked import ask_training
from mha_view.explore.board import draw_reading_on, open_toy_board
from mha_view.page_python import draw_python

live_run.keep_alive()
board = open_toy_board("training")
words = board.words

if checkpoints.list_steps():
    with st.container(border=True):
        st.markdown(f"##### {words('training.shipped')}")
        training.draw_checkpoints(board)
        controls.draw_scale(words)
        st.caption(board.text("picture"))

with st.container(border=True):
    st.markdown(f"##### {words('live.title')}")
    st.caption(words("live.caption"))
    training.draw_live(board)

draw_reading_on(board, ask_training(board))
draw_python("training", board.words, board.scene)
