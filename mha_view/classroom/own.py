"""The teacher's own route: views added from any page, put in order, kept as a link and a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from mha_view import limits, state
from mha_view.classroom.route import (
    LONGEST_NOTE,
    MOST_MINUTES,
    MOST_STATIONS,
    Route,
    RouteError,
    Station,
    fits_link,
    read_route,
    route_of,
    view_of,
    write_route,
)
from mha_view.words import Words

WISH = "present_wish"


def own_route() -> Route:
    """The route that the teacher has put together so far."""
    return route_of(state.scene().with_(route="own"))


def keep(route: Route) -> None:
    """Put a changed route into the scene."""
    state.change(route="own", own_route=write_route(route) if route.stations else "")


def add_view(page: str) -> None:
    """Add what is on the screen to the own route, at its end."""
    scene, route = state.scene(), own_route()
    if len(route.stations) < MOST_STATIONS:
        added = replace(route, stations=(*route.stations, view_of(scene, page)))
        state.change(own_route=write_route(added))


def draw_station(words: Words, route: Route, place: int) -> None:
    """What can be changed of one station: minutes, note, its place in the order."""
    station = route.stations[place]
    time, note = st.columns([1, 3])
    key = f"own_minutes_{place}"
    st.session_state[key] = station.minutes
    time.number_input(
        words("class.minutes"), 0, MOST_MINUTES, step=1, key=key, on_change=_change,
        args=(place, "minutes", key),
    )  # fmt: skip
    key = f"own_note_{place}"
    st.session_state[key] = station.note
    note.text_area(
        words("class.note"), key=key, height=80, max_chars=LONGEST_NOTE, on_change=_change,
        args=(place, "note", key),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        last = len(route.stations) - 1
        for way, to, off in (("up", place - 1, place == 0), ("down", place + 1, place == last)):
            st.button(
                words(f"class.{way}"), key=f"own_{way}_{place}", disabled=off, on_click=_move,
                args=(place, to),
            )  # fmt: skip
        st.button(words("class.remove"), key=f"own_remove_{place}", on_click=_remove, args=(place,))


def _change(place: int, field: str, key: str) -> None:
    """Put a station's new minutes or note into the route."""
    change: dict[str, Any] = {field: st.session_state[key]}
    _keep_stations(
        [
            replace(station, **change) if number == place else station
            for number, station in enumerate(own_route().stations)
        ]
    )


def _move(place: int, to: int) -> None:
    """Swap a station with a neighbour."""
    stations = list(own_route().stations)
    stations[place], stations[to] = stations[to], stations[place]
    _keep_stations(stations)


def _remove(place: int) -> None:
    """Take a station out."""
    stations = list(own_route().stations)
    del stations[place]
    _keep_stations(stations)


def _keep_stations(stations: list[Station]) -> None:
    """The own route with other stations."""
    keep(replace(own_route(), stations=tuple(stations)))


def draw_keeping(words: Words) -> None:
    """How an own route is begun, kept and opened again."""
    route = own_route()
    if not route.stations:
        st.info(words("class.empty"))
    elif not fits_link(state.scene()):
        st.warning(words("class.too_long"))
    else:
        st.caption(words("class.in_link"))
    with st.container(horizontal=True, vertical_alignment="bottom", key="class_files"):
        if route.stations:
            st.download_button(
                words("class.save"), write_route(route), "route.json", "application/json",
                key="class_save", on_click="ignore",
            )  # fmt: skip
        st.button(words("class.begin"), key="class_begin", on_click=_begin)
        given = st.file_uploader(
            words("class.open"),
            ["json"],
            key="class_open",
            max_upload_size=limits.value("UPLOAD_MB"),
        )
    if given is not None and st.session_state.get("class_opened") != given.file_id:
        st.session_state["class_opened"] = given.file_id
        try:
            keep(read_route(given.getvalue().decode("utf-8-sig", "replace")))
        except RouteError as error:
            st.session_state["class_bad"] = (given.file_id, str(error))
        else:
            st.rerun()
    if given is not None and st.session_state.get("class_bad", ("", ""))[0] == given.file_id:
        st.error(words(f"class.bad.{st.session_state['class_bad'][1]}", name=given.name))


def _begin() -> None:
    """Start from the app's own long route, which a teacher then changes."""
    stations = route_of(state.scene().with_(route="long")).stations
    keep(replace(own_route(), stations=(*own_route().stations, *stations)[:MOST_STATIONS]))
