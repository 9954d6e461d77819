"""Heavy work on a page: it waits in line, can be stopped, and leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from mha_view import compute, controls, heavy
from mha_view.scene import Scene
from mha_view.store import STORE
from mha_view.words import LANGS, Words
from tests.view.test_jobs import wait_until
from tests.view.test_pages import open_app, texts

LONG = Scene(weights="article", text=" ".join(["The cat sat on the mat."] * 50))


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the threads that walk, as they do."""
    STORE.clear()
    names: list[str] = []
    walk: Callable[[Scene], compute.Walk] = compute._walk_scene

    def spy(scene: Scene) -> compute.Walk:
        names.append(threading.current_thread().name)
        return walk(scene)

    monkeypatch.setattr(compute, "_walk_scene", spy)
    yield names
    STORE.clear()


@pytest.mark.parametrize(
    "page", ["attention", "projection", "rope", "output", "gallery", "compare"]
)
def test_no_page_does_heavy_work_in_its_own_thread(page: str, walked: list[str]) -> None:
    assert compute.is_heavy(LONG)
    app = open_app(page, LONG)
    assert not app.exception
    assert not app.error
    assert walked, "something was walked"
    assert set(walked) == {"walk"}
    assert Words("en")("heavy.working") not in texts(app), "what was said meanwhile is gone"


@pytest.mark.parametrize(("page", "is_begun"), [("attention", True), ("sizes", False)])
def test_a_walk_is_begun_before_its_page_asks(
    page: str, is_begun: bool, walked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, begun = controls.draw_controls, []

    def spy(words: Words) -> None:
        begun.append(bool(walked) or any(job.kind == "walk" for job in heavy.line()._jobs))
        draw(words)

    monkeypatch.setattr(controls, "draw_controls", spy)
    open_app(page, LONG)
    assert begun == [is_begun]


def test_light_work_waits_in_no_line(walked: list[str]) -> None:
    assert not compute.is_heavy(Scene())
    open_app("attention", Scene())
    assert "walk" not in walked


@pytest.mark.parametrize("lang", LANGS)
def test_a_full_server_says_so_and_keeps_what_was_chosen(
    lang: str, walked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mha_view.jobs import Line

    full = Line(most_waiting=0)
    gate = threading.Event()

    def hold() -> Iterator[int]:
        gate.wait(60)
        yield 1

    full.ask("another reader", "walk", 0, hold)
    monkeypatch.setattr(heavy, "line", lambda: full)
    app = open_app("attention", LONG.with_(lang=lang))
    gate.set()
    assert not app.exception
    [told] = [item.value for item in app.error]
    assert ("waiting" in told) if lang == "en" else ("排队" in told)
    assert app.button(key="again_walk").label == Words(lang)("heavy.again")
    assert walked == []
    assert LONG.text in [field.value for field in (*app.text_area, *app.text_input)]
    wait_until(lambda: full.n_jobs() == 0)
    app.button(key="again_walk").click().run()
    assert not app.error
    assert set(walked) == {"walk"}


@pytest.mark.parametrize("lang", LANGS)
def test_stopped_work_is_not_begun_again_unasked(lang: str, walked: list[str]) -> None:
    app = open_app("tokens", LONG.with_(lang=lang))
    walked.clear()
    STORE.clear()
    app.session_state["stopped_walk"] = compute.walk_key(LONG)
    from mha_view.menu import page_file

    app.switch_page(str(page_file("attention"))).run()
    words = Words(lang)
    assert words("heavy.stopped") in texts(app)
    assert walked == []
    app.button(key="again_walk").click().run()
    assert set(walked) == {"walk"}
    assert words("heavy.stopped") not in texts(app)
