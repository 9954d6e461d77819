"""The attention page on a real model beside the model's own forward, and what the server holds.

    python -m benchmarks.real_page [--turns 7] [--tokens 64] [--model SmolLM2-135M-Instruct]

A new sentence is typed on a page that stands, and the clock runs until its picture is painted; the
rival is one forward of transformers, with its own attention, on the same tokens and one thread.
Both take turns, and the medians are held against each other: the page may take 1.3 times as long
and 300 ms. The server's memory, with this one model, may be 1.2 times the model's bytes in float32
and 400 MiB. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlencode

import torch
from playwright.sync_api import Page, sync_playwright

from benchmarks.load import memory_of, server_pid
from benchmarks.stage import QUIET_MS, WATCH_PICTURE
from mha_core.real.folder import find_model
from mha_view.scene import Scene, write_link
from tests.browser.conftest import ARGUMENTS
from tests.browser.find_browser import find_browser
from tests.browser.serving import serve
from tests.browser.waiting import WAIT, rest

MOST_FORWARDS, MOST_MORE = 1.3, 0.3  # times, and seconds
MOST_COPIES, MOST_REST = 1.2, 400  # times the numbers' bytes, and MiB
STARTS = ("House", "River", "Music", "Winter", "Paper", "Garden", "Bridge", "Summer", "Market")


def main() -> None:
    """Measure, print, and say whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    options = parser.parse_args()
    torch.set_num_threads(1)
    network, tokenizer = load_plainly(options.model)
    texts = [text_of(tokenizer, start, options.tokens) for start in STARTS * options.turns]
    texts = texts[: options.turns + 1]
    forwards, pages = [], []
    with serve("app.py") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(WAIT)
        scene = Scene(weights="real", real=options.model, text=f"{texts[0]} now", layer=16)
        page.goto(f"{address}/attention?{urlencode(write_link(scene))}")
        rest(page)
        page.evaluate(WATCH_PICTURE, False)
        for place, text in enumerate(texts):
            whole = time_sentence(page, text)
            forward = time_forward(network, tokenizer, text)
            if place:  # the first warms both up
                pages.append(whole)
                forwards.append(forward)
        held = memory_of(server_pid(address))
        browser.close()
    n_bytes = sum(each.numel() * 4 for each in network.parameters())
    sys.exit(not report(options.model, forwards, pages, held, n_bytes / 2**20))


def report(
    name: str, forwards: list[float], pages: list[float], held: float, numbers: float
) -> bool:
    """Print what was found; whether it is within the bounds."""
    forward, whole = (statistics.median(each) for each in (forwards, pages))
    allowed = MOST_FORWARDS * forward + MOST_MORE
    most = MOST_COPIES * numbers + MOST_REST
    print(f"{name}, medians of {len(pages)} turns")
    print(f"  transformers' forward   {forward * 1e3:8.0f} ms")
    print(f"  sentence to painted page{whole * 1e3:8.0f} ms, of {allowed * 1e3:.0f} allowed")
    print(f"  the server's memory     {held:8.0f} MiB, of {most:.0f} allowed")
    within = whole <= allowed and held <= most
    print("Within the bounds." if within else "NOT within the bounds.")
    return within


def load_plainly(name: str) -> tuple[Any, Any]:
    """A model as transformers loads it, and its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = find_model(name).folder
    network = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="sdpa", use_safetensors=True,
        trust_remote_code=False, local_files_only=True,
    ).eval()  # fmt: skip
    return network, AutoTokenizer.from_pretrained(folder, local_files_only=True)


def text_of(tokenizer: Any, start: str, n_tokens: int) -> str:
    """A sentence of so many tokens."""
    words = f"{start} and the old man by the sea saw a small boat that came home".split()
    text = start
    for place in range(1, 10 * n_tokens):
        if len(tokenizer(text)["input_ids"]) >= n_tokens:
            break
        text += f" {words[place % len(words)]}"
    return text


def time_sentence(page: Page, text: str) -> float:
    """Seconds from Enter to the last painted change of the page's pictures, by the page's clock."""
    box = page.locator(".st-key-text input")
    box.fill(text)
    box.press("Enter")
    # Looked at now and then: a look at every frame would make the page draw frames.
    done = f"() => times.last > 0 && performance.now() - times.last > {QUIET_MS}"
    page.wait_for_function(done, polling=200)
    rest(page)
    return float(page.evaluate("times.last - times.start")) / 1e3


def time_forward(network: Any, tokenizer: Any, text: str) -> float:
    """Seconds of one forward, the best of three."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    found = []
    for _ in range(3):
        began = time.perf_counter()
        with torch.no_grad():
            network(input_ids=ids)
        found.append(time.perf_counter() - began)
    return min(found)


if __name__ == "__main__":
    main()
