"""For a teacher: a route through the pages with what to show and ask, presented and timed."""

import streamlit as st

from mha_view.classroom import own, plan
from mha_view.page import open_page

page = open_page("class")
route = plan.draw_choice(page)
if page.scene.route == "own":
    own.draw_keeping(page.words)
with st.container(border=True):
    plan.draw_minutes(page, route)
plan.draw_stations(page, route)

left, right = st.columns(2)
with left.container(border=True, height="stretch"):
    st.markdown(f"##### {page.words('class.keys')}")
    st.markdown(page.text("more"))
with right.container(border=True, height="stretch"):
    st.markdown(f"##### {page.words('card.trip')}")
    st.markdown(page.text("trip"))
