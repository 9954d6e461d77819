"""The browser's address bar and `<html lang>`, kept in step with the scene; and a lost server.

Streamlit's own way to change the query string adds an entry to the browser's history at each
change, so Back would undo one slider move at a time. This replaces the entry instead: one page,
one entry.

When the process that served a page is gone and another takes over, Streamlit waits for the reader
to do something, and that first thing is lost, as the new process has drawn nothing yet. So the
page asks for itself as soon as there is a connection again.

What stands after a `#` is never sent to a server. In a sentence typed into the address bar it is
part of the sentence, so it is told.
"""

from __future__ import annotations

import streamlit as st

from mha_view import state

SCRIPT = """
let ask = () => {}
let lost = false
let hasTold = false

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
  if (data.byHand && window.location.hash && !hasTold) {
    hasTold = true
    setStateValue("rest", window.location.hash)
  }
  const address = new URL(window.location.href)
  if (address.search !== "?" + data.query) {
    window.history.replaceState(window.history.state, "", address.pathname + "?" + data.query)
  }
  const page = document.documentElement
  // The same again would style the whole page anew.
  if (page.lang !== data.lang) page.lang = data.lang
  page.classList.toggle("present", data.present)
}
"""


def write_address(query: str, *, lang: str, present: bool) -> None:
    """Show a query string in the address bar and tell the browser which language the page is in,
    and whether it is presented."""
    address = st.components.v2.component("twelve_heads_address", js=SCRIPT, isolate_styles=False)
    address(
        data={
            "query": query,
            "lang": "zh-CN" if lang == "zh" else "en",
            "present": present,
            "byHand": state.is_by_hand(),
        },
        key="address",
        height=0,
        on_back_change=lambda: None,
        on_rest_change=_take_rest,
    )


def _take_rest() -> None:
    """Read what the browser told of the link."""
    rest = st.session_state.get("address", {}).get("rest")
    if isinstance(rest, str) and state.is_by_hand():
        state.take_rest(rest)
