"""The pages that explore heads: what they show is what the core computes."""

from __future__ import annotations

import copy
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from mha_core.heads.evaluate import Progress
from mha_core.heads.measures import MEASURES, Seen, entropy
from mha_core.heads.report import count_figures
from mha_core.language.tokenizer import load_tokenizer
from mha_core.whatif import look_again
from mha_view import compute
from mha_view.explore import (
    bench,
    checkpoints,
    compare,
    direct,
    evidence,
    examples,
    gallery,
    labels,
    role_map,
    training,
)
from mha_view.explore.board import Board
from mha_view.explore.passport import Line, passport
from mha_view.explore.tabs import tab_of
from mha_view.figures import explore, whatif
from mha_view.grouping import group_tokens
from mha_view.heavy import line
from mha_view.jobs import Job
from mha_view.menu import SECTIONS
from mha_view.panel import literal, number
from mha_view.scene import MaskName, Scene, read_link
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_pages import CHINESE, html, open_app, pictures, texts

CUSTOM = Scene(weights="custom", text=TEXTS["repeat"], n_heads=6, head=0)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", SECTIONS["explore"])
@pytest.mark.parametrize("weights", ["toy", "custom"])
def test_each_page_runs_in_each_language(page: str, lang: str, weights: str) -> None:
    app = open_app(page, Scene(lang=lang, weights=weights, text=TEXTS["cat"]))
    assert not app.exception
    assert not app.error
    assert [item.value for item in app.title] == [Words(lang).lesson(page, "title")]
    assert bool(CHINESE.search(texts(app))) == (lang == "zh")
    said = {"en": "not why the model decided", "zh": "说明不了模型为什么这样判断"}[lang]
    assert said in texts(app)
    assert pictures(app) >= (page != "training" or bool(checkpoints.list_steps()))


def scores_shown(app) -> dict[str, float]:  # type: ignore[no-untyped-def]
    """The passport on the page: label and score."""
    rows = re.findall(r'<th scope="row">(.*?)</th>.*?<td class="num">([\d.]+)', html(app))
    return {re.sub(r"\s*<small.*", "", label).strip(): float(score) for label, score in rows}


@pytest.mark.parametrize("mask", ["causal", "two_way", "window"])
def test_the_passport_shows_the_cores_scores(mask: str) -> None:
    scene = CUSTOM.with_(mask=mask, head=4)
    shown = scores_shown(open_app("gallery", scene))
    trace = compute.layer_of(scene)
    ids = np.array([token.id for token in compute.reading_of(scene).tokens])
    seen = Seen(trace.keep, ids, np.zeros(len(ids), dtype=bool))
    words, told = Words("en"), 0
    for name, measure in MEASURES.items():
        expected = float(measure.score(trace.pattern[4], seen))
        label = words(f"measure.{name}")
        assert (label in shown) == np.isfinite(expected), name
        if label in shown:
            told += 1
            assert shown[label] == pytest.approx(expected, abs=0.0051), name
    assert told >= 8


def test_sorting_puts_the_largest_score_first_and_keeps_names() -> None:
    scene = CUSTOM.with_(sort="confidence")
    board = Board(
        "gallery", Words("en"), scene, compute.config_of(scene), compute.reading_of(scene)
    )
    scores = board.scores("confidence")
    assert board.order() == sorted(range(6), key=lambda place: -scores[place])
    assert scores[board.order()[0]] == max(scores)
    assert board.short(board.order()[0]) == f"L0 H{int(scores.argmax())}"


