"""One head and one token on every page: chosen in any picture, kept on all pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from mha_view.page import THREAD
from mha_view.words import LANGS
from tests.browser.test_pages import figure, pick, query_of, settle, visit
from tests.browser.waiting import until

LEARN = ("overview", "tokens", "projection", "heads", "rope", "attention", "concat", "output",
         "why_heads")  # fmt: skip
SIZES = "v=1&lang=en&weights=custom&d=24&h=4&s=cat"
# What every picture with tokens is told to mark, and the head that the stage has open.
MARKED = """() => [...document.querySelectorAll(".th-plot")].flatMap(({ view }) =>
  view?.header?.spot ? [view.header.spot.place] : [])"""


def thread_of(page: Page) -> tuple[int, int]:
    """The head and the focus token, as the address bar names them; weights here have no <bos>."""
    query = query_of(page)
    return int(query.get("head", 0)), int(query.get("token") or query["focus"])


def check_thread(page: Page, name: str, head: int, focus: int) -> None:
    """What a page shows is about this head and this token."""
    kinds = THREAD[name]
    main = page.locator(".stMain")
    if "head" in kinds:
        chips = main.locator(".st-key-thread_head [role=radio]")
        expect(chips.nth(head)).to_be_checked()
    if "focus" in kinds:
        chips = main.locator(".st-key-thread_focus [role=radio]")
        expect(chips.nth(focus)).to_be_checked()
    if name not in ("rope", "overview"):
        assert set(page.evaluate(MARKED)) == {focus}, name
    if name in ("heads", "rope", "attention"):
        expect(main.locator(".chips")).to_contain_text(str(head))
    if name == "attention":
        expect(main.locator(".katex").first).to_contain_text(f"head{head}")


@pytest.mark.parametrize(
    ("name", "picture", "x", "y", "head", "focus"),
    [
        ("projection", "k_full", 6, 15, 2, 6),
        ("heads", "q_full", 4, 20, 3, 4),
        ("concat", "concat", 5, 7, 1, 5),
        ("output", "out", 3, 9, None, 3),
        ("tokens", "stream", 9, 2, None, 9),
    ],
)
def test_a_click_in_a_picture_chooses_for_the_other_pages(
    page: Page, server: str, name: str, picture: str, x: int, y: int, head: int | None, focus: int
) -> None:
    visit(page, server, name, SIZES + "&head=1&focus=2")
    pick(page, picture, x, y)
    until(page, lambda: query_of(page).get("cell", "").split(".")[0], picture)
    settle(page)
    expected = (1 if head is None else head, focus)
    assert thread_of(page) == expected
    check_thread(page, name, *expected)
    for other in ("attention", "why_heads"):
        page.goto(f"{server}/{other}?{page.url.split('?')[1]}")
        settle(page)
        assert thread_of(page) == expected
        check_thread(page, other, *expected)


def test_a_token_clicked_between_the_lines_is_the_same_on_all_nine_pages(
    page: Page, server: str
) -> None:
    visit(page, server, "attention", SIZES + "&head=1&focus=2")
    figure(page, "links").get_by_role("button", name="because").click()
    until(page, lambda: query_of(page).get("token"), "6")
    page.get_by_role("radio", name="Head 3").click()
    until(page, lambda: query_of(page).get("head"), "3")
    settle(page)
    for name in LEARN:
        path = "" if name == "overview" else name
        page.goto(f"{server}/{path}?{page.url.split('?')[1]}")
        settle(page)
        assert thread_of(page) == (3, 6), name
        check_thread(page, name, 3, 6)


def test_a_chosen_cell_stays_when_the_mask_changes(page: Page, server: str) -> None:
    visit(page, server, "attention", SIZES + "&cell=pattern.2.5.3")
    shown = page.locator("h5", has_text="Head 2: ")
    title = shown.inner_text().split("=")[0]
    page.get_by_role("button", name="Mask").click()
    page.get_by_text("two-way", exact=True).click()
    until(page, lambda: query_of(page).get("mask"), "two_way")
    settle(page)
    assert query_of(page)["cell"] == "pattern.2.5.3"
    assert shown.inner_text().split("=")[0] == title


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize(("width", "height", "screens"), [(1280, 900, 3), (390, 844, 6)])
def test_the_attention_page_is_a_few_screens_long(
    new_page, server: str, lang: str, width: int, height: int, screens: int
) -> None:
    page = new_page(viewport={"width": width, "height": height}, is_mobile=width < 500)
    visit(page, server, "attention", f"v=1&lang={lang}")
    inside = page.get_by_test_id("stMain").evaluate("node => node.scrollHeight")
    assert inside <= screens * height
    top = page.locator(".stMain h1").bounding_box()
    assert top is not None
    assert top["y"] < 200


def test_a_symbol_opens_one_sentence_with_its_number(page: Page, server: str) -> None:
    visit(page, server, "attention", SIZES)
    chip = page.locator('.symbol:has([data-step="S"])')
    expect(chip.locator("p")).to_be_hidden()
    chip.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(chip.locator("p")).to_be_visible()
    expect(chip.locator("p")).to_contain_text("S = 11")
