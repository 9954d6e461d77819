"""The page of hypotheses: what is stated is tested, what is shown was computed, nothing is lost."""

from __future__ import annotations

import io
import json
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from mha_core.heads.claim import Claim, Outcome, examine
from mha_core.heads.marking import list_units, mark_alike, put_marks, take_marks
from mha_core.heads.marks import read_marked
from mha_core.heads.ready_claims import READY
from mha_core.language.tokenizer import load_tokenizer
from mha_view import compute
from mha_view.explore.tested import heads_table, sentences_table
from mha_view.figures.claims import head_scores, marked_sentence, sentence_masses
from mha_view.panel import literal
from mha_view.scene import READY_BY_NAME, Scene, link_holds_marked, marked_in, read_link, write_link
from mha_view.table_files import write_csv, write_parquet
from mha_view.words import LANGS, Words
from tests.view.test_pages import html, open_app, pictures, texts

TOKENIZER = load_tokenizer()


@cache
def outcome(name: str, lang: str) -> Outcome:
    model = compute.load_weights()
    heads = tuple((layer, head) for layer in range(model.n_layers) for head in range(model.n_heads))
    sentences = read_marked(READY_BY_NAME[f"{name}.{lang}"], TOKENIZER).sentences
    return examine(model, Claim(Words(lang)(f"claim.ready.{name}"), sentences, heads))


# --- The page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
def test_a_ready_hypothesis_goes_all_the_way(lang: str) -> None:
    words = Words(lang)
    app = open_app("hypothesis", Scene(lang=lang))
    assert not app.exception
    assert pictures(app) == len(READY)
    app.button(key="try_antecedent").click().run()
    assert app.text_input(key="says").value == words("claim.ready.antecedent")
    assert app.text_area(key="marked").value == READY["antecedent"][lang]
    app.button(key="claim_freeze").click().run()
    assert not app.exception
    found = outcome("antecedent", lang)
    said = app.success[0].value
    layer, head = found.chosen
    assert words("board.short", layer=layer, head=head) in said
    assert f"{found.finding.mass.mean:.2f}" in said
    assert f"{found.finding.mass.low:.2f}–{found.finding.mass.high:.2f}" in said
    assert found.claim.digest[:8] in texts(app)
    assert not app.get("text_area"), "what is frozen cannot be written on"
    # Changing it keeps every word, and gives another hypothesis.
    app.button(key="claim_change").click().run()
    assert app.text_area(key="marked").value == READY["antecedent"][lang]
    app.text_input(key="says").set_value("Something else").run()
    app.button(key="claim_freeze").click().run()
    assert found.claim.digest[:8] not in "".join(item.value for item in app.caption)
    assert "Something else" in texts(app)


@pytest.mark.parametrize("lang", LANGS)
def test_the_false_one_is_told_to_be_false(lang: str) -> None:
    app = open_app("hypothesis", Scene(lang=lang, marked=READY["again"][lang], frozen=True))
    assert not app.exception
    assert not app.success
    found = outcome("again", lang)
    assert app.error[0].value.startswith({"en": "**It does not hold.**", "zh": "**不成立**"}[lang])
    assert f"{found.finding.anywhere:.2f}" in app.error[0].value
    assert str(len(found.failing)) in texts(app)
    assert html(app).count('class="claimed"') == min(6, len(found.failing))


def test_bad_lines_are_told_and_nothing_typed_is_lost() -> None:
    typed = "The {cat} sat because [it] ran.\nThe cat [sat\n<nobody> {x} [y]"
    app = open_app("hypothesis", Scene(marked=typed))
    assert not app.exception
    faults = read_marked(typed, TOKENIZER).faults
    assert [fault.values["line"] for fault in faults] == [2, 3]
    assert all(literal(str(fault)) in app.warning[0].value for fault in faults)
    app.button(key="claim_freeze").click().run()
    assert not app.session_state["scene"].frozen
    assert app.info
    assert app.text_area(key="marked").value == typed
    app.text_area(key="marked").set_value(typed + "\nmore").run()
    assert app.session_state["scene"].marked == typed + "\nmore"


