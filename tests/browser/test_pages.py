"""What a person does with the app, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from mha_view.menu import ORDER
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.serving import serve
from tests.browser.waiting import rest, until

OWN_SIZES = "v=1&weights=custom&h=6"


def visit(page: Page, address: str, name: str = "overview", query: str = OWN_SIZES) -> None:
    """Open a page of the app and wait until everything on it is drawn."""
    path = "" if name == "overview" else name
    page.goto(f"{address}/{path}?{query}")
    settle(page)


def settle(page: Page, *, pictures: bool = True) -> None:
    """Wait until a page of the app is there and at rest, with pictures or without."""
    expect(page.locator(".stMain h1")).to_have_count(1)
    expect(page.locator(".stMain h1")).to_be_visible()
    rest(page, pictures=pictures)


def figure(page: Page, name: str) -> Locator:
    """A picture by its name."""
    return page.locator(f'.th-plot[data-figure="{name}"]')


def query_of(page: Page) -> dict[str, str]:
    """The address bar's query string."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def pick(page: Page, name: str, x: int, y: int) -> None:
    """Click a cell of a laid-out picture."""
    chart = figure(page, name)
    chart.scroll_into_view_if_needed()
    left, top = chart.locator(".th-canvas").evaluate(
        """(node, [x, y]) => {
          const {xaxis, yaxis} = node._fullLayout;
          const box = node.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
        }""",
        [x, y],
    )
    page.mouse.move(left, top)
    page.mouse.click(left, top)


def test_a_cold_deep_link_shows_the_page_in_its_frame(page: Page) -> None:
    with serve("app.py") as address:
        page.goto(f"{address}/rope?lang=zh")
        words = Words("zh")
        expect(page.locator(".stMain h1")).to_have_text(words.lesson("rope", "title"))
        expect(page.get_by_test_id("stSidebar")).to_contain_text(words("nav.attention"))
        expect(page.get_by_test_id("stSidebar")).not_to_contain_text("why_heads")
        settle(page)
        assert page.locator(".th-plot").count() >= 2
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("name", ORDER)
def test_every_page_is_drawn_and_can_be_read_by_all(
    new_page: Callable[..., Page], server: str, name: str, lang: str
) -> None:
    scheme = "dark" if lang == "zh" else "light"
    locale = "zh-CN" if lang == "zh" else "en-GB"
    page = new_page(color_scheme=scheme, locale=locale, reduced_motion="reduce")
    visit(page, server, name, f"v=1&lang={lang}")
    assert page.locator(".th-plot").count() >= 1
    assert page.get_by_test_id("stException").count() == 0
    assert severe_findings(page) == []


def test_light_and_dark_can_both_be_read(new_page: Callable[..., Page], server: str) -> None:
    for scheme, name in (("dark", "attention"), ("dark", "output"), ("light", "rope")):
        page = new_page(color_scheme=scheme, reduced_motion="reduce")
        visit(page, server, name)
        assert severe_findings(page) == []


def test_every_head_is_drawn(page: Page, server: str) -> None:
    visit(page, server, "attention", "v=1&weights=article")
    titles = figure(page, "pattern").locator(".annotation-text")
    expect(titles).to_have_count(12)
    shown = [(text or "").split()[-1] for text in titles.all_text_contents()]
    assert shown == [str(number) for number in range(12)]


def test_a_link_opens_the_same_picture_elsewhere_and_in_the_other_language(
    new_page: Callable[..., Page], server: str
) -> None:
    first = new_page()
    visit(first, server, "attention")
    first.get_by_role("textbox", name="Sentence").fill("The dog ran because it was late.")
    first.get_by_role("textbox", name="Sentence").press("Enter")
    first.get_by_role("radio", name="Head 3").click()
    until(first, lambda: "head=3" in first.url, True)
    until(first, lambda: "t=" in first.url, True)
    settle(first)
    expect(first.locator(".katex").first).to_contain_text("3")
    second = new_page(locale="zh-CN")
    second.goto(first.url)
    settle(second)
    panel = second.locator("table.derivation").first.inner_text()
    assert panel == first.locator("table.derivation").first.inner_text()
    third = new_page()
    third.goto(first.url.replace("lang=en", "lang=zh"))
    settle(third)
    expect(third.locator(".stMain h1")).to_have_text(Words("zh").lesson("attention", "title"))
    numbers = re.compile(r"[+−]?\d+\.\d+")
    assert numbers.findall(third.locator("table.derivation").first.inner_text()) == (
        numbers.findall(panel)
    )


def test_a_click_explains_the_cell_and_the_terms_add_up(page: Page, server: str) -> None:
    visit(page, server, "attention")
    pick(page, "pattern", 1, figure_row(page, 4))
    until(page, lambda: "cell=pattern" in page.url, True)
    settle(page)
    cell = query_of(page)["cell"].split(".")
    assert cell[0] == "pattern"
    rows = page.locator("table.derivation").first.locator("tr")
    numbers = []
    for text in rows.all_inner_texts():
        if text.startswith("q · k"):
            assert round(sum(numbers), 3) == signed(text)
            break
        numbers.append(signed(text))
    else:
        pytest.fail("no q · k row")
    assert len(numbers) >= 6


def figure_row(page: Page, row: int) -> int:
    """A row of the first tile, in the laid-out grid: the tile's title takes some rows above it."""
    canvas = figure(page, "pattern").locator(".th-canvas")
    shapes = canvas.evaluate("node => node._fullLayout.shapes.map((shape) => shape.y0)")
    return round(min(shapes) + 0.5) + row


