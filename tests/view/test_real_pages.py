"""Another people's model on every page: its own numbers, proved, named, refused in words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from tokenizers.processors import TemplateProcessing

from mha_core.errors import DataError, Note
from mha_core.language.alignment import align_tokens
from mha_core.model.edits import Edits, forbid_edges, zeros_for
from mha_core.real.capture import capture, capture_calls
from mha_core.real.edited import run_edited
from mha_core.real.folder import FOLDER_VARIABLE, ModelCard, card_of
from mha_core.real.layer import real_layer
from mha_core.real.load import RealModel, open_network
from mha_core.real.pairs import score_pairs
from mha_view import by_hand, compute, real, real_walk, thread, writing
from mha_view.about import about_sentence
from mha_view.components.wall import _head
from mha_view.explore import board, changed, compare, known
from mha_view.figures import explore
from mha_view.figures.rope import wavelengths
from mha_view.footprint import footprint
from mha_view.link import link_of, other_of, refuse_missing
from mha_view.menu import ORDER
from mha_view.page_python import write_page
from mha_view.scene import Ablation, Picked, Scene, read_link, write_link
from mha_view.store import STORE
from mha_view.words import LANGS, Words
from tests.core.real_families import FAMILIES, Family, build
from tests.core.real_folders import bytes_tokenizer, save_folder, words_tokenizer
from tests.view.test_as_python import run
from tests.view.test_page_python import check_lines
from tests.view.test_pages import CHINESE, html, open_app, pictures, texts

LLAMA = next(family for family in FAMILIES if family.name == "llama")
BERT = next(family for family in FAMILIES if family.name == "bert")
WIDE = Family("llama", "llama", LLAMA.settings | {"vocab_size": 300})
WIDE_BERT = Family("bert", "bert", BERT.settings | {"vocab_size": 300})
TEXT = "the cat the cat 我!"
SCENE = Scene(weights="real", real="small-llama", text=TEXT, layer=1, head=3)
WALK = ("overview", "tokens", "projection", "heads", "rope", "attention", "concat", "output",
        "why_heads")  # fmt: skip
PAGES = [*WALK, "gallery", "compare", "continue"]


def _putting_tokens_round(tokenizer: Any) -> Any:
    """The same tokenizer, which says where a text begins and where it ends."""
    names = ("<bos>", "<eos>")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<bos> $A <eos>",
        special_tokens=[(name, tokenizer.convert_tokens_to_ids(name)) for name in names],
    )
    return tokenizer


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of models: two that can be loaded and one that cannot."""
    folder = tmp_path_factory.mktemp("models")
    save_folder(folder / "small-llama", WIDE, bytes_tokenizer())
    save_folder(folder / "small-bert", WIDE_BERT, _putting_tokens_round(bytes_tokenizer()))
    (folder / "empty").mkdir()
    (folder / "empty" / "config.json").write_text('{"model_type": "llama"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(folder))
        yield folder
    STORE.clear()


@pytest.fixture(autouse=True)
def in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a page does, it loads no model by itself: only a job of the line does."""
    load = real.Shelf._load

    def watched(shelf: real.Shelf, name: str) -> RealModel:
        assert "ScriptRunner" not in threading.current_thread().name, "loaded outside the line"
        return load(shelf, name)

    monkeypatch.setattr(real.Shelf, "_load", watched)


def unload() -> None:
    """As on a server that has just begun."""
    for kept in (real.SHELF._models, real.SHELF._digests, real.SHELF._chains):
        kept.clear()
    STORE.clear()


LINK = {"v": "1", "lang": "en", "weights": "real", "real": "small-llama", "text": "a b c"}
CALLED = {
    "a place": ({"token": "2"}, 2, 2),
    "a word": ({"token": "b"}, 2, 2),
    "a cell": ({"cell": "pattern.3.4.2"}, 4, 4),
    "no token": ({"token": "11"}, None, None),
    "another model's": ({"token": "2", "real": "small-bert"}, 1, 2),
}


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("page", ["attention", "gallery"])
def test_a_link_waits_for_its_model_in_line_and_loses_nothing(page: str, called: str) -> None:
    link, focus, place = CALLED[called]
    unload()
    app = open_app(page, link=LINK | link | {"layer": "7"})
    assert not app.exception
    scene = app.session_state["scene"]
    assert scene.focus == focus
    if place is not None:
        assert thread.focus_of(scene) == place
    told = [item.value for item in app.warning]
    assert "“7”" in told[0], "said before the wait, and after it"
    assert len(told) == 1 + (focus is None)
    app.run()
    assert app.session_state["scene"] == scene
    assert not app.warning


@pytest.mark.parametrize("page", ["attention", "gallery", "compare", "class"])
def test_a_presented_page_waits_for_both_models_in_line(page: str) -> None:
    unload()
    both = {"against": "weights", "weights2": "real", "real2": "small-bert", "present": "1"}
    app = open_app(page, link=LINK | both)
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="present_head").options
    assert app.selectbox(key="present_focus").options[1].endswith("␣")
    assert compute.is_ready(app.session_state["scene"])


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_walk_is_on_the_model(page: str, lang: str) -> None:
    app = open_app(page, SCENE.with_(lang=lang))
    words = Words(lang)
    assert not app.exception
    assert not app.error
    assert [item.value for item in app.title] == [words.lesson(page, "title")]
    assert bool(CHINESE.search(texts(app).replace("我", ""))) == (lang == "zh")
    assert pictures(app) >= 1 or page == "continue"
    of_layer = page in WALK
    key, more = ("real.layer", {"layer": 1}) if of_layer else ("real.whole", {})
    assert words(key, name=r"small\-llama", **more) in texts(app)
    assert words("outside.one_head") not in texts(app)
    if of_layer:
        assert words("check.passed") in texts(app)
        assert "transformers" in texts(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_model_that_looks_both_ways_is_shown_so(page: str) -> None:
    app = open_app(page, SCENE.with_(real="small-bert"))
    assert not app.exception
    assert not app.error
    if page == "continue":
        assert "says nothing of what comes next" in texts(app)
    if page == "rope":
        assert Words("en")("rope.none") in texts(app)
    if page == "overview":
        assert compute.keep_of(compute.resolve(SCENE.with_(real="small-bert")), 9).all()


def test_the_numbers_are_the_models_own() -> None:
    model = real.SHELF.load("small-llama")
    calls = capture(model, model.encode(TEXT))
    patterns = real_walk.patterns_of("small-llama", TEXT)
    trace = compute.layer_of(SCENE)
    for layer, call in enumerate(calls):
        np.testing.assert_allclose(patterns[layer], call.rows()[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(trace.pattern, calls[1].rows()[0].numpy(), atol=1e-5)
    proof = real_walk.proof_of(SCENE)
    assert proof is not None
    assert max(proof.values()) < 1e-5
    assert real_walk.proof_of(Scene()) is None
    found = real_walk.expected_of("small-llama", TEXT)
    assert found is not None
    with torch.no_grad():
        logits = model.network(input_ids=torch.tensor([model.encode(TEXT).ids])).logits[0]
    chances = logits.softmax(-1).numpy()
    assert found.ids[:, 0].tolist() == chances.argmax(-1).tolist()
    ids = model.encode(TEXT).ids
    expected = [chances[place, token] for place, token in enumerate(ids[1:])]
    np.testing.assert_allclose(found.actual[:-1], expected, rtol=1e-4)
    assert real_walk.expected_of("small-bert", TEXT) is None
    config = compute.config_of(compute.resolve(SCENE))
    assert (config.n_heads, config.n_kv_heads, config.d_head, config.d_model) == (4, 2, 20, 80)


def test_a_picked_cell_is_explained_from_the_models_numbers() -> None:
    app = open_app("attention", SCENE.with_(picked=Picked("pattern", 3, 5, 2)))
    assert not app.exception
    weight = compute.layer_of(SCENE).pattern[3, 5, 2]
    assert f"{weight:.3f}" in html(app) + texts(app)


def test_tokens_are_cut_by_the_models_tokenizer() -> None:
    reading = compute.reading_of(SCENE)
    read = real.SHELF.load("small-llama").encode(TEXT)
    assert reading.labels == read.labels
    assert [token.id for token in reading.tokens] == list(read.ids)
    kinds = {token.display: token.kind for token in reading.tokens}
    assert kinds["!"] == "punctuation"
    assert "byte" in kinds.values()
    assert "piece" in kinds.values()


def test_a_long_text_is_cut_where_there_is_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_walk, "most_tokens", lambda model: 12)
    text = "the hat " * 20
    reading = real_walk.read_text("small-llama", text)
    assert len(reading) == 12
    assert reading.n_left_out == real.SHELF.load("small-llama").encode(text).n_tokens - 12
    STORE.forget(lambda key: real.is_about(key, "small-llama"))


def test_a_link_names_the_model_and_its_files(root: Path) -> None:
    real.SHELF.load("small-llama")
    link = link_of(SCENE)
    digest = card_of(root / "small-llama").digest
    assert (link["weights"], link["real"], link["digest"]) == ("real", "small-llama", digest)
    scene, refused = read_link(link)
    assert refused == []
    assert refuse_missing(scene, link) == (scene, [])
    same = open_app("gallery", link=link)
    assert not same.warning
    other = open_app("gallery", link=link | {"digest": "0" * 16})
    assert [item.value for item in other.warning] == [
        Words("en")("real.changed", name=r"small\-llama")
    ]
    high = open_app("attention", link=link | {"layer": "2"})
    assert "“2”" in high.warning[0].value
    assert "0 to 1" in high.warning[0].value


@pytest.mark.parametrize("lang", LANGS)
def test_a_link_to_a_model_that_is_not_here_offers_the_nearest(lang: str) -> None:
    words = Words(lang)
    away = Scene(lang=lang, weights="real", real="small-llamas-2", text=TEXT)
    for name in ORDER if lang == "zh" else PAGES:  # the shipped model stands in on each
        app = open_app(name, away)
        assert not app.exception, name
        assert not app.error, name
        assert app.title, name
    app = open_app("attention", away)
    assert app.warning[0].value == words("real.gone", name=r"small\-llamas\-2")
    assert app.button(key="real_nearest").label == words("real.nearest", name="small-llama")
    app.button(key="real_nearest").click().run()
    assert app.session_state["scene"].real == "small-llama"
    assert not app.warning
    assert not app.exception


def labels_of(app: AppTest) -> list[str]:
    """What the weights are called in the list of them."""
    return list(app.radio(key="weights").options)


def test_the_models_are_listed_and_the_refused_one_says_why() -> None:
    app = open_app("tokens", SCENE)
    assert app.selectbox(key="real_model").options == ["small-bert", "small-llama"]
    told = "\n".join(item.value for item in app.caption)
    assert "✗ empty holds no .safetensors file" in told
    assert "2 layers × 4 heads" in told
    app.selectbox(key="real_model").set_value("small-bert").run()
    assert app.session_state["scene"].real == "small-bert"
    assert not app.exception


@pytest.mark.parametrize("lang", LANGS)
def test_without_models_one_line_says_what_brings_them(
    lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    words = Words(lang)
    app = open_app("tokens", Scene(lang=lang, weights="custom", text="a b"))
    assert words("real.none") in [item.value for item in app.caption]
    assert words("weights.real") not in labels_of(app)
    gone = open_app("tokens", Scene(lang=lang, weights="real", real="x", text="a b"))
    assert words("real.gone.none", name="x") in [item.value for item in gone.warning]


def test_a_run_lists_the_models_once_and_the_next_one_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with real.looking_once():
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "config.json").write_text("{}")
        assert real.cards() == ()
    assert [card.name for card in real.cards()] == ["new"]
    with real.looking_once():
        assert [card.name for card in real.cards()] == ["new"]


def test_a_layer_that_is_not_proved_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(model: object, read: object, number: int) -> None:
        raise DataError(
            "real.unproved", name="small-llama", layer=number, step="q_rot", apart="1", most="1e-5"
        )

    STORE.forget(lambda key: real.is_about(key, "small-llama"))
    monkeypatch.setattr("mha_core.real.layer.real_layer", refuse)
    app = open_app("attention", SCENE)
    assert not app.exception
    assert "Layer 1 of small-llama is not shown" in app.error[0].value
    for page in ("gallery", "compare"):
        still = open_app(page, SCENE)
        assert not still.error, "its patterns are the model's own"
        assert not still.exception


def test_a_page_that_cannot_show_how_heads_are_made_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden = Note("real.part.projections")
    monkeypatch.setattr(real_walk, "hidden_of", lambda scene: hidden)
    app = open_app("projection", SCENE)
    assert not app.exception
    assert [item.value for item in app.info] == [
        Words("en")("real.hidden", name=r"small\-llama", layer=1, part=str(hidden))
    ]


def test_a_wall_shows_every_head_and_the_tiles_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "MOST_HEADS_APART", 5)
    app = open_app("gallery", SCENE.with_(sort="entropy"))
    assert not app.exception
    assert any('"told"' in str(item.proto) or b'"told"' in bytes(item.proto.bytes)
               for item in app.get("bidi_component"))  # fmt: skip
    alone = open_app("gallery", SCENE.with_(only=1))
    assert Words("en")("gallery.of_layer", layer=1) in texts(alone)
    assert "as do heads 2 of this layer" in texts(alone)
    n_heads = [4, 4]
    assert _head({"layer": 1, "head": 3}, n_heads) == (1, 3)
    bad = (None, {}, {"layer": 2, "head": 0}, {"layer": 0, "head": 4}, {"layer": True, "head": 0})
    assert [_head(sent, n_heads) for sent in bad] == [None] * 5


def test_small_pictures_are_the_largest_of_each_block_and_few_bytes() -> None:
    generator = np.random.default_rng(0)
    patterns = [generator.random((9, 64, 64)).astype(np.float32) for _ in range(30)]
    patterns[7][2, 40:44, 9] = 1.0
    drawn = explore.small_pictures(patterns)
    assert drawn.shape[:2] == (30, 9)
    assert drawn.nbytes <= 150_000, "270 heads; the tiles beside them take what is left of 300 kB"
    block = -(-64 // drawn.shape[-1])
    assert drawn[7, 2, 41 // block, 9 // block] == 255
    small = [np.eye(5, dtype=np.float32)[None]]
    assert (explore.small_pictures(small)[0, 0] == 255 * np.eye(5)).all()


def test_what_is_kept_does_not_hold_the_model() -> None:
    model = real.SHELF.load("small-llama")
    layer = real_walk.layer_of("small-llama", TEXT, 1)
    patterns = real_walk.patterns_of("small-llama", TEXT)
    whole = real.n_bytes_of(model)
    of_layer = sum(each.size * 4 for each in (layer.trace.weights.w_q, layer.trace.weights.w_k))
    assert sum(footprint(layer).values()) < whole
    assert sum(footprint(patterns).values()) < 100_000
    assert of_layer < whole


def test_the_shelf_lets_the_oldest_go_and_forgets_what_it_computed() -> None:
    shelf = real.Shelf(limit=1)
    first = shelf.load("small-llama")
    assert shelf.load("small-llama") is first
    assert len(shelf.digest_of("small-llama")) == 16
    STORE.get(("walk", ("real", "small-llama"), "x"), lambda: "kept")
    assert isinstance(shelf.open("small-llama"), real.Open)
    shelf.load("small-bert")
    assert shelf.find("small-llama") is None
    assert shelf.find_open("small-llama") is None
    assert shelf.digest_of("small-llama") == ""
    assert ("walk", ("real", "small-llama"), "x") not in STORE
    assert real.is_about(("a", (("real", "m"), 1)), "m")
    assert not real.is_about(("a", ("real", "n")), "m")


@pytest.mark.parametrize("lang", LANGS)
def test_roles_are_measured_when_asked_and_ranked_as_the_core_ranks(lang: str) -> None:
    from mha_core.real.roles import score_heads

    STORE.forget(lambda key: isinstance(key, tuple) and key[0] == "roles")
    app = open_app("gallery", SCENE.with_(lang=lang))
    assert Words(lang)("real.roles.caption") in [item.value for item in app.caption]
    app.button(key="real_roles_measure").click().run()
    assert not app.exception
    scores = score_heads(real.SHELF.load("small-llama"))
    shown = html(app)
    for role in scores.values:
        (layer, head), best = scores.ranked(role)[0]
        assert Words(lang)("board.short", layer=layer, head=head) in shown
        assert f"{best.mean:.2f}" in shown
    app.button(key="real_role_induction").click().run()
    layer, head = scores.ranked("induction")[0][0]
    assert (app.session_state["scene"].layer, app.session_state["scene"].head) == (layer, head)


@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("name", ["small-llama", "small-bert"])
def test_a_token_is_the_same_word_whoever_reads_it(name: str, gone: bool) -> None:
    """Pictures, chips and links count tokens as they are shown: with what the model that reads puts
    before the text, which is the shipped one where the named one is not here."""
    scene = Scene(weights="real", real=f"{name}-gone" if gone else name, text="a b c", layer=0)
    app = open_app("attention", scene.with_(focus=1))
    assert not app.exception
    shown = compute.resolve(scene)
    reading = compute.reading_of(shown)
    n_before = compute.tokens_before(scene)
    assert n_before == sum(token.kind == "special" for token in reading.tokens[:2])
    assert thread.focus_of(scene.with_(focus=1)) == 1 + n_before
    for place in range(len(reading)):
        picked = scene.with_(focus=0).turn_to(
            compute.tokens_before, picked=Picked("pattern", 1, place, 0)
        )
        assert thread.focus_of(picked) == place, "the token clicked is the focus token"
        if not gone:
            app.button_group(key="focus").set_value(place).run()
            assert thread.focus_of(app.session_state["scene"]) == place
        typed, refused = by_hand.read({"v": "1", "lang": "en", "weights": "real",
                                       "real": scene.real, "text": "a b c", "token": str(place)},
                                      None)  # fmt: skip
        assert not refused
        assert thread.focus_of(typed) == place
        assert f"token={place}" in by_hand.write(typed).split("&")
        cell = write_link(scene) | {"cell": f"pattern.1.{place}.0"}
        by_cell, _ = by_hand.read(cell)
        assert (by_cell.picked is None) == gone
        assert gone or thread.focus_of(by_cell) == place
    kept = scene.with_(focus=1, picked=Picked("pattern", 0, 2, 1))
    assert ("cell" in link_of(kept)) != gone, "it would name a token of another model"


@pytest.mark.parametrize("lang", LANGS)
def test_what_a_model_knows_is_measured_with_heads_off(lang: str) -> None:
    words, model, off = Words(lang), real.SHELF.load("small-llama"), ((0, 1), (1, 2))
    STORE.forget(lambda key: isinstance(key, tuple) and key[0] == "pairs")
    app = open_app("specialisation", SCENE.with_(lang=lang, tab="damage", ablation="zero"))
    assert not app.exception
    shown_tabs = [words(f"tab.{tab}") for tab in ("roles", "damage", "bench")]
    assert app.button_group(key="tab").options == shown_tabs
    app.button(key="known_measure").click().run()
    assert not app.exception
    *_, whole = score_pairs(model)
    *_, without = score_pairs(model, zeros_for(off))
    shown = html(app)
    assert shown.count(words("known.unknown")) == sum(not task.is_known for task in whole.tasks) > 0
    assert words("known.none") in [item.value for item in app.info]
    app = open_app("specialisation", SCENE.with_(lang=lang, tab="damage", ablation="zero", off=off))
    assert not app.exception
    shown = html(app)
    for before, after in zip(whole.tasks, without.tasks, strict=True):
        assert words(f"known.{before.task}") in shown
        assert f"{before.right.mean:.2f}" in shown
        assert not before.is_known or f"{after.right.mean:.2f}" in shown
        margins = f"{before.margins[3]:+.2f}", f"{after.margins[3]:+.2f}"
        assert all(margin.replace("-", "−") in shown for margin in margins)
    kept = known.scored_of("small-llama", off, "zero")
    for one, other in zip(kept.tasks, without.tasks, strict=True):
        np.testing.assert_allclose(one.margins, other.margins)
    silent = open_app("specialisation", SCENE.with_(lang=lang, real="small-bert", tab="damage"))
    assert not silent.exception
    assert words("known.silent", name=r"small\-bert") in [item.value for item in silent.info]


@pytest.mark.parametrize("how", ["zero", "mean", "look"])
def test_the_bench_changes_heads_of_the_model(how: Ablation) -> None:
    model, off = real.SHELF.load("small-llama"), ((0, 1), (1, 2))
    scene = SCENE.with_(tab="bench", ablation=how, off=off, after=7, edge_query=7, edge_key=2)
    edits = known.edits_for("small-llama", off, how) if how != "look" else Edits()
    if how == "look":
        for layer, head in off:
            edits |= forbid_edges([(layer, head, 7, 2)], 4, model.encode(TEXT).n_tokens)
    ids = torch.tensor([model.encode(TEXT).ids])
    expected = [run_edited(model, ids, each).logits[0, 7].softmax(-1) for each in (None, edits)]
    found = [changed.chances(scene, 7, heads, (7, 2)) for heads in ((), off)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-5
    app = open_app("specialisation", scene)
    assert not app.exception
    moved = np.abs(found[0] - found[1]).sum() / 2
    assert f"{moved:.0%} of the probability moved" in texts(app)
    layer, head = off[0]
    most = real_walk.patterns_of("small-llama", TEXT)[layer][head, 7].argmax()
    free = scene.with_(edge_query=-1, edge_key=-1)
    assert changed.edge_of(free, real_walk.patterns_of("small-llama", TEXT), 7) == (7, most)


LINES: dict[str, tuple[Scene, Callable[[RealModel], Any]]] = {
    "gallery": (
        SCENE, lambda model: [call.rows()[0] for call in capture(model, model.encode(TEXT))]
    ),
    "continue": (
        SCENE.with_(said=(40, 50)),
        lambda model: run_edited(
            model, torch.tensor([[*model.encode(TEXT).ids, 40, 50]])
        ).logits[0, -1].softmax(-1),
    ),
    "specialisation": (
        SCENE.with_(tab="damage", off=((0, 1),), ablation="zero"),
        lambda model: [
            task.right.mean for task in list(score_pairs(model, zeros_for([(0, 1)])))[-1].tasks
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("page", LINES)
def test_the_lines_of_python_are_about_the_model(page: str) -> None:
    scene, expected = LINES[page]
    code = write_page(page, scene)
    assert code is not None
    value = run(code)["value"]
    for mine, theirs in zip(value, expected(real.SHELF.load("small-llama")), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


WRITTEN: dict[str, tuple[str, Scene, tuple[str, ...]]] = {
    **{page: (page, SCENE, ()) for page in WALK},
    **{f"{page}, both ways": (page, SCENE.with_(real="small-bert"), ()) for page in WALK},
    "gallery": ("gallery", SCENE.with_(sort="entropy", hide_special=True, whole_words=True), ()),
    "continue": ("continue", SCENE.with_(said=(40, 50), look=1, off=((1, 1),)), ()),
    "roles": ("specialisation", SCENE.with_(tab="roles"), ("real_roles_measure",)),
    "roles in the gallery": ("gallery", SCENE, ("real_roles_measure",)),
    "tasks": (
        "specialisation", SCENE.with_(tab="damage", off=((0, 1),), ablation="zero"),
        ("known_measure",),
    ),
    **{
        f"bench, {how}": (
            "specialisation",
            SCENE.with_(tab="bench", off=((0, 1),), ablation=how, edge_query=7, edge_key=2), (),
        )
        for how in get_args(Ablation)
    },
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_every_picture_of_the_model_has_its_lines(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, scene, pressed = WRITTEN[case]
    STORE.clear()  # what was measured before would be on the page at once
    check_lines(page, scene, monkeypatch, *pressed)


def test_no_more_is_written_than_the_model_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    model = real.SHELF.load("small-llama")
    least = replace(model, limit=model.encode(TEXT).n_tokens + 2)
    monkeypatch.setitem(real.SHELF._models, "small-llama", least)
    scene = SCENE.with_(said=(40, 50, 60, 70))
    assert (writing.room_of(scene), writing.said_of(scene)) == (2, (40, 50))
    app = open_app("continue", scene)
    assert not app.exception
    assert not app.error


COMPARED = {
    "two models": SCENE.with_(against="weights", other_weights="real", other_real="small-bert",
                              other_layer=1, other_head=2),
    "the shipped model beside one": SCENE.with_(weights="toy", layer=2, head=5, against="weights",
                                                other_weights="real", other_real="small-llama",
                                                other_head=3),
    "one beside the shipped model": SCENE.with_(against="weights", other_weights="toy",
                                                other_layer=2, other_head=5),
    "two heads of one": SCENE.with_(against="head", other_layer=0, other_head=2),
}  # fmt: skip


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("case", COMPARED)
def test_two_models_are_compared_where_their_tokens_cover_the_same(
    case: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, words = COMPARED[case].with_(lang=lang), Words(lang)
    bare = {"digest": "", "other_digest": ""}
    assert read_link(link_of(scene))[0].with_(**bare) == scene
    assert refuse_missing(scene, link_of(scene)) == (scene, [])
    app = open_app("compare", scene)
    assert not app.exception
    assert not app.error
    assert not app.warning
    now = compare.as_shown(scene)
    other = now if scene.against == "head" else compute.resolve(other_of(now))
    assert words("compare.masks") not in [item.label for item in app.expander] or case[:3] == "the"
    own = [list(compute.walk_of(each).patterns) for each in (now, other)]
    heads = (now.layer, now.head), (now.other_layer, now.other_head)
    first, second = (layers[layer][head] for layers, (layer, head) in zip(own, heads, strict=True))
    entropies = [float(app.table[0].value[words(f"compare.{side}")].iloc[0])
                 for side in ("first", "second")]  # fmt: skip
    for shown, pattern in zip(entropies, (first, second), strict=True):
        rows = pattern[(pattern > 0).sum(-1) > 1] if pattern[0, 1] == 0 else pattern
        safe = np.where(rows > 0, rows, 1)
        assert shown == pytest.approx(float(-(safe * np.log(safe)).sum(-1).mean()), abs=0.006)
    readings = [compute.reading_of(each) for each in (now, other)]
    told = "\n".join(item.value for item in app.caption)
    if readings[0].labels == readings[1].labels:
        assert "`<bos>`" not in told
        return
    spans = [[(token.start, token.end) for token in each.tokens] for each in readings]
    stretches = align_tokens(TEXT, *spans)
    n = len(stretches)
    assert case == "two models" or n == len(["the", "cat", "the", "cat", "我", "!"])
    sizes = {"n": n, "first": len(readings[0]), "second": len(readings[1])}
    shares = {"first_share": "@", "second_share": "@"}
    prefix = words("compare.aligned", **sizes, **shares).split("@")[0]
    assert prefix in told
    grouped = compare.over_groups(first, now_keep(now, first), [each.first for each in stretches])
    for row, one in enumerate(stretches):
        for column, key in enumerate(stretches):
            cells = first[np.ix_(one.first, key.first)].sum(1).mean()
            assert np.nan_to_num(grouped[row, column]) == pytest.approx(cells, abs=1e-6)
            hidden = min(key.first) > max(one.first)  # a look ahead is drawn as none, not as 0
            assert np.isnan(grouped[row, column]) == hidden
    if lang == "zh":
        check_lines("compare", scene, monkeypatch)


def now_keep(scene: Scene, pattern: np.ndarray) -> np.ndarray:
    return compute.keep_of(scene, len(pattern))


def test_a_second_model_that_is_not_here_is_said_to_be_gone() -> None:
    app = open_app("compare", COMPARED["two models"].with_(other_real="small-bear"))
    assert not app.exception
    assert Words("en")("real.gone", name=r"small\-bear") in [item.value for item in app.warning]
    app.button(key="other_real_nearest").click().run()
    assert not app.warning
    assert app.session_state["scene"].other_real == "small-bert"
    first = Scene(weights="real", real="small-bert", against="weights", other_weights="real")
    assert link_of(first)["real2"] == "small-llama", "the first that is not the scene's own"


def test_a_link_names_the_second_models_files(root: Path) -> None:
    scene = COMPARED["two models"]
    real.SHELF.load("small-bert")
    link = link_of(scene)
    assert link["digest2"] == card_of(root / "small-bert").digest
    assert not open_app("compare", link=link).warning
    app = open_app("compare", link=link | {"digest2": "0" * 16})
    changed = Words("en")("real.changed", name=r"small\-bert")
    assert [item.value for item in app.warning] == [changed]
    assert link_of(app.session_state["scene"])["digest2"] == "0" * 16
    app.selectbox(key="other_real").set_value("small-llama").run()
    assert not app.warning
    assert app.session_state["scene"].other_digest == ""


def test_what_is_cited_and_saved_names_the_model(root: Path) -> None:
    app = open_app("attention", SCENE.with_(real="small-bert"))
    [entry] = [code.value for code in app.code if code.value.startswith("@software")]
    digest = card_of(root / "small-bert").digest
    assert f"note = {{small-bert, files {digest}}}" in entry
    facts = about_sentence(app.session_state["scene"], Words("en")).facts
    assert facts.startswith("small-bert · layer 1 · head 3 · token")
    assert "RoPE" not in facts, "it has none"


MARKED = "\n".join(
    f"the {{{a}}} saw a {b} as [{a}] ran"
    for a in ("cat", "dog", "fox", "cow") for b in ("man", "boy", "car")
)  # fmt: skip


@pytest.mark.parametrize("lang", LANGS)
def test_a_hypothesis_is_put_to_the_test_on_the_model(lang: str) -> None:
    stated = SCENE.with_(lang=lang, marked=MARKED, frozen=True)
    app = open_app("hypothesis", stated)
    words = Words(lang)
    assert not app.exception
    assert not app.warning
    assert words("claim.shipped") not in texts(app)
    assert r"small\-llama" in texts(app)
    outcome = app.session_state["claim_outcome"][1]
    model = real.SHELF.load("small-llama")
    assert len(outcome.findings) == model.n_layers * model.n_heads[0]
    one = outcome.sentences[0]
    calls = capture_calls(model.network, input_ids=torch.tensor([one.ids]))
    [call] = [each for each in calls if each.number == outcome.chosen[0]]
    row = call.rows()[0, outcome.chosen[1], one.query]
    assert outcome.masses[0] == pytest.approx(float(row[list(one.targets)].sum()), abs=1e-5)
    code = write_page("hypothesis", stated)
    assert code is not None
    left = run(code)
    assert np.allclose(left["value"], [found.mass.mean for found in outcome.findings], atol=1e-5)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", ["hypothesis", "circuits"])
def test_what_cannot_be_asked_of_a_model_is_said_in_a_sentence(page: str, lang: str) -> None:
    app = open_app(page, SCENE.with_(lang=lang, real="small-bert", marked=MARKED, frozen=True))
    words = Words(lang)
    assert not app.exception
    if page == "hypothesis":
        assert words("claim.shipped") in app.warning[0].value
        assert "bert" in app.warning[0].value
        assert len(app.session_state["claim_outcome"][1].findings) == 18
    else:
        assert any(r"small\-bert" in item.value for item in app.info)


SCALINGS: dict[str, dict[str, Any]] = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 3.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 16},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64},
    "longrope": {"short_factor": [2.0] * 10, "long_factor": [4.0] * 10, "factor": 4.0,
                 "original_max_position_embeddings": 64},
    "default": {},
}  # fmt: skip


@pytest.mark.parametrize("kind", SCALINGS)
def test_a_scaled_rope_is_drawn_beside_what_its_base_gives(kind: str) -> None:
    """The stored frequencies against base^(-2i/d), whatever the kind of scaling."""
    setting = {"rope_type": kind, "rope_theta": 5e3, **SCALINGS[kind]}
    family = Family("llama", "llama", LLAMA.settings | {"rope_parameters": setting})
    model = open_network(build(family), words_tokenizer(), ModelCard("scaled", Path()))
    config = real_layer(model, model.encode("w3 w7 w4"), 1).trace.config
    assert config.rope is not None
    network: Any = model.network
    stored = network.base_model.rotary_emb.inv_freq.numpy()
    drawn = wavelengths(config.rope, config.d_head, 3, Words("en"))
    np.testing.assert_allclose(drawn.arrays["wavelength"], 2 * np.pi / stored, rtol=1e-5)
    plain = 2 * np.pi * 5e3 ** (2 * np.arange(10) / 20)
    # Below the trained length "dynamic" turns as the base has it.
    is_scaled = kind not in ("default", "dynamic")
    assert ("by base" in drawn.arrays) == (len(drawn.figure["data"]) == 2) == is_scaled
    if is_scaled:
        np.testing.assert_allclose(drawn.arrays["by base"], plain, rtol=1e-6)
        assert "5,000" in drawn.figure["data"][1]["name"]
    else:
        np.testing.assert_allclose(drawn.arrays["wavelength"], plain, rtol=1e-5)