def test_hidden_and_merged_tokens_find_their_way_back() -> None:
    tokenizer = load_tokenizer()
    text = "the zebu's café 小猫"
    tokens = (tokenizer.bos, *tokenizer.encode(text).tokens)
    plain = group_tokens(tokens, text)
    assert plain.is_plain
    assert plain.labels == tuple(token.display for token in tokens)
    grouping = group_tokens(tokens, text, hide_special=True, whole_words=True)
    assert grouping.hidden == (0,)
    assert "zebu" in grouping.labels
    assert "café" in grouping.labels, "its pieces"
    assert "小猫" in grouping.labels
    for row, group in enumerate(grouping.groups):
        assert grouping.first(row) == group[0]
        assert all(grouping.find(token) == row for token in group)
    assert grouping.find(0) is None
    assert sorted([*grouping.hidden, *(t for group in grouping.groups for t in group)]) == list(
        range(len(tokens))
    )
    pattern = np.tril(np.random.default_rng(0).random((2, len(tokens), len(tokens))))
    pattern /= pattern.sum(-1, keepdims=True)
    shown = grouping.apply(pattern)
    assert shown.shape == (2, len(grouping.groups), len(grouping.groups))
    assert shown[:, 1:].sum(-1) == pytest.approx(1)


def test_hiding_says_how_much_was_hidden() -> None:
    scene = Scene(text=TEXTS["cat"], hide_special=True)
    app = open_app("gallery", scene)
    patterns = np.concatenate([layer.pattern for layer in compute.walk_of(scene).layers])
    assert f"{patterns[:, :, 0].mean():.0%}" in app.warning[0].value


def test_a_gallery_draws_the_numbers_it_was_given() -> None:
    patterns = np.tril(np.random.default_rng(1).random((5, 7, 7)))
    keep = np.tril(np.ones((7, 7), dtype=bool))
    labels = [f"<b>{n}" for n in range(7)]
    picture = explore.gallery(
        "gallery", patterns, keep, [f"H{n}" for n in range(5)], labels, Words("en"),
        colours=["#000"] * 5, alt="heads",
    )  # fmt: skip
    [trace] = picture.figure["data"]
    assert np.array_equal(trace["z"], np.where(keep, patterns, np.nan).astype("f4"), equal_nan=True)
    assert picture.figure["layout"]["coloraxis"]["cmin"] == 0
    assert picture.figure["layout"]["coloraxis"]["cmax"] == 1


def test_a_difference_is_second_minus_first_and_centred() -> None:
    first, second = np.array([[0.2, np.nan], [0.9, 0.1]]), np.array([[1.0, np.nan], [0.3, 0.7]])
    picture = explore.difference(first, second, ["a", "b"], ["a", "b"], Words("en"))
    shown = picture.arrays["difference"]
    assert shown[0, 0] == pytest.approx(0.8)
    assert np.isnan(shown[0, 1])
    axis = picture.figure["layout"]["coloraxis"]
    assert axis["cmin"] == -axis["cmax"] == pytest.approx(-0.8)


def test_a_passport_escapes_and_marks_chance() -> None:
    made = passport(
        [Line("<b>", 0.5, "share", 0.25, 0.4, 0.6), Line("none", float("nan"), "nats")],
        Words("en"),
        "scores",
    )
    assert "&lt;b&gt;" in made
    assert 'class="tick" style="left:25.0%"' in made
    assert 'class="range" style="left:40.0%;width:20.0%"' in made
    assert "0.40–0.60" in made
    assert Words("en")("passport.none") in made


@pytest.mark.parametrize("against", ["head", "mask", "rope", "text", "weights"])
@pytest.mark.parametrize("lang", LANGS)
def test_comparing_shows_both_sides_numbers(against: str, lang: str) -> None:
    scene = CUSTOM.with_(against=against, lang=lang, other_head=2, other_text=TEXTS["chair_zh"])
    app = open_app("compare", scene)
    assert not app.exception
    words = Words(lang)
    [table] = [item.value for item in app.table][:1]
    first = [float(value) for value in table[words("compare.first")]]
    second = [float(value) for value in table[words("compare.second")]]
    trace = compute.layer_of(scene)
    seen = Seen(trace.keep, np.arange(len(trace.pattern[0])))
    assert first[0] == pytest.approx(MEASURES["entropy"].score(trace.pattern[0], seen), abs=0.0051)
    assert first != second
    told = [item.value for item in app.info]
    assert bool(told) == (
        against in ("text", "weights")
        and len(compute.reading_of(scene))
        != len(
            compute.reading_of(
                scene.with_(**{"text": {"text": TEXTS["chair_zh"]}}.get(against, {}))
            )
        )
    )


