"""A model trained in the session as the app's weights: its own sizes, its own session, its link."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.model.toy import ToyModel
from mha_core.training.live import live_sizes, live_steps, pool_ids
from mha_view import compute, live
from mha_view.heavy import line
from mha_view.jobs import Job
from mha_view.live import LiveSettings
from mha_view.menu import SECTIONS
from mha_view.scene import Scene, write_link
from mha_view.store import STORE
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_pages import CHINESE, html, open_app, pictures, texts

SMALL = LiveSettings(d_model=48, n_heads=8, n_layers=1, seed=3, steps=20)
SCENE = Scene(weights="live", text=TEXTS["repeat"], **live.changes_for(SMALL))
PAGES = (*SECTIONS["learn"], "gallery", "compare", "specialisation", "training", "grouped")


def make_model(settings: LiveSettings = SMALL) -> ToyModel:
    """A model of these sizes that nobody has trained."""
    sizes = live_sizes(settings.d_model, settings.n_heads, settings.n_layers)
    return ToyModel(sizes, settings.seed)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """A session's state, outside any page."""
    state: dict[str, object] = {}
    monkeypatch.setattr(live.st, "session_state", state)
    return state


def open_with_model(page: str, scene: Scene, model: ToyModel) -> AppTest:
    """The app on a page, in a session that keeps a model."""
    app = open_app("tokens", scene)
    app.session_state["live_kept"] = [live.Kept(live.settings_of(scene), model)]
    return open_again(app, page)


def open_again(app: AppTest, page: str) -> AppTest:
    """Another page in the same session."""
    from mha_view.menu import page_file

    return app.switch_page(str(page_file(page))).run()


@pytest.mark.usefixtures("session")
def test_a_kept_model_is_what_is_walked() -> None:
    model = make_model()
    live.keep(SMALL, model)
    config = compute.config_of(SCENE)
    assert (config.d_model, config.n_heads, compute.n_layers_of(SCENE)) == (48, 8, 1)
    walk, trace = compute.walk_of(SCENE), model.trace(TEXTS["repeat"])
    assert np.array_equal(walk.layers[0].pattern, trace.layers[0].pattern)
    assert len(compute.reading_of(SCENE)) == len(trace.tokens), "<bos> is among them"
    assert compute.walk_of(SCENE) is walk, "from the cache"
    differences = compute.differences_of(SCENE)
    assert max(differences.absolute.values()) < 1e-4
    assert differences.fused < 1e-4
    known = pool_ids()
    assert walk.logits is not None
    assert np.array_equal(walk.logits[:, known], trace.logits[:, known])
    assert np.isneginf(np.delete(walk.logits, known, axis=1)).all(), "no other word competed"
    assert compute.outside_training(SCENE) == ["live"]


def test_models_of_one_name_in_two_sessions_never_meet(session: dict[str, object]) -> None:
    first, second = make_model(), make_model()
    with torch.no_grad():
        second.embedding.add_(1.0)
    live.keep(SMALL, first)
    one, key = compute.walk_of(SCENE), compute.walk_key(SCENE)
    session.clear()  # another session
    assert live.find(SCENE) is None
    stand_in = compute.walk_of(SCENE)
    assert len(stand_in.layers) == compute.TOY_LAYERS, "the shipped model stands in"
    live.keep(SMALL, second)
    other = compute.walk_of(SCENE)
    assert compute.walk_key(SCENE) != key
    assert not np.array_equal(one.layers[0].pattern, other.layers[0].pattern)
    assert np.array_equal(other.layers[0].pattern, second.trace(SCENE.text).layers[0].pattern)


