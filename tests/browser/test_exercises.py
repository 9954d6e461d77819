"""Exercises answered in a browser, by keyboard and pointer, in both languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from mha_core.exercises.catalogue import KINDS, make_exercise
from mha_core.exercises.exercise import Exercise, told
from mha_view.walk import exercise_sheet as sheet
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.test_pages import query_of, settle, visit
from tests.browser.waiting import rest, until

SEED = 3


def plainly(html: str) -> str:
    """A sentence without its tags, as a reader sees it."""
    for tag in ("sub", "sup", "code"):
        html = html.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return html.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def press(page: Page, part: Locator, key: str, n: int = 1) -> None:
    for _ in range(n):
        part.press(key)


def point(page: Page, cell: tuple[int, int, int], before: tuple[int, int, int] | None) -> None:
    """Go from a cell to another by keyboard; the first key only enters the picture."""
    picture = page.locator('.th-plot[data-figure="exercise"] .th-canvas')
    picture.focus()
    if before is None:
        picture.press("ArrowRight")
    steps = [after - was for after, was in zip(cell, before or (0, 0, 0), strict=True)]
    for step, (more, less) in zip(
        steps,
        (("PageDown", "PageUp"), ("ArrowDown", "ArrowUp"), ("ArrowRight", "ArrowLeft")),
        strict=True,
    ):
        press(page, picture, more if step > 0 else less, abs(step))


def respond(page: Page, words: Words, exercise: Exercise, given: Any, before: Any = None) -> None:
    """Give an answer and have it marked."""
    part = page.locator(".st-key-exercises")
    kind = exercise.answer.kind
    check = part.get_by_role("button", name=words("exercise.check"), exact=True)
    if kind == "number":
        field = part.get_by_role("textbox")
        field.fill(told(given))
        field.press("Enter")
    elif kind == "choice":
        part.locator('[role="radiogroup"] label').filter(has_text=given).click()
        check.click()
    elif kind == "matrix":
        fields = part.get_by_role("textbox")
        expect(fields).to_have_count(given.size)
        for place, number in enumerate(np.ravel(given)):
            fields.nth(place).fill(told(float(number)))
        fields.last.press("Enter")
    else:
        point(page, given, before)
        told_place = sheet.say_answer(exercise, given, words)
        expect(part).to_contain_text(words("exercise.pointed", place=told_place))
        check.click()


@pytest.mark.parametrize("lang", LANGS)
def test_every_way_to_answer_takes_what_is_right_and_names_a_mistake(
    new_page: Callable[..., Page], server: str, lang: str, tmp_path: Path
) -> None:
    is_small = lang == "zh"
    page = new_page(
        viewport={"width": 390, "height": 844} if is_small else {"width": 1280, "height": 900},
        color_scheme="dark" if is_small else "light",
        locale="zh-CN" if is_small else "en-GB",
        reduced_motion="reduce",
    )
    words = Words(lang)
    visit(page, server, "overview", f"v=1&lang={lang}&exercise_seed={SEED}")
    part = page.locator(".st-key-exercises")
    seen = set()
    for place, kind in enumerate(KINDS["overview"], 1):
        exercise = make_exercise(kind, SEED)
        seen.add(exercise.answer.kind)
        part.get_by_role("radio", name=words(f"exercise.{kind}.title"), exact=True).click()
        until(page, lambda: query_of(page).get("exercise"), str(place))
        expect(part.locator(".asked")).to_have_text(
            plainly(sheet.inline(sheet.question(exercise, words)))
        )
        rest(page)
        miss = exercise.misses[0]
        respond(page, words, exercise, miss.value)
        verdict = part.locator(".verdict")
        expect(verdict).to_have_text(
            plainly(sheet.inline(words(f"miss.{miss.name}", **exercise.values)))
        )
        respond(page, words, exercise, exercise.answer.value, miss.value)
        expect(part.locator(".verdict.right")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= (390 if is_small else 1280)
    assert seen == {"number", "choice", "cell", "matrix"}
    part.get_by_role("button", name=words("exercise.hint"), exact=True).click()
    expect(part.locator(".line")).to_have_text(plainly(sheet.inline(sheet.hint(exercise, words))))
    assert severe_findings(page, ".st-key-exercises") == []
    part.get_by_role("button", name=words("exercise.another"), exact=True).click()
    until(page, lambda: query_of(page).get("exercise_seed"), str(SEED + 1))
    expect(part.locator(".verdict, .line")).to_have_count(0)
    with page.expect_download() as kept:
        part.get_by_role("button", name=words("worksheet.all")).click()
    file = tmp_path / "sheet.html"
    kept.value.save_as(file)
    settle(page)
    page.goto(file.as_uri())
    expect(page.locator("main li > .title")).to_have_count(sum(map(len, KINDS.values())))
    page.emulate_media(media="print")
    expect(page.get_by_role("button")).to_have_count(0)
    assert severe_findings(page) == []


def test_a_cell_of_another_head_is_pointed_at_by_pointer(page: Page, server: str) -> None:
    words, exercise = Words("en"), make_exercise("why_heads.point", SEED)
    visit(page, server, "why_heads", f"v=1&lang=en&exercise=4&exercise_seed={SEED}")
    part = page.locator(".st-key-exercises")
    part.scroll_into_view_if_needed()
    for cell in (exercise.misses[0].value, exercise.answer.value):
        place = part.locator(".th-canvas").evaluate(
            """(node, [head, row, column]) => {
              const {xaxis, yaxis} = node._fullLayout;
              const box = node.getBoundingClientRect();
              const field = node.data.find(({z}) => z).z;
              // Tiles stand side by side, with empty columns between them and rows above.
              const filled = (column) => field.some((row) => Number.isFinite(row[column]));
              const columns = [...field[0].keys()].filter(filled);
              const rows = [...field.keys()].filter((at) => field[at].some(Number.isFinite));
              const across = xaxis._offset + xaxis.l2p(columns[head * 3 + column]);
              return [box.left + across, box.top + yaxis._offset + yaxis.l2p(rows[row])];
            }""",
            list(cell),
        )
        page.mouse.click(*place)
        told_place = sheet.say_answer(exercise, cell, words)
        expect(part).to_contain_text(words("exercise.pointed", place=told_place))
        part.get_by_role("button", name=words("exercise.check"), exact=True).click()
        right = cell == exercise.answer.value
        expect(part.locator(f".verdict.{'right' if right else 'wrong'}")).to_have_count(1)
