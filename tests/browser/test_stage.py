"""The stage in a real browser: what is drawn is the trace, and what is touched stays one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from mha_core.trace import AttentionTrace
from mha_view import compute
from mha_view.components.stage import limit_of, shade
from mha_view.scene import Scene, write_link
from mha_view.texts import TELLING, TEXTS
from mha_view.theme import CIVIDIS, SIGNED_LIGHT
from mha_view.walk.sayings import STEP_NAMES
from mha_view.words import Words
from tests.browser.test_pages import query_of, settle
from tests.browser.waiting import until

LOOK = TELLING["cat"]
# The first sentence where it tells most; in the trace, `<bos>` stands before its first token.
TELLING_SCENE = Scene(layer=LOOK.layer, head=LOOK.head, focus=LOOK.focus)
QUERY, KEY = LOOK.focus + 1, LOOK.key + 1
LANE = ("q_rot", "k_rot", "v_band", "pattern", "heads")
FIELD = {
    "x": "x", "q": "q_full", "k": "k_full", "v": "v_full", "q_rot": "q_rot", "k_rot": "k_rot",
    "v_band": "v", "pattern": "pattern", "heads": "heads", "concat": "concat", "out": "out",
    "residual": "residual",
}  # fmt: skip
PAGE_OF = {
    "x": "tokens", "q": "projection", "k": "projection", "v": "projection", "q_rot": "rope",
    "k_rot": "rope", "v_band": "heads", "pattern": "attention", "heads": "attention",
    "concat": "concat", "out": "output", "residual": "output",
}  # fmt: skip
NUMBERS = """(root, [name, head]) => {
  const { rows, columns, at } = root.view.numbers.matrix(name, head);
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => {
    const value = at(row, column);
    return Number.isNaN(value) ? null : value;
  }));
}"""
PLACE = """(root, [name, head, row, column]) => {
  const { view } = root;
  const box = view.layout.boxes.find((one) => one.name === name && one.head === head);
  const { rows, columns } = view.numbers.matrix(name, head);
  const frame = view.board.getBoundingClientRect();
  return [frame.left + box.x + ((column + 0.5) * box.width) / columns,
          frame.top + box.y + ((row + 0.5) * box.height) / rows];
}"""
PIXEL = """(root, [name, head, row, column]) => {
  const { painting, layout, numbers } = root.view;
  const box = layout.boxes.find((one) => one.name === name && one.head === head);
  const { rows, columns } = numbers.matrix(name, head);
  const sharp = painting.width / parseFloat(painting.style.width);
  const x = sharp * (box.x + ((column + 0.4) * box.width) / columns);
  const y = sharp * (box.y + ((row + 0.4) * box.height) / rows);
  return [...painting.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
}"""
PAINTED = """(root, [name, head]) => {
  const { painting, layout } = root.view;
  const box = layout.boxes.find((one) => one.name === name && one.head === head);
  const sharp = painting.width / parseFloat(painting.style.width);
  const at = [box.x, box.y, box.width, box.height].map((edge) => Math.round(sharp * edge));
  return painting.getContext("2d").getImageData(...at).data.join();
}"""
RIBBONS = """(root) => [...root.querySelectorAll(".th-ribbon")].map((one) =>
  [one.dataset.key, one.dataset.weight, one.getAttribute("stroke-width")].map(Number))"""


def open_stage(page: Page, address: str, scene: Scene | None = None, path: str = "") -> Locator:
    """Open the first page on a scene and return its stage, drawn."""
    page.goto(f"{address}/{path}?{urlencode(write_link(scene or Scene()))}")
    settle(page)
    stage = page.locator('.th-layer[data-figure="stage"]')
    stage.scroll_into_view_if_needed()
    return stage


def matrix_of(trace: AttentionTrace, name: str, head: int | None) -> np.ndarray:
    """A block of the trace as the stage draws it: the article's order, NaN where masked."""
    step = trace[FIELD[name]]
    if name == "pattern":
        return np.where(trace.keep, step.value[head], np.nan)
    return step.article_value if head is None else step.article_value[head]


def blocks_of(trace: AttentionTrace) -> list[tuple[str, int | None]]:
    """Every block of the stage by name and head."""
    found: list[tuple[str, int | None]] = []
    for name, field in FIELD.items():
        heads = range(len(trace[field].value)) if name in LANE else [None]
        found += [(name, head) for head in heads]
    return found


def point_at(
    page: Page, stage: Locator, name: str, head: int | None, row: int, column: int
) -> None:
    """Move the pointer to a cell."""
    page.mouse.move(*stage.evaluate(PLACE, [name, head, row, column]))


@pytest.mark.parametrize(
    "scene",
    [Scene(layer=2, mask="two_way", head=3),
     Scene(lang="zh", text=TEXTS["ming"], rope=False),
     Scene(weights="custom", n_heads=4, n_kv_heads=2, d_head=6, d_model=10, text="the cat sat")],
    ids=["two-way", "chinese, no RoPE", "grouped"],
)  # fmt: skip
def test_every_number_in_a_block_is_the_traces(page: Page, server: str, scene: Scene) -> None:
    check_numbers(open_stage(page, server, scene), scene)


def test_numbers_paint_words_and_ribbons_are_the_traces(page: Page, server: str) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    stage, scene = open_stage(page, server), Scene()
    assert sent
    check_numbers(stage, scene)
    check_paint(stage)
    check_pointing(page, stage)
    check_column(stage, sent)
    check_ribbons(stage, scene)


def test_ribbons_of_shared_keys_are_the_rows_weights(page: Page, server: str) -> None:
    scene = Scene(weights="custom", n_heads=4, n_kv_heads=2, head=3, mask="two_way")
    check_ribbons(open_stage(page, server, scene), scene)


def check_numbers(stage: Locator, scene: Scene) -> None:
    """The stage holds every number of the layer."""
    trace = compute.layer_of(scene)
    blocks = blocks_of(trace)
    assert stage.locator(".th-block").count() == len(blocks)
    for name, head in blocks:
        shown = np.array(stage.evaluate(NUMBERS, [name, head]), dtype=np.float64)
        np.testing.assert_array_equal(shown, matrix_of(trace, name, head).astype(np.float64))


def colour_of(ramp: tuple[str, ...], place: int) -> np.ndarray:
    """Red, green and blue of a place on a ramp, 1 to 255."""
    stops = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in ramp], float)
    at = (place - 1) / 254 * (len(stops) - 1)
    return np.array([np.interp(at, range(len(stops)), channel) for channel in stops.T])