def test_before_any_choice_the_second_reading_is_another_head() -> None:
    for head in (0, 1, 2):
        other = compare.as_shown(CUSTOM.with_(head=head))
        assert (other.other_layer, other.other_head) == (0, 0 if head == 1 else 1)
    assert compare.as_shown(CUSTOM.with_(head=1, other_head=1)).other_head == 1, "as it was chosen"


def test_a_difference_needs_equally_many_tokens() -> None:
    app = open_app("compare", CUSTOM.with_(against="text", other_text="the cat"))
    assert [item.value for item in app.info] == [
        Words("en")("compare.lengths", first=len(compute.reading_of(CUSTOM)), second=2)
    ]


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_second_sentence_is_met(text: str) -> None:
    app = open_app("compare", CUSTOM.with_(against="text", other_text=text))
    assert not app.exception
    assert [item.value for item in app.info] == [Words("en")("sentence.empty")]


def test_the_report_is_the_cores_own_and_there_at_once() -> None:
    from mha_core.heads.report import read_report

    assert evidence.find() == read_report(compute.load_weights())
    assert line().n_jobs() == 0, "nobody has to measure"


@dataclass
class Slow:
    """A measurement that goes on when it is told to."""

    report: dict[str, Any]
    go: threading.Event = field(default_factory=threading.Event)
    begun: int = 0
    left: bool = False
    failure: Exception | None = None

    def parts(self, model: Any) -> Iterator[Progress]:
        """In place of `evaluate_parts`."""
        self.begun += 1
        try:
            yield Progress("knockout", 0.7)
            while not self.go.wait(0.01):
                yield Progress("knockout", 0.7)
        except GeneratorExit:
            self.left = True
            raise
        if self.failure is not None:
            raise self.failure
        return self.report


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """Nothing is measured on this server yet, and measuring waits for a word."""
    from mha_core.heads import evaluate

    made = Slow(copy.deepcopy(evidence.find()))
    monkeypatch.setattr(evidence, "_measured", None)
    monkeypatch.setattr(evaluate, "evaluate_parts", made.parts)
    yield made
    made.go.set()
    idle()


def idle() -> None:
    """Wait until the line is empty."""
    for _ in range(6_000):
        if line().n_jobs() == 0:
            return
        time.sleep(0.01)
    pytest.fail("a job goes on")


@pytest.mark.parametrize("lang", LANGS)
def test_roles_are_measured_again_beside_the_page_and_said_to_agree(slow: Slow, lang: str) -> None:
    words = Words(lang)
    weights = compute.load_weights().metadata["sha256"][:8]
    app = open_app("specialisation", Scene(lang=lang))
    assert words("again.shipped", weights=weights, n=200) in texts(app)
    app.button(key="again_start").click().run()
    assert not app.exception
    assert len(html(app)) > 1000, "the page is there meanwhile"
    assert app.button(key="again_stop").label == words("again.stop")
    slow.go.set()
    idle()
    app.run()
    figures = count_figures(slow.report)
    assert words("again.same", weights=weights, figures=figures) in texts(app)
    assert evidence.find() is slow.report
    slow.report["tasks"]["reference"]["mean"] += 0.125
    app.run()
    told = words("again.differ", weights=weights, figures=figures, n=1, most="0.125")
    assert told in texts(app)


def test_one_measurement_serves_all_and_stops_when_nobody_waits_for_it(slow: Slow) -> None:
    one = evidence.ask("one")
    assert evidence.ask("two") is one
    evidence.leave("one")
    evidence.leave("nobody")
    assert not one.stop.is_set()
    evidence.leave("two")
    idle()
    assert slow.left
    assert slow.begun == 1
    assert evidence.find() is evidence.shipped(), "the figures stay as they were"


