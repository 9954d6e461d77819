"""The pages that relate the layer to real models: what they show is what the core computes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha_core.grouped import decode, output_moved, share_again
from mha_core.model.digits import digit_from_canvas, load_digits, split_digits
from mha_core.model.vit import load_vit
from mha_core.sizes import CacheLayers, cache_bytes, measure, read_bundled
from mha_core.sizes.by_hand import from_numbers
from mha_view import compute
from mha_view.figures import relate_grouped, relate_kept, relate_sizes, relate_vit
from mha_view.indices import low
from mha_view.menu import SECTIONS
from mha_view.relate import sizes, subject, vit
from mha_view.relate.drawing import pack_drawing, unpack_drawing
from mha_view.scene import FloatType, Scene, read_link, write_link
from mha_view.table_files import write_csv
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.core.test_sizes_gguf import write as write_gguf
from tests.view.test_pages import CHINESE, html, open_app, pictures, texts

CUSTOM = Scene(weights="custom", text=TEXTS["repeat"], n_heads=6)
WORDS = Words("en")
LLAMA = measure(read_bundled("llama3.1-8b"), totals=False)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("page", SECTIONS["relate"])
def test_each_page_runs_in_each_language(page: str, lang: str) -> None:
    app = open_app(page, Scene(lang=lang, weights="custom", text=TEXTS["cat"]))
    assert not app.exception
    assert not app.error
    assert [item.value for item in app.title] == [Words(lang).lesson(page, "title")]
    assert bool(CHINESE.search(texts(app))) == (lang == "zh")
    drawn = pictures(app)
    for part in ("flops", "cache", "waves") if page == "sizes" else ():
        other = open_app(page, Scene(lang=lang, sizes_part=part))
        assert not other.exception
        assert bool(CHINESE.search(texts(other))) == (lang == "zh")
        drawn += pictures(other)
    assert drawn >= (7 if page == "sizes" else 3)


# --- Sizes ---------------------------------------------------------------------------------


def open_config(text: str, lang: str = "en") -> AppTest:
    """The page of sizes on a pasted config."""
    return open_app("sizes", CUSTOM.with_(lang=lang, model="file", config_text=text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"hidden_size": 10, "num_attention_heads": 4, "num_hidden_layers": 2}', ("10", "4")),
        ('{"hidden_size": 8,}', ("1", "19")),
        ('{"hidden_size": NaN, "num_attention_heads": 4}', ("hidden_size", "NaN")),
        ("<!doctype html>", ("JSON",)),
        ("version https://git-lfs.github.com/spec/v1", ("Git LFS",)),
    ],
)
@pytest.mark.parametrize("lang", LANGS)
def test_a_bad_config_is_told_in_the_readers_language_and_stays(
    text: str, names: tuple[str, ...], lang: str
) -> None:
    app = open_config(text, lang)
    assert not app.exception
    [error] = app.error
    assert all(name in error.value for name in names)
    assert bool(CHINESE.search(error.value)) == (lang == "zh")
    assert app.text_area(key="config_text").value == text
    assert not pictures(app)


def test_a_pasted_config_shows_what_the_core_measures() -> None:
    text = json.dumps(
        {"model_type": "llama", "hidden_size": 60, "num_attention_heads": 6, "vocab_size": 7,
         "num_key_value_heads": 2, "num_hidden_layers": 3, "intermediate_size": 11,
         "tie_word_embeddings": False, "architectures": ["LlamaForCausalLM"]}
    )  # fmt: skip
    app = open_config(text)
    assert not app.exception
    shown = html(app)
    assert "d = 60" in shown
    assert "h<sub>kv</sub> = 2" in shown
    assert "[20, 60]" in shown
    # Two of 60 × 60 and two of 20 × 60, three layers of them; one layer keeps 2 · 2 · 10 numbers.
    assert "9,600" in shown
    assert "28,800" in shown
    app.button_group(key="sizes_part").set_value("cache").run()
    assert '<td class="num">120</td>' in html(app)
    assert "sizes_build_button" not in [button.key for button in app.button], "nothing is left"


def test_what_only_a_built_model_tells_waits_for_a_button() -> None:
    text = json.dumps(read_bundled("bert-base-uncased"))
    app = open_config(text)
    assert WORDS("sizes.no_shapes") in [item.value for item in app.info]
    assert WORDS("sizes.unknown") in html(app)
    app.button(key="sizes_build_button").click().run()
    assert not app.exception
    # BERT base: 4 · (768² + 768) a layer.
    assert "2,362,368" in html(app)
    app.button_group(key="sizes_part").set_value("cache").run()
    assert WORDS("cache.none", title="bert") in texts(app)


def test_a_config_too_long_for_a_link_says_so_and_is_measured() -> None:
    noise = " ".join(str(n * 7919 % 100_003) for n in range(2000))
    text = json.dumps({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
                       "num_hidden_layers": 1, "comment": noise})  # fmt: skip
    scene = CUSTOM.with_(model="file", config_text=text)
    assert "c" not in write_link(scene)
    app = open_app("sizes", CUSTOM.with_(model="file"))
    app.text_area(key="config_text").set_value(text).run()
    assert WORDS("sizes.too_long") in texts(app)
    assert "[8, 8]" in html(app)
    assert WORDS("sizes.too_long") not in texts(open_config("{}"))


@pytest.mark.parametrize("lang", LANGS)
def test_the_lessons_name_the_cores_numbers(lang: str) -> None:
    told = Words(lang).lesson("sizes", "more").replace(",", "")
    models = {
        "Llama 2 7B": [CacheLayers(32, 2 * 32 * 128)],
        "Llama 3.1 8B": [CacheLayers(32, 2 * 8 * 128)],
        "Qwen3 0.6B": [CacheLayers(28, 2 * 8 * 128)],
    }
    for line in told.splitlines():
        for title, layers in models.items():
            if line.startswith(f"- {title}"):
                assert str(cache_bytes(layers, 1)) in line
    quick = {name: measure(read_bundled(name), totals=False).cache
             for name in ("llama2-7b-chat", "llama3.1-8b")}  # fmt: skip
    assert list(quick.values()) == [tuple(models[title]) for title in list(models)[:2]]
    assert sum(line.startswith("- ") for line in told.splitlines()) == len(models)
    assert cache_bytes(models["Llama 2 7B"], 4096) == 2 * 2**30


@pytest.mark.parametrize(
    ("link", "part"),
    [
        ({}, "layer"), ({"model": "bert-base-uncased"}, "layer"), ({"S": "128"}, "flops"),
        ({"gib": "48", "S": "128"}, "cache"), ({"with": "bert-base-uncased"}, "cache"),
        ({"gib": "48", "sizes": "waves"}, "waves"),
    ],
)  # fmt: skip
def test_a_link_opens_the_part_whose_numbers_it_sets(link: dict[str, str], part: str) -> None:
    scene, refused = read_link(link)
    assert not refused
    assert sizes.part_of(scene) == part


def test_kinds_of_sources_keep_what_was_entered() -> None:
    app = open_config("[1]")
    app.button_group(key="sizes_kind").set_value("hand").run()
    app.number_input(key="hand_d").set_value(12).run()
    app.number_input(key="hand_h").set_value(5).run()
    assert "12" in app.error[0].value
    app.number_input(key="hand_h").set_value(4).run()
    assert "d<sub>head</sub> = 3" in html(app)
    app.button_group(key="sizes_kind").set_value("file").run()
    assert app.text_area(key="config_text").value == "[1]"


def test_dropped_bytes_become_the_box_and_bad_bytes_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import streamlit as st

    kept: dict[str, object] = {"scene": CUSTOM.with_(config_text="before"), "sizes_file": None}
    monkeypatch.setattr(st, "session_state", kept)
    kept["sizes_file"] = io.BytesIO(b"\xff\xfe{\x00}\x00")
    subject.take_file()
    assert kept["scene"].config_text == "{}"  # type: ignore[attr-defined]
    assert [note.key for note in subject.dropped_notes("{}")] == ["sizes.note.encoding"]
    assert subject.dropped_notes("{} ") == []
    kept["sizes_file"] = io.BytesIO(b"\xc3\x28")
    subject.take_file()
    assert kept["scene"].config_text == "{}"  # type: ignore[attr-defined]
    assert kept["sizes_dropped"].key == "sizes.file.encoding"  # type: ignore[attr-defined]


def test_the_layer_is_drawn_to_one_scale() -> None:
    picture = relate_sizes.layer_to_scale(LLAMA, WORDS)
    drawn = {trace["name"].split(" ")[0]: trace for trace in picture.figure["data"]}
    for name, chain in LLAMA.first.shapes.items():
        trace = drawn[f"W_{name[-1]}"]
        [(rows, columns)] = chain or ()
        assert (np.ptp(trace["y"]), np.ptp(trace["x"])) == pytest.approx((rows, columns))
    assert picture.figure["layout"]["yaxis"]["scaleanchor"] == "x"
    # One line fewer than heads: 32 of W_q, 8 of W_k and W_v, 32 of W_o.
    assert len(picture.figure["layout"]["shapes"]) == 31 + 7 + 7 + 31


def test_curves_are_the_cores_numbers_and_meet_where_it_says() -> None:
    model = from_numbers(d_model=96, n_heads=4)
    picture = relate_sizes.cost_curves(model, 100, WORDS)
    arrays = picture.arrays
    for place in (0, 30, -1):
        n = int(arrays["n_tokens"][place])
        # 8·S·d² and 4·S²·d.
        assert arrays["projections"][place] == 8 * n * 96**2
        assert arrays["products_two_way"][place] == 4 * n**2 * 96
        assert arrays["products_causal"][place] == 2 * n * (n + 1) * 96
    crossing = picture.figure["data"][-1]
    assert list(crossing["x"]) == [2 * 96, 4 * 96 - 1]
    assert crossing["y"] == pytest.approx(8 * crossing["x"] * 96**2)


def test_cache_lines_are_bytes_and_bend_at_the_window() -> None:
    mistral = measure(read_bundled("mistral-7b-v0.1"), totals=False)
    assert mistral.cache is not None
    assert LLAMA.cache is not None
    caches = {"Llama": LLAMA.cache, "Mistral": mistral.cache}
    picture = relate_kept.cache_curves(caches, 8192, "fp16", 1, WORDS)
    arrays = picture.arrays
    last = int(arrays["n_tokens"][-1])
    assert last == 16_384
    assert arrays["Llama"][-1] == cache_bytes(LLAMA.cache, last) == 131_072 * last
    assert arrays["Mistral"][-1] == 131_072 * 4096
    assert "Llama 1 GiB" in picture.alt


@pytest.mark.parametrize("float_type", ["fp16", "q4"])
def test_the_context_that_fits_is_the_last_that_fits(float_type: FloatType) -> None:
    models = {"Llama": LLAMA, "Mistral": measure(read_bundled("mistral-7b-v0.1"), totals=False)}
    models = {name: m for name, m in models.items() if m.weight_bytes("file") is not None}
    assert len(models) == 2
    picture = relate_kept.fits_curves(models, 24, "file", float_type, 3, 8192, WORDS)
    memory = picture.arrays["memory_gib"]
    for (title, model), line in zip(models.items(), picture.figure["data"], strict=True):
        tokens, room = picture.arrays[title], memory * 2**30 - (model.weight_bytes("file") or 0)
        assert np.array_equal(line["y"], tokens.astype(line["y"].dtype), equal_nan=True)
        assert model.cache is not None
        for fits, left in zip(tokens, room, strict=True):
            if np.isnan(fits):  # nothing fits, or everything does
                one = cache_bytes(model.cache, 1, float_type, 3)
                assert left < one or left > cache_bytes(model.cache, 2**24, float_type, 3)
                continue
            assert cache_bytes(model.cache, int(fits), float_type, 3) <= left
            assert cache_bytes(model.cache, int(fits) + 1, float_type, 3) > left
    assert np.isfinite(picture.arrays["Llama"]).sum() > 10
    marks = picture.figure["layout"]["shapes"]
    assert (marks[0]["x0"], marks[1]["y0"]) == (24, 8192)


def test_wavelengths_are_drawn_as_the_file_scales_them() -> None:
    llama = measure(read_bundled("llama3.1-8b"), totals=False)
    [waves] = llama.rope
    picture = relate_kept.wavelengths(llama.rope, 8192, WORDS)
    plain, scaled = picture.arrays.values()
    pairs = np.arange(64)
    assert plain == pytest.approx(2 * np.pi * 500_000.0 ** (2 * pairs / 128))
    # Llama 3.1: short waves stay, long ones are eight times as long, between them both.
    long, short = plain > 8192 / 1.0, plain < 8192 / 4.0
    assert scaled[short] == pytest.approx(plain[short])
    assert scaled[long] == pytest.approx(8 * plain[long])
    assert (np.diff(scaled) > 0).all()
    assert waves.original == 8192
    texts_drawn = [note["text"] for note in picture.figure["layout"]["annotations"]]
    assert any("8,192" in text for text in texts_drawn)


def test_more_sequences_at_once_keep_more_and_leave_less_room() -> None:
    for batch in (1, 4):
        app = open_app("sizes", CUSTOM.with_(model="llama3.1-8b", batch=batch, memory=48))
        assert not app.exception
        assert LLAMA.cache is not None
        kept = cache_bytes(LLAMA.cache, app.session_state["scene"].cost_tokens, "fp16", batch)
        assert relate_sizes.binary(kept) in html(app)
        tokens = LLAMA.context_that_fits(48 * 2**30, "file", "fp16", batch)
        assert f"{tokens:,}" in html(app)
        assert f"{tokens:,}" in texts(app)


@pytest.mark.parametrize("lang", LANGS)
def test_a_gguf_header_is_measured_until_something_is_pasted(lang: str, tmp_path: Path) -> None:
    data = write_gguf(tmp_path / "model.gguf").read_bytes()
    app = open_app("sizes", CUSTOM.with_(lang=lang, model="file"))
    app.session_state["sizes_dropped"] = subject.Gguf("model.gguf", data[:-50], "a digest")
    app.run()
    assert not app.exception
    assert not app.error
    assert "h = 6" in html(app)
    assert Words(lang)("sizes.gguf.here", name="model.gguf") in texts(app).replace("\\", "")
    app.text_area(key="config_text").set_value(
        '{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}'
    ).run()
    assert "h = 2" in html(app)
    broken = open_app("sizes", CUSTOM.with_(lang=lang, model="file"))
    broken.session_state["sizes_dropped"] = subject.Gguf("b.gguf", b"GGUF\3", "another")
    broken.run()
    assert not broken.exception
    assert "b.gguf" in broken.error[0].value


def test_the_table_can_be_taken_away() -> None:
    table = sizes.table_of(subject.Subject("Llama", LLAMA))
    read = list(csv.DictReader(io.StringIO(write_csv(table, {}).decode("utf-8-sig"))))
    shown = sizes.rows_of(subject.Subject("Llama", LLAMA), WORDS)
    assert len(read) == len(shown)
    assert read[1]["shape"] == "[[1024, 4096]]"
    assert shown[1]["shape [out, in]"] == "[1024, 4096]"
    for row, line in zip(read, shown, strict=True):
        assert line["parameters"] == f"{int(row['parameters']):,}"
    assert int(read[1]["parameters"]) == 1024 * 4096
    assert int(read[-1]["parameters"]) == 8_030_261_248


def test_markup_in_a_config_is_printed_as_it_is() -> None:
    text = json.dumps({"model_type": "<img src=x>[a](b)", "hidden_size": 8,
                       "num_attention_heads": 2, "num_hidden_layers": 1})  # fmt: skip
    app = open_config(text)
    assert not app.exception
    assert not re.search(r"<img", html(app))
    assert not re.search(r"(?<!\\)\[a\]", "".join(item.value for item in app.subheader))


# --- Grouped -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_kv_heads", [6, 2, 1])
def test_the_page_draws_what_merging_gives(n_kv_heads: int) -> None:
    scene = CUSTOM.with_(shared=n_kv_heads, mask="window")
    app = open_app("grouped", scene)
    assert not app.exception
    before = compute.layer_of(scene)
    after = share_again(before, n_kv_heads)
    assert f"{output_moved(before, after):.0%}" in texts(app)
    assert rf"$h_\text{{kv}}$ = {n_kv_heads}" in texts(app)
    apart = decode(share_again(before, n_kv_heads)).apart.max()
    assert f"**{apart:.1e}**" in texts(app)
    assert WORDS("decode.causal") not in texts(app)


def test_moving_the_slider_changes_the_scene_and_undo_takes_it_back() -> None:
    app = open_app("grouped", CUSTOM.with_(shared=2))
    app.select_slider(key="shared").set_value(1).run()
    assert r"$h_\text{kv}$ = 1" in texts(app)
    app.button(key="undo").click().run()
    assert r"$h_\text{kv}$ = 2" in texts(app)


@pytest.mark.parametrize("mask", ["two_way", "prefix"])
def test_a_mask_that_looks_ahead_is_decoded_causally_and_said(mask: str) -> None:
    app = open_app("grouped", CUSTOM.with_(mask=mask))
    assert not app.exception
    assert WORDS("decode.causal") in texts(app)
    assert "✓" in texts(app)


@pytest.mark.parametrize("changes", [{"n_kv_heads": 1}, {"shared": 5}, {"text": "1"}])
def test_odd_layers_and_links_are_met(changes: dict[str, object]) -> None:
    app = open_app("grouped", CUSTOM.with_(**changes))
    assert not app.exception
    assert (WORDS("grouped.one") in [item.value for item in app.info]) == ("n_kv_heads" in changes)


def test_every_query_head_is_drawn_to_the_kv_head_it_reads() -> None:
    picture = relate_grouped.sharing(6, 2, 4, WORDS)
    lines = [trace for trace in picture.figure["data"] if trace["mode"] == "lines"]
    keys = next(trace for trace in picture.figure["data"] if trace["name"] == "K")
    ends = [list(keys["x"]).index(line["x"][1]) for line in lines]
    assert ends == [0, 0, 0, 1, 1, 1]
    assert "KV head 1 is read by 3, 4, 5" in picture.alt


def test_the_player_grows_by_a_column_a_step() -> None:
    trace = compute.layer_of(CUSTOM)
    decoding = decode(trace)
    labels = [f"t{n}" for n in range(trace.n_tokens)]
    picture = relate_grouped.player(decoding, 3, 3, labels, WORDS)
    frames = picture.figure["frames"]
    assert len(frames) == trace.n_tokens
    d_head = trace.config.d_head
    for token, frame in enumerate(frames):
        drawn, bar = frame["data"]
        filled = np.isfinite(drawn["z"][0])
        assert filled.tolist() == [place <= token for place in range(len(labels))]
        assert drawn["z"][:d_head, token] == pytest.approx(trace.k_rot[3, token], abs=1e-5)
        assert drawn["z"][d_head + 1 :, token] == pytest.approx(trace.v[3, token], abs=1e-5)
        assert bar["y"] == pytest.approx(trace.pattern[3, token], abs=1e-6)


# --- The small ViT -------------------------------------------------------------------------

HELD_OUT = split_digits(load_digits())[1]


@pytest.mark.parametrize(("digit", "layer"), [(0, 0), (37, 1), (359, 2)])
def test_the_page_tells_what_the_model_says(digit: int, layer: int) -> None:
    app = open_app("vit", Scene(digit=digit, layer=layer, head=5))
    assert not app.exception
    trace = load_vit().trace(HELD_OUT.images[digit])
    share = f"{trace.probabilities.max():.0%}"
    assert WORDS("vit.says", digit=trace.digit, share=share) in texts(app)
    assert WORDS("vit.label", digit=HELD_OUT.labels[digit]) in texts(app)
    assert WORDS("vit.matrix", head=3) in texts(app), "the ViT has four heads"


def test_the_table_compares_what_the_traces_are() -> None:
    shown = html(open_app("vit", CUSTOM.with_(d_model=48, n_heads=4, mask="two_way")))
    cells = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', shown)
    marks = {name: row.endswith(f">{WORDS('vit.same')}</td>") for name, row in cells}
    told = {
        name: marks[low(WORDS(f"vit.row.{name}"))]
        for name in (
            "tokens",
            "d_model",
            "heads",
            "d_head",
            "chain",
            "mask",
            "position",
            "norm",
            "bias",
        )
    }
    assert told == {
        "tokens": False,
        "d_model": True,
        "heads": False,
        "d_head": True,
        "chain": True,
        "mask": True,
        "position": False,
        "norm": False,
        "bias": False,
    }
    assert "3, 6, 12, 24" in texts(open_app("vit", CUSTOM))


def test_a_digit_is_wanted_and_another_and_another() -> None:
    app = open_app("vit", CUSTOM.with_(digit=0))
    sevens = np.flatnonzero(HELD_OUT.labels == 7)
    app.button_group(key="wanted_digit").set_value(7).run()
    assert app.session_state["scene"].digit == sevens[sevens > 0][0]
    app.session_state["scene"] = app.session_state["scene"].with_(digit=int(sevens[-1]))
    another = next(b for b in app.button if b.label == WORDS("vit.another", digit=7))
    another.click().run()
    assert app.session_state["scene"].digit == sevens[0], "from the last on to the first"


def test_a_drawing_in_a_link_is_looked_at_and_an_empty_board_waits() -> None:
    pixels = np.zeros((32, 32), dtype=bool)
    pixels[4:28, 13:18] = True
    ink = pack_drawing(pixels)
    app = open_app("vit", CUSTOM.with_(drawn=True, drawing=ink))
    assert not app.exception
    expected = load_vit().trace(digit_from_canvas(pixels))
    assert f"**{expected.digit}**" in texts(app)
    assert np.array_equal(unpack_drawing(ink), pixels)
    empty = open_app("vit", CUSTOM.with_(drawn=True))
    assert not empty.exception
    assert WORDS("canvas.empty") in [item.value for item in empty.info]
    assert pictures(empty) < pictures(app)


@pytest.mark.parametrize("sent", ["", "x", "AAAA", "\u00e9" * 171, "<script>", "A" * 172])
def test_what_a_browser_sends_as_a_drawing_is_checked(
    sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import streamlit as st

    kept = {"scene": CUSTOM.with_(drawing=pack_drawing(np.eye(32, dtype=bool)))}
    before = kept["scene"]
    monkeypatch.setattr(st, "session_state", kept)
    vit._keep_drawing(sent)
    assert kept["scene"] == (before.with_(drawing="") if sent == "" else before)


def test_a_look_is_folded_back_onto_its_own_patches() -> None:
    image = HELD_OUT.images[3]
    trace = load_vit().trace(image)
    row = trace.layers[1].pattern[2, 9]
    picture = relate_vit.looking(image, row, 9, WORDS, head=2, scale="linear")
    heat, dots = picture.figure["data"]
    for patch in range(16):
        assert heat["z"][patch // 4, patch % 4] == row[patch]
        # A patch's middle, and the two rows of pixels it was cut from.
        assert heat["y"][patch // 4] == 2 * (patch // 4) + 0.5
    cut = image[2:4, 4:6].ravel() / 16
    assert trace.patches[6] == pytest.approx(cut)
    assert len(dots["x"]) == np.count_nonzero(image)
    assert image[dots["y"][0], dots["x"][0]] > 0
    folded = relate_vit.every_head(trace.layers[1].pattern, 9, WORDS, "linear")
    assert folded.figure["data"][0]["z"][2].ravel() == pytest.approx(row)


def test_a_shortened_block_still_says_that_attention_is_left_as_it_is() -> None:
    names = [
        f"model.layers.0.mlp.experts.{expert}.{part}" for expert in range(4096) for part in "wv"
    ]
    names += [f"model.layers.{layer}.self_attn*" for layer in range(32)]
    said = {"quant_method": "mxfp4", "ignore": names}
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
        "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 32,
        "intermediate_size": 96, "vocab_size": 40, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "quantization_config": said,
    }  # fmt: skip
    text, note = subject.shorten(json.dumps(config))
    assert len(text) < subject.LONGEST_CONFIG
    assert note.values["count"] == "8,192"
    whole, short = (measure(one, totals=False) for one in (config, json.loads(text)))
    assert short.weight_bytes() == whole.weight_bytes()
    assert whole.stored is not None
    assert whole.stored.leaves_attention
