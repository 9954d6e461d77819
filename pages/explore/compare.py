"""Two readings that differ in one thing, side by side on one scale, and their difference."""

import streamlit as st

from mha_view import controls
from mha_view.explore import compare
from mha_view.explore.asked import ask_compare
from mha_view.explore.board import draw_reading_on, open_board
from mha_view.page_python import draw_python

board = open_board("compare")

with st.container(border=True):
    against = compare.draw_controls(board)
    if against == "text":
        with st.popover(board.words("sentence.examples")):
            compare.draw_examples(board.words)
sides = compare.make_sides(board, against)
compare.draw_sides(board, sides)
controls.draw_scale(board.words)
st.caption(board.text("picture"))

left, right = st.columns([11, 10])
with left.container(border=True, height="stretch"):
    compare.draw_difference(board, sides)
with right.container(border=True, height="stretch"):
    compare.draw_numbers(board, sides)

if board.scene.weights != "real":  # which is read with its own mask
    with st.expander(board.words("compare.masks")):
        compare.draw_masks(board)

draw_reading_on(board, ask_compare(board, sides))
draw_python("compare", board.words, board.scene)