def signed(text: str) -> float:
    """The last number of a row of the derivation."""
    return float(text.split()[-1].replace("−", "-").replace("+", ""))


def test_arrow_keys_move_the_cell_and_a_reload_keeps_it(page: Page, server: str) -> None:
    visit(page, server, "attention", OWN_SIZES + "&cell=pattern.2.5.3")
    title = page.locator("h5", has_text="→").first
    before = title.inner_text()
    figure(page, "pattern").locator(".th-canvas").focus()
    page.keyboard.press("ArrowUp")
    until(page, lambda: "cell=pattern.2.4.3" in page.url, True)
    expect(title).not_to_have_text(before)
    settle(page)
    moved = title.inner_text()
    page.reload()
    settle(page)
    expect(title).to_have_text(moved)


def test_a_picture_in_a_tab_is_drawn_when_it_is_opened(page: Page, server: str) -> None:
    visit(page, server, "attention", "v=1&lang=en")
    masks = figure(page, "masks")
    assert masks.get_attribute("data-drawn") is None
    page.get_by_role("tab", name=Words("en")("attention.masks")).click()
    expect(masks.locator(".heatmaplayer image")).to_be_visible()
    assert masks.evaluate("node => node.view.draws") == 1
    lang = "() => { window.styled = 0; new MutationObserver((seen) => (styled += seen.length))"
    page.evaluate(lang + ".observe(document.documentElement, { attributeFilter: ['lang'] }); }")
    page.get_by_role("tab").first.click()
    pick(page, "pattern", 2, figure_row(page, 5))
    until(page, lambda: "cell=pattern" in page.url, True)
    settle(page)
    # An answer styles the page anew only where its language is another one.
    assert page.evaluate("styled") == 0
    assert masks.get_attribute("data-drawn") is None


def test_zoom_survives_a_change_of_setting(page: Page, server: str) -> None:
    visit(page, server, "output")
    chart = figure(page, "out").locator(".th-canvas")
    chart.scroll_into_view_if_needed()
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=8)
    page.mouse.up()
    shown = "node => node._fullLayout.xaxis.range.map(place => Math.round(place * 100))"
    until(page, lambda: chart.evaluate("node => node._fullLayout.xaxis.range[1] < 7"), True)
    zoomed = chart.evaluate(shown)
    page.get_by_role("button", name="Mask").click()
    page.get_by_text("two-way", exact=True).click()
    until(page, lambda: "mask=two_way" in page.url, True)
    settle(page)
    assert chart.evaluate(shown) == zoomed


def test_the_walk_goes_on_by_keyboard_and_back_takes_one_step(page: Page, server: str) -> None:
    visit(page, server, "tokens")
    page.get_by_role("button", name="Mask").click()
    page.get_by_text("two-way", exact=True).click()
    until(page, lambda: "mask=two_way" in page.url, True)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_be_hidden()
    settle(page)
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_url("**/projection?**")
    settle(page)
    until(page, lambda: query_of(page).get("mask"), "two_way")
    page.go_back()
    page.wait_for_url("**/tokens?**")
    settle(page)
    expect(page.locator(".stMain h1")).to_have_text(Words("en").lesson("tokens", "title"))


def test_the_language_switch_changes_everything(page: Page, server: str) -> None:
    visit(page, server, "heads")
    page.get_by_role("radio", name="中文").click()
    expect(page.locator(".stMain h1")).to_have_text(Words("zh").lesson("heads", "title"))
    settle(page)
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    words = page.locator(".stMain").inner_text()
    left = re.findall(r"\b(?:the|and|head|of|weights|mask)\b", words.replace("d_head", ""))
    assert left == [] or set(left) <= {"head"}, left


def test_articles_sizes_are_pooled_and_say_so(page: Page, server: str) -> None:
    visit(page, server, "attention", "v=1&weights=article&s=long_en")
    expect(page.get_by_text("Too large to show cell by cell").first).to_be_visible()
    expect(page.get_by_text("1,024 tokens").first).to_be_visible()


def test_a_phone_scrolls_only_down(new_page: Callable[..., Page], server: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, is_mobile=True)
    for name in ("overview", "projection", "rope", "attention", "output"):
        visit(page, server, name)
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, name


# The labels under each picture that come nearer to their neighbour than their letters allow.
CROWDED = """() => [...document.querySelectorAll(".th-canvas")].flatMap((canvas) => {
  const labels = [...canvas.querySelectorAll(".xtick text")].map((node) => {
    const { left, width } = node.getBoundingClientRect();
    const isTurned = node.getAttribute("transform").includes("rotate(-90");
    const needs = isTurned ? parseFloat(getComputedStyle(node).fontSize) : width;
    return { text: node.textContent, middle: left + width / 2, needs };
  });
  return labels.filter(({ middle, needs }, n) =>
    n && middle - labels[n - 1].middle < (needs + labels[n - 1].needs) / 2 - 0.5);
})"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", LANGS)
def test_labels_under_a_narrow_picture_stand_apart(
    new_page: Callable[..., Page], server: str, lang: str, width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 844})
    for name in ("projection", "output", "specialisation"):
        visit(page, server, name, f"v=1&lang={lang}")
        assert page.locator(".xtick text").count() > 12, name
        assert page.evaluate(CROWDED) == [], name
