"""Pictures and pages that leave the app: complete, inside their frames, and like the page."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from pypdfium2 import PdfDocument
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE as IMAGE
from pypdfium2.raw import FPDF_PAGEOBJ_PATH as PATH

from mha_view.menu import ORDER
from mha_view.words import Words
from tests.browser.test_components import save
from tests.browser.waiting import rest

# Draws every picture of a page as a file would hold it, and says what is wrong with it.
LOOK = (Path(__file__).parent / "pictures.js").read_text("utf-8")


# The class has no picture.
WITH_PICTURES = [name for name in ORDER if name != "class"]
PARTS = ("specialisation?tab=map", "specialisation?tab=damage",
         "sizes?sizes=flops", "sizes?sizes=cache", "sizes?sizes=waves")  # fmt: skip
PAGES = [*WITH_PICTURES, *PARTS]
# The pages that are saved and opened again: one of each way to draw.
SAVED = ("overview", "tokens", "attention", "gallery", "sizes", "vit")
# The pictures that were looked at, by form; each is looked at once.
MARGIN = 30  # points, of the 34 that print.css leaves
SEEN: dict[str, list[str]] = {"slide": [], "print": []}


@pytest.mark.parametrize("name", PAGES)
def test_what_leaves_a_page_is_complete(
    page: Page, new_page: Callable[..., Page], server: str, kept: Path, name: str
) -> None:
    page.goto(f"{server}/{'' if name == 'overview' else name}")
    rest(page)
    wrong = look_at_pictures(page, "slide")
    page.get_by_role("radio", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    rest(page)
    wrong += look_at_pictures(page, "print")
    assert wrong == []
    if "?" not in name:
        look_at_paper(page, kept / f"{name}.pdf")
    if name in SAVED:
        look_at_saved(page, new_page(offline=True), kept, name)


def look_at_pictures(page: Page, form: str) -> list[str]:
    """What is wrong with the pictures of a page as files."""
    names, wrong = page.evaluate(LOOK, [form, SEEN[form]])
    SEEN[form] += names
    return list(wrong)


def look_at_paper(page: Page, path: Path) -> None:
    """The page in print: title, picture and question, no controls, nothing cut off."""
    title = page.locator("h1").inner_text()
    words = Words("zh")
    controls = [
        words(key) for key in ("plot.save", "plot.save_page", "present.label", "brand.line")
    ]
    page.pdf(path=path, format="A4", print_background=True)
    printed = PdfDocument(path)
    text, drawn = "", 0
    for sheet in printed:
        found = sheet.get_textpage()
        own = found.get_text_bounded()
        assert own.strip(), "an empty sheet"
        text += own
        drawn += sum(1 for _ in sheet.get_objects((PATH, IMAGE)))
        drawing = sheet.render(scale=1).to_numpy()
        assert drawing[:, :MARGIN].min() > 250, "over the left margin"
        assert drawing[:, -MARGIN:].min() > 250, "over the right margin"
    plain = re.sub(r"\s", "", text)
    assert re.sub(r"\s", "", title) in plain
    assert re.sub(r"\s", "", words("card.ask")) in plain
    assert [control for control in controls if re.sub(r"\s", "", control) in plain] == []
    assert drawn > 20
    assert len(printed) <= 12
    printed.close()


def look_at_saved(page: Page, alone: Page, kept: Path, name: str) -> None:
    """The page as a file: small, its words, question and pictures in it, without controls."""
    pictures = page.locator(".th-plot").count()
    tokens = page.evaluate(
        """() => [...new Set([...document.querySelectorAll(".th-plot")].flatMap(({ view }) =>
          view.stage || view.sentence && !view.header.small ? view.header.tokens : []))]"""
    )
    with page.expect_download() as started:
        page.locator(".th-save-page").click()
    path = kept / f"{name}.html"
    started.value.save_as(path)
    assert path.stat().st_size < 1_500_000
    source = path.read_text("utf-8")
    loads = re.findall(r"<(?:script|img|link|iframe|source)[^>]*(?:src|href)=\"(?!data:|#)", source)
    assert loads == []
    alone.goto(path.as_uri())
    expect(alone.locator("h1")).to_have_text(page.locator("h1").inner_text())
    expect(alone.locator(".saved-figure > svg")).to_have_count(pictures)
    expect(alone.locator("button, input, select, textarea")).to_have_count(0)
    shown = alone.locator("main").inner_text()
    missing = [token for token in tokens if token not in shown and token not in source]
    assert missing == [], "the words of the sentence"
    subject = alone.locator(".about").first
    expect(subject).not_to_be_empty()
    asked = alone.locator(".asked")
    expect(asked).to_have_count(1)
    assert asked.locator("li").count() >= 2
    answer = alone.locator("details.kept")
    expect(answer.locator("p").first).to_be_hidden()
    answer.locator("summary").click()
    expect(answer.locator("p").first).to_be_visible()
    assert answer.locator("p").first.inner_text().strip()
    wide = alone.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, "wider than the window"


def test_every_kind_of_picture_was_looked_at() -> None:
    assert len(set(SEEN["slide"])) >= 55
    assert set(SEEN["slide"]) == set(SEEN["print"])


def chunks_of(path: Path) -> dict[str, list[bytes]]:
    """A PNG's chunks by name."""
    data, at, found = path.read_bytes(), 8, dict[str, list[bytes]]()
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        found.setdefault(data[at + 4 : at + 8].decode(), []).append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this file's downloads go."""
    return tmp_path_factory.mktemp("kept")


def test_the_stage_is_saved_in_every_form_and_has_its_table(
    page: Page, server: str, kept: Path
) -> None:
    page.goto(server)
    rest(page)
    words, stage = Words("en"), page.locator('.th-plot[data-figure="stage"]')
    sizes = {}
    for form in ("slide", "print"):
        path = save(page, stage, words(f"plot.save_{form}"), kept)
        assert path.name == f"stage-{form}.png"
        found = chunks_of(path)
        sizes[form] = struct.unpack(">II", found["IHDR"][0][:8])
        told = dict(content.split(b"\0\0\0\0\0") for content in found["iTXt"])
        assert told[b"Title"].decode() == words("picture.stage")
        assert told[b"Description"].decode().startswith("One layer from left to right")
        assert told[b"Source"].decode() == page.url
        assert json.loads(told[b"settings"])["figure"] == "stage"
    assert sizes["slide"] == (1920, 1080)
    per_metre, _, unit = struct.unpack(">IIB", chunks_of(kept / "stage-print.png")["pHYs"][0])
    assert (round(per_metre * 0.0254), unit) == (300, 1)
    assert sizes["print"][0] == 2250
    with np.load(save(page, stage, words("plot.save_npz"), kept)) as file:
        assert file["pattern"].shape == (6, 12, 12)
        assert file["concat"].shape == (12, 96)
    stage.get_by_role("button", name=words("plot.table"), exact=True).click()
    table = stage.locator(".th-table table")
    expect(table.locator("tbody tr")).to_have_count(12)
    expect(table.locator("thead th")).to_have_count(4)
    expect(table.locator("tbody tr").nth(7).locator("td").last).to_have_text("1")
    stage.locator(".th-table select").select_option(index=1)
    expect(table.locator("tbody tr")).to_have_count(64)
    expect(table.locator("thead th").nth(2)).to_have_text("cat")