@pytest.mark.usefixtures("session")
def test_a_session_keeps_few_models_and_bounded_walks() -> None:
    import gc
    import weakref

    seeds = range(live.MOST_KEPT + 2)
    models = [make_model() for _ in seeds]
    gone = weakref.ref(models[0])
    for seed, model in zip(seeds, models, strict=True):
        live.keep(LiveSettings(48, 8, 1, seed, 20), model)
    scenes = [SCENE.with_(live_seed=seed) for seed in seeds]
    assert [live.find(scene) is not None for scene in scenes] == [False, False, True, True, True]
    for place in range(60):
        compute.walk_of(scenes[-1].with_(text=" ".join(["cat"] * (60 + place))))
    assert 0 < STORE.n_bytes <= STORE.limit
    del models, model
    gc.collect()
    assert gone() is None, "a model that is not kept is gone"


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_takes_a_model_of_other_sizes(page: str, lang: str) -> None:
    scene = SCENE.with_(lang=lang, layer=2, head=7)
    app = open_with_model(page, scene, make_model())
    assert not app.exception
    assert not app.error
    assert not [item for item in app.warning if Words(lang)("live.train_same") in item.value]
    assert "live_train_same" not in [button.key for button in app.button]
    assert bool(CHINESE.search(texts(app))) == (lang == "zh")
    if page not in ("specialisation", "training", "grouped"):
        assert Words(lang)("outside.live") in texts(app)
    assert pictures(app) >= 1


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_does_without_the_model_and_says_what_to_do(page: str, lang: str) -> None:
    app = open_app(page, SCENE.with_(lang=lang, layer=2, head=7))
    words = Words(lang)
    assert not app.exception
    assert not app.error
    [notice] = [item.value for item in app.warning if live.describe(SMALL, words) in item.value]
    assert "48" in notice
    assert app.button(key="live_train_same").label == words("live.train_same")
    assert words("outside.live") not in texts(app), "the shipped model reads"


def test_a_smaller_models_layers_and_heads_are_shown_as_what_they_are() -> None:
    app = open_with_model("attention", SCENE.with_(layer=2, head=7, live_h=4), make_model(
        LiveSettings(48, 4, 1, 3, 20)
    ))  # fmt: skip
    assert not app.exception
    pills = [str(item.proto) for item in app.get("button_group")]
    assert any("Head 3" in text and "Head 4" not in text for text in pills)


def check(run: Job) -> None:
    """Ask for a run as its page does."""
    for session in list(run.asked):
        line().check(run, session)


def wait_for_run(app: AppTest) -> None:
    """Wait until the session's run has ended, asking for it as its page does."""
    run = app.session_state["live_run"]
    while not run.ended.wait(0.1):
        check(run)


@pytest.mark.parametrize("lang", LANGS)
def test_the_button_trains_the_model_that_the_link_names(lang: str) -> None:
    scene = SCENE.with_(lang=lang, live_d=32, live_h=2, live_steps=10)
    app = open_app("attention", scene)
    app.button(key="live_train_same").click().run()
    assert not app.exception
    wait_for_run(app)
    app.run()
    assert "live_train_same" not in [button.key for button in app.button]
    assert Words(lang)("outside.live") in texts(app)
    [kept] = app.session_state["live_kept"]
    sizes = {"d_model": 32, "n_heads": 2, "n_layers": 1, "seed": 3}
    same = next(shot.model for shot in live_steps(**sizes) if shot and shot.step == 10)
    for name, value in same.state_dict().items():
        assert torch.equal(kept.model.state_dict()[name], value), name


@pytest.mark.parametrize("lang", LANGS)
def test_a_stopped_run_becomes_the_weights_of_every_page(lang: str) -> None:
    words = Words(lang)
    app = open_app("training", Scene(lang=lang, text=TEXTS["repeat"]))
    app.selectbox(key="live_d").set_value(32).run()
    app.selectbox(key="live_h").set_value(2).run()
    app.selectbox(key="live_layers").set_value(1).run()
    [start] = [button for button in app.button if button.label == words("live.start")]
    start.click().run()
    run = app.session_state["live_run"]
    while not run.found and not run.ended.wait(0.05):
        check(run)
    [stop] = [button for button in app.button if button.label == words("live.stop")]
    stop.click().run()
    assert run.ended.is_set()
    assert words("live.use.caption") in texts(app), "what it has learnt is said where it is chosen"
    app.button(key="live_use").click().run()
    assert words("live.used") in texts(app)
    scene = app.session_state["scene"]
    assert scene.weights == "live"
    assert scene.live_steps == run.found[-1].step
    link = write_link(scene)
    assert (link["live_d"], link["live_h"], link["live_n"]) == ("32", "2", "1")
    app = open_again(app, "attention")
    assert not app.exception
    assert "live_train_same" not in [button.key for button in app.button]
    pills = [str(item.proto) for item in app.get("button_group")]
    two = words("head.chip", head=1)
    assert any(two in text and words("head.chip", head=2) not in text for text in pills)
    rows = dict(re.findall(r'data-row="(\w+)">(.*?)</tr>', html(open_again(app, "overview"))))
    assert "2 × [16, " in rows["heads"]
