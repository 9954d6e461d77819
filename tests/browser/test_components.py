"""What only a browser can show of the components."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.apps.patterns import HEADS, TOKENS, make_pattern
from tests.browser.axe import severe_findings
from tests.browser.waiting import rest, until


def open_components(page: Page, address: str, query: str = "") -> Locator:
    """Open the fixture app and return its grid of heads once everything is drawn."""
    page.goto(f"{address}/{query}")
    grid = figure(page, "pattern")
    expect(grid).to_be_visible()
    rest(page)
    return grid


def figure(page: Page, name: str) -> Locator:
    """Return a figure by its export's name."""
    return page.locator(f'.th-plot[data-figure="{name}"]')


def view_of(grid: Locator) -> dict[str, list[float]]:
    """Return the ranges the figure shows now."""
    ranges: dict[str, list[float]] = grid.locator(".th-canvas").evaluate(
        "node => ({x: node._fullLayout.xaxis.range, y: node._fullLayout.yaxis.range})"
    )
    return ranges


def cell_centre(grid: Locator, x: int, y: int) -> tuple[float, float]:
    """Return where, in pixels of the window, a cell of the laid-out grid lies."""
    grid.scroll_into_view_if_needed()
    left, top = grid.locator(".th-canvas").evaluate(
        """(node, [x, y]) => {
          const {xaxis, yaxis} = node._fullLayout;
          const box = node.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
        }""",
        [x, y],
    )
    return left, top


def click_cell(page: Page, grid: Locator, x: int, y: int) -> None:
    """Click a cell as a hand does: move there, then press."""
    left, top = cell_centre(grid, x, y)
    page.mouse.move(left - 1, top - 1)
    page.mouse.move(left, top)
    page.mouse.click(left, top)


def set_seed(page: Page, key: str = "ArrowRight") -> None:
    """Move the fixture app's slider by one step."""
    page.get_by_role("slider", name="Seed").press(key)


def tile(grid: Locator, head: int) -> dict[str, int]:
    """Return where the first cell of a head lies in the laid-out grid."""
    corner: dict[str, int] = grid.evaluate(
        """async (node, head) => {
          const shapes = node.querySelector(".th-canvas").layout.shapes;
          const tile = shapes.filter((shape) => shape.layer === "below")[head];
          return {x: tile.x0 + 0.5, y: tile.y0 + 0.5};
        }""",
        head,
    )
    return corner


def test_the_grid_its_tip_and_its_table_show_the_numbers_it_was_given(
    page: Page, components_server: str
) -> None:
    grid = open_components(page, components_server)
    corner = tile(grid, 4)
    drawn = grid.locator(".th-canvas").evaluate(
        "(node, {x, y}) => Array.from({length: 12}, (_, row) =>"
        " Array.from(node.data[0].z[y + row].slice(x, x + 12), (v) => isNaN(v) ? null : v))",
        corner,
    )
    expected = make_pattern(0, 12)[4].astype(np.float64)
    np.testing.assert_array_equal(np.array(drawn, dtype=np.float64), expected)
    corner = tile(grid, 0)
    left, top = cell_centre(grid, corner["x"] + 6, corner["y"] + 9)
    page.mouse.move(left - 2, top - 2)
    page.mouse.move(left, top)
    value = make_pattern(0, 12)[0, 9, 6]
    expect(grid.locator(".th-tip")).to_have_text(f"head 0 · 猫 → <b>: {value:.3f}")
    grid.get_by_role("button", name="Table").click()
    grid.locator("select").select_option("pattern, head 5")
    row = grid.locator("table tbody tr").nth(9)
    expect(row.locator("th")).to_have_text(TOKENS[9])
    value = make_pattern(0, 12)[5, 9, 3]
    expect(row.locator("td").nth(3)).to_have_text(
        f"{value:.3f}" if value >= 5e-4 else re.compile("e")
    )