def check_paint(stage: Locator) -> None:
    """Every number has its colour where it stands."""
    trace = compute.layer_of(Scene())
    chance = np.random.default_rng(0)
    for name, head in blocks_of(trace):
        matrix = matrix_of(trace, name, head)
        # A band is coloured by the scale of the whole it is a band of.
        whole = {"v_band": "v", "heads": "concat"}.get(name, name)
        limit = 1.0 if name == "pattern" else limit_of(trace[FIELD[whole]].value)
        ramp = CIVIDIS if name == "pattern" else SIGNED_LIGHT
        for _ in range(6):
            row, column = (int(chance.integers(size)) for size in matrix.shape)
            place = int(shade(matrix[row : row + 1, column], limit, signed=name != "pattern")[0])
            painted = np.array(stage.evaluate(PIXEL, [name, head, row, column]))
            if place:
                assert np.abs(painted - colour_of(ramp, place)).max() <= 6, (
                    name,
                    head,
                    row,
                    column,
                )
            else:
                assert np.ptp(painted) < 20  # no colour of the ramp: masked is grey


def printed(value: float) -> str:
    """A number as the stage prints it."""
    if np.isnan(value):
        return Words("en")("plot.empty")
    if float(value).is_integer():
        return str(int(value)).replace("-", "−")
    small = abs(value) < 0.0005
    if small:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits}e{int(power):+d}".replace("-", "−")
    return f"{value:.3f}".replace("-", "−")


