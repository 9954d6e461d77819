"""A class: its route is true for the sentence on the screen, and the teacher's own is kept."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from mha_core.derivation import head_shares
from mha_core.whatif import as_one_head, count_parameters
from mha_view import compute, thread
from mha_view.classroom.facts import facts_of
from mha_view.classroom.present import ways
from mha_view.classroom.route import (
    PLANS,
    Route,
    RouteError,
    Station,
    read_route,
    route_of,
    scene_at,
    station_of,
    view_of,
    write_route,
)
from mha_view.menu import ORDER, page_file
from mha_view.scene import Picked, Scene, read_link, write_link
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_pages import SHELL, open_app, texts
from tests.view.test_scene import scenes

words_of = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
stations = st.builds(
    Station,
    page=st.sampled_from(ORDER),
    minutes=st.integers(0, 600),
    query=words_of,
    screens=st.lists(words_of, max_size=4).map(tuple),
    play=st.integers(0, 8),
    note=words_of,
)
routes = st.builds(Route, st.lists(stations, max_size=8).map(tuple), words_of)


def test_the_plans_have_their_minutes_and_stations() -> None:
    assert (PLANS["long"].minutes, len(PLANS["long"].stations)) == (45, 8)
    assert PLANS["short"].minutes == 15
    assert PLANS["long"].until(7) == 45


@given(routes)
def test_a_route_survives_its_file_and_its_link(route: Route) -> None:
    assert read_route(write_route(route)) == route
    scene = Scene(route="own", own_route=write_route(route))
    link = write_link(scene)
    if "r" in link:
        assert route_of(read_link(link)[0]) == route


@given(st.one_of(st.text(max_size=40), st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=7), max_leaves=20).map(json.dumps)))  # fmt: skip
def test_what_is_no_route_is_refused_in_words(text: str) -> None:
    try:
        route = read_route(text)
    except RouteError as error:
        refused = str(error)
    else:
        refused = ""
        assert all(station.page in ORDER for station in route.stations)
    assert not refused or all(Words(lang).has(f"class.bad.{refused}") for lang in LANGS)


@given(scenes, st.sampled_from(ORDER))
def test_a_view_that_was_added_is_shown_again(scene: Scene, page: str) -> None:
    from mha_view.link import link_of, refuse_missing

    station = view_of(scene, page)
    route = Route((Station("tokens", 3), station))
    on = Scene(lang=scene.lang, route="own", own_route=write_route(route), present=True)
    found = scene_at(on, 1)
    assert (found.station, found.route, found.present) == (1, "own", True)
    link = link_of(scene.with_(present=False, route="none", own_route="", station=0))
    shown, _ = refuse_missing(read_link(link)[0], link)
    same = {"present": True, "route": "own", "own_route": on.own_route, "station": 1}
    assert found == shown.with_(**same)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("text", [TEXTS["cat"], TEXTS["chair_zh"], "the dog", "猫"])
@pytest.mark.parametrize("weights", ["toy", "custom"])
def test_the_answers_are_this_sentences_numbers(text: str, weights: str, lang: str) -> None:
    scene = Scene(lang=lang, text=text, weights=weights, layer=1, head=2, n_kv_heads=2)
    facts = facts_of(scene)
    trace, focus = compute.layer_of(compute.resolve(scene)), thread.focus_of(scene)
    pattern = trace.pattern[2]
    size = len(pattern)
    assert facts["weights"] == f"{trace.config.n_heads * size * size:,}"
    labels = [re.sub(r"\\(.)", r"\1", label) for label in (facts["key"], facts["token"])]
    reading = compute.reading_of(scene).labels
    assert labels[1] == reading[focus]
    weights_at = [pattern[focus, n] for n, label in enumerate(reading) if label == labels[0]]
    assert any(f"{weight:.3f}" == facts["weight"] for weight in weights_at)
    assert divmod(int(facts["row"]), trace.config.d_head)[0] == 2
    assert int(facts["strongest"]) == int(np.argmax(head_shares(trace)[:, focus]))
    value = float(facts["value"].replace("−", "-"))
    assert value == pytest.approx(trace.q_full[focus, int(facts["feature"])], abs=6e-4)
    assert float(facts["change"]) < 1e-3
    assert facts["parameters"] == f"{count_parameters(trace.weights):,}"
    assert facts["parameters_one"] == f"{count_parameters(as_one_head(trace).weights):,}"


@pytest.mark.parametrize("lang", LANGS)
def test_the_class_page_says_what_to_show_and_ask(lang: str) -> None:
    words = Words(lang)
    app = open_app("class", Scene(lang=lang, text=TEXTS["keys"]))
    assert not app.exception
    shown = texts(app)
    facts = facts_of(app.session_state["scene"])
    for station in PLANS["long"].stations:
        for part in ("show", "ask", "answer"):
            assert words.lesson("class", f"{part}_{station.page}", **facts) in shown


def test_presenting_walks_the_route_and_ends_with_it() -> None:
    scene = Scene(present=True, route="short", picked=Picked("pattern", 1, 2, 3))
    pages = []
    for place, station in enumerate(PLANS["short"].stations):
        scene = scene_at(scene, place)
        assert station_of(scene, station.page) == station
        pages.append((ways(scene, station.page), station.page))
    order = [station.page for station in PLANS["short"].stations]
    assert pages == [
        ((order[n - 1] if n else None, order[n + 1] if n + 1 < len(order) else None), page)
        for n, page in enumerate(order)
    ]
    assert station_of(scene, "vit") is None
    assert ways(scene, "vit") == ("grouped", None)


@pytest.mark.parametrize("lang", LANGS)
def test_views_are_added_ordered_noted_and_taken_out(lang: str) -> None:
    words = Words(lang)
    app = AppTest.from_file(SHELL, default_timeout=120)
    app.query_params["lang"] = lang
    route = Route((Station("rope", 5), Station("vit", 4, note="?")))
    app.query_params["route"] = "own"
    app.query_params["r"] = write_link(Scene(own_route=write_route(route)))["r"]
    app.switch_page(str(page_file("class")))
    app.run()
    assert not app.exception

    def now() -> list[tuple[str, int, str]]:
        found = route_of(app.session_state["scene"]).stations
        return [(station.page, station.minutes, station.note) for station in found]

    assert now() == [("rope", 5, ""), ("vit", 4, "?")]
    app.button(key="own_down_0").click().run()
    assert now() == [("vit", 4, "?"), ("rope", 5, "")]
    app.number_input(key="own_minutes_1").set_value(9).run()
    app.text_area(key="own_note_1").set_value("问：为什么？").run()
    assert now() == [("vit", 4, "?"), ("rope", 9, "问：为什么？")]
    app.button(key="own_remove_0").click().run()
    assert now() == [("rope", 9, "问：为什么？")]
    app.button(key="own_remove_0").click().run()
    assert now() == []
    assert any(words("class.empty") == item.value for item in app.info)
    app.button(key="class_begin").click().run()
    assert [page for page, _, _ in now()] == [each.page for each in PLANS["long"].stations]
    assert not app.exception