def test_a_link_that_cannot_be_tested_opens_for_writing() -> None:
    app = open_app("hypothesis", Scene(marked="The {cat} sat because [it] ran.", frozen=True))
    assert not app.exception
    assert app.text_area(key="marked").value == "The {cat} sat because [it] ran."
    too_many = open_app("hypothesis", Scene(marked="\n".join(["a"] * 501), frozen=True))
    assert not too_many.exception


def test_words_are_marked_by_clicking_them() -> None:
    app = open_app("hypothesis", Scene(marked="The cat sat as it ran.\nA cat ran as it sat."))
    app.button_group(key="claim_clicking").set_value(True).run()
    app.button_group(key="claim_query").set_value(4).run()
    app.button_group(key="claim_target").set_value([1]).run()
    assert not app.exception
    assert app.session_state["scene"].marked.splitlines()[0] == "The {cat} sat as [it] ran."
    app.button(key="claim_alike").click().run()
    assert app.session_state["scene"].marked.splitlines()[1] == "A {cat} ran as [it] sat."
    # The word clicked last wins, whichever it was before.
    app.button_group(key="claim_query").set_value(1).run()
    assert app.session_state["scene"].marked.splitlines()[0] == "The [cat] sat as it ran."


def test_of_a_word_said_twice_each_place_is_its_own() -> None:
    app = open_app("hypothesis", Scene(marked="the cat saw the dog and the fish [ran]"))
    app.button_group(key="claim_clicking").set_value(True).run()
    app.button_group(key="claim_target").set_value([3]).run()
    assert app.session_state["scene"].marked == "the cat saw {the} dog and the fish [ran]"
    app.button_group(key="claim_target").set_value([0, 3]).run()
    assert app.session_state["scene"].marked == "{the} cat saw {the} dog and the fish [ran]"
    app.button_group(key="claim_target").set_value([0]).run()
    assert app.session_state["scene"].marked == "{the} cat saw the dog and the fish [ran]"


# --- Links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READY_BY_NAME)
def test_a_ready_hypothesis_goes_by_its_name_and_changes_language(name: str) -> None:
    scene = Scene(marked=READY_BY_NAME[name], frozen=True)
    link = write_link(scene)
    assert link["ready"] == name
    assert read_link(link) == (scene, [])
    first, lang = name.split(".")
    other = {"en": "zh", "zh": "en"}[lang]
    assert marked_in(scene.marked, other) == READY_BY_NAME[f"{first}.{other}"]
    assert marked_in("my own", other) == "my own"


def test_sentences_too_long_for_the_link_are_said_to_be() -> None:
    few = "The {cat} sat because [it] ran."
    many = "\n".join(f"{chr(97 + n % 26)}{n * 7919} {{cat}} [it] {n * n}" for n in range(500))
    assert link_holds_marked(Scene(marked=few))
    assert read_link(write_link(Scene(marked=few, says="x")))[0].marked == few
    assert not link_holds_marked(Scene(marked=many))
    assert "m" not in write_link(Scene(marked=many))


# --- Pictures: what is drawn is what was found ---------------------------------------------------


def test_the_pictures_hold_the_numbers() -> None:
    found, words = outcome("follower", "en"), Words("en")
    names = [str(finding.head) for finding in found.findings]
    picture = head_scores(found, names, words)
    mass = [finding.mass.mean for finding in found.findings]
    bar = picture.figure["data"][0]
    np.testing.assert_allclose(bar["y"], mass, rtol=1e-6)
    ends = [finding.mass.high for finding in found.findings]
    np.testing.assert_allclose(bar["y"] + bar["error_y"]["array"], ends, rtol=1e-5)
    lows = [finding.mass.low for finding in found.findings]
    np.testing.assert_allclose(bar["y"] - bar["error_y"]["arrayminus"], lows, rtol=1e-5, atol=1e-6)
    assert picture.figure["layout"]["shapes"][0]["y0"] == found.chance
    for trace, field in zip(picture.figure["data"][1:], ("anywhere", "shuffled"), strict=True):
        expected = [getattr(finding, field) for finding in found.findings]
        np.testing.assert_allclose(trace["y"], expected, rtol=1e-6)
    colours = bar["marker"]["color"]
    called = {c for c, f in zip(colours, found.findings, strict=True) if f.is_called}
    others = {c for c, f in zip(colours, found.findings, strict=True) if not f.is_called}
    assert len(called) == len(others) == 1
    assert called != others
    spread = sentence_masses(found, words)
    assert spread.figure["data"][0]["y"].sum() == len(found.sentences)
    np.testing.assert_allclose(spread.arrays["mass"], found.masses, rtol=1e-6)


