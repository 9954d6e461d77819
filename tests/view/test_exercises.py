"""Exercises on the pages: answered as a reader does, in both languages; the worksheet."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from mha_core.exercises.catalogue import ALL_KINDS, KINDS, make_exercise
from mha_core.exercises.exercise import Exercise, Matrix, Part, told
from mha_view.scene import MOST_EXERCISE_SEED, MOST_EXERCISES, Scene, read_link
from mha_view.walk import exercise_sheet as sheet
from mha_view.walk.typed import read_number
from mha_view.walk.worksheet import ALL_PAGES, write_worksheet
from mha_view.words import LANGS, Words, catalogue
from tests.view.test_pages import open_app
from tests.view.test_words import placeholders

SEEDS = range(20)


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("lang", LANGS)
def test_everything_an_exercise_takes_is_told_and_every_mistake_has_a_sentence(
    lang: str, kind: str
) -> None:
    words = Words(lang)
    text = catalogue(lang)[f"exercise.{kind}"]
    for seed in SEEDS:
        exercise = make_exercise(kind, seed)
        assert placeholders(text) == sorted(exercise.values), "what is asked names what it takes"
        said = [words(f"miss.{miss.name}", **exercise.values) for miss in exercise.misses]
        assert len(set(said)) == len(said)
        assert "{" not in sheet.question(exercise, words) + sheet.hint(exercise, words)
        answer = sheet.say_answer(exercise, exercise.answer.value, words)
        solution = sheet.say_solution(exercise, words)
        assert answer in solution
        if exercise.answer.kind == "cell":
            assert answer not in sheet.hint(exercise, words)
        else:
            assert f"= {answer}" not in sheet.hint(exercise, words)


def test_no_sentence_about_a_mistake_is_left_over() -> None:
    used = {
        miss.name
        for kind in ALL_KINDS
        for seed in SEEDS
        for miss in make_exercise(kind, seed).misses
    }
    for lang in LANGS:
        told_of = {key.removeprefix("miss.") for key in catalogue(lang) if key.startswith("miss.")}
        assert told_of == used


class Tables(HTMLParser):
    """The numbers of every table with its caption, as a reader sees them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[list[str]]]] = []
        self.inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("table", "caption", "tbody", "td"):
            self.inside.append(tag)
        if tag == "table":
            self.found.append(("", []))
        elif tag == "tr" and "tbody" in self.inside:
            self.found[-1][1].append([])
        elif tag == "td" and "tbody" in self.inside:
            self.found[-1][1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if "caption" in self.inside:
            self.found[-1] = (self.found[-1][0] + data, self.found[-1][1])
        elif self.inside[-2:] == ["tbody", "td"]:
            self.found[-1][1][-1][-1] += data


def read(rows: list[list[str]]) -> np.ndarray:
    return np.array([[read_number(text) for text in row] for row in rows], dtype=np.float64)


@pytest.mark.parametrize("lang", LANGS)
def test_the_numbers_of_a_worksheet_are_those_of_the_exercises(lang: str) -> None:
    html = write_worksheet(ALL_PAGES, 5, lang)
    asked, answers = html.split('<section class="answers">')
    on_sheet, solved = Tables(asked).found, Tables(answers).found
    for kind in ALL_KINDS:
        exercise = make_exercise(kind, 5)
        parts: list[tuple[str, np.ndarray]] = []
        for part in exercise.parts:
            parts += (
                [(part.symbol, part.value)]
                if part.value.ndim == 2
                else [(f"{part.symbol}_{head}", value) for head, value in enumerate(part.value)]
            )
        for symbol, value in parts:
            caption, rows = on_sheet.pop(0)
            assert caption == symbol.replace("_", "").replace("^", "")
            assert np.allclose(read(rows), value, atol=5e-4)
        if isinstance(exercise.answer, Matrix):
            _, rows = on_sheet.pop(0)
            assert np.shape(rows) == exercise.answer.value.shape
            assert {text for row in rows for text in row} == {""}
            _, rows = solved.pop(0)
            assert np.allclose(read(rows), exercise.answer.value, atol=5e-4)
        else:
            said = sheet.say_solution(exercise, Words(lang))
            assert f"<p>{sheet.inline(said)}</p>" in answers
    assert (on_sheet, solved) == ([], [])


@pytest.mark.parametrize("lang", LANGS)
def test_a_worksheet_is_a_file_of_its_own_and_keeps_its_answers_to_another_page(lang: str) -> None:
    html = write_worksheet(("rope",), 3, lang)
    words = Words(lang)
    assert html == write_worksheet(("rope",), 3, lang)
    assert html != write_worksheet(("rope",), 4, lang)
    assert not re.search(r"(?:src|href|url)\s*[=(]", html), "it loads nothing"
    assert "break-before: page" in html
    asked, answers = html.split('<section class="answers">')
    assert asked.count("<li><p") == answers.count("<li><p") == len(KINDS["rope"])
    hint = sheet.inline(sheet.hint(make_exercise("rope.turn", 3), words))
    assert (hint in asked, hint in answers) == (False, True)
    assert words("worksheet.seed", seed=3) in asked
    assert ("zh-CN" in html) == (lang == "zh")


SIGNS = st.sampled_from(["", "+", "-", "−", "－"])


@given(SIGNS, st.integers(0, 99_999), st.integers(1, 999), st.booleans())
def test_a_number_is_read_as_it_is_meant(sign: str, whole: int, below: int, is_wide: bool) -> None:
    wide = str.maketrans("0123456789", "０１２３４５６７８９") if is_wide else {}
    factor = -1 if sign in ("-", "−", "－") else 1
    assert read_number(f"{sign}{whole}".translate(wide)) == factor * whole
    assert read_number(f" {sign}{whole} / {below}".translate(wide)) == factor * whole / below
    assert read_number(f"{sign}{whole}.25") == factor * (whole + 0.25)
    assert read_number(f"{sign}{whole},5") == factor * (whole + 0.5)
    assert read_number(told(factor * whole)) == factor * whole


@given(st.text(max_size=40))
def test_no_text_is_more_than_a_number_or_nothing(text: str) -> None:
    found = read_number(text)
    assert found is None or np.isfinite(found)
    if re.search(r"[a-zA-Z()*_]", text):
        assert found is None


@pytest.mark.parametrize("lang", LANGS)
def test_an_exercise_is_told_by_its_link(lang: str) -> None:
    read_scene, refused = read_link({"v": "1", "lang": lang, "exercise": "2", "exercise_seed": "7"})
    assert refused == []
    assert (read_scene.exercise, read_scene.exercise_seed) == (2, 7)
    assert max(map(len, KINDS.values())) <= MOST_EXERCISES
    beyond = {"exercise": str(MOST_EXERCISES + 1), "exercise_seed": str(MOST_EXERCISE_SEED + 1)}
    assert len(read_link({"v": "1", **beyond})[1]) == 2


def answer(app: AppTest, exercise: Exercise, value: Any) -> None:
    """Answer as a reader does: type, choose, press."""
    key = f"answer_{exercise.kind}_{exercise.seed}"
    if exercise.answer.kind == "choice":
        app.radio(key=key).set_value(value)
    elif exercise.answer.kind == "number":
        app.text_input(key=key).set_value(told(value))
    elif exercise.answer.kind == "cell":
        app.session_state["exercise_kept"]["cell"] = value  # which only a browser can point at
    else:
        for (row, column), number in np.ndenumerate(value):
            app.text_input(key=f"{key}_{row}_{column}").set_value(told(number))
    check = Words(app.session_state["scene"].lang)("exercise.check")
    [button] = [button for button in app.button if button.label == check]
    button.click().run()
    assert not app.exception


def said(app: AppTest) -> list[str]:
    """What is said to the answer, and the lines of the derivation, as HTML."""
    found = [item.proto.body for item in app.get("html")]
    return [html for html in found if 'class="verdict' in html or 'class="line' in html]


def draw() -> None:
    """The exercises of a page, and nothing else of it."""
    import streamlit

    from mha_view.walk.exercises import draw_exercises
    from mha_view.words import Words

    scene = streamlit.session_state["scene"]
    draw_exercises(Words(scene.lang), streamlit.session_state["page"])


def open_exercise(app: AppTest, page: str, scene: Scene) -> None:
    """Turn to a page's exercise."""
    app.session_state["scene"], app.session_state["page"] = scene, page
    app.run()


@pytest.mark.parametrize("lang", LANGS)
def test_a_page_accepts_what_is_right_and_names_each_mistake(lang: str) -> None:
    words, app = Words(lang), AppTest.from_function(draw, default_timeout=60)
    for page, kinds in KINDS.items():
        for place, kind in enumerate(kinds, 1):
            exercise = make_exercise(kind, 2)
            open_exercise(app, page, Scene(lang=lang, exercise=place, exercise_seed=2))
            answer(app, exercise, exercise.answer.value)
            assert "verdict right" in said(app)[0]
            miss = exercise.misses[place % len(exercise.misses)]
            answer(app, exercise, miss.value)
            sentence = sheet.inline(words(f"miss.{miss.name}", **exercise.values))
            found = [f">{sentence}<" in html and "verdict wrong" in html for html in said(app)]
            assert found == [True], (kind, miss.name, said(app))


def test_the_exercises_stand_on_their_page_and_what_is_said_goes_with_another_one() -> None:
    app = open_app("concat", Scene(exercise=1))
    exercise = make_exercise("concat.row", 1)
    answer(app, exercise, exercise.answer.value)
    assert "verdict right" in said(app)[0]
    app.button(key="another").click().run()
    assert (said(app), app.session_state["scene"].exercise_seed) == ([], 2)
    assert not app.exception


def test_what_cannot_be_read_is_named_and_a_hint_is_a_line_then_the_answer() -> None:
    words, exercise = Words("en"), make_exercise("projection.matrix", 1)
    app = AppTest.from_function(draw, default_timeout=60)
    open_exercise(app, "projection", Scene(exercise=2))
    key = "answer_projection.matrix_1"
    app.text_input(key=f"{key}_0_0").set_value("two")
    [button] = [button for button in app.button if button.label == words("exercise.check")]
    button.click().run()
    assert words("exercise.unfilled", n=3) in said(app)[0]
    for place in ("0_1", "1_0", "1_1"):
        app.text_input(key=f"{key}_{place}").set_value("1")
    [button] = [button for button in app.button if button.label == words("exercise.check")]
    button.click().run()
    assert words("exercise.unread", typed="two") in said(app)[0]
    open_exercise(app, "projection", Scene(lang="zh", exercise=2))
    assert Words("zh")("exercise.unread", typed="two") in said(app)[0]
    open_exercise(app, "projection", Scene(exercise=2))
    app.button(key="exercise_hint").click().run()
    assert sheet.inline(sheet.hint(exercise, words)) in said(app)[1]
    app.button(key="exercise_hint").click().run()
    assert words("exercise.answer.matrix") in said(app)[2]
    app.button(key="another").click().run()
    assert said(app) == []
    assert app.session_state["scene"].exercise_seed == 2
    assert not app.exception


def test_a_part_names_its_rows_in_words_where_it_has_some() -> None:
    part = Part("", np.ones((1, 2)), ("tensor", "size"), ("Q_k",), ("n_rows", "n_columns"))
    html = sheet.tables(part, Words("zh"))
    assert "行数" in html
    assert "Q<sub>k</sub>" in html
    assert "size" not in html