def test_zoom_is_kept_when_a_slider_moves(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server)
    start = view_of(grid)
    left, top = cell_centre(grid, 2, 4)
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + 120, top + 110, steps=5)
    page.mouse.up()
    until(page, lambda: view_of(grid)["x"] != start["x"], True)
    rest(page)
    zoomed = view_of(grid)
    set_seed(page)
    expect(page.get_by_text("seed drawn: 1")).to_be_visible()
    expect(grid.locator(".th-canvas")).to_have_count(1)
    for seed in (2, 3):
        set_seed(page)
        expect(page.get_by_text(f"seed drawn: {seed}")).to_be_visible()
    rest(page)
    # Plotly rounds a range to whole pixels; a tenth of a cell is less than two.
    kept = view_of(grid)
    assert kept["x"] == pytest.approx(zoomed["x"], abs=0.1)
    assert kept["y"] == pytest.approx(zoomed["y"], abs=0.1)


def test_a_click_comes_back_as_a_cell(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server)
    corner = tile(grid, 3)
    click_cell(page, grid, corner["x"] + 1, corner["y"] + 9)
    picked = "picked: Cell(figure='pattern', head=3, row=9, column=1)"
    expect(page.get_by_text(picked)).to_be_visible()
    value = make_pattern(0, 12)[3, 9, 1]
    expect(grid.locator(".th-live")).to_have_text(f"head 3 · 猫 → the: {value:.3f}")


def test_arrow_keys_move_the_cell_and_escape_clears(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server)
    canvas = grid.locator(".th-canvas")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "PageDown"):
        canvas.press(key)
    at = "picked: Cell(figure='pattern', head={}, row={}, column={})"
    expect(page.get_by_text(at.format(1, 2, 1))).to_be_visible()
    canvas.press("End")
    canvas.press("ArrowRight")
    expect(page.get_by_text(at.format(1, 2, 11))).to_be_visible()
    expect(grid.locator(".th-live")).to_have_text("head 1 · cat → .: masked")
    canvas.press("Escape")
    expect(page.get_by_text("picked: None")).to_be_visible()
    expect(grid.locator(".th-live")).to_have_text("No cell is picked.")


def test_a_key_pressed_before_the_picture_is_there_counts(
    page: Page, components_server: str
) -> None:
    held: list[Route] = []
    page.route("**/plotly.min.js", lambda route: held.append(route))
    page.goto(components_server)
    grid = figure(page, "pattern")
    canvas = grid.locator(".th-canvas")
    canvas.focus()
    canvas.press("ArrowDown")
    canvas.press("ArrowDown")
    picked = "picked: Cell(figure='pattern', head=0, row=1, column=0)"
    expect(page.get_by_text(picked)).to_be_visible()
    expect(grid).not_to_have_attribute("data-drawn", re.compile(""))
    held[0].fallback()
    rest(page)
    # The answer overtook the first drawing, which is therefore given up, and stays on the screen.
    expect(grid.locator(".heatmaplayer image")).to_be_visible()
    expect(canvas).to_be_focused()
    canvas.press("End")
    expect(
        page.get_by_text("picked: Cell(figure='pattern', head=0, row=1, column=11)")
    ).to_be_visible()


def test_the_mark_follows_what_the_page_selects(page: Page, components_server: str) -> None:
    open_components(page, components_server)
    single = figure(page, "single")
    outlines = "node => node.layout.shapes.filter((s) => s.layer === 'above').map((s) => s.x0)"
    assert single.locator(".th-canvas").evaluate(outlines) == [0.5, 0.5]
    single.locator(".th-canvas").focus()
    single.locator(".th-canvas").press("ArrowRight")
    assert single.locator(".th-canvas").evaluate(outlines) == [1.5, 1.5]
    expect(
        page.get_by_text("single: Cell(figure='single', head=2, row=3, column=2)")
    ).to_be_visible()


