"""Exploring heads in a real browser: choosing, comparing, breaking, training."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from mha_core.heads.ready_claims import READY
from mha_view.scene import LIVE_LAYERS, LIVE_WIDTHS, Scene
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.test_pages import figure, pick, query_of, settle, visit
from tests.browser.waiting import WAIT, until

TOY = "v=1"


@pytest.mark.parametrize("lang", LANGS)
def test_a_picked_tile_becomes_the_chosen_head(page: Page, server: str, lang: str) -> None:
    words = Words(lang)
    visit(page, server, "gallery", f"{TOY}&lang={lang}&s=cat&layer=0&head=1&sort=confidence")
    chart = figure(page, "gallery")
    titles = chart.locator(".annotation-text").all_text_contents()
    scores = [float(found[0]) for title in titles if (found := re.findall(r"· ([\d.]+)", title))]
    assert len(scores) == 18
    assert scores == sorted(scores, reverse=True)
    pick(page, "gallery", 3, 5)  # within the first tile: the largest score
    settle(page)
    layer, head = re.findall(r"L(\d) H(\d)", titles[0] if "H" in titles[0] else "".join(titles))[0]
    chosen = words("board.short", layer=layer, head=head)
    expect(page.get_by_role("heading", name=words("gallery.chosen", title=chosen))).to_be_visible()
    for name, value, default in (("layer", layer, Scene().layer), ("head", head, Scene().head)):
        page.wait_for_function(
            """([name, value, byDefault]) =>
              (new URLSearchParams(location.search).get(name) ?? byDefault) === value""",
            arg=[name, value, str(default)],
        )


def test_a_difference_is_drawn_beside_both_readings(page: Page, server: str) -> None:
    visit(page, server, "compare", f"{TOY}&s=cat")
    page.get_by_test_id("stButtonGroup").get_by_text("Mask", exact=True).click()
    expect(page.get_by_text("Second · Mask: two-way")).to_be_visible()
    settle(page)
    for name in ("first", "second", "difference"):
        expect(figure(page, name)).to_be_visible()
    until(page, lambda: query_of(page).get("against"), "mask")


@pytest.mark.parametrize("lang", LANGS)
def test_from_a_label_to_its_sentences_and_its_damage_in_two_clicks(
    page: Page, server: str, lang: str
) -> None:
    words = Words(lang)
    visit(page, server, "specialisation", f"{TOY}&lang={lang}&s=cat&tab=map")
    for role in ("previous", "induction", "pronoun", "subject"):
        row = page.locator(f'tr[data-role="{role}"]')
        expect(row).to_contain_text(words("roles.labelled"))
    page.get_by_test_id("stButtonGroup").get_by_text(words("tab.roles"), exact=True).click()
    page.get_by_test_id("stButtonGroup").get_by_text(words("role.subject"), exact=True).click()
    expect(page.get_by_text(words("role.subject.means"))).to_be_visible()
    expect(page.locator(".example")).to_have_count(6)
    expect(page.get_by_text(words("knockout.intact")).first).to_be_visible()
    before = page.get_by_role("textbox").first.input_value()
    page.get_by_role("button", name=words("evidence.take")).first.click()
    expect(page.get_by_role("textbox").first).not_to_have_value(before)


def test_a_cell_of_the_map_opens_its_sentences(page: Page, server: str) -> None:
    words = Words("en")
    visit(page, server, "specialisation", f"{TOY}&lang=en&s=cat&tab=map")
    pick(page, "role_map", 9, 6)  # the seventh role, the tenth head
    until(page, lambda: {name: query_of(page).get(name) for name in ("tab", "role", "own")},
          {"tab": "roles", "role": "subject", "own": "1"})  # fmt: skip
    settle(page)
    title = words("evidence.title", role=words("role.subject"), head="L1 H3")
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.locator(".example")).to_have_count(6)


def test_the_figures_are_measured_again_beside_the_page_and_stopped(
    page: Page, server: str
) -> None:
    words = Words("en")
    visit(page, server, "specialisation", f"{TOY}&lang=en&s=cat")
    page.get_by_role("button", name=words("again.start")).click()
    expect(page.locator(".st-key-measure_again [role=progressbar]")).to_be_visible()
    page.get_by_role("button", name=words("again.stop")).click()
    expect(page.get_by_role("button", name=words("again.start"))).to_be_visible()
    expect(page.get_by_text("Measured beforehand on exactly these weights")).to_be_visible()


def test_a_step_of_the_circuit_is_cut_and_measured_paths_are_waited_for(
    page: Page, server: str
) -> None:
    words = Words("en")
    visit(page, server, "circuits", f"{TOY}&lang=en&s=cat")
    graph = figure(page, "circuit")
    expect(graph).to_be_visible()
    box = graph.bounding_box()
    assert box is not None
    assert box["y"] < 450, "the graph is on the first screen"
    numbers = " ".join(graph.locator(".annotation-text").all_text_contents())
    assert len(re.findall(r"[QKV] \d\.\d\d", numbers)) >= 4
    parts = page.get_by_test_id("stButtonGroup")
    parts.get_by_text(words("circuits.instead.mean"), exact=True).click()  # not shipped: measured
    expect(page.get_by_role("button", name=words("heavy.stop"))).to_be_visible()
    expect(page.get_by_role("progressbar").first).to_be_visible()
    page.get_by_role("button", name=words("heavy.stop")).click()
    expect(page.get_by_text(words("heavy.stopped"))).to_be_visible()
    parts.get_by_text(words("circuits.instead.corrupted"), exact=True).click()
    settle(page)
    cut_a_step(page, words)


def test_the_circuit_is_read_on_a_dark_phone_in_chinese(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    visit(page, server, "circuits", f"{TOY}&lang=zh&s=cat")
    expect(figure(page, "circuit")).to_be_visible()
    cut_a_step(page, Words("zh"))
    over = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert over <= 0, "wider than the phone"


def cut_a_step(page: Page, words: Words) -> None:
    """The story with its second step cut, then the lens, as everyone can read them."""
    parts = page.get_by_test_id("stButtonGroup")
    parts.get_by_text(words("circuits.show.story"), exact=True).click()
    settle(page)
    expect(figure(page, "story")).to_be_visible()
    page.locator(".st-key-story_2 label").first.click()
    until(page, lambda: query_of(page).get("cut"), "2")
    settle(page)
    expect(page.locator(".st-key-story_2 input")).to_be_checked()
    parts.get_by_text(words("circuits.show.lens"), exact=True).click()
    settle(page)
    for name in ("lens", "lens_parts", "lens_beside"):
        expect(figure(page, name)).to_be_visible()
    found = severe_findings(page)
    assert found == [], found


STEP, ENDED = re.compile(r"^Step \d+ of \d+ "), re.compile("^Ended at step")
SLOW = f"&live_d={max(LIVE_WIDTHS)}&live_n={max(LIVE_LAYERS)}"  # a run that lasts


def open_training(new_page: Callable[..., Page], server: str, query: str = "") -> Page:
    """The training page in a visitor of its own."""
    page = new_page()
    visit(page, server, "training", f"{TOY}&lang=en&s=repeat{query}")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    return page


def test_visitors_train_one_after_the_other_and_a_closed_tab_frees_the_server(
    new_page: Callable[..., Page], server: str
) -> None:
    first, second, third = (open_training(new_page, server, sizes) for sizes in (SLOW, "", SLOW))

    def start(visitor: Page, says: str | re.Pattern[str]) -> None:
        visitor.get_by_role("button", name="Start").click()
        expect(visitor.get_by_text(says)).to_be_visible()

    start(first, STEP)
    start(second, "Before you in line: 1")
    first.close()
    expect(second.get_by_text(STEP)).to_be_visible()
    start(third, "Before you in line: 1")
    ended = second.get_by_text(ENDED)
    expect(ended).to_be_visible(timeout=2 * WAIT)
    shown = ended.text_content() or ""
    assert float(shown.rsplit(" ", 1)[1]) > 0.5
    expect(third.get_by_text(STEP)).to_be_visible()
    third.get_by_role("button", name="Stop").click()
    expect(third.get_by_text(ENDED)).to_be_visible()


@pytest.mark.parametrize("lang", LANGS)
def test_a_hypothesis_is_frozen_tested_and_told_false(page: Page, server: str, lang: str) -> None:
    """From the empty page: three pictures, one is begun with, a word is clicked, it is tested."""
    words = Words(lang)
    visit(page, server, "hypothesis", f"{TOY}&lang={lang}")
    for name in ("claim_antecedent", "claim_follower", "claim_again"):
        expect(figure(page, name)).to_be_visible()
    page.get_by_role("button", name=words("claim.try")).nth(2).click()
    until(page, lambda: query_of(page).get("ready"), f"again.{lang}")
    settle(page)
    says = page.get_by_label(words("claim.says"))
    expect(says).to_have_value(words("claim.ready.again"))
    expect(figure(page, "claim_first")).to_be_visible()
    # Clicking another word of the first line, and clicking back, leaves the line as it was.
    text = READY["again"][lang]  # type: ignore[index]
    page.get_by_text(words("claim.click"), exact=True).click()
    slot = {"en": "<thing>", "zh": "<东西>"}[lang]
    target = page.locator(".st-key-claim_target")
    target.get_by_text(slot, exact=True).first.click()
    until(page, lambda: "ready" in query_of(page), False)
    settle(page)
    target.get_by_text(slot, exact=True).first.click()
    until(page, lambda: query_of(page).get("ready"), f"again.{lang}")
    settle(page)
    page.get_by_role("button", name=words("claim.freeze")).click()
    said = words("claim.verdict.no").split("**")[1]
    expect(page.get_by_role("alert").get_by_text(said)).to_be_visible()
    settle(page)
    for name in ("claim_heads", "claim_spread"):
        expect(figure(page, name)).to_be_visible()
    until(page, lambda: query_of(page).get("frozen"), "1")
    found = severe_findings(page)
    assert found == [], found
    # A failing sentence opens on the attention page as it was read here.
    sentence = page.locator("p.claimed").first
    looks = sentence.locator(".query").inner_text()
    page.get_by_role("link", name=words("claim.open")).first.click()
    expect(figure(page, "pattern").first).to_be_visible()
    expect(page.get_by_role("textbox").first).not_to_have_value("")
    assert looks in page.get_by_role("textbox").first.input_value()
    # Back again nothing is lost, and changing it keeps every word.
    page.go_back()
    page.get_by_role("button", name=words("claim.change")).click()
    expect(page.get_by_role("textbox", name=words("claim.sentences"))).to_have_value(text)
