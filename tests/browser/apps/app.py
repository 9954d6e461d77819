"""The ASGI entry of the fixture app: the routes the real app has, and one page of components."""

import streamlit as st

from mha_view import assets

app = st.App("components.py", routes=assets.routes())