def test_frames_turn_without_the_server(page: Page, components_server: str) -> None:
    open_components(page, components_server)
    turns = page.locator(".th-plot", has=page.locator(".th-frames"))
    slider = turns.get_by_role("slider", name="position")
    tip = "node => Array.from(node.data[1].x)[1]"
    slider.evaluate("node => { node.value = 32; node.dispatchEvent(new Event('input')); }")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.th-canvas')].at(-1).data[1].x[1] < -0.99"
    )
    assert turns.locator(".th-canvas").evaluate(tip) == pytest.approx(-1)
    expect(page.get_by_text("frame: None")).to_be_visible()
    slider.evaluate("node => node.dispatchEvent(new Event('change'))")
    expect(page.get_by_text("frame: 32")).to_be_visible()
    set_seed(page)
    expect(page.get_by_text("seed drawn: 1")).to_be_visible()
    rest(page)
    until(page, lambda: turns.locator(".th-canvas").evaluate(tip), pytest.approx(-1))


def test_a_long_table_says_what_it_hides(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server, "?tokens=70")
    grid.get_by_role("button", name="Table").click()
    note = "Shown: the first 64 of 70 rows and 48 of 70 columns."
    expect(grid.locator(".th-note")).to_contain_text(note)


# --- Downloads --------------------------------------------------------------------------------


def save(page: Page, grid: Locator, label: str, folder: Path) -> Path:
    """Use the menu as a reader does, and return the file."""
    grid.locator("summary").click()
    with page.expect_download() as started:
        grid.get_by_role("button", name=label).click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


SETTINGS = {"text": "the cat saw the 12 <b> & dog 猫", "seed": 0, "figure": "pattern"}


def test_every_file_holds_the_numbers_and_carries_its_settings(
    page: Page, new_page: Callable[..., Page], components_server: str, tmp_path: Path
) -> None:
    grid = open_components(page, components_server)
    check_npz(save(page, grid, "NumPy", tmp_path))
    check_csv(save(page, grid, "CSV", tmp_path))
    check_png(save(page, grid, "slides", tmp_path))
    check_svg(save(page, grid, "SVG", tmp_path))
    alone = new_page(offline=True, viewport={"width": 1280, "height": 2000})
    check_html(save(page, grid, "HTML", tmp_path), alone)


def check_npz(path: Path) -> None:
    """The arrays exactly, and what each axis counts."""
    with np.load(path) as file:
        assert all(np.issubdtype(file[name].dtype, np.number) for name in file)
        assert file["pattern"].dtype == np.float32
        np.testing.assert_array_equal(file["pattern"], make_pattern(0, 12))
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.comment)
    for axis in ("query", "key"):
        assert about["names"][axis] == [TOKENS[place % len(TOKENS)] for place in range(12)]
    assert about["axes"]["pattern"] == ["head", "query", "key"]
    assert about["settings"] == SETTINGS


def check_csv(path: Path) -> None:
    """A table with its words."""
    table = pd.read_csv(path)
    names = ["array", "head", "query", "query_name", "key", "key_name", "value", "settings"]
    assert list(table.columns) == names
    assert set(table["array"]) == {"pattern"}
    assert json.loads(table["settings"][0]) == SETTINGS
    assert table["settings"][1:].isna().all()
    tokens = [TOKENS[place % len(TOKENS)] for place in range(12)]
    for axis in ("query", "key"):
        assert [tokens[place] for place in table[axis]] == list(table[f"{axis}_name"])
    back = np.full((HEADS, 12, 12), -1, np.float32)
    back[table["head"], table["query"], table["key"]] = table["value"].astype(np.float32)
    np.testing.assert_array_equal(back, make_pattern(0, 12))


def check_png(path: Path) -> None:
    """A sound picture that carries its settings."""
    data, chunks, at = path.read_bytes(), {}, 8
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert checksum == zlib.crc32(kind + content)
        chunks[kind] = content
        at += 12 + length
    assert chunks[b"iTXt"].startswith(b"settings\0\0\0\0\0")
    assert json.loads(chunks[b"iTXt"][13:]) == SETTINGS
    assert struct.unpack(">II", chunks[b"IHDR"][:8])[0] > 600


