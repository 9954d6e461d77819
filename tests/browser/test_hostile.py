"""Hostile texts in a real browser: nothing runs, on the page or in what is saved from it; and
hostile bytes on the websocket, after which the next reader is answered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from benchmarks.readers import ask, join
from mha_view.scene import pack_text
from mha_view.words import Words
from tests import hostile
from tests.browser.waiting import WAIT

MARKS = "".join(hostile.SCRIPTS[:12])
PAGES = ("tokens", "attention", "overview", "gallery")


@pytest.fixture
def calm(page: Page) -> Iterator[Page]:
    """A page on which no dialog opens and no script of a stranger runs."""
    opened: list[str] = []

    def hear(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", hear)
    yield page
    assert opened == []


def open_text(page: Page, server: str, name: str, text: str, **more: str) -> None:
    """A page with a sentence from a link."""
    query = urlencode({"v": "1", "lang": "en", "t": pack_text(text), **more})
    place = "" if name == "overview" else name  # the first page stands at the root
    page.goto(f"{server}/{place}?{query}")
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("name", PAGES)
def test_no_script_in_a_sentence_runs(calm: Page, server: str, name: str) -> None:
    for part in range(0, len(hostile.SCRIPTS), 7):
        open_text(
            calm, server, name, " ".join(hostile.SCRIPTS[part : part + 7]), head="<img src=x>"
        )
        expect(calm.locator("[data-test-script-state=notRunning]")).to_have_count(1, timeout=WAIT)
        calm.wait_for_timeout(500)
        assert calm.evaluate("window.ran") is None
        assert (
            calm.locator("main img[src=x], iframe[srcdoc], main a[href^=javascript]").count() == 0
        )


def test_nothing_runs_in_what_is_saved(
    calm: Page, server: str, browser: Browser, tmp_path: Path
) -> None:
    open_text(calm, server, "attention", MARKS + " =1+1 @SUM(1)")
    button = calm.get_by_role("button", name=Words("en")("plot.save_page"))
    with calm.expect_download(timeout=WAIT) as download:
        button.click(timeout=WAIT)
    saved = tmp_path / "saved.html"
    download.value.save_as(saved)
    context = browser.new_context()  # a file of one's own: no policy of a server holds it
    looked = context.new_page()
    looked.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    looked.goto(saved.as_uri())
    looked.wait_for_selector(".saved", timeout=WAIT)
    looked.wait_for_timeout(1_000)
    assert looked.evaluate("window.ran") is None
    context.close()


def test_forged_bytes_on_the_websocket_harm_nobody(server: str) -> None:
    draw = random.Random(7)

    async def forge() -> int:
        sent = 0
        for _ in range(12):
            try:
                async with join(server) as socket:
                    for _ in range(10):
                        size = draw.choice((0, 1, 7, 300, 70_000))
                        await socket.send(draw.randbytes(size))
                        sent += 1
            except Exception:
                sent += 1  # the server hung up, as it may
        return sent

    async def read_on() -> int:
        async with join(server) as socket:
            return await ask(socket, server, "tokens", {"lang": "en"})

    with ThreadPoolExecutor(1) as aside:  # the browser's own loop runs in this thread
        assert aside.submit(lambda: asyncio.run(forge())).result() >= 12
        assert aside.submit(lambda: asyncio.run(read_on())).result() > 1_000


def test_a_page_that_is_not_there_tells_nothing_of_the_server(server: str) -> None:
    import urllib.error
    import urllib.request

    for path in (
        "assets/components-x/../../../app.py",
        "assets/plotly-9/x",
        "%2e%2e/%2e%2e/etc/passwd",
    ):
        try:
            with urllib.request.urlopen(f"{server}/{path}", timeout=60) as answer:
                body, headers = answer.read().decode("utf-8", "replace"), dict(answer.headers)
        except urllib.error.HTTPError as refused:
            body, headers = refused.read().decode("utf-8", "replace"), dict(refused.headers)
        assert "Content-Security-Policy" in {name.title() for name in headers} or any(
            name.lower() == "content-security-policy" for name in headers
        )
        assert "root:" not in body
        assert "import" not in body.split("<body", 1)[0] or "<!DOCTYPE html>" in body
        assert "site-packages" not in body
        assert "Traceback" not in body
