"""The browser's address bar and `<html lang>`, kept in step with the scene; and a lost server.

Streamlit's own way to change the query string adds an entry to the browser's history at each
change, so Back would undo one slider move at a time. This replaces the entry instead: one page,
one entry.

When the process that served a page is gone and another takes over, Streamlit waits for the reader
to do something, and that first thing is lost, as the new process has drawn nothing yet. So the
page asks for itself as soon as there is a connection again.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

SCRIPT = """
let ask = () => {}
let lost = false

function watchConnection() {
  const app = document.querySelector("[data-testid=stApp]")
  if (!app || app.dataset.watched) return
  app.dataset.watched = "yes"
  new MutationObserver(() => {
    const connected = app.dataset.testConnectionState === "CONNECTED"
    if (connected && lost) ask(Date.now())
    lost = !connected
  }).observe(app, { attributeFilter: ["data-test-connection-state"] })
}

export default function ({ data, setStateValue }) {
  ask = (moment) => setStateValue("back", moment)
  watchConnection()
  const address = new URL(window.location.href)
  if (address.search !== "?" + data.query) {
    window.history.replaceState(window.history.state, "", address.pathname + "?" + data.query)
  }
  document.documentElement.lang = data.lang
  document.documentElement.classList.toggle("projector", data.projector)
}
"""


def write_address(link: Mapping[str, str], *, lang: str, projector: bool) -> None:
    """Show `link` as the query string and tell the browser which language the page is in."""
    address = st.components.v2.component("twelve_heads_address", js=SCRIPT, isolate_styles=False)
    address(
        data={
            "query": urlencode(link),
            "lang": "zh-CN" if lang == "zh" else "en",
            "projector": projector,
        },
        key="address",
        height=0,
        on_back_change=lambda: None,
    )