def check_svg(path: Path) -> None:
    """A drawing that carries its settings."""
    from xml.etree import ElementTree

    tree = ElementTree.parse(path).getroot()
    metadata = tree.find("{http://www.w3.org/2000/svg}metadata")
    assert metadata is not None
    assert json.loads(metadata.text or "") == SETTINGS
    assert "head 5" in path.read_text(encoding="utf-8")


def check_html(path: Path, alone: Page) -> None:
    """A page of its own that needs no network."""
    alone.goto(path.as_uri())
    plot = alone.locator("#figure-0")
    expect(plot.locator(".heatmaplayer image")).to_have_count(1)
    assert json.loads(alone.locator("#settings").text_content() or "") == SETTINGS
    assert path.stat().st_size < 300_000
    packed = base64.b64decode(alone.locator("#figures").text_content() or "")
    kept = json.loads(zlib.decompress(packed, wbits=-15))
    [matrices] = kept["figures"]
    for matrix, expected in zip(matrices, make_pattern(0, 12), strict=True):
        drawn = np.frombuffer(base64.b64decode(matrix["values"]["bdata"]), np.float32)
        np.testing.assert_array_equal(drawn.reshape(12, 12), expected)
    # What lies under the pointer is said, in whichever tile.
    for head, row in ((0, 5), (2, 7), (5, 11), (3, 10)):
        column = int(np.nanargmax(make_pattern(0, 12)[head, row]))
        matrix = matrices[head]
        place = matrix["place"]
        across = matrix["at"]["x"][0] + column, place["x"]
        down = matrix["at"]["y"][0] + row, place["y"]
        share = [(at - first) / (last - first) for at, (first, last) in (across, down)]
        box = plot.locator("svg").first.bounding_box()
        assert box is not None
        alone.mouse.move(
            box["x"] + place["left"] + share[0] * place["width"],
            box["y"] + place["top"] + share[1] * place["height"],
        )
        value = f"{make_pattern(0, 12)[head, row, column]:.3f}"
        query, key = (TOKENS[at % len(TOKENS)] for at in (row, column))
        expect(alone.locator("#cell")).to_have_text(f"head {head} · {query} → {key}: {value}")


def test_large_arrays_come_when_they_are_saved(
    page: Page, components_server: str, tmp_path: Path
) -> None:
    sizes: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda f: sizes.append(len(f))))
    grid = open_components(page, components_server, "?tokens=70")
    before = sum(sizes)
    path = save(page, grid, "NumPy", tmp_path)
    with np.load(path) as file:
        np.testing.assert_array_equal(file["pattern"], make_pattern(0, 70))
    assert sum(sizes) > before
    # A later run neither sends nor saves them again: a second save is a second request.
    set_seed(page)
    expect(page.get_by_text("seed drawn: 1")).to_be_visible()
    with np.load(save(page, grid, "NumPy", tmp_path)) as file:
        np.testing.assert_array_equal(file["pattern"], make_pattern(1, 70))


HARD = [
    ",",
    '"',
    "\n",
    " ",
    "=1+1",
    "-",
    "+",
    "@cmd",
    "-3",
    "😀",
    "ḍ¹",
    "'",
    "a\r\nb",
    "12",
    "我",
]


