"""How fast the pictures answer, beside what a user would pick instead.

    python -m benchmarks.ui [--changes 15] [--tokens 64]

In headless Chromium, in one run, taking turns: a slider is moved by one step, and the time from
the key press to the last change of a heatmap's picture, painted, is taken; so are the bytes that
came over the websocket. Then cells of the attention page are clicked, and the time to the last
change of the page's text, painted, is taken. Last, the gallery with every head of the shipped
model is sorted anew, and the time to the painted picture and the bytes are taken; and the stage is
pointed at, given new sentences and weighed, as `benchmarks.stage` says. Results go to
`benchmarks/results/ui.json`.

Ratios are what counts: a machine's single milliseconds say little.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.stage import is_reached, measure_stage, print_stage
from mha_view.scene import Scene, write_link
from mha_view.texts import TEXTS
from mha_view.words import Words
from tests.browser.conftest import ARGUMENTS
from tests.browser.find_browser import find_browser
from tests.browser.serving import serve

RESULTS = Path(__file__).parent / "results" / "ui.json"
MOST_RATIO = 0.5
MOST_BYTES = 260_000
GALLERY_TOKENS, GALLERY_HEADS = 32, 18
MEASURED_MS = 600_000  # how long the heads' roles may take to be measured, once for a server
QUIET_MS = 700  # no further change for this long: the answer is complete
WARM_UP = 3

# Notes when an event began and when the last change it caused had been painted.
WATCH = """
() => {
  const times = (window.times = {start: 0, last: 0});
  const isPicture = ({target, addedNodes, attributeName}) =>
    /href$/.test(attributeName ?? "") && target.closest?.(".heatmaplayer") ||
    [...addedNodes].some((node) => node.querySelector?.(".heatmaplayer image") ||
      (node.nodeName === "image" && node.closest(".heatmaplayer")));
  const isText = ({target, addedNodes, type}) =>
    type === "characterData" || [...addedNodes].some((node) => node.textContent);
  const look = (changes) => {
    const wanted = window.watchText ? isText : isPicture;
    if (!changes.some(wanted)) return;
    requestAnimationFrame(() => setTimeout(() => (times.last = performance.now())));
  };
  const watched = {subtree: true, childList: true, attributes: true, characterData: true};
  new MutationObserver(look).observe(document.body, watched);
  for (const name of ["keydown", "mousedown"]) {
    addEventListener(name, () => {
      times.start = performance.now();
      times.last = 0;
    }, true);
  }
}
"""


class Counter:
    """The bytes that came over a page's websockets."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._add))

    def _add(self, payload: str | bytes) -> None:
        self.bytes += len(payload)


def open_page(browser: Browser, address: str) -> tuple[Page, Counter]:
    """Open a page and wait until its heatmaps are drawn."""
    page = browser.new_page(viewport={"width": 1280, "height": 1100})
    counter = Counter(page)
    page.goto(address)
    page.wait_for_selector(".heatmaplayer image", timeout=60_000, state="attached")
    page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    return page, counter


def settle(page: Page) -> float:
    """Wait until nothing changes any more; return how long the answer took, ms."""
    page.wait_for_function(
        f"() => times.last > 0 && performance.now() - times.last > {QUIET_MS}", timeout=60_000
    )
    elapsed: float = page.evaluate("times.last - times.start")
    return elapsed


def time_slider(page: Page, counter: Counter, key: str) -> tuple[float, int]:
    """Move the slider by one step: ms to the painted picture, bytes over the websocket."""
    page.bring_to_front()
    page.get_by_role("slider", name="Seed").focus()
    before = counter.bytes
    page.keyboard.press(key)
    return settle(page), counter.bytes - before


def compare_sliders(browser: Browser, changes: int, tokens: int) -> dict[str, Any]:
    """Take turns between the two ways to draw."""
    with serve("benchmarks/ui_app/app.py") as address:
        pages = {
            how: open_page(browser, f"{address}/?how={how}&tokens={tokens}")
            for how in ("ours", "subplots")
        }
        taken: dict[str, list[tuple[float, int]]] = {how: [] for how in pages}
        for turn in range(changes + WARM_UP):
            for how, (page, counter) in pages.items():
                result = time_slider(page, counter, "ArrowRight")
                if turn >= WARM_UP:
                    taken[how].append(result)
        for page, _ in pages.values():
            page.close()
    found: dict[str, Any] = {how: summarise(results) for how, results in taken.items()}
    found["ratio"] = found["ours"]["median_ms"] / found["subplots"]["median_ms"]
    return found


def summarise(results: list[tuple[float, int]]) -> dict[str, Any]:
    """Return medians and the single times."""
    times = [round(time, 1) for time, _ in results]
    return {
        "median_ms": round(statistics.median(times), 1),
        "median_bytes": int(statistics.median(size for _, size in results)),
        "times_ms": times,
    }


