"""Presenting: the bar at the foot of the screen, and the way from page to page by key."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view import compute, controls, state, thread
from mha_view.classroom import own, plan, route
from mha_view.components.mount import mount
from mha_view.link import link_of
from mha_view.menu import neighbours, page_file
from mha_view.scene import Scene
from mha_view.words import Words

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    Places = tuple[DeltaGenerator, DeltaGenerator]

KEY = "presenter"


def draw_bar(words: Words, page: str) -> Places | None:
    """Where the class is, the clock, and what it may change: layer, mask, RoPE, head, token.

    Args:
        words: the reader's words.
        page: the page that is shown.

    Returns:
        The places of head and token, where these follow from what the page computes first.
    """
    scene = state.scene()
    station = route.station_of(scene, page)
    before, after = ways(scene, page)
    onward = words("present.onward", title=words(f"nav.{after}")) if after else ""
    with st.container(horizontal=True, key="present_bar"):
        header = {
            "place": f"{scene.route if station else ''}:{scene.station if station else 0}:{page}",
            "station": "" if station is None else f"{scene.station + 1} / {_count(scene)} · ",
            "slides": list(station.slides) if station else [],
            "hasBack": before is not None,
            "hasNext": after is not None,
            "onward": onward or words("present.last"),
            "clock": None if station is None else _clock(scene),
            "words": words.group("present"),
        }
        callbacks: dict[str, Any] = {"go": lambda: _go(page), "leave": _leave}
        mount("present.js", header, key=KEY, callbacks=callbacks)
        with st.popover(words("sentence.label"), key="present_sentence"):
            controls.draw_sentence(words)
        places = st.empty(), st.empty()
        is_awaited = compute.is_awaited(scene)
        if not is_awaited:
            draw_thread(words, places)
        controls.draw_settings(words)
        st.button(words("present.stop"), key="present_stop", on_click=_leave)
    return places if is_awaited else None


def follow_wish() -> None:
    """Open the page that a key asked for."""
    wish = st.session_state.pop(own.WISH, None)
    if wish is not None:
        state.note_written()  # what no link can hold stays as it is
        st.switch_page(page_file(wish), query_params=link_of(state.scene()))


def draw_thread(words: Words, places: Places) -> None:
    """The head and the token, each as a list that takes little room."""
    with suppress(TwelveHeadsError):  # the page says what is wrong with the sizes
        _draw_thread(words, *places)


def _draw_thread(words: Words, head: DeltaGenerator, token: DeltaGenerator) -> None:
    """Each list in its place."""
    scene = compute.resolve(state.scene())
    heads = compute.config_of(scene).n_heads
    head.selectbox(
        words("head.label"),
        range(heads),
        format_func=lambda head: words("head.chip", head=head),
        label_visibility="collapsed",
        **state.bind("head", "present_", shown=min(scene.head, heads - 1)),
    )
    labels = compute.reading_of(scene).labels
    st.session_state["present_focus"] = thread.focus_of(scene)
    token.selectbox(
        words("focus.label"),
        range(len(labels)),
        format_func=lambda place: f"{place} · {labels[place]}",
        label_visibility="collapsed",
        key="present_focus",
        on_change=lambda: thread.place_focus(st.session_state["present_focus"]),
    )


def ways(scene: Scene, page: str) -> tuple[str | None, str | None]:
    """The pages before and after: of the route's stations on it, else of the menu."""
    if route.station_of(scene, page) is None:
        return neighbours(page)
    pages = [station.page for station in route.route_of(scene).stations]
    before = pages[scene.station - 1] if scene.station > 0 else None
    after = pages[scene.station + 1] if scene.station + 1 < len(pages) else None
    return before, after


def _count(scene: Scene) -> int:
    """How many stations the route has."""
    return len(route.route_of(scene).stations)


def _clock(scene: Scene) -> dict[str, int]:
    """Until which minute the station is planned, and the whole class."""
    found = route.route_of(scene)
    return {"until": found.until(scene.station), "total": found.minutes}


def draw_question(words: Words, page: str) -> None:
    """The question of the station to the class and its answer, covered."""
    station = route.station_of(state.scene(), page)
    if station is not None and plan.has_words(station):
        plan.draw_question(words, station)


def _leave() -> None:
    """Back to the page as it was."""
    state.change(present=False)


def _go(page: str) -> None:
    """Note the page that comes after, or before, the one on the screen."""
    told = st.session_state.get(KEY, {}).get("go")
    if not isinstance(told, dict):
        return
    scene, way = state.scene(), 1 if told.get("way") == 1 else -1
    wish = ways(scene, page)[way == 1]
    if wish is None:
        return
    if route.station_of(scene, page) is not None:
        plan.go_to(scene.station + way)
    else:
        st.session_state[own.WISH] = wish
