"""Drawing changes nothing: what a reader did, and nothing else, can be taken back."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mha_view import state
from mha_view.menu import ORDER, page_file
from mha_view.scene import CODECS, Picked, Scene
from mha_view.texts import TEXTS
from tests.view.test_pages import SHELL

# A scene that hardly a page can show as it is: more than there is, between two steps, elsewhere.
AWKWARD = Scene(
    text=TEXTS["cat"], layer=7, head=100, step=1234, against="checkpoint", other_layer=50,
    other_head=99, other_step=77, off=((2, 5), (9, 90)), after=90_000, token=99_999, shared=64,
    part="none", picked=Picked("out", 90, 900, 9_000), patch=15, window=1000, sinks=60,
)  # fmt: skip
SCENES = {
    "toy": AWKWARD,
    "article": AWKWARD.with_(weights="article"),
    "custom": AWKWARD.with_(weights="custom", against="head", n_kv_heads=2, model="hand"),
    "live": AWKWARD.with_(weights="live", against="weights", other_weights="live"),
}
WIDGETS = ("radio", "selectbox", "button_group", "select_slider", "slider", "toggle",
           "number_input", "text_input", "text_area", "multiselect", "checkbox")  # fmt: skip
# What the frame has on every page is tried on one; the sentence and the axes on all.
FRAME = {"weights", "layer", "mask", "rope", "present", "language", "head"}
LEFT_ALONE = ("undo", "previous", "next", "live_", "example_", "sizes_")


def open_session(page: str, scene: Scene) -> AppTest:
    """A page in a session that has such a scene already, whether or not a link could say it."""
    app = AppTest.from_file(SHELL, default_timeout=120)
    app.session_state["scene"], app.session_state["written"] = scene, []
    if page != "overview":
        app.switch_page(str(page_file(page)))
    return app.run()


def history(app: AppTest) -> list[Scene]:
    """What can be taken back."""
    return app.session_state.get("history", [])


def key_of(widget: Any) -> str:
    """A widget's key, "" for one without."""
    return widget.key or ""


def another_value(widget: Any) -> Any:
    """A value that a reader could choose instead of the present one; None where there is none."""
    kind = widget.type
    if kind in ("toggle", "checkbox"):
        return not widget.value
    if kind in ("number_input", "slider"):
        return widget.value + 1 if widget.value < widget.max else widget.value - 1
    if kind in ("text_input", "text_area"):
        return f"{widget.value} ok"
    if kind == "multiselect":
        return widget.value[1:] if widget.value else None
    told, now = widget.format_func, widget.value
    words = [word for codec in CODECS.values() for word in codec.choices]
    for value in [*range(200), *words]:
        try:
            if value != now and told(value) in widget.options:
                return value
        except (KeyError, IndexError, TypeError):
            continue
    return None


@pytest.fixture
def drawn_changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which changes of the scene were made by a page while it was drawn."""
    found: list[str] = []
    real = state.change

    def watch(**changes: Any) -> None:
        files = [frame.filename for frame in inspect.stack()]
        if any(name.endswith("shell.py") or "/pages/" in name for name in files):
            found.append(str(changes))
        real(**changes)

    monkeypatch.setattr(state, "change", watch)
    return found


@pytest.mark.parametrize("weights", SCENES)
@pytest.mark.parametrize("page", ORDER)
def test_opening_a_page_changes_nothing(page: str, weights: str, drawn_changes: list[str]) -> None:
    scene = SCENES[weights]
    app = open_session(page, scene)
    assert not app.exception
    assert app.session_state["scene"] == scene
    assert history(app) == []
    assert drawn_changes == []
    assert app.button(key="undo").disabled


@pytest.mark.parametrize("page", ORDER)
def test_undo_takes_back_every_change_and_no_more(page: str, drawn_changes: list[str]) -> None:
    first = AWKWARD.with_(against="head")
    app = open_session(page, first)
    asked = [(kind, key_of(widget)) for kind in WIDGETS for widget in app.get(kind)]
    if page != "attention":
        asked = [(kind, key) for kind, key in asked if key not in FRAME]
    tried = [change_one(app, kind, key) for kind, key in asked if not key.startswith(LEFT_ALONE)]
    buttons = [key_of(button) for button in app.button]
    for key in [key for key in buttons if key and not key.startswith(LEFT_ALONE)][:4]:
        if key in [key_of(button) for button in app.button]:
            app.button(key=key).click().run()
            assert not app.exception
    assert sum(tried) >= 2
    made = list(history(app))
    assert drawn_changes == []

    app.switch_page(str(page_file("sizes" if page == "tokens" else "tokens"))).run()
    app.switch_page(str(page_file(page))).run()
    assert not app.exception
    assert history(app) == made, "leaving and coming back is no change"
    for before in reversed(made):
        app.button(key="undo").click().run()
        assert app.session_state["scene"] == before
    assert app.session_state["scene"] == first
    assert app.button(key="undo").disabled
    assert drawn_changes == []


def change_one(app: AppTest, kind: str, key: str) -> bool:
    """Let the reader change one widget, if it is still there; whether the scene changed."""
    widget = next((each for each in app.get(kind) if key_of(each) == key), None)
    if widget is None or not key or widget.proto.disabled:
        return False
    value = another_value(widget)
    if value is None:
        return False
    before = len(history(app))
    widget.set_value(value).run()
    assert not app.exception
    assert len(history(app)) - before in (0, 1), f"{key}: one change, one entry"
    return len(history(app)) > before


def test_a_page_of_the_shipped_model_offers_its_heads_alone() -> None:
    for page in ("training", "specialisation"):
        for weights in SCENES.values():
            app = open_session(page, weights)
            assert not app.exception
            assert len(app.button_group(key="head").options) == 6
