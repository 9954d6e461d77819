"""Every layer and head at a glance: sort them, choose one, find others like it."""

import streamlit as st

from mha_view.explore import gallery, real_roles
from mha_view.explore.asked import ask_gallery
from mha_view.explore.board import draw_reading_on, open_board
from mha_view.page_python import draw_python

board = open_board("gallery")

with st.container(border=True):
    gallery.draw_controls(board)
    gallery.draw_tiles(board)
    st.caption(board.text("picture"))

left, right = st.columns([11, 10])
with left.container(border=True, height="stretch"), st.container(key=gallery.CHOSEN):
    gallery.draw_chosen(board)
with right.container(border=True, height="stretch"):
    gallery.draw_passport(board)

with st.container(border=True):
    gallery.draw_like(board)

if board.scene.weights == "real":
    with st.container(border=True):
        real_roles.draw_roles(board)

with st.expander(board.words("gallery.mean")):
    gallery.draw_mean(board)

draw_reading_on(board, ask_gallery(board))
draw_python("gallery", board.words, board.scene)
