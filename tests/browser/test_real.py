"""Another people's model in a real browser: chosen, walked, picked from, written on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from mha_core.real.folder import FOLDER_VARIABLE
from mha_view.words import LANGS, Words
from tests.browser.axe import severe_findings
from tests.browser.serving import serve
from tests.browser.test_pages import figure, pick, query_of, settle
from tests.browser.waiting import until
from tests.core.real_families import FAMILIES, Family
from tests.core.real_folders import bytes_tokenizer, save_folder

LLAMA = next(family for family in FAMILIES if family.name == "llama")
WIDE = Family("llama", "llama", LLAMA.settings | {"vocab_size": 300})


@pytest.fixture(scope="module")
def models_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with one small model of a test's own making."""
    folder = tmp_path_factory.mktemp("models")
    save_folder(folder / "small-llama", WIDE, bytes_tokenizer())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(folder))
        with serve("app.py") as address:
            yield address


@pytest.mark.parametrize("lang", LANGS)
def test_a_model_is_chosen_walked_and_written_on(
    new_page: Callable[..., Page], models_server: str, lang: str
) -> None:
    words, phone = Words(lang), lang == "zh"
    size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 900}
    page = new_page(viewport=size, color_scheme="dark" if phone else "light")
    page.goto(f"{models_server}/attention?v=1&lang={lang}&s=cat&weights=real&layer=1&head=2")
    settle(page)
    told = words("real.layer", name="small-llama", layer=1)
    expect(page.get_by_text(told, exact=True)).to_be_visible()
    until(page, lambda: query_of(page).get("real"), "small-llama")
    until(page, lambda: len(query_of(page).get("digest", "")), 16)
    assert severe_findings(page) == []
    # On a narrow screen each head's rows begin below its name.
    first = "({ view: { matrices: [first] } }) => [first.x(first.left + 1), first.y(first.top + 6)]"
    pick(page, "pattern", *figure(page, "pattern").evaluate(first))
    until(page, lambda: "cell=pattern" in page.url, True)
    settle(page)
    rows = page.locator("table.derivation").first.locator("tr").all_inner_texts()
    assert any(row.startswith("q · k") for row in rows)
    digest = query_of(page)["digest"]
    for name in ("tokens", "rope", "gallery"):
        page.goto(f"{models_server}/{name}?v=1&lang={lang}&s=cat&weights=real&digest={digest}")
        settle(page)
        assert page.get_by_test_id("stException").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
    page.goto(f"{models_server}/continue?v=1&lang={lang}&s=cat&weights=real")
    settle(page)
    new = page.locator(".th-new:not(.th-open)")
    first = page.locator(".th-choose.th-chosen bdi").inner_text()
    page.get_by_role("button", name=words("writing.step"), exact=True).click()
    until(page, new.all_inner_texts, [first])
    settle(page)
    page.goto(f"{models_server}/tokens?v=1&lang={lang}&s=cat&weights=real&real=small-lama")
    settle(page)
    page.get_by_role("button", name=words("real.nearest", name="small-llama")).click()
    until(page, lambda: query_of(page).get("real"), "small-llama")
