"""The benchmark's entry: the routes the real app has, and one page."""

from streamlit import App

from mha_view import assets

app = App("page.py", routes=assets.routes())