def check_pointing(page: Page, stage: Locator) -> None:
    """A number that is pointed at is said, with what made it."""
    trace, labels = compute.layer_of(Scene()), compute.reading_of(Scene()).labels
    tip = stage.locator(".th-layer-tip")
    for name, head, row, column in [
        ("x", None, 40, 3), ("q", None, 17, 8), ("v", None, 95, 11), ("q_rot", 0, 5, 8),
        ("k_rot", 4, 15, 2), ("v_band", 0, 3, 2), ("pattern", 0, 8, 2), ("pattern", 5, 2, 9),
        ("heads", 0, 0, 8), ("concat", None, 33, 1), ("out", None, 60, 8), ("residual", None, 2, 8),
    ]:  # fmt: skip
        point_at(page, stage, name, head, row, column)
        value = float(matrix_of(trace, name, head)[row, column])
        where = labels[row] if name == "pattern" else str(row)
        expect(tip.locator("b")).to_contain_text(f"[{where}, {labels[column]}] = {printed(value)}")
        assert tip.locator("span").inner_text()
        lit = row if name == "pattern" else column
        expect(stage.locator(".th-piece.th-lit")).to_have_text(labels[lit])
    point_at(page, stage, "residual", None, 2, 8)
    expect(tip).to_contain_text(printed(float(trace.out[8, 2])))
    point_at(page, stage, "pattern", 0, 8, 2)
    expect(tip).to_contain_text(printed(float(trace.scores[0, 8, 2])))
    page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def check_column(stage: Locator, sent: list[object]) -> None:
    """A token lights its column in every block, and nothing is sent for it."""
    opened = len(sent)
    stage.locator(".th-piece").nth(5).hover()
    marks = stage.locator(".th-column[data-column]:not(.th-key)")
    columns = {
        (mark["of"], mark["column"])
        for mark in marks.evaluate_all("nodes => nodes.map((node) => ({...node.dataset}))")
    }
    assert columns == {(name, "5") for name in FIELD if name != "pattern"}
    assert stage.locator('.th-column[data-of="pattern"]').get_attribute("data-row") == "5"
    assert len(sent) == opened


def check_ribbons(stage: Locator, scene: Scene) -> None:
    """Ribbons are as wide as the weights of the token that is pointed at."""
    trace = compute.layer_of(scene)
    for token in range(trace.n_tokens):
        stage.locator(".th-piece").nth(token).hover()
        row = trace.pattern[scene.head, token]
        expected = {key: row[key] for key in np.flatnonzero(row >= 0.005)}
        drawn = stage.evaluate(RIBBONS)
        assert {key: weight for key, weight, _ in drawn} == pytest.approx(expected, abs=1e-7)
        widths = np.array([width / weight for _, weight, width in drawn])
        assert np.ptp(widths) < 0.2 * widths.mean()
        numbers = stage.locator(".th-weights .pattern").all_text_contents()
        strongest = sorted((w for w in expected.values() if w >= 0.05), reverse=True)[:3]
        assert numbers == [f"{weight:.3f}" for weight in strongest]


def test_a_long_text_is_cut_down_and_its_ribbons_stay_exact(page: Page, server: str) -> None:
    scene = Scene(weights="article", text=TEXTS["long_en"], head=2, focus=700)
    stage = open_stage(page, server, scene)
    trace = compute.layer_of(scene)
    strongest = np.sort(trace.pattern[2, 700])[::-1]
    strongest = strongest[strongest >= 0.005][:8]
    drawn = sorted((weight for _, weight, _ in stage.evaluate(RIBBONS)), reverse=True)
    assert drawn == pytest.approx(strongest.tolist(), abs=1e-7)
    assert stage.locator('.th-block[data-block="pattern"]').count() == 12
    assert stage.evaluate("root => root.view.packet.length") <= 400_000


def test_a_blocks_link_keeps_scene_token_and_head(page: Page, server: str) -> None:
    scene = Scene(head=2, focus=4, layer=1, mask="window")
    stage = open_stage(page, server, scene)
    for name, target in PAGE_OF.items():
        address = stage.locator(f'.th-name[data-block="{name}"]').get_attribute("href")
        path, query = (address or "").split("?")
        assert path == f"/{target}"
        assert dict(parse_qsl(query)) == write_link(scene)
    for name in ("x", "k_rot", "concat"):
        stage.locator(f'.th-name[data-block="{name}"]').click()
        page.wait_for_url(f"**/{PAGE_OF[name]}?**")
        settle(page)
        assert query_of(page) == write_link(scene)
        page.go_back()
        page.wait_for_url(f"{server}/?**")
        settle(page)


