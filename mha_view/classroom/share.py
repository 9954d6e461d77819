"""The page's menu: its link to copy, the same as a QR code, and presenting."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import segno
import streamlit as st

from mha_view import by_hand, state
from mha_view.classroom import own
from mha_view.components.mount import mount
from mha_view.link import link_of
from mha_view.menu import page_file
from mha_view.scene import Scene, link_holds_text
from mha_view.words import Words


def draw_button(words: Words, page: str) -> None:
    """The button that opens the menu of a page."""
    if st.button(words("share.button"), key="share"):
        st.dialog(words("share.title"))(_draw)(words, page)


def _draw(words: Words, page: str) -> None:
    """What the menu holds."""
    scene = state.scene()
    address = st.context.url or ""
    written = f"{address}?{by_hand.write(scene)}"
    shown = f"{address}?{by_hand.in_letters(by_hand.write(scene))}"
    header = {
        "shown": shown,
        "escaped": "" if written == shown else written,
        "words": words.group("share"),
        "reserve": 90,
    }
    mount("share.js", header, key="share_link", callbacks={})
    if not link_holds_text(scene):
        st.caption(words("share.without_text"))
    drawn = draw_code(short_link(address, scene))
    if drawn is None:
        st.caption(words("share.no_code"))
    else:
        st.html(f'<img class="qr" src="{drawn}" alt="{escape(words("share.code"))}">')
        st.caption(words("share.code"))
    with st.container(horizontal=True):
        if st.button(words("share.present"), key="share_present", type="primary"):
            state.change(present=True)
            st.rerun()
        if page != "class" and st.button(words("share.add"), key="share_add"):
            own.add_view(page)
            st.session_state["added"] = True
    if st.session_state.pop("added", False):
        n = len(own.own_route().stations)
        st.success(words("share.added", n=n))
        st.page_link(
            page_file("class"),
            label=words("share.to_class"),
            query_params=link_of(state.scene().with_(route="own")),
        )
    st.caption(words("share.by_hand"))


def short_link(address: str, scene: Scene) -> str:
    """The shorter of a scene's two links: fewer and larger squares in the code.

    >>> short_link("http://localhost/rope", Scene(text="The dog ran."))
    'http://localhost/rope?text=The+dog+ran.&lang=en&v=1'
    """
    return min(
        (f"{address}?{query}" for query in (by_hand.write(scene), urlencode(link_of(scene)))),
        key=len,
    )


def draw_code(link: str) -> str | None:
    """A link as a QR code, the address of an SVG; None where it does not fit into one.

    >>> draw_code("http://localhost")[:18], draw_code("x" * 3000)
    ('data:image/svg+xml', None)
    """
    try:
        code = segno.make(link, micro=False)
    except segno.DataOverflowError:
        return None
    drawn: str = code.svg_data_uri(dark="#000", light="#fff", omitsize=True, encode_minimal=False)
    return drawn