def test_any_words_survive_in_files(page: Page, components_server: str, tmp_path: Path) -> None:
    open_components(page, components_server)
    address = page.evaluate(
        """() => performance.getEntriesByType("resource").map((entry) => entry.name)
             .find((name) => name.endsWith("/files.js"))"""
    )
    given = {"labels": {"token": HARD}, "axes": {"a,b": ["token"]}, "settings": {"text": "x,\n"}}
    files = page.evaluate(
        """async ([address, given]) => {
          const { csv, npz } = await import(address);
          const values = Float32Array.from(given.labels.token, (_, place) => place);
          const full = { ...given, arrays: { "a,b": { values, shape: [values.length] } } };
          const bytes = new Uint8Array(await npz(full).arrayBuffer());
          return [await csv(full).text(), [...bytes]];
        }""",
        [address, given],
    )
    table = pd.read_csv(io.StringIO(files[0], newline=""), keep_default_na=False)
    shown = [f"'{name}" if name in ("=1+1", "@cmd") else name for name in HARD]
    assert list(table["token_name"]) == shown, "a formula stays text, all else is as it was"
    assert list(table["value"]) == list(range(len(HARD)))
    assert json.loads(table["settings"][0]) == given["settings"]
    path = tmp_path / "words.npz"
    path.write_bytes(bytes(files[1]))
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.comment)["names"]["token"] == HARD


def test_a_whole_page_works_alone(
    page: Page, new_page: Callable[..., Page], components_server: str, tmp_path: Path
) -> None:
    open_components(page, components_server)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save this page").click()
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    assert path.name == "lesson.html"
    alone = new_page(offline=True)
    alone.goto(path.as_uri())
    expect(alone).to_have_title("A <b>lesson</b>")
    expect(alone.locator(".heatmaplayer image")).to_have_count(2)
    expect(alone.locator(".th-links svg path")).to_have_count(2 * links_over(0.06))
    expect(alone.locator(".katex").first).to_be_visible()
    expect(alone.locator("button, input, select")).to_have_count(0)
    assert json.loads(alone.locator("#settings").text_content() or "") == {"seed": 0}


# --- When things go wrong, and who cannot see --------------------------------------------------


@pytest.mark.parametrize("blocked", ["**/plotly.min.js", "**/plot.js*"])
def test_a_blocked_script_is_said_and_can_be_retried(
    page: Page, components_server: str, blocked: str, watch: object
) -> None:
    def block(route: Route) -> None:
        route.abort()

    page.route(blocked, block)
    page.goto(components_server)
    note = page.locator(".th-missing").first
    expect(note).to_contain_text("its script did not load")
    page.unroute(blocked)
    note.get_by_role("button", name="Try again").click()
    expect(page.locator(".th-plot[data-drawn]").first).to_be_visible()
    # The browser itself reports the blocked request; nothing else may be reported.
    complaints = watch.complaints  # type: ignore[attr-defined]
    assert all("ERR_FAILED" in text for text in complaints)
    complaints.clear()


def test_the_figure_follows_the_theme(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server)
    letters = "node => node._fullLayout.font.color"
    light = grid.locator(".th-canvas").evaluate(letters)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "(light) => document.querySelector('.th-canvas')._fullLayout.font.color !== light",
        arg=light,
    )
    rest(page)
    shown = page.evaluate("getComputedStyle(document.querySelector('.th-plot')).color")
    hexes = re.findall(r"\d+", shown)
    drawn = grid.locator(".th-canvas").evaluate(letters).lstrip("#")
    assert [int(drawn[i : i + 2], 16) for i in (0, 2, 4)] == [int(part) for part in hexes[:3]]


def test_a_pick_moves_the_mark_without_a_redraw(page: Page, components_server: str) -> None:
    grid = open_components(page, components_server)
    image = grid.locator(".heatmaplayer image")
    image.evaluate("node => node.setAttribute('data-same', '1')")
    corner = tile(grid, 1)
    click_cell(page, grid, corner["x"], corner["y"] + 5)
    picked = "picked: Cell(figure='pattern', head=1, row=5, column=0)"
    expect(page.get_by_text(picked)).to_be_visible()
    rest(page)
    expect(image).to_have_attribute("data-same", "1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_severe(
    new_page: Callable[..., Page], components_server: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme)
    grid = open_components(page, components_server)
    grid.get_by_role("button", name="Table").click()
    assert severe_findings(page) == []


