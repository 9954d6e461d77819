"""How fast the stage answers, and how much it sends; `benchmarks.ui` prints and keeps it.

Pointing: the pointer goes from token to token over Q, and the time from the event to the painted
ribbons is taken, while the frames that the websocket sends and receives are counted. A sentence:
two sentences take turns on the first page and on the attention page, and the time from Enter to
the last painted change of the stage, and of the attention page's pictures, is taken.
"""

from __future__ import annotations

import statistics
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, WebSocket

from mha_view.scene import Scene, write_link
from mha_view.texts import TEXTS
from mha_view.words import Words

SENTENCES = ("The dog ran because it was late.", "The boy sat on the chair because he was tired.")
MOST_POINTING_MS = 16.0
MOST_SENTENCE_RATIO = 1.0
MOST_BYTES, MOST_LARGE_BYTES = 120_000, 400_000
QUIET_MS = 700
WARM_UP = 3
TIMEOUT = 120_000

# Notes how long after each move of the pointer its ribbons had been painted.
WATCH_POINTER = """
() => {
  window.pointed = [];
  addEventListener("pointermove", (event) => {
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => {
        const taken = performance.now() - event.timeStamp;
        const ribbons = [...document.querySelectorAll(".th-ribbon")];
        window.pointed.push([taken, ribbons.map((one) => one.dataset.weight).join()]);
      };
      painted.port2.postMessage(null);
    });
  }, true);
}
"""
# Notes when Enter was pressed, and when the last picture that was drawn after it had been painted:
# the stage, or any of the page.
WATCH_PICTURE = """
(isStage) => {
  const times = (window.times = { start: 0, last: 0 });
  const isWanted = ({ target: { dataset } }) =>
    dataset.drawn && (!isStage || dataset.figure === "stage");
  new MutationObserver((changes) => {
    if (!changes.some(isWanted)) return;
    requestAnimationFrame(() => setTimeout(() => (times.last = performance.now())));
  }).observe(document.body, { subtree: true, attributeFilter: ["data-drawn"] });
  addEventListener("keydown", (event) => {
    if (event.key === "Enter") Object.assign(times, { start: performance.now(), last: 0 });
  }, true);
}
"""
COLUMN = """([share, down]) => {
  const { view } = document.querySelector('.th-layer[data-figure="stage"]');
  const box = view.layout.boxes.find(({ name }) => name === "q");
  const frame = view.board.getBoundingClientRect();
  return [frame.left + box.x + share * box.width, frame.top + box.y + down * box.height];
}"""


def open_stage(browser: Browser, address: str, scene: Scene, path: str = "") -> Page:
    """Open a page with the stage or its map, and wait until it is drawn."""
    page = browser.new_page(viewport={"width": 1280, "height": 1100})
    page.goto(f"{address}/{path}?{urlencode(write_link(scene))}")
    page.wait_for_selector(".th-layer[data-drawn]", timeout=TIMEOUT)
    page.wait_for_timeout(2_000)
    return page


def time_pointing(browser: Browser, address: str, changes: int) -> dict[str, Any]:
    """Point at one token after another: ms to the painted ribbons, frames over the websocket."""
    frames: list[object] = []
    page = browser.new_page(viewport={"width": 1280, "height": 1100})

    def follow(socket: WebSocket) -> None:
        for way in ("framesent", "framereceived"):
            socket.on(way, lambda frame: frames.append(frame))

    page.on("websocket", follow)
    page.goto(f"{address}/?{urlencode(write_link(Scene()))}")
    page.wait_for_selector(".th-layer[data-drawn]", timeout=TIMEOUT)
    page.wait_for_timeout(2_000)
    n_tokens: int = page.evaluate("document.querySelectorAll('.th-piece').length")
    page.evaluate(WATCH_POINTER)
    before = len(frames)
    for turn in range(changes + WARM_UP):
        share = ((5 * turn) % n_tokens + 0.5) / n_tokens
        page.mouse.move(*page.evaluate(COLUMN, [share, 0.3 + 0.4 * (turn % 2)]))
        page.wait_for_timeout(40)
    page.wait_for_timeout(200)
    sent = len(frames) - before
    taken: list[tuple[float, str]] = page.evaluate("window.pointed")[WARM_UP:]
    page.close()
    assert len({ribbons for _, ribbons in taken}) > n_tokens // 2, "the ribbons did not change"
    times = [round(time, 1) for time, _ in taken]
    return {"median_ms": round(statistics.median(times), 1), "frames": sent, "times_ms": times}


