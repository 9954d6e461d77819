"""The page's menu: its link is copied and read back, its code is read off the screen."""

from __future__ import annotations

import io
from collections.abc import Callable
from urllib.parse import quote

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page, expect

from mha_view import by_hand
from mha_view.by_hand import split_query
from mha_view.classroom.route import route_of
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.test_pages import settle
from tests.browser.waiting import rest, until

SENTENCES = {"en": "Tom & Jerry: 100% #1 “C++”?", "zh": "小狗追小红，因为它 #1 & 100%。"}


@pytest.mark.parametrize("lang", LANGS)
def test_a_view_is_handed_on_by_hand_by_copy_and_by_camera(
    new_page: Callable[..., Page], server: str, lang: str
) -> None:
    words, sentence = Words(lang), SENTENCES[lang]
    typed = quote(sentence, safe="&+#%?:，。“”小狗追红因为它")
    page = new_page(locale="zh-CN" if lang == "zh" else "en-GB")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{server}/attention?text={typed}&head=2&token=3")
    settle(page)
    box = page.get_by_role("textbox", name=words("sentence.label"))
    until(page, box.input_value, sentence)
    until(page, lambda: split_query(page.url.partition("?")[2]).get("token"), "3")

    settle(page)
    page.get_by_role("button", name=words("share.button"), exact=True).click()
    code = page.locator("img.qr")
    expect(code).to_be_visible()
    expect(page.locator(".th-share")).to_be_visible()
    assert severe_findings(page) == []
    picture = Image.open(io.BytesIO(code.screenshot()))
    [read] = zxingcpp.read_barcodes(picture)
    page.get_by_role("button", name=words("share.copy"), exact=True).click()
    expect(page.get_by_text(words("share.copied"))).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == page.locator(".th-share-link").input_value()
    assert ("小狗追小红" if lang == "zh" else "Tom+%26+Jerry:+100%25") in copied
    assert " " not in copied

    page.get_by_role("button", name=words("share.add"), exact=True).click()
    expect(page.get_by_text(words("share.added", n=1))).to_be_visible()
    page.get_by_role("link", name=words("share.to_class"), exact=True).click()
    expect(page.locator("img.station")).to_have_count(1)
    expect(page.get_by_role("textbox", name=words("class.note"))).to_be_visible()
    rest(page)
    kept = split_query(page.url.partition("?")[2])
    assert kept["route"] == "own"
    [station] = route_of(by_hand.read(kept)[0]).stations
    assert station.page == "attention"
    assert split_query(station.query)["text"] == sentence

    for link in (read.text, copied):
        other = new_page(locale="en-GB")
        other.goto(link)
        settle(other)
        found = split_query(other.url.partition("?")[2])
        assert (found["text"], found["head"], found["token"]) == (sentence, "2", "3")
        assert found["lang"] == lang


def test_a_word_said_twice_keeps_its_place(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?text=the%20cat%20saw%20the%20dog&token=1")
    settle(page)
    page.get_by_role("radio", name="Head 3").click()
    until(page, lambda: "head=3" in page.url, True)
    assert "token=1" in page.url