def test_a_phone_gets_fewer_tiles_across(
    new_page: Callable[..., Page], components_server: str
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    grid = open_components(page, components_server)
    assert tile(grid, 2)["x"] == 0
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


# --- Links --------------------------------------------------------------------------------------


def open_links(page: Page, address: str) -> Locator:
    """Open the fixture app and return its link view once it is drawn."""
    open_components(page, address)
    links = figure(page, "links_arcs")
    links.scroll_into_view_if_needed()
    rest(page)
    return links


def strengths(links: Locator) -> list[float]:
    """Return how strong each line is drawn."""
    found: list[float] = links.locator("path").evaluate_all(
        "lines => lines.map((line) => Number(line.getAttribute('stroke-opacity')))"
    )
    return found


def clear_lines(links: Locator) -> int:
    """Count the lines that do not recede."""
    return sum(strength != 0.12 for strength in strengths(links))


def links_over(threshold: float, heads: int = 2, query: int | None = None) -> int:
    """Count the weights of the drawn heads that reach a threshold."""
    pattern = make_pattern(0, 12)[:heads]
    return int(((pattern if query is None else pattern[:, query]) >= threshold).sum())


def test_hover_isolates_a_token(page: Page, components_server: str) -> None:
    open_components(page, components_server)
    everything = links_over(0.06)
    for layout in ("arcs", "columns"):
        links = figure(page, f"links_{layout}")
        links.scroll_into_view_if_needed()
        rest(page)
        assert len(strengths(links)) == clear_lines(links) == everything
        links.get_by_role("button", name="dog").hover()
        until(page, lambda: clear_lines(links), links_over(0.06, query=8))  # noqa: B023
        assert len(strengths(links)) == everything
        page.mouse.move(0, 0)
        until(page, lambda: clear_lines(links), everything)  # noqa: B023


def test_keys_and_tap_isolate_a_token(page: Page, components_server: str) -> None:
    links = open_links(page, components_server)
    first = links.get_by_role("button", name="<bos>")
    first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(links.get_by_role("button", name="saw")).to_be_focused()
    expect(links.locator(".th-live")).to_contain_text("saw looks at: head 0: ")
    page.keyboard.press("Enter")
    expect(links.get_by_role("button", name="saw")).to_have_attribute("aria-pressed", "true")
    links.get_by_role("button", name="saw").blur()
    until(page, lambda: clear_lines(links), links_over(0.06, query=3))


def test_what_is_hidden_is_said(page: Page, components_server: str) -> None:
    links = open_links(page, components_server)
    note = links.locator(".th-note")
    expect(note).to_contain_text(f"Drawn: {links_over(0.06)} of 156 links.")
    links.get_by_role("slider").evaluate(
        "node => { node.value = 0.3; node.dispatchEvent(new Event('input')); }"
    )
    expect(note).to_contain_text(f"Drawn: {links_over(0.3)} of 156 links.")
    expect(note).to_contain_text("Weights below 0.30 are not drawn.")
    links.get_by_role("button", name="head 1", exact=True).click()
    expect(note).to_contain_text(f"Drawn: {links_over(0.3, heads=1)} of 78 links.")
    links.locator(".th-controls select").select_option("1")
    expect(note).to_contain_text(re.compile(r"Drawn: \d+ of 78 links"))
    assert len(strengths(links)) <= 12


def test_a_long_text_is_cut_with_notice(page: Page, components_server: str) -> None:
    open_components(page, components_server, "?tokens=130")
    note = figure(page, "links_arcs").locator(".th-note")
    expect(note).to_contain_text("Only the first 128 of 130 tokens are drawn.")


def test_links_are_saved_as_a_drawing(page: Page, components_server: str, tmp_path: Path) -> None:
    from xml.etree import ElementTree

    links = open_links(page, components_server)
    path = save(page, links, "SVG", tmp_path)
    tree = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    drawing = tree.find(f"{space}svg")
    assert drawing is not None
    assert [text.text for text in drawing.iter(f"{space}text")] == TOKENS
    assert len(list(tree.iter(f"{space}path"))) == links_over(0.06)
    assert save(page, links, "slides", tmp_path).read_bytes()[1:4] == b"PNG"


def test_nothing_is_asked_twice_and_everything_is_kept(page: Page, components_server: str) -> None:
    asked: list[str] = []
    kept: dict[str, str] = {}
    page.on("request", lambda request: asked.append(request.url))
    page.on(
        "response",
        lambda answer: kept.update({answer.url: answer.headers.get("cache-control", "")}),
    )
    open_components(page, components_server)
    own = [url for url in asked if "/assets/" in url]
    until(page, lambda: set(own) <= set(kept), True)
    assert len(own) == len(set(own))
    assert all("/some/path/assets/" in url for url in own)
    assert {kept[url] for url in own} == {"public, max-age=31536000, immutable"}
    assert sum(url.endswith("plotly.min.js") for url in own) == 1


# A page of the app with each component that the fixture app lacks.
STYLED = ["", "vit", "attention"]


def held_back(page: Page) -> list[Route]:
    """Keep every stylesheet of a component back; the list holds what was asked for."""
    held: list[Route] = []
    page.route(re.compile(r"/assets/components-[^/]+/[\w]+\.css"), lambda route: held.append(route))
    return held


PLACES = """() => [...document.querySelectorAll('[data-testid="stBidiComponentRegular"]')]
  .filter((place) => !place.closest(".st-key-address"))
  .map((place) => ({height: place.clientHeight, seen: place.checkVisibility(),
                    drawn: place.querySelectorAll("button, svg, canvas, figure").length,
                    busy: place.getAttribute("aria-busy")}))"""


def check_styles(page: Page, address: str) -> None:
    """Nothing of any component is on the page before its stylesheet, and its place is open."""
    held = held_back(page)
    page.goto(address)
    until(page, lambda: bool(held), True)
    places: list[dict[str, object]] = []

    def all_wait() -> bool:
        places[:] = page.evaluate(PLACES)
        state = page.locator('[data-testid="stApp"]').get_attribute("data-test-script-state")
        return (
            state == "notRunning"
            and bool(places)
            and all(place["busy"] == "true" for place in places)
        )

    until(page, all_wait, True)
    page.wait_for_timeout(500)
    for place in page.evaluate(PLACES):
        assert place["drawn"] == 0, "a component was drawn without its style"
        if place["seen"]:  # what lies in a tab that is not open has no height
            assert place["height"] >= 30, "no room was kept for a component"
    for route in held:
        route.fallback()
    page.unroute_all()
    rest(page)
    after = page.evaluate(PLACES)
    assert all(place["drawn"] > 0 for place in after)
    pairs = [pair for pair in zip(places, after, strict=True) if pair[0]["seen"]]
    assert pairs
    heights = [(one["height"], two["height"]) for one, two in pairs]
    assert all(0.5 < one / two < 2 for one, two in heights), f"the page jumps: {heights}"


@pytest.mark.parametrize("name", STYLED)
def test_no_component_is_drawn_before_its_style_has_arrived(
    page: Page, server: str, name: str
) -> None:
    check_styles(page, f"{server}/{name}")


def test_every_component_waits_for_its_own_sheets() -> None:
    from mha_view.assets import BROWSER_DIR

    awaited: set[str] = set()
    for path in BROWSER_DIR.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        assert "loadStyle(" not in source
        found = re.findall(r"^await loadStyles\((.+)\);$", source, re.MULTILINE)
        if re.search(r"^export (async )?function render\(", source, re.MULTILINE):
            # What makes no element needs no sheet.
            assert len(found) == ('from "./dom.js"' in source), path.name
            awaited |= set(re.findall(r'"([\w.]+)"', "".join(found)))
        else:
            assert found == []
    assert awaited == {path.name for path in BROWSER_DIR.glob("*.css")}
