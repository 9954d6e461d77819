"""Which head reads which: paths cut one by one, the story they tell, what the weights say."""

import streamlit as st

from mha_view.explore import circuits, lens, story
from mha_view.explore.asked_circuit import ask_circuits
from mha_view.explore.board import draw_reading_on
from mha_view.page_python import draw_python

board = circuits.open_circuits()
words = board.words
part = circuits.draw_parts(board)

if part == "lens":
    with st.container(border=True):
        lens.draw_lens(board)
elif part == "story":
    with st.container(border=True):
        story.draw_story(board, circuits.copying_circuit(board))
else:
    with st.container(border=True):
        found = circuits.draw_task(board)
        if part == "graph":
            circuits.draw_graph(board, found)
        else:
            circuits.draw_weights(board, found)
    if part == "graph":
        with st.container(border=True):
            st.markdown(f"##### {words('circuits.every')}")
            circuits.draw_every(board, found)

draw_reading_on(board, ask_circuits(board))
draw_python("circuits", words, board.scene)
