"""The scene of this reader's session, and how widgets read and change it.

The scene is the only truth: before a widget is drawn it is given the scene's value, and what the
reader does to it goes back into the scene through a callback.
"""

from __future__ import annotations

import os
from typing import Any

import streamlit as st

from mha_view.link import link_of, refuse_missing
from mha_view.scene import FOREIGN, Scene, read_link, start_in
from mha_view.words import LANG_VARIABLE, LANGS

MOST_UNDO = 50


def scene() -> Scene:
    """The scene as it is now."""
    found: Scene = st.session_state["scene"]
    return found


def change(**changes: Any) -> None:
    """Change the scene as a reader does, remembering how it was."""
    before = scene()
    after = before.turn_to(**changes)
    if after != before:
        history: list[Scene] = st.session_state.setdefault("history", [])
        history.append(before)
        del history[:-MOST_UNDO]
        st.session_state["scene"] = after


def can_undo() -> bool:
    """Whether there is a change to take back."""
    return bool(st.session_state.get("history"))


def undo() -> None:
    """Take the last change back."""
    st.session_state["scene"] = st.session_state["history"].pop()


def bind(field: str, prefix: str = "", *, shown: Any = None) -> dict[str, Any]:
    """Keyword arguments that tie a widget to a field of the scene.

    Args:
        field: a field of `Scene`.
        prefix: tells two widgets for the same field apart.
        shown: what the widget shows where it cannot show the field's own value. The scene keeps
            that: drawing writes nothing into it.
    """
    key = f"{prefix}{field}"
    st.session_state[key] = getattr(scene(), field) if shown is None else shown
    return {"key": key, "on_change": _store, "args": (field, key)}


def _store(field: str, key: str) -> None:
    """Put a widget's value into the scene; a choice taken away leaves the scene as it was."""
    value = st.session_state[key]
    if value is not None:
        change(**{field: value})


def setter(**changes: Any) -> dict[str, Any]:
    """Keyword arguments for a button that changes the scene."""
    return {"on_click": change, "kwargs": changes}


def open_scene() -> list[str]:
    """Make the session's scene follow the address bar; what could not be read is returned.

    The address is read on the first run, and when it has become something this session did not
    write itself. An address that lags behind, or Back to one written earlier, changes nothing:
    the scene belongs to the session, and a page opened from the menu has no query string.
    """
    asked = st.query_params.to_dict()
    link = {name: value for name, value in asked.items() if not FOREIGN.fullmatch(name)}
    seen, st.session_state["seen"] = st.session_state.get("seen"), link
    if "scene" not in st.session_state:
        lang = link.get("lang") or first_language()
        return _take({**link, "lang": lang}, None)
    if not link or link == seen or link in st.session_state["written"]:
        return []
    return _take(link, Scene(text=scene().text, lang=scene().lang))


def _take(link: dict[str, str], start: Scene | None) -> list[str]:
    """Make a link's scene the session's; what could not be used is returned."""
    read, refused = read_link(link, start)
    st.session_state["scene"], missing = refuse_missing(read, link)
    return refused + missing


def first_language() -> str:
    """The language of a session whose link names none: the server's own choice, else the
    browser's."""
    if (chosen := os.environ.get(LANG_VARIABLE, "")) in LANGS:
        return chosen
    return "zh" if (st.context.locale or "").startswith("zh") else "en"


def note_written() -> dict[str, str]:
    """The scene's link, noted as what the address bar will hold."""
    link = link_of(scene())
    written: list[dict[str, str]] = st.session_state.setdefault("written", [])
    if link not in written:
        written.append(link)
        del written[:-MOST_UNDO]
    return link


def switch_language(lang: str) -> None:
    """Change the language; a default sentence follows with all it brings along."""
    same = scene().text == start_in(scene().lang)["text"]
    change(lang=lang, **(start_in(lang) if same else {}))
