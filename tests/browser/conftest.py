"""A running app, a browser, and a page that may neither complain nor call out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
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
    # No request leaves this machine. A route that stops them would switch the cache off.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
WIDE = {"width": 1280, "height": 900}
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


class Contexts:
    """Contexts that tests take in turn, so that one finds what an earlier one loaded in the cache.

    A page's size, colours and motion are its own; contexts differ by every other setting. What a
    test leaves behind is cleared when its contexts are given back.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[BrowserContext]] = {}
        self._taken: list[tuple[str, BrowserContext]] = []

    def take(self, settings: dict[str, Any]) -> BrowserContext:
        """Give a context that no other page of this test has."""
        key = repr(sorted(settings.items()))
        free = self._free.setdefault(key, [])
        context = free.pop() if free else self._browser.new_context(**settings)
        self._taken.append((key, context))
        return context

    def give_back(self) -> None:
        """Close the pages of all that were taken, and forget what they kept."""
        for key, context in self._taken:
            for page in context.pages:
                if (url := urlsplit(page.url)).scheme == "http":
                    kept = {"origin": f"http://{url.netloc}", "storageTypes": "local_storage"}
                    context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
                page.close()
            context.clear_cookies()
            context.clear_permissions()
            self._free[key].append(context)
        self._taken.clear()


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Contexts:
    """The browser's contexts."""
    return Contexts(browser)


class Watch:
    """What a page must not do: complain in the console, fail, or call another machine."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.outside: list[str] = []

    def follow(self, context: BrowserContext) -> Callable[[], None]:
        """Record from every page of a context until what is given back is called."""
        heard = {
            "console": self._hear,
            "weberror": lambda failure: self.complaints.append(str(failure.error)),
            "request": self._note,
        }
        for kind, note in heard.items():
            context.on(kind, note)  # type: ignore[call-overload]

        def leave() -> None:
            for kind, note in heard.items():
                context.remove_listener(kind, note)

        return leave

    def _hear(self, message: ConsoleMessage) -> None:
        # On a deep link Streamlit's own script first asks for its health beside the page.
        if message.type == "error" and "/_stcore/" not in message.location["url"]:
            self.complaints.append(message.text)

    def _note(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in {"http", "https", "ws", "wss"} and url.hostname not in LOOPBACK:
            self.outside.append(request.url)


@pytest.fixture
def watch() -> Watch:
    """What the pages of this test have done wrong so far."""
    return Watch()


@pytest.fixture
def new_page(contexts: Contexts, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Open a page with settings of one's own: `new_page(color_scheme="dark")`."""
    leave: list[Callable[[], None]] = []

    def open_page(
        viewport: dict[str, int] = WIDE,
        color_scheme: Literal["light", "dark"] = "light",
        reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
        **settings: object,
    ) -> Page:
        context = contexts.take({"locale": "en-GB", **settings})
        context.set_default_timeout(WAIT)
        leave.append(watch.follow(context))
        page = context.new_page()
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return page

    yield open_page
    for each in leave:
        each()
    contexts.give_back()
    assert watch.outside == [], "a request was meant for another machine"
    assert watch.complaints == [], "the page complained in the console"


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page on a wide, light screen, in English."""
    return new_page()