def test_a_click_into_a_block_opens_its_page_and_into_another_lane_that_head(
    page: Page, server: str
) -> None:
    stage = open_stage(page, server, Scene(focus=4))
    page.mouse.click(*stage.evaluate(PLACE, ["pattern", 3, 4, 2]))
    until(page, lambda: query_of(page).get("head"), "3")
    settle(page)
    assert urlsplit(page.url).path == "/"
    expect(stage.locator('.th-lane[aria-pressed="true"]')).to_have_text("Head 3")
    page.mouse.move(2, 2)
    page.mouse.click(*stage.evaluate(PLACE, ["pattern", 3, 4, 2]))
    page.wait_for_url("**/attention?**")
    settle(page)
    assert (query_of(page)["head"], query_of(page)["focus"]) == ("3", "4")


def test_numbers_words_and_lanes_are_reached_by_keyboard(page: Page, server: str) -> None:
    stage = open_stage(page, server, Scene(focus=7))
    stage.locator('.th-name[data-block="out"]').focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    trace = compute.layer_of(Scene())
    expect(stage.locator(".th-live")).to_contain_text(f"= {printed(float(trace.out[7, 1]))}")
    page.keyboard.press("Escape")
    expect(stage.locator(".th-layer-tip")).to_be_hidden()
    stage.locator(".th-piece[aria-pressed='true']").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(stage.locator(".th-piece.th-lit")).to_have_text("mat")
    page.keyboard.press("Enter")
    until(page, lambda: query_of(page).get("token"), "6")
    stage.locator(".th-lane").nth(4).focus()
    page.keyboard.press("Enter")
    until(page, lambda: query_of(page).get("head"), "4")
    settle(page)
    expect(stage.locator(".th-piece[aria-pressed='true']")).to_have_text("mat")


# --- Play ------------------------------------------------------------------------------------


def step_of(stage: Locator) -> str | None:
    """The step that the stage stands at."""
    return stage.get_attribute("data-step")


def dimmed(stage: Locator) -> set[str]:
    """The blocks that a step is not about."""
    names: list[str] = stage.locator(".th-name.th-dim").evaluate_all(
        "nodes => nodes.map((node) => node.dataset.block)"
    )
    return set(names)


def test_play_goes_on_by_itself_pauses_and_is_told(page: Page, server: str) -> None:
    stage = open_stage(page, server)
    words = Words("en")
    play = stage.get_by_role("button", name=words("stage.play"), exact=True)
    play.focus()
    page.keyboard.press("Enter")
    until(page, lambda: step_of(stage), "1")
    assert dimmed(stage) == set(FIELD) - {"x"}
    until(page, lambda: step_of(stage), "2")
    assert dimmed(stage) == set(FIELD) - {"x", "q", "k", "v"}
    stage.get_by_role("button", name=words("stage.pause"), exact=True).press("Space")
    until(page, lambda: query_of(page).get("play"), "2")
    settle(page)
    expect(play).to_be_visible()


def test_play_is_led_by_keys_and_a_link_opens_at_its_step(
    new_page: Callable[..., Page], server: str
) -> None:
    page = new_page()
    stage = open_stage(page, server, TELLING_SCENE)
    words = Words("en")
    stage.get_by_role("button", name=words("stage.next")).focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    until(page, lambda: query_of(page).get("play"), "5")
    settle(page)
    said = stage.locator(".th-said")
    trace, labels = compute.layer_of(TELLING_SCENE), compute.reading_of(TELLING_SCENE).labels
    weight = f"{trace.pattern[LOOK.head, QUERY, KEY]:.3f}"
    for part in (labels[QUERY], labels[KEY], weight):
        expect(said).to_contain_text(part)
    other = new_page(locale="zh-CN")
    other.goto(page.url.replace("lang=en", "lang=zh"))
    settle(other)
    opened = other.locator('.th-layer[data-figure="stage"]')
    assert step_of(opened) == "5"
    assert dimmed(opened) == set(FIELD) - set(LANE)
    expect(opened.locator(".th-lead")).to_contain_text(Words("zh")("step.attention"))
    page.keyboard.press("End")
    until(page, lambda: step_of(stage), "8")
    page.keyboard.press("Escape")
    until(page, lambda: step_of(stage), "0")
    until(page, lambda: query_of(page).get("play"), None)