def time_clicks(browser: Browser, changes: int) -> dict[str, Any]:
    """Click cells of the attention page: ms to the derivation, painted."""
    with serve("app.py") as address:
        page, _ = open_page(browser, f"{address}/attention?v=1&lang=en")
        page.evaluate("window.watchText = true")
        canvas = page.locator(".th-canvas").first
        canvas.scroll_into_view_if_needed()
        times = []
        for turn in range(changes + WARM_UP):
            row = 4 + turn % 5
            x, y = canvas.evaluate(
                """(node, row) => {
                  const {xaxis, yaxis} = node._fullLayout;
                  const tile = node.layout.shapes.find((shape) => shape.layer === "below");
                  const box = node.getBoundingClientRect();
                  return [box.left + xaxis._offset + xaxis.l2p(tile.x0 + 2.5),
                          box.top + yaxis._offset + yaxis.l2p(tile.y0 + row + 0.5)];
                }""",
                row,
            )
            page.mouse.move(x - 1, y)
            page.mouse.move(x, y)
            page.mouse.click(x, y)
            time = settle(page)
            if turn >= WARM_UP:
                times.append(round(time, 1))
        page.close()
    return {"median_ms": round(statistics.median(times), 1), "times_ms": times}


def gallery_text(n_tokens: int) -> str:
    """A sentence of so many tokens, `<bos>` counted: words of the vocabulary, one token each."""
    words = TEXTS["repeat"].split()
    return " ".join(words[place % len(words)] for place in range(n_tokens - 1))


def time_gallery(browser: Browser, changes: int) -> dict[str, Any]:
    """Sort the gallery anew: ms to the painted picture, bytes over the websocket."""
    words, scene = Words("en"), Scene(text=gallery_text(GALLERY_TOKENS))
    waiting = words("labels.pending", share="").split(":")[0]
    with serve("app.py") as address:
        page, counter = open_page(browser, f"{address}/gallery?{urlencode(write_link(scene))}")
        expect(page.get_by_text(waiting)).to_have_count(0, timeout=MEASURED_MS)
        taken = []
        for turn in range(changes + WARM_UP):
            page.get_by_role("combobox", name=words("gallery.sort")).click()
            page.keyboard.press("ArrowUp" if turn % 2 else "ArrowDown")
            before = counter.bytes
            page.keyboard.press("Enter")
            result = settle(page), counter.bytes - before
            if turn >= WARM_UP:
                taken.append(result)
        page.close()
    return {"tokens": GALLERY_TOKENS, "heads": GALLERY_HEADS, **summarise(taken)}


def main() -> None:
    """Measure, print, write the results; exit with 1 if a ratio or a size is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--changes", type=int, default=15, help="changes of each kind")
    parser.add_argument("--tokens", type=int, default=64, help="S")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        slider = compare_sliders(browser, options.changes, options.tokens)
        print_slider(slider, options.tokens)
        click = time_clicks(browser, options.changes)
        gallery = time_gallery(browser, options.changes)
        with serve("app.py") as address:
            stage = measure_stage(browser, address, options.changes)
        chromium = browser.version
        browser.close()
    results = {
        "tokens": options.tokens,
        "heads": 12,
        "changes": options.changes,
        "slider_to_paint": slider,
        "click_to_derivation": click,
        "gallery_sort_to_paint": gallery,
        "stage": stage,
        "targets": {"ratio": MOST_RATIO, "bytes": MOST_BYTES},
        "machine": {
            "processors": os.cpu_count(),
            "architecture": platform.machine(),
            "threads": os.environ.get("OMP_NUM_THREADS", "1"),
        },
        "versions": {name: version(name) for name in ("streamlit", "plotly", "numpy", "playwright")}
        | {"python": platform.python_version(), "chromium": chromium},
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"click to derivation, median: {click['median_ms']:.1f} ms")
    print(
        f"gallery, {GALLERY_HEADS} heads, S = {GALLERY_TOKENS}, order to painted picture, median: "
        f"{gallery['median_ms']:.1f} ms {gallery['median_bytes']} bytes"
    )
    print_stage(stage)
    reached = (
        is_reached(stage)
        and slider["ratio"] <= MOST_RATIO
        and slider["ours"]["median_bytes"] <= MOST_BYTES
    )
    sys.exit(0 if reached else 1)


def print_slider(slider: dict[str, Any], tokens: int) -> None:
    """Print the comparison of the two ways to draw."""
    print(f"12 heads, S = {tokens}, slider to painted picture, medians, one run")
    for how in ("ours", "subplots"):
        row = slider[how]
        print(f"  {how:<9} {row['median_ms']:8.1f} ms {row['median_bytes']:>9} bytes")
    print(f"  ratio {slider['ratio']:.2f} (to reach: ≤ {MOST_RATIO}); bytes ≤ {MOST_BYTES}")


if __name__ == "__main__":
    main()
