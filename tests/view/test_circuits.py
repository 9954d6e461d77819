"""The circuits page: what it draws and says is what was measured, in both languages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.errors import ConfigError
from mha_core.heads.circuits import Bench, find_circuit
from mha_core.model.edits import EMBEDDING, Edits, Path
from mha_view import compute
from mha_view.explore import circuit as found_by
from mha_view.explore import lens, story
from mha_view.figures.circuit import circuit_graph
from mha_view.live import LiveSettings, changes_for
from mha_view.scene import Scene
from mha_view.texts import DEFAULT_TEXT, TEXTS
from mha_view.words import LANGS, Words
from tests.core.planted import plant, planted_prompts
from tests.core.test_circuits import last
from tests.view.test_live import make_model, open_with_model
from tests.view.test_pages import html, open_app, texts


def told(app: AppTest) -> str:
    """All Markdown on the page."""
    return " ".join(block.value for block in [*app.markdown, *app.caption])


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("part", ["graph", "story", "weights", "lens"])
def test_every_part_opens_and_says_what_was_measured(lang: str, part: Any) -> None:
    words, found = Words(lang), found_by.shipped()["copying"]
    app = open_app("circuits", Scene(lang=lang, text=DEFAULT_TEXT[lang], circuit_part=part))
    assert not app.exception
    shown = told(app)
    cast = story.cast_of(found)
    assert cast is not None
    back = words("board.short", layer=cast.back[0], head=cast.back[1])
    if part == "graph":
        effect = found.paths[Path(cast.back, cast.inducing[0], "k")].mean
        assert back in shown
        assert f"{effect:.2f}" in shown
        assert f"{effect / found.heads[cast.back].mean:.0%}" in shown
        table = html(app)
        assert table.count("<tr>") >= len(found.heads) + 1
        assert f"{effect:.2f}" in table
        assert "-0.00" not in table
    elif part == "story":
        assert len(app.toggle) >= 5
        assert back in " ".join(toggle.label for toggle in app.toggle)
        assert re.search(r"\*\*(1\.00|0\.9\d)\*\*", shown)
    elif part == "weights":
        assert back in shown
    else:
        assert words("lens.caption") in shown


def test_a_step_cut_takes_the_word_away_and_comes_back_by_link() -> None:
    for number in range(1, 6):
        app = open_app("circuits", Scene(circuit_part="story", cuts=(number,)))
        on = [toggle for toggle in app.toggle if toggle.key and "story_cut" in toggle.key]
        assert [toggle.value for toggle in on] == [n == number for n in range(1, 6)]
        now = float(re.findall(r"\*\*(\d\.\d\d)\*\*", told(app))[-1])
        assert now < 0.3, "each step alone breaks the story"


@pytest.mark.parametrize("task", ["reference", "measure", "classifier_zh"])
def test_other_tasks_have_their_own_circuits(task: Any) -> None:
    app = open_app("circuits", Scene(circuit=task))
    assert not app.exception
    found = found_by.shipped()[task]
    assert found.edges
    for path, effect in found.edges.items():
        if path.part in ("q", "k", "v") and path.sender != EMBEDDING:
            assert f"{effect.mean:.2f}" in told(app)


def test_the_readers_own_pair_is_measured_and_a_bad_one_is_refused_in_words() -> None:
    own = Scene(circuit="own", text="The cat sat on the mat because it was tired.")
    app = open_app("circuits", own)
    assert not app.exception
    twin = next(box for box in app.text_input if box.key == "circuit_twin")
    assert twin.value != own.text
    assert Words("en")("circuits.every") in told(app)
    for text, said in (("Too short.", "tokens, the second"), (own.text, "ask for the same word")):
        app = open_app("circuits", own.with_(twin=text))
        assert not app.exception
        assert said in app.warning[-1].value
        kept = next(box for box in app.text_input if box.key == "circuit_twin")
        assert kept.value == text, "what was typed stays"


def test_what_is_asked_of_an_own_pair_is_what_the_model_expects() -> None:
    scene = Scene(circuit="own")
    twin = found_by.suggest_twin(scene)
    asked = found_by.ask_pair(scene, twin, 9)
    model = compute.load_weights()
    with torch.no_grad():
        logits = model.run(torch.tensor(asked.prompt.ids)).logits
    assert int(logits[9].argmax()) == asked.prompt.right
    assert asked.prompt.right != asked.prompt.wrong


def test_the_graph_holds_the_planted_circuit() -> None:
    words = Words("en")
    bench = Bench(plant("k", 1, 2, seed=1), planted_prompts("k", 5, 12))
    found = last(find_circuit(bench))
    picture = circuit_graph(found, 2, 3, words)
    names = list(picture.names["path"])
    assert "L0 H1 → keys of layer 1" in names
    assert not [name for name in names if name.startswith(("L0 H0", "L0 H2"))]
    effects = picture.arrays["effect"]
    assert effects.shape == (len(names), 3)
    assert np.allclose(effects[:, 0], [effect.mean for effect in found.edges.values()])
    widths = [trace["line"]["width"] for trace in picture.figure["data"] if "line" in trace
              and trace["mode"] == "lines"]  # fmt: skip
    assert max(widths) == pytest.approx(1.2 + 9.8 * min(1.0, effects[:, 0].max()))


def test_contributions_of_the_lens_add_up_at_every_place() -> None:
    model = compute.load_weights()
    ids = model.ids_of("The cat sat on the mat because it was tired.")
    found = lens.look_through(model, ids, 10, None)
    error = np.abs(found.parts.sum(0) - found.logits).max() / np.abs(found.logits).max()
    assert error < 1e-5
    with torch.no_grad():
        run = model.run(torch.tensor(ids))
    assert found.token == int(run.logits[10].argmax())
    assert np.allclose(found.chances[-1], run.logits.softmax(-1)[:, found.token], atol=1e-6)
    assert (found.best[-1] == run.logits.argmax(-1).numpy()).all()
    other = lens.look_through(model, ids, 10, 5)
    assert other.token == 5
    means = run.heads[1][2].mean(0)
    with torch.no_grad():
        without = model.run(torch.tensor(ids), edits=Edits(heads={(1, 2): means})).logits
    lost = float(run.logits[10, found.token] - without[10, found.token])
    assert found.off[8] == pytest.approx(lost, abs=1e-4)


def test_a_circuit_measured_on_this_server_is_kept() -> None:
    scene = Scene(circuit="measure", instead="mean")
    app = open_app("circuits", scene)
    assert not app.exception
    key = (found_by.weights_name(scene), "measure", "mean", None)
    assert found_by._kept[key].instead == "mean"
    assert f"{found_by._kept[key].margin:+.1f}" in told(app)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("layers", [1, 2])
def test_a_model_of_the_session_is_cut_too(lang: str, layers: int) -> None:
    settings = LiveSettings(d_model=32, n_heads=2, n_layers=layers, seed=3, steps=20)
    scene = Scene(lang=lang, weights="live", text=TEXTS["repeat"], **changes_for(settings))
    words = Words(lang)
    for part in ("graph", "weights", "story", "lens"):
        app = open_with_model("circuits", scene.with_(circuit_part=part), make_model(settings))
        assert not app.exception
        assert not app.error
        said = [words("circuits.weights.caption"), words("story.none"), words("lens.caption"),
                words("circuits.every")]  # fmt: skip
        refused = [item.value for item in app.warning]
        nothing = words.error(ConfigError("circuit.nothing"))
        assert any(each in texts(app) for each in said) or nothing in refused
