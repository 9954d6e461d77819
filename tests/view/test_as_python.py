"""The lines a page offers, run as they are, give the very numbers that the page shows."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import mha_core
from mha_core.training.live import live_snapshots
from mha_view import compute, live
from mha_view.as_python import STEP_OF, write_python
from mha_view.menu import SECTIONS
from mha_view.scene import Scene
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words

ROOT = Path(__file__).parents[2]
WALK = [name for name in SECTIONS["learn"] if name != "class"]  # a route has no step of its own

TOO_LONG = "The cat sat on the mat. " * 200
SCENES = {
    "the first": Scene(),
    "in Chinese": Scene(text=TEXTS["ming"], layer=2),
    "a layer that is not there": Scene(layer=9),
    "no RoPE, two-way": Scene(rope=False, mask="two_way", layer=1),
    "a window": Scene(mask="window", window=3),
    "a prefix": Scene(mask="prefix", prefix=5, layer=2),
    "sink and window": Scene(mask="sink_window", window=2, sinks=3),
    "shifted": Scene(shift=17, layer=1),
    "shifted in a window": Scene(shift=3, mask="window", window=4, rope=False),
    "article sizes": Scene(weights="article", seed=3),
    "article sizes, shifted": Scene(weights="article", shift=5, mask="prefix", prefix=2),
    "sizes of one's own": Scene(
        weights="custom", d_model=20, n_heads=6, n_kv_heads=2, d_head=4, base=500,
        pairing="interleaved", seed=11, mask="sink_window", window=3,
    ),
    "own sizes, no RoPE": Scene(weights="custom", d_model=12, n_heads=3, rope=False, shift=2),
    "quotes and line ends": Scene(text="'It' \"was\"\n\\ 12 <b>\t\udc80 🙂"),
    "one character": Scene(text="."),
    "cut off": Scene(text=TOO_LONG, weights="custom", d_model=8, n_heads=2),
}  # fmt: skip


def run(code: str) -> dict[str, Any]:
    """What the lines leave behind."""
    left: dict[str, Any] = {}
    exec(compile(code, "<copied>", "exec"), left)
    return left


@pytest.mark.parametrize("case", SCENES)
def test_the_lines_give_the_layer_of_the_scene(case: str) -> None:
    scene = SCENES[case]
    left = run(write_python(scene))
    shown = compute.layer_of(scene)
    assert left["trace"].n_tokens == shown.n_tokens
    for step in shown:
        assert np.allclose(left["trace"][step.name], step, atol=1e-5), step.name
    assert np.array_equal(left["trace"].keep, shown.keep)


@pytest.mark.parametrize("page", WALK)
def test_every_page_of_the_walk_has_its_lines(page: str) -> None:
    scene = Scene(layer=1)
    shown = compute.layer_of(scene)[STEP_OF[page]].article_value
    value = run(write_python(scene, STEP_OF[page]))["value"]
    assert value.shape == shown.shape
    assert np.allclose(value, shown, atol=1e-5)


def test_a_model_trained_in_the_session_is_trained_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = live.LiveSettings(d_model=32, n_heads=2, n_layers=1, seed=5, steps=10)
    *_, last = live_snapshots(until=10, d_model=32, n_heads=2, n_layers=1, seed=5)
    kept = live.Kept(settings, last.model)
    monkeypatch.setattr(live, "_kept", lambda: [kept])
    scene = Scene(weights="live", text="cup tree cup tree", **live.changes_for(settings))
    left = run(write_python(scene))
    assert np.allclose(left["value"], compute.layer_of(scene).pattern, atol=1e-5)


@pytest.mark.parametrize("case", SCENES)
def test_the_lines_are_few_and_come_in_by_the_front_door(case: str) -> None:
    code = write_python(SCENES[case])
    tree = ast.parse(code)
    assert len(tree.body) <= 12
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "mha_core":
            assert all(alias.name in mha_core.__all__ for alias in node.names)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert imported <= names, "something is imported and not used"
    assert "mha_view" not in code


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", WALK)
def test_the_lines_stand_on_the_page(page: str, lang: str) -> None:
    at = AppTest.from_file(str(ROOT / "mha_view" / "shell.py"), default_timeout=300)
    at.query_params["lang"] = lang
    at.query_params["layer"] = "1"
    if page != "overview":
        at.run()
        at.switch_page(f"../pages/learn/{page}.py")
    at.run()
    assert not at.exception
    [shown] = [code.value for code in at.code if "from mha_core import" in code.value]
    expected = write_python(at.session_state["scene"], STEP_OF[page]).splitlines()
    assert {line for line in expected if " import " not in line} <= set(shown.splitlines())
    assert Words(lang)("card.python") in [each.label for each in at.expander]
