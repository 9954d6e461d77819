"""The scene of this reader's session, and how widgets read and change it.

The scene is the only truth: before a widget is drawn it is given the scene's value, and what the
reader does to it goes back into the scene through a callback.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_view import by_hand, compute
from mha_view.by_hand import Refused
from mha_view.link import link_of
from mha_view.scene import DEFAULTS, FOREIGN, Scene, marked_in, start_in
from mha_view.words import LANG_VARIABLE, LANGS

MOST_UNDO = 50
# What says which token a link is about.
TOKENS_OF = ("text", "weights", "real", "focus", "picked")


@dataclass(frozen=True)
class Waiting:
    """A link that names a token of a model which is not loaded yet.

    Attributes:
        link: names and values.
        start: what held where the link says nothing.
        scene: as far as it could be read.
    """

    link: dict[str, str]
    start: Scene | None
    scene: Scene


def scene() -> Scene:
    """The scene as it is now."""
    found: Scene = st.session_state["scene"]
    return found


def change(**changes: Any) -> None:
    """Change the scene as a reader does, remembering how it was."""
    before = scene()
    after = before.turn_to(compute.tokens_before, **changes)
    if after != before:
        history: list[Scene] = st.session_state.setdefault("history", [])
        history.append(before)
        del history[:-MOST_UNDO]
        st.session_state["scene"] = after


def replace_by(after: Scene) -> None:
    """Take another scene as a whole, as a link would, remembering how it was."""
    change(**{field: getattr(after, field) for field in DEFAULTS})


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


def open_scene() -> list[Refused]:
    """Make the session's scene follow the address bar; what could not be read is returned.

    The address is read on the first run, and when it has become something this session did not
    write itself. An address that lags behind, or Back to one written earlier, changes nothing:
    the scene belongs to the session, and a page opened from the menu has no query string.
    """
    context = get_script_run_ctx()
    raw = context.query_string if context else ""
    asked = by_hand.split_query(raw)
    link = {name: value for name, value in asked.items() if not FOREIGN.fullmatch(name)}
    seen, st.session_state["seen"] = st.session_state.get("seen"), link
    is_first = "scene" not in st.session_state
    if not is_first and (not link or link == seen or link in st.session_state["written"]):
        refused = [*st.session_state.pop("refused", []), *_take_waiting()]
    else:
        st.session_state["asked"] = raw if "text" in link and "v" not in link else ""
        refused = _take(link, None if is_first else _start())
    st.session_state["told"] = refused
    return refused


def _start() -> Scene:
    """What holds where a further link says nothing."""
    now = scene()
    return Scene(text=now.text, lang=now.lang, own_route=now.own_route)


def say_again() -> None:
    """Have the next run say what this one said could not be used of a link."""
    st.session_state["refused"] = st.session_state.get("told", [])


def is_by_hand() -> bool:
    """Whether the link that was opened last was written by a person, with a sentence in it."""
    return bool(st.session_state.get("asked"))


def take_rest(rest: str) -> None:
    """Read the link again with what stands after a `#` in it, which no browser sends.

    Args:
        rest: from the `#` on, as the browser has it.
    """
    raw = f"{st.session_state['asked']}%23{rest.removeprefix('#')}"
    st.session_state["asked"] = ""
    st.session_state["refused"] = _take(by_hand.split_query(raw), None)


def _take(link: dict[str, str], start: Scene | None) -> list[Refused]:
    """Make a link's scene the session's; what could not be used is returned."""
    if start is None and not link.get("lang"):
        link = {**link, "lang": first_language()}
    read, refused = by_hand.read(link, start)
    st.session_state["scene"] = read
    waits = by_hand.needs_model(link, read)
    st.session_state["waiting"] = Waiting(link, start, read) if waits else None
    return refused


def _take_waiting() -> list[Refused]:
    """Read the token or the cell of a link again, now that its model is loaded; what could not be
    used is returned. A reader who has turned to something else meanwhile keeps that."""
    waiting: Waiting | None = st.session_state.get("waiting")
    if waiting is None or not compute.is_ready(waiting.scene):
        return []
    st.session_state["waiting"] = None
    now = scene()
    if any(getattr(now, field) != getattr(waiting.scene, field) for field in TOKENS_OF):
        return []
    read, refused = by_hand.read(waiting.link, waiting.start)
    st.session_state["scene"] = now.with_(focus=read.focus)
    return [one for one in refused if one.name == "token"]  # the rest was said before


def first_language() -> str:
    """The language of a session whose link names none: the server's own choice, else the
    browser's."""
    if (chosen := os.environ.get(LANG_VARIABLE, "")) in LANGS:
        return chosen
    return "zh" if (st.context.locale or "").startswith("zh") else "en"


def note_written() -> str:
    """The scene's query string, noted as what the address bar will hold, and as the menu links."""
    query = by_hand.write(scene())
    written: list[dict[str, str]] = st.session_state.setdefault("written", [])
    for link in (link_of(scene()), by_hand.split_query(query)):
        if link not in written:
            written.append(link)
            del written[: -2 * MOST_UNDO]
    return query


def switch_language(lang: str) -> None:
    """Change the language; a default sentence follows with all it brings along, and so does a
    ready hypothesis."""
    same = scene().text == start_in(scene().lang)["text"]
    change(lang=lang, **(start_in(lang) if same else {}), marked=marked_in(scene().marked, lang))
