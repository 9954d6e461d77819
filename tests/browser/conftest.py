"""A running app, a browser, and a page that may neither complain nor call out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.browser.find_browser import NAMES, NO_BROWSER, find_browser
from tests.browser.serving import serve
from tests.browser.waiting import WAIT

expect.set_options(timeout=WAIT)

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# On a page other than the first, Streamlit's own script looks for its server under that page's
# path before it looks one level up, and the browser reports the misses.
PROBES = ("/_stcore/health", "/_stcore/host-config")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app itself, started once for all tests."""
    log = tmp_path_factory.mktemp("server") / "app.log"
    with serve("app.py", log=log) as address:
        yield address


@pytest.fixture(scope="session")
def components_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The fixture app with one page of components, under a path of its own."""
    log = tmp_path_factory.mktemp("components") / "app.log"
    with serve("tests/browser/apps/app.py", base="some/path", log=log) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    path = find_browser()
    if path is None:
        pytest.fail(NO_BROWSER.format(names=", ".join(NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Watch:
    """What a page must not do: complain in the console, fail, or call another machine."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.outside: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        """Record from every page of a context, and let no request leave this machine."""
        context.on("console", self._hear)
        context.on("weberror", lambda failure: self.complaints.append(str(failure.error)))
        context.route("**/*", self._gate)

    def _hear(self, message: ConsoleMessage) -> None:
        # On a deep link Streamlit's own script first asks for its health beside the page.
        if message.type == "error" and "/_stcore/" not in message.location["url"]:
            self.complaints.append(message.text)

    def _gate(self, route: object, request: object) -> None:
        url = urlsplit(request.url)  # type: ignore[attr-defined]
        if url.scheme in {"http", "https", "ws", "wss"} and url.hostname not in LOOPBACK:
            self.outside.append(request.url)  # type: ignore[attr-defined]
            route.abort()  # type: ignore[attr-defined]
        else:
            route.fallback()  # type: ignore[attr-defined]


@pytest.fixture
def watch() -> Watch:
    """What the pages of this test have done wrong so far."""
    return Watch()


@pytest.fixture
def new_page(browser: Browser, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Open a page with settings of one's own: `new_page(color_scheme="dark")`."""
    contexts: list[BrowserContext] = []

    def open_page(**settings: object) -> Page:
        settings = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **settings}
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        context.set_default_timeout(WAIT)
        watch.follow(context)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    assert watch.outside == [], "a request left this machine"
    assert watch.complaints == [], "the page complained in the console"


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page on a wide, light screen, in English."""
    return new_page()