def time_sentences(browser: Browser, address: str, changes: int) -> dict[str, Any]:
    """Type sentences on two pages in turn: ms to the painted stage, and to the attention page."""
    pages = {name: open_stage(browser, address, Scene(), name) for name in ("", "attention")}
    for name, page in pages.items():
        page.evaluate(WATCH_PICTURE, name == "")
    times: dict[str, list[float]] = {name: [] for name in pages}
    for turn in range(changes + WARM_UP):
        for name, page in pages.items():
            page.bring_to_front()
            box = page.get_by_role("textbox", name=Words("en")("sentence.label"))
            box.fill(SENTENCES[turn % len(SENTENCES)])
            box.press("Enter")
            page.wait_for_function(
                f"() => times.last > 0 && performance.now() - times.last > {QUIET_MS}",
                timeout=TIMEOUT,
            )
            if turn >= WARM_UP:
                times[name].append(round(page.evaluate("times.last - times.start"), 1))
    for page in pages.values():
        page.close()
    medians = {name: round(statistics.median(taken), 1) for name, taken in times.items()}
    return {
        "median_ms": medians[""],
        "attention_ms": medians["attention"],
        "ratio": round(medians[""] / medians["attention"], 2),
        "times_ms": times[""],
        "attention_times_ms": times["attention"],
    }


def weigh(browser: Browser, address: str) -> dict[str, int]:
    """Bytes of the stage: for the first sentence, and at 1,024 tokens and the article's sizes."""
    scenes = {
        "default": Scene(),
        "article_1024": Scene(weights="article", text=TEXTS["long_en"], focus=700),
    }
    found = {}
    for name, scene in scenes.items():
        page = open_stage(browser, address, scene)
        found[name] = int(page.evaluate("document.querySelector('.th-layer').view.packet.length"))
        page.close()
    return found


def measure_stage(browser: Browser, address: str, changes: int) -> dict[str, Any]:
    """Everything the stage is held to."""
    return {
        "pointing": time_pointing(browser, address, 3 * changes),
        "sentence": time_sentences(browser, address, changes),
        "bytes": weigh(browser, address),
        "targets": {
            "pointing_ms": MOST_POINTING_MS,
            "frames": 0,
            "sentence_ratio": MOST_SENTENCE_RATIO,
            "bytes": MOST_BYTES,
            "large_bytes": MOST_LARGE_BYTES,
        },
    }


def is_reached(found: dict[str, Any]) -> bool:
    """Whether the stage meets its targets."""
    return bool(
        found["pointing"]["median_ms"] <= MOST_POINTING_MS
        and found["pointing"]["frames"] == 0
        and found["sentence"]["ratio"] <= MOST_SENTENCE_RATIO
        and found["bytes"]["default"] <= MOST_BYTES
        and found["bytes"]["article_1024"] <= MOST_LARGE_BYTES
    )


def print_stage(found: dict[str, Any]) -> None:
    """Print the stage's figures beside what they are to reach."""
    pointing, sentence, size = found["pointing"], found["sentence"], found["bytes"]
    print(
        f"stage, pointing to painted ribbons, median: {pointing['median_ms']:.1f} ms "
        f"(≤ {MOST_POINTING_MS:.0f}), {pointing['frames']} websocket frames (0)"
    )
    print(
        f"stage, sentence to painted picture, median: {sentence['median_ms']:.1f} ms, "
        f"{sentence['ratio']:.2f} × the attention page's (≤ {MOST_SENTENCE_RATIO})"
    )
    print(
        f"stage, bytes: {size['default']} (≤ {MOST_BYTES}); "
        f"{size['article_1024']} at 1,024 tokens and article sizes (≤ {MOST_LARGE_BYTES})"
    )
