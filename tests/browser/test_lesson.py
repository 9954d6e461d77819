"""The lesson is taught: the route presented, by keyboard alone, every line uncovered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mha_view.classroom.route import PLANS
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.waiting import rest, until

LEAST_LETTER = 20  # pixels
PLACE = ".th-present-place"
# Where the class is and what is still covered, read at one moment.
NOW = """() => {
  const place = document.querySelector(".th-present-place");
  const lines = "[data-on] :is(tbody tr, label:has(input)), [class*=st-key-revealed]";
  const covered = [...document.querySelectorAll(lines)]
    .filter((line) => !line.closest("details, .th-plot") && line.getBoundingClientRect().height)
    .filter((line) => getComputedStyle(line).visibility === "hidden");
  return {
    page: location.pathname.split("/").pop() || "overview", screen: place?.dataset.screen ?? "",
    station: place?.innerText.split(" · ")[0] ?? "", covered: covered.length,
    keys: document.querySelector(".th-present-keys")?.innerText ?? "",
  };
}"""
# The line that was uncovered last, and where the bar begins.
LAST_LINE = """() => {
  const shown = "[data-on] [data-shown], [data-shown]:has([data-on])";
  const bottoms = [...document.querySelectorAll(shown)]
    .map((line) => line.getBoundingClientRect().bottom);
  const bar = document.querySelector(".st-key-present_bar").getBoundingClientRect().top;
  return bottoms.length ? bottoms.at(-1) - bar : -Infinity;
}"""
# Every text of the pictures on the screen whose letters are smaller than is legible, and every
# picture that is not whole on it.
SMALL = """(least) => {
  const found = [];
  const how = { visibilityProperty: true, opacityProperty: true };
  const isSeen = (node) => node.checkVisibility(how);
  for (const text of document.querySelectorAll("[data-on] .th-plot *")) {
    const says = [...text.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
    if (!says || !isSeen(text) || text.closest("option, style, .th-live, .th-tip")) continue;
    if (!text.getBoundingClientRect().width) continue;
    const drawn = text.closest("text")?.getScreenCTM();
    const scale = drawn ? Math.hypot(drawn.a, drawn.b) : 1;
    const letter = parseFloat(getComputedStyle(text).fontSize) * scale;
    if (letter < least - 0.01) found.push(`${text.textContent.trim()}: ${letter}`);
  }
  return found;
}"""
PICTURES = """() => [...document.querySelectorAll("[data-on] .th-plot")].map((picture) => {
  const { width, height, top, bottom } = picture.getBoundingClientRect();
  const bar = document.querySelector(".st-key-present_bar").getBoundingClientRect().top;
  return { name: picture.dataset.figure ?? "", area: width * height, top, bottom, bar };
})"""


def now(page: Page) -> dict[str, Any]:
    """Where the class is: the page, its screen, what is said of it, and how much is covered."""
    return dict(page.evaluate(NOW))


def look_at(page: Page, where: dict[str, str]) -> None:
    """Every letter of the screen's pictures is legible, and every picture is whole on it."""
    assert page.evaluate(SMALL, LEAST_LETTER) == [], where
    for picture in page.evaluate(PICTURES):
        assert picture["area"] > 0, (where, picture)
        assert picture["bottom"] <= picture["bar"] + 2, (where, picture)


@pytest.mark.parametrize(("lang", "plan"), [("en", "long"), ("zh", "short")])
def test_a_class_is_taught_by_keyboard_alone(
    new_page: Callable[..., Page], server: str, lang: str, plan: str
) -> None:
    words, route = Words(lang), PLANS[plan]
    locale = "zh-CN" if lang == "zh" else "en-GB"
    page = new_page(viewport={"width": 1280, "height": 720}, locale=locale, reduced_motion="reduce")
    page.goto(f"{server}/class?lang={lang}&route={plan}")
    expect(page.locator("img.station")).to_have_count(len(route.stations))
    rest(page)
    assert severe_findings(page) == []
    start = page.get_by_role("button", name=words("class.start"), exact=True)
    start.focus()
    page.keyboard.press("Enter")
    expect(page.locator(PLACE)).to_be_visible()
    expected = [
        {"station": f"{place + 1} / {len(route.stations)}", "page": station.page, "screen": screen}
        for place, station in enumerate(route.stations)
        for screen in station.slides
    ]

    def where() -> dict[str, str]:
        return {part: now(page)[part] for part in ("station", "page", "screen")}

    uncovered = 0
    for place, here in enumerate(expected):
        until(page, where, here)
        rest(page, pictures=False)
        look_at(page, here)
        while (before := now(page))["covered"]:
            page.keyboard.press("PageDown")
            left = before["covered"] - 1
            until(page, lambda: now(page)["covered"], left)
            assert page.evaluate(LAST_LINE) <= 0, "under the bar"
            uncovered += 1
        assert where() == here, "a key that uncovers stays on the screen"
        if place + 1 < len(expected):
            page.keyboard.press("PageDown")
    assert now(page)["keys"] == words("present.last")
    assert uncovered > 10

    # Back again, over the border of a station, to where one came from, all uncovered.
    for here in reversed(expected[-len(route.stations[-1].slides) - 1 : -1]):
        page.keyboard.press("PageUp")
        until(page, where, here)
        rest(page, pictures=False)
    assert now(page)["covered"] == 0
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.get_by_role("textbox", name=words("sentence.label"))).to_be_visible()


@pytest.mark.parametrize("lang", LANGS)
def test_what_the_class_asks_for_is_at_hand(
    new_page: Callable[..., Page], server: str, lang: str
) -> None:
    words = Words(lang)
    locale = "zh-CN" if lang == "zh" else "en-GB"
    page = new_page(viewport={"width": 1280, "height": 720}, locale=locale)
    page.goto(f"{server}/attention?lang={lang}")
    expect(page.locator(".stMain h1")).to_be_visible()
    rest(page)
    usual = {one["name"]: one["area"] for one in page.evaluate(ALL_PICTURES)}
    page.goto(f"{server}/attention?lang={lang}&present=1")
    expect(page.locator(PLACE)).to_be_visible()
    rest(page, pictures=False)
    bar = page.locator(".st-key-present_bar")
    for label in (
        words("mask.button", name=words("mask.causal")),
        words("rope.button", state=words("rope.on")),
    ):
        button = bar.get_by_role("button", name=label.replace("**", ""), exact=True)
        expect(button).to_be_visible()
        box = button.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 1280
    names: set[str] = set()
    while (screen := now(page)["screen"]) not in names:
        names.add(screen)
        for picture in page.evaluate(PICTURES):
            large = picture["bar"] - picture["top"] >= 0.75 * 720
            assert picture["area"] >= 1.6 * usual[picture["name"]] or large, picture
        page.keyboard.press("End")
        if screen == "masks":
            break
        page.keyboard.press(" ")
        until(page, lambda: now(page)["screen"] != screen, True)
        rest(page, pictures=False)
    assert {"says", "links", "head_pattern", "table", "pattern", "chain", "masks"} <= names


ALL_PICTURES = """() => [...document.querySelectorAll(".th-plot:not(.th-small)")].map((picture) => {
  const { width, height } = picture.getBoundingClientRect();
  return { name: picture.dataset.figure ?? "", area: width * height };
})"""
