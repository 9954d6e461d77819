"""A text goes on in a real browser: step, choose by hand, look back, play, stop, share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.test_pages import settle
from tests.browser.waiting import until


@pytest.mark.parametrize("lang", LANGS)
def test_a_text_goes_on_token_by_token(
    new_page: Callable[..., Page], server: str, lang: str
) -> None:
    words = Words(lang)
    phone = lang == "zh"
    size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 900}
    page = new_page(viewport=size, color_scheme="dark" if phone else "light",
                    reduced_motion="reduce")  # fmt: skip
    page.goto(f"{server}/continue?v=1&lang={lang}&s=cat")
    settle(page)
    assert severe_findings(page) == []
    new, chosen = page.locator(".th-new:not(.th-open)"), page.locator(".th-choose.th-chosen bdi")

    def read() -> list[str]:
        return new.all_inner_texts()

    first = chosen.inner_text()
    page.get_by_role("button", name=words("writing.step"), exact=True).click()
    until(page, read, [first])
    settle(page)
    # Another candidate than the settings', by hand.
    other = page.locator(".th-choose:not(.th-chosen)").nth(1)
    token = other.locator("bdi").inner_text()
    other.click()
    until(page, read, [first, token])
    settle(page)
    # Back to the first choice: the same stands there, and another one makes the rest go.
    new.first.click()
    until(page, lambda: "look=0" in page.url, True)
    settle(page)
    assert chosen.inner_text() == first
    instead = page.locator(".th-choose:not(.th-chosen)").first
    swapped = instead.locator("bdi").inner_text()
    instead.click()
    until(page, read, [swapped])
    settle(page)
    # Play writes on by itself until it is stopped.
    page.get_by_role("button", name=words("writing.play"), exact=True).click()
    until(page, lambda: len(read()) >= 4, True)
    page.get_by_role("button", name=words("writing.stop"), exact=True).click()
    settle(page)
    stopped = read()
    page.wait_for_timeout(1500)
    assert read() == stopped
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    until(page, lambda: "said=" in page.url, True)

    elsewhere = new_page()
    elsewhere.goto(page.url.replace(f"lang={lang}", "lang=en"))
    settle(elsewhere)
    until(elsewhere, lambda: elsewhere.locator(".th-new:not(.th-open)").all_inner_texts(), stopped)
    expect(elsewhere.locator(".th-choose.th-chosen bdi")).to_have_text(chosen.inner_text())
    page.get_by_role("button", name=words("writing.back"), exact=True).click()
    until(page, read, stopped[:-1])
    page.get_by_role("button", name=words("writing.clear"), exact=True).click()
    until(page, read, [])
