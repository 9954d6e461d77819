"""A way through the pages for a class: its stations, as a link and as a file carry them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mha_view import by_hand
from mha_view.link import link_of
from mha_view.menu import ORDER
from mha_view.scene import DEFAULTS, LONGEST_LINK, Scene

MOST_STATIONS = 60
MOST_MINUTES = 600
LONGEST_NOTE = 2_000  # characters
# What belongs to a class and not to what a station shows.
OF_THE_CLASS = ("present", "route", "own_route", "station")


class RouteError(ValueError):
    """A route that cannot be read; the message's key under "class.bad" says why."""


@dataclass(frozen=True)
class Station:
    """One stop of a class.

    Attributes:
        page: the page's name.
        minutes: how long the class stays.
        query: the scene, as a query string; "" for what the reader has chosen.
        screens: which of the page's screens are shown, "question" for the one to the class; all
            where there are none.
        play: the step at which the stage stands.
        note: what the teacher wants to remember.
    """

    page: str
    minutes: int
    query: str = ""
    screens: tuple[str, ...] = ()
    play: int = 0
    note: str = ""

    @property
    def slides(self) -> tuple[str, ...]:
        """The screens with the question to the class: at the end where it has no place."""
        asked = not self.screens or "question" in self.screens
        return self.screens if asked else (*self.screens, "question")


@dataclass(frozen=True)
class Route:
    """Stations in their order, under a title."""

    stations: tuple[Station, ...] = ()
    title: str = ""

    @property
    def minutes(self) -> int:
        """The whole class."""
        return sum(station.minutes for station in self.stations)

    def until(self, place: int) -> int:
        """The minute at which a station is to end."""
        return sum(station.minutes for station in self.stations[: place + 1])


PLANS = {
    "long": Route(
        (
            Station("overview", 6, screens=("says", "stage")),
            Station("tokens", 4, screens=("question", "says", "table")),
            Station("projection", 6, screens=("says", "q_full", "question", "table")),
            Station("heads", 5, screens=("q", "table")),
            Station("rope", 6, screens=("says", "rope_patterns", "question", "meeting")),
            Station(
                "attention",
                8,
                screens=("says", "question", "links", "head_pattern", "table", "pattern"),
            ),
            Station("output", 6, screens=("says", "out", "table", "question", "shares")),
            Station("why_heads", 4, screens=("says", "one", "pattern")),
        )
    ),
    "short": Route(
        (
            Station("overview", 4, screens=("stage",)),
            Station("attention", 5, screens=("question", "links", "head_pattern", "table")),
            Station("output", 3, screens=("table", "question", "shares")),
            Station("why_heads", 3, screens=("one", "pattern")),
        )
    ),
}


def route_of(scene: Scene) -> Route:
    """The route that a scene is on; the long one while none is chosen."""
    if scene.route == "own":
        try:
            return read_route(scene.own_route)
        except RouteError:
            return Route()
    return PLANS["short" if scene.route == "short" else "long"]


def station_of(scene: Scene, page: str) -> Station | None:
    """The station that is on the screen; None off the route."""
    stations = route_of(scene).stations
    if scene.route == "none" or scene.station >= len(stations):
        return None
    station = stations[scene.station]
    return station if station.page == page else None


def scene_at(scene: Scene, place: int) -> Scene:
    """The scene of a route's station, in the language and with the sentence of the reader's where
    the station has none of its own."""
    station = route_of(scene).stations[place]
    shown = scene
    if station.query:
        link = by_hand.split_query(station.query)
        shown, _ = by_hand.read({**link, "lang": scene.lang})
    kept = {name: getattr(scene, name) for name in ("present", "route", "own_route")}
    if not station.query:
        kept |= {"play": station.play, "picked": None}
    return shown.with_(**kept, station=place)


def view_of(scene: Scene, page: str, minutes: int = 5) -> Station:
    """What is on the screen as a station."""
    bare = scene.with_(**{name: DEFAULTS[name] for name in OF_THE_CLASS})
    return Station(page, minutes, by_hand.write(bare))


def write_route(route: Route) -> str:
    """A route as text: the same in a link and in a file.

    >>> read_route(write_route(PLANS["short"])) == PLANS["short"]
    True
    """
    stations = [
        [each.page, each.minutes, each.query, list(each.screens), each.play, each.note]
        for each in route.stations
    ]
    return json.dumps([route.title, stations], ensure_ascii=False, separators=(",", ":"))


def read_route(text: str) -> Route:
    """The reverse of `write_route`.

    Raises:
        RouteError: if the text is no route, or one with more in it than is sensible.
    """
    try:
        title, stations = json.loads(text)
        if not isinstance(title, str) or len(stations) > MOST_STATIONS:
            raise RouteError("long")
        return Route(tuple(_read_station(*fields) for fields in stations), title[:200])
    except RouteError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise RouteError("text") from error


def _read_station(
    page: Any, minutes: Any, query: Any, screens: Any, play: Any, note: Any
) -> Station:
    """A station's fields, once they are seen to be such."""
    if page not in ORDER:
        raise RouteError("page")
    words = (query, note, *screens)
    if not all(isinstance(word, str) for word in words) or len(query) > 2 * LONGEST_LINK:
        raise RouteError("text")
    if type(minutes) is not int or not 0 <= minutes <= MOST_MINUTES or type(play) is not int:
        raise RouteError("text")
    return Station(page, minutes, query, tuple(screens), max(0, play), note[:LONGEST_NOTE])


def fits_link(scene: Scene) -> bool:
    """Whether a link carries the reader's own route."""
    return not scene.own_route or "r" in link_of(scene)
