"""Waiting for what a test reads: a page that has come to rest, a value that has arrived."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page

# Long enough for a slow machine with two cores; a test that passes never waits for it.
WAIT = 120_000  # milliseconds

# What keeps a page from being at rest, in words. At rest, the server has said all, every component
# has drawn what it was given last, and the browser has neither a frame nor a task left, such as
# the redraw of what has just come in.
UNREST = """async (withPictures) => {
  const reasons = () => {
    const { testScriptState, testConnectionState } =
      document.querySelector('[data-testid="stApp"]')?.dataset ?? {};
    const pictures = [...document.querySelectorAll(".th-plot")];
    // The address bar is a component too, but has nothing to draw.
    const places = [...document.querySelectorAll('[data-testid="stBidiComponentRegular"]')]
      .filter((place) => !place.closest(".st-key-address"));
    return Object.entries({
      "the script runs": testScriptState !== "notRunning",
      "there is no connection": testConnectionState !== "CONNECTED",
      "something is stale": document.querySelector('[data-stale="true"]'),
      "something is being loaded": document.querySelector('[data-testid="stSkeleton"]'),
      "there is no picture": withPictures && !pictures.length,
      // One in a tab that is not open is drawn when it is.
      "a picture is not drawn":
        !pictures.every(({ dataset, clientWidth }) => dataset.drawn || !clientWidth),
      "a component is busy": !places.every((place) => place.getAttribute("aria-busy") === "false"),
    }).filter(([, isSo]) => isSo).map(([reason]) => reason);
  };
  if (reasons().length) return reasons();
  await new Promise(requestAnimationFrame);
  await new Promise(requestIdleCallback);
  return reasons();
}"""


def rest(page: Page, *, pictures: bool = True) -> None:
    """Wait until the page is at rest.

    Args:
        page: the page.
        pictures: whether at least one picture is to be there.
    """
    until(page, lambda: page.evaluate(UNREST, pictures), [])


def until(page: Page, read: Callable[[], object], expected: object) -> None:
    """Wait until `read` gives what is expected; in the end, assert it."""
    end = time.monotonic() + WAIT / 1000
    while (found := read()) != expected and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert found == expected, f"waited for {expected}, found {found}"
