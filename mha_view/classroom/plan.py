"""The class page: a route's stations, what to show and ask at each, and the way to present it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from mha_view import compute, state
from mha_view.classroom import own
from mha_view.classroom.facts import facts_of
from mha_view.classroom.route import PLANS, Route, Station, route_of, scene_at
from mha_view.classroom.thumbnail import thumbnail
from mha_view.figures.plan import minutes_bar
from mha_view.link import link_of
from mha_view.menu import page_file
from mha_view.page import Page
from mha_view.show import show
from mha_view.words import Words

CHOICES = ("long", "short", "own")


def draw_choice(page: Page) -> Route:
    """Which route, and the button that starts it."""
    words, scene = page.words, state.scene()
    with st.container(horizontal=True, vertical_alignment="center", key="class_row"):
        shown = scene.route if scene.route in CHOICES else "long"
        st.segmented_control(
            words("class.route"),
            CHOICES,
            required=True,
            label_visibility="collapsed",
            format_func=lambda name: words(f"class.{name}"),
            **state.bind("route", shown=shown),
        )
        route = route_of(scene)
        st.button(
            words("class.start"),
            type="primary",
            key="class_start",
            disabled=not route.stations,
            on_click=_start,
            args=(shown,),
        )
    return route


def _start(name: str) -> None:
    """To the route's first station, presented."""
    state.change(route=name, present=True)
    go_to(0)


def go_to(place: int) -> None:
    """Make a station's scene the session's; the next run opens its page."""
    scene = state.scene()
    station = route_of(scene).stations[place]
    state.replace_by(scene_at(scene, place))
    st.session_state[own.WISH] = station.page


def draw_minutes(page: Page, route: Route) -> None:
    """How the time is shared out."""
    titles = [page.words(f"nav.{station.page}") for station in route.stations]
    show(minutes_bar(titles, [each.minutes for each in route.stations], page.words), page.words)
    st.caption(page.text("picture"))


def draw_stations(page: Page, route: Route) -> None:
    """Each station: its small picture, what to show, what to ask, the answer; the own ones can be
    changed."""
    for place, station in enumerate(route.stations):
        with st.container(border=True, key=f"station_{place}"):
            small, text = st.columns([1, 4])
            small.html(thumbnail(station.page, state.scene(), page.words))
            with text:
                _draw_head(page.words, route, place, station)
                if state.scene().route == "own":
                    own.draw_station(page.words, route, place)
                if has_words(station):
                    draw_words(page.words, station)


def _draw_head(words: Words, route: Route, place: int, station: Station) -> None:
    """Number, title as a link to the station, minutes."""
    label = words(
        "class.station",
        n=place + 1,
        title=words(f"nav.{station.page}"),
        minutes=station.minutes,
        until=route.until(place),
    )
    scene = state.scene()
    chosen = scene.with_(route=scene.route if scene.route in CHOICES else "long")
    st.page_link(
        page_file(station.page), label=label, query_params=link_of(scene_at(chosen, place))
    )


def draw_words(words: Words, station: Station) -> None:
    """What to show, what to ask, and the answer from the sentence's numbers."""
    facts = facts_of(state.scene(), words)
    for part in ("show", "ask", "answer"):
        text = _say(words, part, station, facts)
        st.markdown(f"**{words(f'class.{part}')}** {text}")


def has_words(station: Station) -> bool:
    """Whether the app knows what to ask at a station: at one of its own, about any sentence."""
    own_words = {each.page for route in PLANS.values() for each in route.stations}
    return not station.query and station.page in own_words


def draw_question(words: Words, station: Station) -> None:
    """The question of a presented station to the class, the sentence, and the answer, covered."""
    facts = facts_of(state.scene(), words)
    with st.container(border=True, key="question"):
        st.markdown(f"##### {words('class.question')}")
        st.html(f'<p class="sentence">{escape(state.scene().text)}</p>')
        st.markdown(_say(words, "ask", station, facts))
        with st.container(key="revealed_question"):
            st.success(_say(words, "answer", station, facts))


def _say(words: Words, part: str, station: Station, facts: Mapping[str, str]) -> str:
    """What a station says; of another people's model, in its own words where there are any."""
    name = f"{part}_{station.page}"
    is_real = compute.resolve(state.scene()).weights == "real"
    own_words = f"{name}_real"
    chosen = own_words if is_real and words.has_lesson("class", own_words) else name
    return words.lesson("class", chosen, **facts)
