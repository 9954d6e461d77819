"""What each head is good at: roles with thresholds, the evidence, what breaks without a head."""

import streamlit as st

from mha_view.explore import again, bench, direct, losses, real_parts, role_map, roles
from mha_view.explore.asked import ask_real, ask_specialisation
from mha_view.explore.board import draw_reading_on, open_measured_board
from mha_view.explore.tabs import draw_tabs
from mha_view.page_python import draw_python

board = open_measured_board("specialisation")
words = board.words
tab = draw_tabs(words, board.scene)
is_real = board.scene.weights == "real"
report = {} if is_real else again.load_report(words)

if is_real:
    real_parts.draw_part(board, tab)
elif tab == "roles":
    with st.container(border=True):
        roles.draw_chips(board, report)
        role_map.draw_strip(board, report)
        roles.draw_evidence(board, report)
        st.caption(board.text("limits"))
    roles.draw_passport(board, report)
elif tab == "map":
    with st.container(border=True):
        st.markdown(f"##### {words('map.title')}")
        role_map.draw_map(board, report)
    with st.container(border=True):
        role_map.draw_list(board, report)
    with st.container(border=True):
        st.markdown(f"##### {words('roles.title')}")
        roles.draw_roles(board, report)
elif tab == "damage":
    with st.container(border=True):
        st.markdown(f"##### {words('damage.title')}")
        losses.draw_damage(board, report)
        st.caption(board.text("picture"))
    left, right = st.columns([11, 10])
    with left.container(border=True, height="stretch"):
        st.markdown(f"##### {words('losses.title')}")
        losses.draw_task(board, report)
    with right.container(border=True, height="stretch"):
        st.markdown(f"##### {words('jurors.title')}")
        st.caption(words("jurors.caption"))
        losses.draw_jurors(board, report)
else:
    with st.container(border=True):
        st.markdown(f"##### {words('bench.title')}")
        st.caption(words("bench.caption"))
        bench.draw_bench(board)
    with st.container(border=True):
        st.markdown(f"##### {words('direct.title')}")
        direct.draw_direct(board)

if tab != "bench" and not is_real:
    again.draw_again(words)
draw_reading_on(board, ask_real(board) if is_real else ask_specialisation(board))
draw_python("specialisation", board.words, board.scene)
