"""Every page in every language: it runs, it says so in that language, and bad input is met."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mha_core.trace import AttentionTrace
from mha_view import compute, thread
from mha_view.menu import ORDER, page_file
from mha_view.page import STEP_WORDS
from mha_view.scene import Picked, Scene, read_link, write_link
from mha_view.texts import TELLING, TEXTS
from mha_view.words import LANGS, Words

SHELL = Path(__file__).parents[2] / "mha_view" / "shell.py"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
ROUTES = [name for name in ORDER if page_file(name).parent.name == "learn"]


def open_app(page: str, scene: Scene | None = None, link: dict[str, str] | None = None) -> AppTest:
    """The app on a page, with a scene or any query string."""
    app = AppTest.from_file(SHELL, default_timeout=120)
    for name, value in (write_link(scene) if scene else link or {}).items():
        app.query_params[name] = value
    if page != "overview":
        app.switch_page(str(page_file(page)))
    return app.run()


def texts(app: AppTest) -> str:
    """Every text on the page."""
    kinds = ("title", "markdown", "subheader", "caption", "error", "warning", "info", "success")
    return "\n".join(str(item.value) for kind in kinds for item in app.get(kind))


def html(app: AppTest) -> str:
    """Every piece of HTML on the page."""
    return "\n".join(item.proto.body for item in app.get("html"))


def pictures(app: AppTest) -> int:
    """How many pictures were mounted."""
    return sum("picture_" in str(item.proto) for item in app.get("bidi_component"))


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", ROUTES)
@pytest.mark.parametrize("weights", ["toy", "custom"])
def test_each_page_runs_in_each_language(page: str, lang: str, weights: str) -> None:
    app = open_app(page, Scene(lang=lang, weights=weights, text=TEXTS["cat"]))
    assert not app.exception
    assert not app.error
    title = Words(lang).lesson(page, "title")
    assert [item.value for item in app.title] == [title]
    assert bool(CHINESE.search(texts(app))) == (lang == "zh")
    assert pictures(app) >= 1


def test_the_attention_page_draws_every_head() -> None:
    app = open_app("attention", Scene(weights="custom", n_heads=6))
    labels = [str(item.proto) for item in app.get("button_group")]
    assert any(all(f"Head {head}" in text for head in range(6)) for text in labels)


def test_the_overview_lists_the_articles_own_numbers() -> None:
    scene = Scene(weights="article", text=TEXTS["long_en"])
    rows = dict(re.findall(r'data-row="(\w+)">(.*?)</tr>', html(open_app("overview", scene))))
    for name in ("input", "projection", "concat", "output", "residual"):
        assert "[768, 1024]" in rows[name]
    assert "12 × [64, 1024]" in rows["heads"]
    assert "12 × [64, 1024]" in rows["rope"]
    assert "12 × [64, 1024]" in rows["attention"]
    assert "12 × [1024, 1024]" in rows["scores"]


@pytest.mark.parametrize("page", ["tokens", "projection", "heads", "rope", "attention", "concat"])
def test_chips_show_features_first_and_pytorch_on_demand(page: str) -> None:
    article = html(open_app(page, Scene(weights="custom", text="the cat sat")))
    torch = html(open_app(page, Scene(weights="custom", text="the cat sat", axes="torch")))
    shapes = {
        "tokens": ("[48, 3]", "[1, 3, 48]"),
        "projection": ("[48, 3]", "[1, 3, 48]"),
        "heads": ("[12, 3]", "[1, 4, 3, 12]"),
        "rope": ("[12, 3]", "[1, 4, 3, 12]"),
        "attention": ("[3, 3]", "[1, 4, 3, 3]"),
        "concat": ("[48, 3]", "[1, 3, 48]"),
    }
    assert shapes[page][0] in article
    assert shapes[page][1] in torch


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "😀👩‍👩‍👧 e\u0301 مرحبا",
        "<b>bold</b> **x** $y$ `z` [a](b)",
        "a\u0000b\u200fc",
        "1",
    ],
)
@pytest.mark.parametrize("page", ROUTES)
def test_any_text_is_met_and_kept(page: str, text: str) -> None:
    app = open_app(page, Scene(weights="custom", text=text))
    assert not app.exception
    kept = app.text_input(key="text").value
    assert kept == text
    if not text.strip():
        assert [item.value for item in app.info] == [Words("en")("sentence.empty")]


def test_a_hundred_thousand_characters_are_cut_with_a_word() -> None:
    text = "The cat sat on the mat. " * 4000
    app = open_app("tokens", Scene(weights="custom", text=text))
    assert not app.exception
    assert "1,024" in app.warning[0].value
    assert app.text_input(key="text").value == text
    longer = open_app("tokens", Scene(weights="custom", text=text + "x" * 10_000))
    assert "100,000" in longer.warning[0].value


@pytest.mark.parametrize(
    ("scene", "names"),
    [
        (Scene(weights="custom", d_model=10, n_heads=4), ("10", "4")),
        (Scene(weights="custom", d_model=12, n_heads=4, d_head=5), ("5",)),
        (Scene(weights="custom", n_heads=4, n_kv_heads=3), ("4", "3")),
    ],
)
@pytest.mark.parametrize("lang", LANGS)
def test_sizes_that_do_not_fit_are_named(scene: Scene, names: tuple[str, ...], lang: str) -> None:
    app = open_app("attention", scene.with_(lang=lang))
    assert not app.exception
    [error] = app.error
    assert all(name in error.value for name in names)
    assert bool(CHINESE.search(error.value)) == (lang == "zh")


def test_nonsense_in_the_address_is_named_and_harmless() -> None:
    app = open_app("attention", link={"v": "1", "mask": "<script>", "zzz": "1", "lang": "en"})
    assert not app.exception
    told = "\n".join(item.value for item in app.warning)
    assert "mask=" in told
    assert "zzz=1" in told


def test_the_language_comes_from_the_browser_then_from_the_switch() -> None:
    app = AppTest.from_file(SHELL, default_timeout=120)
    app.context = {"locale": "zh-CN"}
    app.query_params["weights"] = "custom"
    app.run()
    assert app.title[0].value == Words("zh").lesson("overview", "title")
    assert app.text_input(key="text").value == TEXTS["ming"]
    assert app.session_state["scene"].head == TELLING["ming"].head
    app.button_group(key="language").set_value("en").run()
    assert app.session_state["scene"].head == TELLING["cat"].head
    assert app.title[0].value == Words("en").lesson("overview", "title")
    assert app.text_input(key="text").value == TEXTS["cat"]


def test_a_sentence_stays_from_page_to_page_and_undo_takes_it_back() -> None:
    app = open_app("tokens", Scene(weights="custom", text="the cat sat"))
    app.text_input(key="text").set_value("the dog sat").run()
    app.switch_page(str(page_file("heads"))).run()
    assert app.text_input(key="text").value == "the dog sat"
    app.button(key="undo").click().run()
    assert app.text_input(key="text").value == "the cat sat"


def test_only_the_first_layer_reads_the_embedding_as_it_is() -> None:
    told = [texts(open_app("tokens", Scene(layer=layer))) for layer in (0, 2)]
    assert "of the embedding table, 96 numbers" in told[0]
    assert "before layer 2 have added, 96 numbers" in told[1]


@pytest.mark.parametrize("mask", ["causal", "two_way", "window", "prefix", "sink_window"])
def test_the_check_passes_under_every_mask(mask: str) -> None:
    app = open_app("attention", Scene(weights="custom", mask=mask, n_heads=4, n_kv_heads=2))
    assert not app.exception
    assert Words("en")("check.passed") in texts(app)


@pytest.mark.parametrize("lang", LANGS)
def test_a_key_that_the_mask_hides_is_no_zero_in_the_row(lang: str) -> None:
    picked = Picked("pattern", 0, 1, 0)
    app = open_app("attention", Scene(lang=lang, weights="custom", text="a b c", picked=picked))
    rows = re.findall(r"<tr.*?</tr>", html(app))
    hidden = [row for row in rows if f"<td>{Words(lang)('plot.empty')}</td>" in row]
    assert len(hidden) == len(re.findall(r'class="num">—</td>', "".join(rows))) > 0
    assert not any("bar " in row for row in hidden)


@pytest.mark.parametrize("lang", LANGS)
def test_the_check_calls_every_step_by_words(lang: str) -> None:
    assert set(STEP_WORDS) == set(AttentionTrace.names())
    assert all(Words(lang).has(key) for key in STEP_WORDS.values())


OLD_LINKS = {
    "attention": ("cell=pattern.2.5.3&lang=en&v=1&weights=custom&s=cat", "Head 2: :blue[mat]"),
    "projection": ("cell=k_full.0.12.3&lang=en&v=1&weights=custom&s=cat", "K[12, “on”]"),
    "heads": ("cell=q.3.5.2&lang=en&v=1&weights=custom&s=cat", "$Q_{3}$[5, “sat”]"),
    "concat": ("cell=concat.0.37.4&lang=en&v=1&weights=custom&s=cat", "Concat[37, “the”]"),
    "output": ("cell=out.0.7.1&lang=en&v=1&weights=custom&s=cat", "O[7, “cat”]"),
    "why_heads": ("cell=pattern.1.6.0&lang=en&v=1&weights=custom&s=cat", "Head 1: :blue[because]"),
}


@pytest.mark.parametrize("page", OLD_LINKS)
def test_a_link_from_before_there_was_a_focus_token_explains_its_cell(page: str) -> None:
    query, title = OLD_LINKS[page]
    link = dict(part.split("=") for part in query.split("&"))
    app = open_app(page, link=link)
    assert not app.exception
    assert any(item.value.removeprefix("##### ").startswith(title) for item in app.markdown)


@pytest.mark.parametrize("lang", LANGS)
def test_every_page_opens_on_the_same_word_and_head(lang: str) -> None:
    scene, _ = read_link({"lang": lang})
    word = compute.reading_of(scene).labels[thread.focus_of(scene)]
    for page in ("projection", "attention", "concat", "output", "rope", "heads"):
        app = open_app(page, link={"lang": lang})
        told = texts(app)
        assert f"“{word}”" in told or f":blue[{word}]" in told, page
        assert app.session_state["scene"].head == scene.head


@pytest.mark.parametrize("lang", LANGS)
def test_random_weights_are_said_to_be_random_and_look_at_nothing(lang: str) -> None:
    words = Words(lang)
    chip = words("random.chip")
    for weights, said in (("article", True), ("toy", False)):
        app = open_app("attention", Scene(lang=lang, weights=weights, text=TEXTS["cat"]))
        assert (chip in html(app)) == said
        titles = [item.value for item in app.markdown if item.value.startswith("##### ")]
        between = words("panel.weight.title").split("]")[1].split(":orange")[0]
        weighed = [title for title in titles if ":blue[" in title and ":orange[" in title]
        assert weighed
        assert all((between in title) != said for title in weighed)
