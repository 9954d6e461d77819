"""The page on which a text goes on: what it shows is what the model says."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.continuing import Sampling, chances, choose, continue_text
from mha_core.model.checkpoint import load_toy_model
from mha_core.model.writer import ToyWriter
from mha_view import state, writing
from mha_view.components.writing import Wish, _wish
from mha_view.explore.continuing import _grant, _head_at
from mha_view.figures import continuing as figures
from mha_view.scene import MOST_SAID, Scene, read_link, write_link
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_pages import html, open_app, texts

TEXT = TEXTS["cat"]


def said(n: int, **settings: Any) -> tuple[int, ...]:
    """The first new tokens that the shipped model writes after the sentence."""
    writer = ToyWriter(load_toy_model())
    return tuple(new.id for new in continue_text(writer, TEXT, n, sampling=Sampling(**settings)))


def header_of(app: AppTest) -> dict[str, Any]:
    """What the component was given."""
    for item in app.get("bidi_component"):
        packet = bytes(item.proto.bytes)
        if b'"candidates"' in packet:
            (length,) = struct.unpack(">I", packet[:4])
            found: dict[str, Any] = json.loads(packet[4 : 4 + length])
            return found
    raise AssertionError("no candidates")


@pytest.mark.parametrize("lang", LANGS)
def test_the_page_shows_what_the_model_says_and_chooses_as_the_core_does(lang: str) -> None:
    chosen = said(3, seed=5, temperature=0.8, top_p=0.9)
    scene = Scene(lang=lang, text=TEXT, said=chosen, temperature=80, top_p=90, draw=5)
    app = open_app("continue", scene)
    assert not app.exception
    header = header_of(app)
    model = load_toy_model()
    with torch.no_grad():
        logits = model(torch.tensor([[*model.ids_of(TEXT), *chosen]]))[0, -1].numpy()
    own, share = chances(logits), chances(logits, writing.sampling_of(scene))
    token, drawn = choose(logits, writing.sampling_of(scene), 3)
    assert (header["chosen"], header["falls"], header["look"]) == (token, token, 3)
    assert header["drawn"] == drawn
    for each in header["candidates"]:
        assert each["chance"] == pytest.approx(float(own[each["token"]]), abs=1e-5)
        assert each["share"] == pytest.approx(float(share[each["token"]]), abs=1e-5)
        before = float(share[share > each["share"] + 1e-6].sum())
        assert each["start"] == pytest.approx(before, abs=1e-3)
    assert header["candidates"][0]["token"] == int(logits.argmax())
    assert f"{own[token]:.1%}" in texts(app)
    assert "✓" in texts(app), "read anew it is the same"
    assert Words(lang)("continue.as_trained") not in texts(app)


def test_a_look_back_shows_the_choice_there_and_a_hand_is_seen() -> None:
    chosen = said(4, seed=1)
    by_hand = (*chosen[:2], chosen[2] + 1, chosen[3])
    back = open_app("continue", Scene(text=TEXT, said=by_hand, look=2, draw=1))
    header = header_of(back)
    assert (header["look"], header["chosen"], header["falls"]) == (2, by_hand[2], chosen[2])
    name = load_toy_model().tokenizer.entries[chosen[2]].display
    assert f"would have been “{name}”" in texts(back)


@pytest.mark.parametrize(
    ("scene", "key"),
    [(Scene(weights="article", text=TEXT), "continue.random"),
     (Scene(mask="two_way", text=TEXT), "continue.as_trained"),
     (Scene(rope=False, text=TEXT), "continue.as_trained")],
)  # fmt: skip
def test_what_cannot_write_is_stood_in_for_and_said(scene: Scene, key: str) -> None:
    app = open_app("continue", scene)
    assert not app.exception
    assert Words("en")(key) in texts(app)
    assert header_of(app)["chosen"] == header_of(open_app("continue", Scene(text=TEXT)))["chosen"]


def test_tokens_that_the_model_lacks_and_too_many_are_left_out() -> None:
    chosen = said(2)
    assert writing.said_of(Scene(text=TEXT, said=(*chosen, 2**17, 5))) == chosen
    app = open_app("continue", Scene(text=TEXT, said=said(MOST_SAID)))
    assert not header_of(app)["can_go"]
    assert Words("en")("writing.full")


def test_a_link_in_one_language_opens_in_the_other() -> None:
    scene = Scene(text=TEXT, said=said(5, seed=2), look=1, temperature=70, top_k=9, draw=2)
    assert read_link(write_link(scene)) == (scene, [])
    other = header_of(open_app("continue", link={**write_link(scene), "lang": "zh"}))
    mine = header_of(open_app("continue", link=write_link(scene)))
    assert other["candidates"] == mine["candidates"]
    assert other["said"] == mine["said"]


def test_a_wish_is_granted_only_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[dict[str, Any]] = []
    monkeypatch.setattr(state, "change", lambda **change: changes.append(change))
    for wish in (Wish(3, 4, -1), Wish(1, 9, -1), Wish(3, None, 1), Wish(9, None, 7),
                 Wish(3, 50, -1)):  # fmt: skip
        _grant(wish, 10, (1, 2, 3), 4)
    _grant(Wish(3, 4, -1), 10, (1, 2, 3), 3)
    assert changes == [
        {"said": (1, 2, 3, 4), "look": -1}, {"said": (1, 9), "look": -1},
        {"said": (1, 2, 3), "look": 1}, {"said": (1, 2, 3), "look": -1},
        {"said": (1, 2, 3), "look": -1}, {"said": (1, 2, 3), "look": -1},
    ]  # fmt: skip
    bad: list[Any] = [None, 3, {}, {"keep": -1, "token": 1, "look": 0},
                      {"keep": True, "token": 1, "look": 0}, {"keep": 1, "token": "1", "look": 0},
                      {"keep": 1, "token": -4, "look": 0}]  # fmt: skip
    assert [_wish(sent) for sent in bad] == [None] * len(bad)
    assert _wish({"keep": 1, "token": None, "look": -1}) == Wish(1, None, -1)


def test_a_row_is_the_head_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [np.full((heads, 5), heads / 10, dtype=np.float32) for heads in (2, 3, 60)]
    picture = figures.rows("rows", looks, list("abcde"), Words("en"), alt="")
    assert picture.arrays["rows"].shape == (65, 5)
    assert [_head_at(row, [2, 3, 60]) for row in (0, 1, 2, 4, 5, 64)] == [
        (0, 0), (0, 1), (1, 0), (1, 2), (2, 0), (2, 59),
    ]  # fmt: skip
    assert picture.figure["layout"]["yaxis"]["tickvals"] == [0.0, 2.0, 5.0]
    assert list(picture.names["head"][2:5]) == ["L1 H0", "L1 H1", "L1 H2"]


@pytest.mark.parametrize("lang", LANGS)
def test_heads_switched_off_change_what_comes_next(lang: str) -> None:
    scene = Scene(lang=lang, text=TEXTS["repeat"], off=((1, 2), (2, 0)), layer=1, head=3)
    app = open_app("continue", scene)
    assert not app.exception
    model = load_toy_model()
    ids = model.ids_of(TEXTS["repeat"])
    off = chances(ToyWriter(model).read_without(ids, scene.off))
    on = chances(ToyWriter(model).read(ids).logits)
    for found in (on, off):
        best = model.tokenizer.entries[int(found.argmax())].display
        assert best in html(app)
        assert f"{found.max():.2f}" in html(app)
    button = next(each for each in app.button if "L1 H3" in each.label)
    button.click().run()
    assert app.session_state["scene"].off == ((1, 2), (1, 3), (2, 0))
    alone = open_app("continue", scene.with_(off=()))
    assert Words(lang)("continue.without.none") in texts(alone)


def test_undo_takes_one_token_back() -> None:
    app = open_app("continue", Scene(text=TEXT))
    before = app.session_state["scene"]
    state_before = header_of(app)
    app.session_state["scene"] = before.turn_to(said=said(1))
    app.session_state["history"] = [before]
    app.run()
    assert len(header_of(app)["said"]) == 1
    app.button(key="undo").click().run()
    assert header_of(app)["candidates"] == state_before["candidates"]
    assert html(app)
