"""The pages that relate the layer to real models, in a real browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mha_core.model.digits import digit_from_canvas
from mha_core.model.vit import load_vit
from mha_core.sizes import measure, read_bundled
from mha_core.sizes.bundled import FOLDER
from mha_view.relate.drawing import unpack_drawing
from mha_view.scene import Scene, write_link
from mha_view.words import Words
from tests.browser.axe import severe_findings
from tests.browser.test_pages import OWN_SIZES, figure, pick, query_of, settle, visit
from tests.browser.waiting import until
from tests.core.test_sizes_gguf import write as write_gguf

WORDS = Words("en")


@pytest.mark.parametrize("name", ["sizes", "grouped", "vit"])
def test_no_page_has_severe_faults_or_is_wider_than_a_phone(
    new_page: object, server: str, name: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")  # type: ignore[operator]
    visit(page, server, name)
    assert severe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_dropped_config_is_measured_and_a_bad_one_leaves_the_box(
    page: Page, server: str, tmp_path: Path
) -> None:
    page.goto(f"{server}/sizes?{OWN_SIZES}&model=file")
    settle(page, pictures=False)
    chooser = page.locator('[data-testid="stFileUploader"] input')
    chooser.set_input_files(FOLDER / "llama2-7b-chat.json")
    box = page.locator("textarea")
    expect(box).to_have_value((FOLDER / "llama2-7b-chat.json").read_text("utf-8"))
    expect(page.locator(".stMain")).to_contain_text("6,738,415,616")
    settle(page)
    # A link restores it.
    until(page, lambda: "c" in query_of(page), True)
    broken = tmp_path / "config.json"
    broken.write_bytes(b"\xc3\x28")
    chooser.set_input_files(broken)
    expect(page.get_by_role("alert").first).to_contain_text("utf-8")
    expect(box).to_have_value((FOLDER / "llama2-7b-chat.json").read_text("utf-8"))


def test_pasting_typing_mending_and_dropping_a_file(
    page: Page, server: str, tmp_path: Path
) -> None:
    page.goto(f"{server}/sizes?{OWN_SIZES}&lang=zh&model=file")
    settle(page, pictures=False)
    box = page.locator("textarea")
    box.fill('{"hidden_size": 30, "num_attention_heads": 4}')
    box.blur()
    error = page.locator('[data-testid="stAlert"]')
    expect(error).to_contain_text("num_hidden_layers")
    settle(page, pictures=False)
    box.fill('{"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, '
             '"model_type": "llama"}')  # fmt: skip
    box.blur()
    expect(page.locator(".stMain")).to_contain_text("[32, 32]")
    settle(page)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    settle(page)
    expect(page.locator("textarea")).to_have_value(
        '{"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, '
        '"model_type": "llama"}'
    )
    page.locator("input[type=file]").set_input_files(write_gguf(tmp_path / "model.gguf"))
    expect(page.locator(".stMain")).to_contain_text("[60, 44]")
    settle(page)
    expect(page.get_by_text(Words("zh")("sizes.gguf.here", name="model.gguf"))).to_be_visible()


def test_what_fits_wavelengths_and_batches(page: Page, server: str) -> None:
    scene = Scene(model="llama3.1-8b", others=(), batch=4, memory=48)
    page.goto(f"{server}/sizes?{urlencode(write_link(scene))}")
    settle(page)
    main = page.locator(".stMain")
    llama = measure(read_bundled("llama3.1-8b"), totals=False)
    for memory in (48, 32):
        tokens = llama.context_that_fits(memory * 2**30, "file", "fp16", 4)
        memory_box = page.get_by_role("spinbutton", name=WORDS("fits.memory"))
        memory_box.fill(str(memory))
        memory_box.press("Enter")
        expect(main).to_contain_text(f"{tokens:,}")
        settle(page)
    until(page, lambda: query_of(page).get("gib"), "32")
    for name, lines in (("cache", 1), ("fits", 1), ("wavelengths", 2)):
        if name == "wavelengths":
            parts = page.get_by_test_id("stButtonGroup")
            parts.get_by_text(WORDS("sizes.show.waves"), exact=True).click()
        expect(figure(page, name).locator(".scatterlayer .trace")).to_have_count(lines)
    assert severe_findings(page) == []


def test_the_layer_is_to_scale_on_the_screen(page: Page, server: str) -> None:
    visit(page, server, "sizes")
    sides = figure(page, "layer").locator(".th-canvas").evaluate(
        """(node) => [...node.querySelectorAll(".scatterlayer .js-fill")].map((path) => {
             const {width, height} = path.getBBox();
             return [width, height];
           })"""
    )  # fmt: skip
    # Llama 3.1 8B: W_q 4096 × 4096, W_k and W_v 1024 × 4096, W_o 4096 × 4096.
    assert len(sides) == 4
    wide, high = sides[0]
    assert high == pytest.approx(wide, rel=0.02)
    assert sides[1][0] == pytest.approx(wide, rel=0.02)
    assert sides[1][1] == pytest.approx(wide / 4, rel=0.02)


def test_the_player_plays_to_the_end_and_shows_the_difference(page: Page, server: str) -> None:
    visit(page, server, "grouped", f"{OWN_SIZES}&share=2")
    chart = figure(page, "decode")
    chart.scroll_into_view_if_needed()
    reading = chart.locator("output")
    moving = chart.locator('input[type="range"]')
    last = int(moving.get_attribute("max") or "0")
    expect(reading).to_contain_text(f"S = {last + 1} ")
    filled = "(node) => node.data[0].z.map((row) => row.filter((v) => !isNaN(v)).length)[0]"
    # The words change at once, the picture with the next frame.
    until(page, lambda: chart.locator(".th-canvas").evaluate(filled), last + 1)
    moving.focus()
    moving.press("Home")
    expect(reading).to_contain_text("S = 1 ")
    until(page, lambda: chart.locator(".th-canvas").evaluate(filled), 1)
    chart.locator(".th-play").click()
    expect(reading).to_contain_text(f"S = {last + 1} ")
    expect(reading).to_contain_text("Δ = ")


def test_a_drawn_digit_is_what_the_model_gets(page: Page, server: str) -> None:
    page.goto(f"{server}/vit?{OWN_SIZES}&drawn=1")
    settle(page)
    board = page.locator(".th-paper")
    box = board.bounding_box()
    assert box is not None
    path = [(0.3, 0.15), (0.72, 0.15), (0.6, 0.4), (0.45, 0.9)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in path]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.search.includes('ink=')")
    settle(page)
    pixels = unpack_drawing(query_of(page)["ink"])
    assert 120 < pixels.sum() < 400
    assert pixels[5, 12]
    assert pixels[5, 20]
    assert not pixels[20:, 24:].any()
    trace = load_vit().trace(digit_from_canvas(pixels))
    says = WORDS("vit.says", digit=trace.digit, share=f"{trace.probabilities.max():.0%}")
    expect(page.locator(".stMain")).to_contain_text(says.replace("**", ""))
    # A second stroke adds to the first, and a link brings both back.
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"])
    page.wait_for_function(f"() => !location.search.includes('ink={query_of(page)['ink']}')")
    settle(page)
    more = unpack_drawing(query_of(page)["ink"])
    assert more.sum() > pixels.sum()
    assert more[pixels].all()
    page.reload()
    settle(page)
    dark = "(node) => node.getContext('2d').getImageData(0, 0, 320, 320).data.filter((v, i) => i % 4 === 0 && v < 60).length"  # noqa: E501
    assert board.evaluate(dark) == pytest.approx(100 * more.sum(), rel=0.02)


def extent(ink: str) -> tuple[list[int], list[int]]:
    """The first and the last row, and column, that have ink; nothing where there is none."""
    rows, columns = np.nonzero(unpack_drawing(ink))
    ends = [sorted({int(places.min()), int(places.max())}) if places.size else []
            for places in (rows, columns)]  # fmt: skip
    return ends[0], ends[1]


def test_the_board_can_be_drawn_on_and_cleared_by_keyboard(page: Page, server: str) -> None:
    page.goto(f"{server}/vit?{OWN_SIZES}&drawn=1")
    settle(page)
    board = page.locator(".th-paper")
    expect(board).to_have_attribute("aria-description", WORDS("canvas.keys"))
    board.focus()
    board.press("Space")
    for _ in range(6):
        board.press("ArrowDown")
    board.press("Space")
    board.press("ArrowRight")
    # From the middle, six pixels down, with a pen of five.
    until(page, lambda: extent(query_of(page).get("ink", "")), ([14, 24], [14, 18]))
    settle(page)
    board.focus()
    board.press("Delete")
    page.wait_for_function("() => !location.search.includes('ink=')")
    settle(page)
    expect(page.locator(".stMain")).to_contain_text(WORDS("canvas.empty"))


def test_a_patch_is_picked_on_the_image_and_in_the_matrix(page: Page, server: str) -> None:
    visit(page, server, "vit", f"{OWN_SIZES}&digit=8&head=0")
    pick(page, "patch_pattern", 3, 12)
    page.wait_for_function("() => location.search.includes('patch=12')")
    settle(page)
    # The middle of the patch in row 0, column 3: pixels 6 and 7 of rows 0 and 1.
    pick(page, "patches", 6.5, 0.5)  # type: ignore[arg-type]
    page.wait_for_function("() => location.search.includes('patch=3')")
    settle(page)
    expect(page.locator(".stMain")).to_contain_text(WORDS("vit.on_image", patch=3, head=0))
