"""Hostile input, by the hundred: refused or shown as text, never a crash, never a stack trace."""

from __future__ import annotations

import os
import re

import pytest

from mha_core import ModelTrace, load_toy_model
from mha_core.errors import TwelveHeadsError
from mha_core.language.tokenizer import load_tokenizer
from mha_core.sizes import decode_bytes, measure, read_text
from mha_view import compute
from mha_view.components import plot, stage
from mha_view.scene import FIELD_OF, Scene, pack_text, read_link, write_link
from mha_view.words import Words
from tests import hostile
from tests.view.test_pages import open_app

PAGES = ("tokens", "attention", "overview", "gallery", "compare", "output")


def assert_calm(app) -> None:  # type: ignore[no-untyped-def]
    """No exception on the page, and nothing that looks like one."""
    assert not app.exception
    told = "\n".join(
        str(item.value) for kind in ("error", "warning", "info") for item in app.get(kind)
    )
    assert "Traceback" not in told
    assert Words("en")("page.broken") not in told


@pytest.mark.parametrize("number", range(0, 120, 10))
def test_sentences_are_read_walked_and_shown(number: int) -> None:
    for place, text in enumerate(hostile.texts()[number : number + 10]):
        assert load_tokenizer().decode(load_tokenizer().encode(text).ids) == text
        if text.strip():
            walk = compute.walk_of(Scene(text=text))
            assert all(layer.pattern.sum() > 0 for layer in walk.layers)
        if place % 5 == 0:
            page = PAGES[(number // 10 + place) % len(PAGES)]
            app = open_app(page, link={"v": "1", "lang": "en", "t": pack_text(text)})
            assert_calm(app)


def test_no_link_breaks_a_scene_and_every_refusal_is_short() -> None:
    names = list(FIELD_OF)
    for link in hostile.links(names):
        scene, refused = read_link(link)
        assert all(len(told) <= 40 for told in refused)
        again, nothing = read_link(write_link(scene))
        assert nothing == []
        assert write_link(again) == write_link(scene)


@pytest.mark.parametrize("number", range(0, 200, 25))
def test_pages_open_from_hostile_links(number: int) -> None:
    link = hostile.links(list(FIELD_OF))[number]
    link = {name: value for name, value in link.items() if "\udc80" not in name + value}
    assert_calm(open_app(PAGES[number // 25 % len(PAGES)], link=link))


def test_what_is_refused_in_a_link_is_shown_as_text() -> None:
    for script in (
        *hostile.SCRIPTS[::4],
        "![x](https://evil.example/x.png)",
        "[go](https://evil.example)",
    ):
        app = open_app("tokens", link={"lang": "en", "head": script})
        [told] = [item.value for item in app.warning if "head" in item.value]
        plain = re.sub(r"\\.", "", told)
        assert not set(plain) & set("<>[]()!`$"), told


@pytest.mark.parametrize("number", range(0, 120, 12))
def test_files_that_call_themselves_a_config_are_measured_or_refused(number: int) -> None:
    os.environ.pop("RAN", None)
    for data in hostile.configs()[number : number + 12]:
        try:
            config, notes = read_text(*decode_bytes(data))
            sizes = measure(config, notes=notes)
        except TwelveHeadsError as refused:
            for lang in ("en", "zh"):
                told = Words(lang).error(refused)
                assert told
                assert len(told) < 2_000
                assert not any(mark in told for mark in ("Traceback", 'File "')), told
        else:
            assert sizes.notes is not None
    assert "RAN" not in os.environ, "a pickle was opened"


def test_forged_component_messages_are_left_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr(plot.st, "session_state", state)
    monkeypatch.setattr(stage.st, "session_state", state)
    for message in hostile.messages():
        state["x"] = {"picked": message, "cell": message, "told": message, "wanted": message}
        cell = plot._cell(message)
        if cell is not None:
            assert min(cell.head, cell.row, cell.column) >= 0
        plot._picked("x")
        told = stage._told("x")
        for value in (told.head, told.token, told.step):
            assert value is None or (type(value) is int and value >= 0)


def test_a_models_trace_of_anything_prints_short() -> None:
    for text in hostile.texts(seed=5, count=90)[60:]:
        trace: ModelTrace = load_toy_model().trace(text[:200])
        assert len(repr(trace)) < 2_000


def test_over_three_hundred_inputs_are_tried() -> None:
    tried = (
        hostile.texts(), hostile.links(list(FIELD_OF)), hostile.configs(), hostile.messages(),
    )  # fmt: skip
    assert sum(map(len, tried)) >= 500
    assert hostile.texts() == hostile.texts(), "the same each time"
