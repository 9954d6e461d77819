"""Several processes behind the proxy: one is killed, and its reader goes on where they were."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest
from playwright.sync_api import Page, expect

from mha_view.scene import Scene, write_link
from mha_view.words import Words
from tests.browser.find_browser import find_proxy
from tests.browser.serving import ROOT, serve_processes
from tests.browser.waiting import WAIT

# What the page goes through: the connection lost, then a run of the script from start to end.
WATCH = """
() => {
  const app = document.querySelector("[data-testid=stApp]");
  window.seen = [];
  const note = (state) => window.seen.at(-1) === state || window.seen.push(state);
  new MutationObserver(() => {
    if (app.dataset.testConnectionState !== "CONNECTED") note("lost");
    else if (app.dataset.testScriptState === "running" || window.seen.at(-1) === "running")
      note(app.dataset.testScriptState);
  }).observe(app, { attributes: true });
}
"""
SENTENCE = "The queen saw the king because she was tired."


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The app in two processes behind Debian's HAProxy: its address, and what it printed."""
    assert find_proxy() is not None, "HAProxy is missing: tests.browser.find_browser --install"
    log = tmp_path_factory.mktemp("processes") / "serve.log"
    with serve_processes(2, log) as address:
        yield address, log


def number_of(page: Page) -> int:
    """Which process serves a page, as the proxy's cookie tells."""
    [number] = [
        int(cookie["value"].removeprefix("app"))
        for cookie in page.context.cookies()
        if cookie["name"] == "TWELVE_HEADS"
    ]
    return number


def process_of(page: Page, log: Path) -> int:
    """The process that serves a page."""
    number = number_of(page)
    ports = re.findall(r"URL: http://localhost:(\d+)", log.read_text())
    found = {}
    for port in set(ports):
        listed = subprocess.run(
            ["pgrep", "-f", f"server.port={port} "], capture_output=True, text=True, check=False
        )
        found[int(port)] = [int(pid) for pid in listed.stdout.split()]
    # app1 is the first port the proxy was told of, and the first process that was started.
    by_start = sorted(found.items(), key=lambda entry: min(entry[1]))
    return by_start[number - 1][1][0]


def test_a_killed_process_loses_nobodys_place(
    new_page: Callable[..., Page], processes: tuple[str, Path], watch: object
) -> None:
    address, log = processes
    link = write_link(Scene(text=SENTENCE, head=3, layer=1))
    page = new_page()
    page.goto(address + "/attention?" + "&".join(f"{name}={value}" for name, value in link.items()))
    title = Words("en").lesson("attention", "title")
    expect(page.get_by_role("heading", name=title)).to_be_visible(timeout=WAIT)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=WAIT)
    here = page.url

    page.evaluate(WATCH)
    before = number_of(page)
    os.kill(process_of(page, log), signal.SIGKILL)
    end = monotonic() + WAIT / 1000
    while number_of(page) == before:
        assert monotonic() < end, "no other process has taken the reader"
        page.wait_for_timeout(100)
    # The page asks for itself; once it has been drawn anew, what is clicked is answered.
    page.wait_for_function(
        "() => window.seen.join(' ').includes('lost running notRunning')", timeout=WAIT
    )
    page.get_by_text("中文", exact=True).first.click(timeout=WAIT)
    in_chinese = Words("zh").lesson("attention", "title")
    expect(page.get_by_role("heading", name=in_chinese)).to_be_visible(timeout=WAIT)
    page.wait_for_url(here.replace("lang=en", "lang=zh"))
    expect(page.get_by_role("textbox").first).to_have_value(SENTENCE)
    # The browser says that its websocket broke, and that is all it has to say.
    heard, watch.complaints = watch.complaints, []  # type: ignore[attr-defined]
    assert all("WebSocket" in said or "Failed to load" in said for said in heard), heard


def test_the_killed_process_is_started_again(processes: tuple[str, Path]) -> None:
    address, log = processes
    end = monotonic() + 240
    while log.read_text().count("URL: http://localhost") < 3:
        assert monotonic() < end, log.read_text()
        signal.sigtimedwait([], 0.3)
    assert "starting another" in log.read_text()
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("backend", ["containers", "processes"])
def test_the_proxy_takes_its_configuration(backend: str, tmp_path: Path) -> None:
    proxy = find_proxy()
    if proxy is None:
        pytest.fail("HAProxy is missing: python -m tests.browser.find_browser --install")
    second = ROOT / "deploy" / "containers.cfg"
    if backend == "processes":
        from deploy.serve import write_backend

        second = tmp_path / "processes.cfg"
        second.write_text(write_backend([9001, 9002]))
    found = subprocess.run(
        [proxy, "-c", "-f", str(ROOT / "deploy" / "haproxy.cfg"), "-f", str(second)],
        env={"PROXY_BIND": "127.0.0.1:9000"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