def test_stop_on_the_page_ends_it(slow: Slow) -> None:
    app = open_app("specialisation", Scene())
    app.button(key="again_start").click().run()
    app.button(key="again_stop").click().run()
    idle()
    assert slow.left
    assert not app.exception
    assert app.button(key="again_start")
    assert evidence.find() is evidence.shipped()


@pytest.mark.parametrize("lang", LANGS)
def test_a_measurement_that_broke_off_is_told_beside_the_shipped_figures(
    slow: Slow, lang: str, caplog: pytest.LogCaptureFixture
) -> None:
    slow.failure = ValueError("no such thing")
    slow.go.set()
    app = open_app("specialisation", Scene(lang=lang, tab="map"))
    app.button(key="again_start").click().run()
    idle()
    app.run()
    assert not app.exception
    assert [error.value for error in app.error] == [Words(lang)("again.failed")]
    assert "a heavy job failed" in caplog.text
    assert html(app).count("<tr data-role=") == len(slow.report["roles"])
    slow.failure = None
    app.button(key="again_start").click().run()
    idle()
    app.run()
    assert not app.error


def test_figures_of_other_weights_are_not_shown_but_measured(
    slow: Slow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(compute.load_weights().metadata, "sha256", "0" * 64)
    evidence.shipped.cache_clear()
    try:
        assert evidence.find() is None
        assert "was measured on the weights" in caplog.text
        slow.go.set()
        app = open_app("specialisation", Scene())
        assert not app.exception
        assert evidence.find() is slow.report
        assert Words("en")("again.here", weights="0" * 8, n=200) in texts(app)
    finally:
        evidence.shipped.cache_clear()


def test_the_page_shows_the_reports_numbers_and_labels_only_what_passes() -> None:
    report = evidence.find()
    app = open_app("specialisation", Scene(role="subject", layer=1, head=0))
    shown = html(app) + html(open_app("specialisation", Scene(tab="map")))
    words = Words("en")
    for name, role in report["roles"].items():
        [row] = set(re.findall(rf'<tr data-role="{name}">(.*?)</tr>', shown))
        assert f"{role['mass']['mean']:.2f}" in row
        assert f"{max(role['baselines'].values()):.2f}" in row
        assert (words("roles.labelled") in row) == evidence.is_labelled(report, name)
        tests = evidence.role_tests(report, name)
        if evidence.is_labelled(report, name):
            assert tests
            assert all(report["passed"][test] for test in tests)
    for entry in report["heads"]["1.0"].values():
        assert f"{entry['low']:.2f}–{entry['high']:.2f}" in shown
    assert f"{report['knockout']['predicate']['role']['pair']:.2f}" in shown


def test_one_sentence_scores_the_same_in_the_gallery_and_in_the_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mha_core.heads import evaluate
    from mha_core.heads.probe import ids_of
    from mha_core.language.documents import Document

    text = "the queen that the kings saw met the queen ."
    document = Document("en", text.split(" "))
    monkeypatch.setattr(evaluate, "make_documents", lambda seed, count: iter([document]))
    report = evaluate.measure_heads(compute.load_weights(), 1)
    scene = Scene(text=document.text)
    board = Board(
        "gallery", Words("en"), scene, compute.config_of(scene), compute.reading_of(scene)
    )
    assert ids_of(document) == tuple(token.id for token in board.reading.tokens)
    for name in MEASURES:
        scores = board.scores(name)
        if np.isnan(scores).any():
            assert name not in report["0.0"]
            continue
        for place, score in enumerate(scores):
            layer, head = divmod(place, board.n_heads)
            found = report[f"{layer}.{head}"][name]
            assert found["mean"] == pytest.approx(score, abs=1e-5), name
            assert found["chance"] == pytest.approx(MEASURES[name].chance(board.seen)), name
    assert {"entropy", "current", "first", "duplicate", "induction"} <= set(report["0.0"])


@pytest.mark.parametrize("lang", LANGS)
def test_every_page_that_prints_a_mean_entropy_prints_the_measure(lang: str) -> None:
    words, scene = Words(lang), Scene(lang=lang, text=TEXTS["cat"], mask="window")
    trace, labels = compute.layer_of(scene), compute.reading_of(scene).labels
    picture = whatif.masks(scene, trace, 1, labels, words)
    for mask in get_args(MaskName):
        keep = compute.keep_of(scene.with_(mask=mask), len(labels))
        pattern = look_again(trace, 1, keep=keep)
        score = float(MEASURES["entropy"].score(pattern, Seen(keep)))
        assert abs(score - entropy(pattern).mean()) > 0.005 or keep.sum(-1).min() > 1
        assert words("title.entropy", title=words(f"mask.{mask}"), entropy=f"{score:.2f}") in (
            picture.alt
        )
    app = open_app("why_heads", scene)
    score = float(MEASURES["entropy"].score(trace.pattern, Seen(trace.keep)).mean())
    everything = texts(app) + html(app) + "".join(table.value.to_csv() for table in app.table)
    assert f"{score:.3f}" in everything
    assert words("why.entropy") in everything


@pytest.mark.parametrize("lang", LANGS)
def test_which_rows_count_is_printed_where_the_number_is(lang: str) -> None:
    words = Words(lang)
    scene = Scene(lang=lang, text=TEXTS["repeat"], sort="first")
    app = open_app("gallery", scene)
    shown = html(app) + texts(app)
    listed = scores_shown(app)
    assert {words(f"measure.{name}") for name in ("first", "previous", "induction")} <= set(listed)
    for name, measure in MEASURES.items():
        if words(f"measure.{name}") in listed and measure.counted != "choice":
            assert words(f"counted.{measure.counted}") in html(app), name
    assert words("gallery.passport.caption") in shown
    told = words("gallery.sorted", measure=words("measure.first"), rows=words("counted.third"))
    assert told in texts(app)
    for name in ("specialisation", "compare"):
        page = open_app(name, scene)
        everything = html(page) + texts(page) + "".join(t.value.to_csv() for t in page.table)
        assert words("counted.third") in everything, name


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("tab", ["roles", "map", "damage", "bench"])
def test_every_part_of_the_page_runs(tab: str, lang: str) -> None:
    app = open_app("specialisation", Scene(lang=lang, tab=tab, layer=1, head=2, own=True))
    assert not app.exception
    assert pictures(app) >= 1
    assert bool(CHINESE.search(texts(app))) == (lang == "zh")


@pytest.mark.parametrize(
    ("link", "tab"),
    [
        ({}, "roles"),
        ({"role": "subject"}, "roles"),
        ({"off": "0.1"}, "bench"),
        ({"after": "3"}, "bench"),
        ({"next": "9"}, "bench"),
        ({"off": "0.1", "tab": "map"}, "map"),
    ],
)
def test_links_open_the_part_they_are_about(link: dict[str, str], tab: str) -> None:
    scene, refused = read_link({"v": "1", "lang": "en", **link})
    assert not refused
    assert tab_of(scene) == tab


@pytest.mark.parametrize("by_score", [False, True])
def test_the_map_shows_every_heads_score_in_the_readers_order(by_score: bool) -> None:
    report, words = evidence.find(), Words("en")
    scene = Scene(tab="map", role="induction", by_score=by_score)
    board = Board(
        "specialisation", words, scene, compute.config_of(scene), compute.reading_of(scene)
    )
    order = role_map.order_of(board, report)
    found = report["roles"]["induction"]
    scores = np.array([[head["mean"] for head in layer] for layer in found["heads"]])
    assert sorted(order) == list(range(18))
    if by_score:
        assert divmod(order[0], 6) == tuple(found["head"]) or scores.max() > found["mass"]["mean"]
        assert np.all(np.diff(scores.ravel()[order]) <= 0)
    else:
        assert order == sorted(order)
    shown = html(open_app("specialisation", scene))
    rows = re.findall(r'<th scope="row">(L\d H\d) .*?<td class="num">([\d.]+)<small', shown)
    for place, (name, score) in zip(order, rows[:18], strict=True):
        assert name == board.short(place)
        assert float(score) == pytest.approx(scores.ravel()[place], abs=0.0051)


def test_a_cell_of_the_map_opens_the_sentences_as_that_head_reads_them() -> None:
    report, scene = evidence.find(), Scene(role="subject", layer=0, head=3, own=True)
    app = open_app("specialisation", scene)
    found = examples.examples_of("subject", 0, 3)
    words = Words("en")
    for example in found:
        assert words("evidence.weight", weight=f"{example.weight:.2f}") in html(app)
    mass = report["roles"]["subject"]["heads"][0][3]
    [row] = re.findall(r'<tr data-role="subject">(.*?)</tr>', html(app))
    assert f"{mass['mean']:.2f}" in row
    assert words("roles.not_best") in row
    best = open_app("specialisation", scene.with_(own=False))
    assert words("roles.not_best") not in html(best)


def test_a_heads_own_roles_come_first_among_the_chips() -> None:
    labels_of = evidence.labels_of(evidence.find())
    (layer, head), names = next(iter(sorted(labels_of.items(), reverse=True)))
    app = open_app("specialisation", Scene(layer=layer, head=head))
    words = Words("en")
    shown = app.pills(key="role").options
    assert set(shown[: len(names)]) == {words(f"role.{name}") for name in names}
    assert words("roles.first", head=f"L{layer} H{head}") in texts(app)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("task", ["reference", "agreement_phrase"])
def test_losses_of_a_task_are_told_apart(task: str, lang: str) -> None:
    found = evidence.find()["damage"]["tasks"][task]
    words = Words(lang)
    app = open_app("specialisation", Scene(lang=lang, tab="damage", task=task))
    assert not app.exception
    has_exact = found["exact"] is not None
    caption = words("losses.caption" if has_exact else "losses.caption.number")
    assert caption in texts(app)
    dearest = max(found["pairs"], key=lambda pair: pair["loss"])
    names = [words("board.short", layer=layer, head=head) for layer, head in dearest["heads"]]
    two = words("losses.two", first=names[0], second=names[1])
    [row] = re.findall(rf'<th scope="row">{two}</th>(.*?)</tr>', html(app))
    assert f"{-100 * dearest['loss']:+.0f}".replace("-", "−") in row


@pytest.mark.parametrize("role", ["previous", "induction", "sink", "pronoun_zh", "measure"])
@pytest.mark.parametrize("lang", LANGS)
def test_every_role_has_its_sentences(role: str, lang: str) -> None:
    app = open_app("specialisation", Scene(lang=lang, role=role))
    assert not app.exception
    layer, head = evidence.find()["roles"][role]["head"]
    found = examples.examples_of(role, layer, head)
    assert len(found) == examples.COUNT
    for example in found:
        assert example.pattern.sum() == pytest.approx(1, abs=1e-5)
        assert 0 <= example.target <= example.query
        assert load_tokenizer().decode(load_tokenizer().encode(example.text)) == example.text
    app.button(key=f"example_{role}_0").click().run()
    assert app.text_input(key="text").value == found[0].text


def test_the_bench_switches_heads_off_and_says_what_moved() -> None:
    scene = Scene(text=TEXTS["queen"], off=((0, 0),), after=7)
    intact, broken = bench.chances(scene, 7, ()), bench.chances(scene, 7, ((0, 0),))
    trace = compute.load_weights().trace(TEXTS["queen"])
    logits = trace.logits[7].astype(float)
    assert intact == pytest.approx(
        np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum(), abs=1e-6
    )
    app = open_app("specialisation", scene)
    moved = np.abs(intact - broken).sum() / 2
    assert f"{moved:.0%} of the probability moved" in texts(app)
    alone = open_app("specialisation", scene.with_(off=()))
    assert "No head is off" in texts(alone)
    zero = bench.chances(scene.with_(ablation="zero"), 7, ((0, 0),))
    off = compute.load_weights().trace(TEXTS["queen"], heads_off=[(0, 0)]).logits[7]
    assert int(zero.argmax()) == int(off.argmax())


def check(run: Job) -> None:
    """Ask for a run as its page does."""
    for session in list(run.asked):
        line().check(run, session)


def test_a_visitor_trains_a_model() -> None:
    app = open_app("training", Scene(lang="en", text=TEXTS["repeat"]))
    app.selectbox(key="live_d").set_value(32).run()
    app.selectbox(key="live_h").set_value(2).run()
    words = Words("en")
    [start] = [button for button in app.button if button.label == words("live.start")]
    start.click().run()
    run = app.session_state["live_run"]
    while not run.ended.wait(0.1):
        check(run)
    assert run.failure is None
    assert run.found[-1].step == run.found[-1].steps
    scores = [shot.scores.best()["induction"] for shot in run.found]
    formed = next((s.step for s, x in zip(run.found, scores, strict=True) if x > 0.5), None)
    for lang in LANGS:
        app.session_state["scene"] = app.session_state["scene"].with_(lang=lang)
        app.run()
        assert not app.exception
        told = [item.value for kind in ("success", "info") for item in app.get(kind)]
        if formed is None:
            assert Words(lang)("live.not_formed", step=run.found[-1].step) in told
        else:
            assert Words(lang)("live.formed", step=formed) in told
        assert pictures(app) >= 2


def test_the_slider_moves_patterns_and_curves_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mha_core.heads.curves import Curves, Scores
    from mha_core.model import checkpoint
    from mha_core.model.toy import ModelConfig, ToyModel

    run, models = Curves(), {}
    for step in (0, 50, 100):
        models[step] = ToyModel(ModelConfig(len(load_tokenizer()), 12, 6, (0, 0)), seed=step)
        checkpoint.save_model(models[step], tmp_path / f"step-{step:05d}.safetensors")
        run.add(step, 5 - step / 50, Scores({"induction": [[step / 100] * 6] * 2}, {}))
    run.write(tmp_path / "scores.json")
    monkeypatch.setattr(checkpoint, "WEIGHTS", tmp_path)
    for kept in (checkpoints.list_steps, checkpoints.load_step, training.shipped_curves):
        kept.cache_clear()
    try:
        final = checkpoints.final_step()
        assert checkpoints.list_steps() == (0, 50, 100, final)
        assert checkpoints.load_step(final) is compute.load_weights()
        assert [checkpoints.nearest_step(step) for step in (0, 1, 50, 99, 10**7)] == [
            0, 50, 50, 100, final,
        ]  # fmt: skip
        scene = Scene(text=TEXTS["cat"], step=50)
        patterns = checkpoints.patterns_at(scene, 50)
        trace = checkpoint.load_model(tmp_path / "step-00050.safetensors").trace(TEXTS["cat"])
        assert np.array_equal(patterns[1], trace.layers[1].pattern)
        app = open_app("training", scene)
        assert not app.exception
        assert pictures(app) == 2
        assert "step 50: induction" in texts(app), "half way up"
        compared = open_app("compare", scene.with_(against="checkpoint", other_step=7))
        assert not compared.exception
        assert "step 50" in texts(compared)
    finally:
        for kept in (checkpoints.list_steps, checkpoints.load_step, training.shipped_curves):
            kept.cache_clear()


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("token", [-1, 5])
def test_the_direct_parts_sum_to_the_logit_on_the_page(lang: str, token: int) -> None:
    scene = Scene(lang=lang, text=TEXTS["queen"], after=6, token=token, off=((1, 0),))
    logits = compute.load_weights().trace(TEXTS["queen"]).logits[6]
    asked = int(logits.argmax()) if token < 0 else token
    found = direct.direct_at(scene, 6)
    model = compute.load_weights()
    assert len(found.parts(asked)) == 1 + model.n_layers * model.n_heads + len(found.mlps)
    assert found.parts(asked).sum() == pytest.approx(logits[asked], abs=1e-4)
    app = open_app("specialisation", scene)
    assert not app.exception
    words = Words(lang)
    shown = number(float(logits[asked]), 2)
    told = words(
        "direct.sum", n=len(found.parts(asked)), total=shown, logit=shown,
        token=literal(load_tokenizer().entries[asked].display),
        after=literal(compute.reading_of(scene).labels[6]),
    )  # fmt: skip
    assert told in texts(app)
    assert app.selectbox(key="direct_token").value == asked
    app.selectbox(key="direct_token").set_value(int(np.argsort(-logits)[2])).run()
    assert app.session_state["scene"].token == int(np.argsort(-logits)[2])


def test_a_head_that_only_works_through_later_layers_adds_nothing_directly() -> None:
    scene = Scene(text=TEXTS["cat"])
    model = compute.load_weights()
    layer = next(model.each_layer())
    kept = layer.w_o.detach().clone()
    try:
        with torch.no_grad():
            layer.w_o[:, : model.config.d_head] = 0
        found = direct.direct_at(scene, 4)
    finally:
        with torch.no_grad():
            layer.w_o.copy_(kept)
    assert not found.heads[0, 0].any()
    assert found.heads[0, 1].any()


@pytest.mark.parametrize("lang", LANGS)
def test_tiles_carry_the_labels_that_passed_and_lead_to_their_evidence(lang: str) -> None:
    report = evidence.find()
    expected = evidence.labels_of(report)
    assert expected
    assert all(evidence.is_labelled(report, name) for names in expected.values() for name in names)
    head, names = next(iter(expected.items()))
    scene = Scene(lang=lang, text=TEXTS["cat"], layer=head[0], head=head[1])
    words = Words(lang)
    board = Board("gallery", words, scene, compute.config_of(scene), compute.reading_of(scene))
    assert labels.find_labels(board) == expected
    assert labels.short_label(expected, head, words).startswith(words(f"role.{names[0]}.short"))
    place = head[0] * board.n_heads + head[1]
    titles = gallery.tile_titles(board, board.order(), expected)
    assert titles[place] == f"{board.short(place)} · {labels.short_label(expected, head, words)}"
    assert sum(" · " in title for title in titles) == len(expected)
    sorted_ = replace(board, scene=scene.with_(sort="confidence"))
    [scored] = gallery.tile_titles(sorted_, [place], {head: ["subject", "sink"]})
    score = sorted_.scores("confidence")[place]
    assert scored == f"{board.short(place)} · {score:.2f} {words('role.subject.short')}"
    app = open_app("gallery", scene)
    assert not app.exception
    app.button(key=f"role_{names[-1]}").click().run()
    assert app.session_state["scene"].role == names[-1]


@pytest.mark.parametrize("change", [{"mask": "two_way"}, {"rope": False}, {"weights": "custom"}])
def test_no_label_where_the_model_is_used_as_it_was_not_trained(change: dict[str, Any]) -> None:
    scene = Scene(text=TEXTS["cat"], **change)
    board = Board(
        "gallery", Words("en"), scene, compute.config_of(scene), compute.reading_of(scene)
    )
    assert labels.find_labels(board) == {}


def test_a_page_does_not_wait_for_labels(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "shipped", lambda: None)
    app = open_app("gallery", Scene(text=TEXTS["cat"]))
    assert not app.exception
    assert slow.begun == 0, "the page comes first"
    assert Words("en")("labels.pending", share="0%") in texts(app)
    app.run()
    for _ in range(600):
        if slow.begun and app.session_state["measuring"].found:
            break
        time.sleep(0.01)
    app.run()
    assert Words("en")("labels.pending", share="70%") in texts(app)
    slow.go.set()
    idle()
    app.run()
    assert not app.exception
    assert "70%" not in texts(app)
    assert evidence.find() is slow.report


def test_a_page_is_whole_without_labels_where_measuring_fails(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "shipped", lambda: None)
    slow.failure = ValueError("no such thing")
    slow.go.set()
    app = open_app("gallery", Scene(text=TEXTS["cat"]))
    app.run()
    idle()
    app.run()
    assert not app.exception
    assert "labels_failed" in app.session_state
    assert Words("en")("labels.pending", share="0%") not in texts(app)