def test_the_arrow_goes_from_the_query_to_the_target() -> None:
    labels = ("The", "<b>", "sat", "it")
    picture = marked_sentence(labels, 3, [1], Words("en"), "one")
    arc = picture.figure["data"][0]
    assert (round(float(arc["x"][0])), round(float(arc["x"][-1]))) == (3, 1)
    assert "&lt;b&gt;" in picture.figure["layout"]["xaxis"]["ticktext"][1]
    assert "“it”" in picture.alt
    assert "“<b>”" in picture.alt


# --- Marks by pointing ---------------------------------------------------------------------------


LINES = st.text(st.sampled_from("[]{}<>\\［｝ab狗 ,|它"), max_size=24)


@given(LINES)
def test_taking_marks_off_and_putting_them_on_changes_nothing(line: str) -> None:
    bare = take_marks(line, TOKENIZER)
    again = take_marks(put_marks(bare.text, bare.query, bare.targets), TOKENIZER)
    assert again == bare
    units = list_units(bare.text, TOKENIZER)
    assert all(bare.text[unit.start : unit.end] == unit.text for unit in units)
    assert [u.end <= v.start for u, v in pairwise(units)].count(False) == 0


@given(LINES, st.data())
def test_clicked_marks_read_as_clicked(line: str, data: st.DataObject) -> None:
    bare = take_marks(line.replace("<", "").replace(">", ""), TOKENIZER)
    units = list_units(bare.text, TOKENIZER)
    if len(units) < 2:
        return
    at = data.draw(st.integers(1, len(units) - 1))
    target = data.draw(st.integers(0, at - 1))
    marked = put_marks(bare.text, [units[at]], [units[target]])
    reading = read_marked(marked, TOKENIZER, count=10)
    # Words that run together are said to; otherwise they are the ones that were clicked.
    for one in reading.sentences:
        assert one.labels[one.query] in TOKENIZER.encode(one.text).displays
    assert len(reading.sentences) + len(reading.faults) == 1


def test_marking_alike_leaves_what_it_cannot_find() -> None:
    text = "The {cat} sat as [it] ran.\nA dog ran as it sat.\nIt saw a cat.\n{x} [y]\n\ncat it it"
    lines = mark_alike(text, 0, TOKENIZER).splitlines()
    assert lines[1:] == ["A dog ran as it sat.", "It saw a cat.", "{x} [y]", "", "{cat} it [it]"]
    assert mark_alike(text, 1, TOKENIZER) == text


# --- Tables --------------------------------------------------------------------------------------


def test_tables_open_in_pandas_and_run_nothing() -> None:
    found = outcome("follower", "en")
    for table in (heads_table(found), sentences_table(found)):
        table = {
            **table,
            "note": ["=HYPERLINK(0)", *["@x"] * (len(next(iter(table.values()))) - 1)],
        }
        settings = {"v": "1", "text": '猫 "x"\n'}
        csv = pd.read_csv(io.BytesIO(write_csv(table, settings)))
        assert list(csv.columns) == [*table, "settings"]
        assert json.loads(csv["settings"][0]) == settings
        assert csv["note"][0] == "'=HYPERLINK(0)"
        np.testing.assert_allclose(csv["mass"], table["mass"])
        raw = io.BytesIO(write_parquet(table, settings))
        frame = pd.read_parquet(raw)
        assert {name: list(frame[name]) for name in frame} == table
        assert json.loads(parquet.read_schema(raw).metadata[b"settings"]) == settings
