"""A model that the visitor trained, as the weights of the app, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from mha_view.words import Words

WAIT = 120_000
SMALLEST = "live_d=32&live_h=2&live_n=1"
HEADS = '.th-plot[data-figure="pattern"] .annotation-text'


def test_a_trained_model_is_used_and_its_link_tells_how_to_train_it(
    new_page: Callable[..., Page], server: str
) -> None:
    words = Words("en")
    page = new_page()
    page.goto(f"{server}/training?v=1&lang=en&s=repeat&{SMALLEST}")
    page.get_by_role("button", name=words("live.start"), exact=True).click(timeout=WAIT)
    page.get_by_role("button", name=words("live.use"), exact=True).click(timeout=WAIT)
    page.get_by_role("link", name=words("live.look"), exact=True).click(timeout=WAIT)
    expect(page.locator(HEADS)).to_have_count(2, timeout=WAIT)
    expect(page.get_by_text(words("outside.live"))).to_be_visible(timeout=WAIT)
    page.wait_for_function(
        "() => location.pathname.endsWith('/attention')"
        " && location.search.includes('weights=live')",
        timeout=WAIT,
    )

    stranger = new_page()
    stranger.goto(page.url)
    train = stranger.get_by_role("button", name=words("live.train_same"), exact=True)
    expect(train).to_be_enabled(timeout=WAIT)
    expect(stranger.get_by_text("d 32, h 2, layers: 1")).to_be_visible(timeout=WAIT)
    expect(stranger.locator(HEADS)).to_have_count(6, timeout=WAIT)
