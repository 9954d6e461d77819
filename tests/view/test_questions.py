"""The questions: computed from what is on screen, answerable, and right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mha_core.config import AttentionConfig
from mha_core.heads.circuit_report import read_circuits
from mha_core.model.edits import EMBEDDING
from mha_core.walk import walk_layer
from mha_core.weights import random_embedding, random_weights
from mha_core.whatif import look_again
from mha_view import compute
from mha_view.menu import ORDER, page_file
from mha_view.scene import Scene
from mha_view.walk.split import added_parameters
from mha_view.words import LANGS, Words
from tests.view.test_pages import open_app

# The pages that ask something; the class page gives questions to a teacher.
WALK = [name for name in ORDER if page_file(name).parent.name == "learn" and name != "class"]
WIDE = Scene(weights="custom", d_model=48, n_heads=4, d_head=32, text="the cat sat on the mat")


@pytest.mark.parametrize("lang", LANGS)
def test_the_full_width_is_d_and_not_what_the_heads_have_together(lang: str) -> None:
    app = open_app("attention", WIDE.with_(lang=lang))
    [asked] = [radio.label for radio in app.radio if radio.key == "answer_attention"]
    assert "6.93" in asked, "the root of 48"
    assert "5.66" in asked, "the root of 32"
    assert "11.31" not in asked, "the root of 4 · 32"
    drawn = b"".join(item.proto.bytes for item in app.get("bidi_component"))
    assert Words(lang)("attention.by_model", d=48).encode() in drawn
    trace = compute.layer_of(WIDE)
    by_d, by_rows = (look_again(trace, 0, scale=d**-0.5) for d in (48, 128))
    assert np.abs(by_d - by_rows).max() > 1e-3


@pytest.mark.parametrize("page", WALK)
@pytest.mark.parametrize("scene", [Scene(), WIDE.with_(lang="zh")], ids=["toy", "custom"])
def test_every_answer_can_be_given_and_one_is_right(page: str, scene: Scene) -> None:
    app = open_app(page, scene)
    key, right, wrong = f"answer_{page}", Words(scene.lang)("ask.right"), 0
    options = app.radio(key=key).options
    told = app.radio(key=key).format_func
    for option in options:
        [value] = [name for name in _ids(page, scene) if _told(told, name) == option]
        app.radio(key=key).set_value(value).run()
        assert not app.exception
        wrong += right not in "\n".join(item.value for item in app.success)
    assert wrong == len(options) - 1


@pytest.mark.parametrize("lang", LANGS)
def test_the_circuits_question_is_answered_by_the_head_whose_loss_costs_most(lang: str) -> None:
    found = read_circuits(compute.load_weights())["copying"].heads
    cost = {head: effect.mean for head, effect in found.items() if head != EMBEDDING}
    layer, head = max(cost, key=lambda one: cost[one])
    app = open_app("circuits", Scene(lang=lang, circuit="copying"))
    app.radio(key="answer_circuits").set_value(f"{layer}.{head}").run()
    assert not app.exception
    told = "\n".join(item.value for item in app.success)
    assert Words(lang)("ask.right") in told
    assert f"{cost[layer, head]:.2f}" in told


@pytest.mark.parametrize("lang", LANGS)
def test_the_hypothesis_question_counts_what_chance_alone_calls(lang: str) -> None:
    app = open_app("hypothesis", Scene(lang=lang))
    answers = app.radio(key="answer_hypothesis")
    assert "0.9" in answers.options, "18 heads, each at 5 %"
    answers.set_value("some").run()
    assert Words(lang)("ask.right") in "\n".join(item.value for item in app.success)


def _ids(page: str, scene: Scene) -> list[str]:
    """Every answer's id that a page may have: a lesson's options, or a head's number."""
    from mha_view.words import lesson

    parts = lesson(page, scene.lang)
    own = [part.removeprefix("option_") for part in parts if part.startswith("option_")]
    return [*own, *map(str, range(12))]


def _told(told: object, name: str) -> str | None:
    """How an answer is printed, None if the page does not have it."""
    try:
        return str(told(name))  # type: ignore[operator]
    except KeyError:
        return None


def test_what_the_cut_adds_is_counted_and_can_be_something() -> None:
    config = AttentionConfig(d_model=12, n_heads=3, n_kv_heads=1)
    plain = walk_layer(random_embedding(5, 12, 0), random_weights(config, 0), config)
    assert added_parameters(plain) == 0
    biased = replace(random_weights(config, 0), b_q=np.ones(12), b_o=np.ones(12))
    assert added_parameters(walk_layer(random_embedding(5, 12, 0), biased, config)) == 0
    normed = replace(config, qk_norm="head")
    per_head = walk_layer(random_embedding(5, 12, 0), random_weights(normed, 0), normed)
    assert added_parameters(per_head) == 2 * 4
    sinks = replace(random_weights(config, 0), sinks=np.zeros(3, np.float32))
    assert added_parameters(walk_layer(random_embedding(5, 12, 0), sinks, config)) == 3