def test_each_step_has_its_own_sentence(page: Page, server: str) -> None:
    stage = open_stage(page, server)
    told = set()
    for place, name in enumerate(STEP_NAMES):
        stage.locator(".th-stop").nth(place).click()
        until(page, lambda: step_of(stage), str(place + 1))
        expect(stage.locator(".th-lead")).to_contain_text(Words("en")(f"step.{name}"))
        told.add(stage.locator(".th-said").inner_text())
    assert len(told) == len(STEP_NAMES)


def test_rope_turns_the_numbers_of_its_step(page: Page, server: str) -> None:
    stage = open_stage(page, server, Scene(play=3))
    before = {name: stage.evaluate(PAINTED, [name, 0]) for name in LANE}
    expect(stage.locator('.th-name[data-block="q_rot"] b')).to_have_text("Qk")
    stage.locator(".th-stop").nth(3).click()
    until(page, lambda: step_of(stage), "4")
    expect(stage.locator('.th-name[data-block="q_rot"] b')).to_have_text("Q̃k")
    after = {name: stage.evaluate(PAINTED, [name, 0]) for name in LANE}
    assert {name for name in LANE if before[name] != after[name]} == {"q_rot", "k_rot"}


def test_nothing_moves_for_a_reader_who_wants_no_motion(
    new_page: Callable[..., Page], server: str
) -> None:
    page = new_page(reduced_motion="reduce")
    stage = open_stage(page, server)
    button = stage.locator(".th-layer-play")
    expect(button).to_have_text(Words("en")("stage.step_through"))
    button.click()
    until(page, lambda: step_of(stage), "1")
    assert stage.evaluate("root => root.view.player.playing ?? null") is None
    assert stage.evaluate("root => root.getAnimations({ subtree: true }).length") == 0
    button.click()
    until(page, lambda: step_of(stage), "2")


def test_a_change_while_it_stands_changes_the_numbers_in_place(page: Page, server: str) -> None:
    stage = open_stage(page, server, Scene(play=5))
    stage.evaluate("root => { root.isSame = true; }")
    box = page.get_by_role("textbox", name="Sentence")
    box.fill("The dog ran because it was late.")
    box.press("Enter")
    page.wait_for_function("() => location.search.includes('t=')")
    settle(page)
    scene = Scene().turn_to(text="The dog ran because it was late.")
    trace = compute.layer_of(scene)
    assert stage.evaluate("root => root.isSame") is True
    assert step_of(stage) == "5"
    for name, head in (("x", None), ("pattern", 1), ("heads", 5), ("residual", None)):
        shown = np.array(stage.evaluate(NUMBERS, [name, head]), dtype=np.float64)
        np.testing.assert_array_equal(shown, matrix_of(trace, name, head).astype(np.float64))


# --- A phone ---------------------------------------------------------------------------------


@pytest.fixture
def phone(new_page: Callable[..., Page]) -> Page:
    """A phone with a finger."""
    return new_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)


def test_on_a_phone_the_stage_scrolls_and_play_follows(phone: Page, server: str) -> None:
    stage = open_stage(phone, server)
    wider: int = phone.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0
    for place, name in ((7, "residual"), (4, "pattern"), (1, "q")):
        stage.locator(".th-stop").nth(place).tap()
        block = stage.locator(f'.th-block[data-block="{name}"]').first

        def is_seen(shown: Locator = block) -> Any:
            return shown.evaluate(
                "node => { const box = node.getBoundingClientRect();"
                " return box.left >= 0 && box.right <= innerWidth; }"
            )

        until(phone, is_seen, True)


def test_a_finger_reads_first_and_opens_then(phone: Page, server: str) -> None:
    stage = open_stage(phone, server)
    place = stage.evaluate(PLACE, ["q", None, 17, 8])
    phone.touchscreen.tap(*place)
    tip = stage.locator(".th-layer-tip")
    trace = compute.layer_of(Scene())
    expect(tip).to_contain_text(printed(float(trace.q_full[8, 17])))
    phone.touchscreen.tap(*place)
    phone.wait_for_url("**/projection?**")
    settle(phone)
