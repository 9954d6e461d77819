"""What the stage is given: the trace's numbers, no two heads mixed, and true sentences."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.rope import Rope
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from mha_core.weights import random_embedding, random_weights
from mha_view import compute
from mha_view.components.packet import pack
from mha_view.components.stage import Told, _told, shade
from mha_view.scene import Scene
from mha_view.texts import TELLING, TEXTS
from mha_view.walk.layer import (
    BANDS_OF,
    LARGE,
    SMALL,
    blocks_of,
    cut_columns,
    cut_rows,
    largest_weights,
    strongest_looks,
    turning,
)
from mha_view.walk.sayings import STEP_NAMES, sayings
from mha_view.words import LANGS, Words

MOST_BYTES, MOST_LARGE_BYTES = 120_000, 400_000
WHOLE = {"x": "x", "out": "out", "residual": "residual"}
BANDED = {"q": "q_full", "k": "k_full", "v": "v_full", "concat": "concat"}


def random_trace(n_tokens: int = 7, causal: bool = True, **sizes: int) -> AttentionTrace:
    """A layer with random weights, different sizes on every axis."""
    config = AttentionConfig(
        rope=Rope(), causal=causal, **{"d_model": 10, "n_heads": 3, "d_head": 4, **sizes}
    )
    stream = random_embedding(n_tokens, config.d_model, 5)
    return walk_layer(stream, random_weights(config, 5), config, norm="rms")


@pytest.mark.parametrize("sizes", [{}, {"n_heads": 4, "n_kv_heads": 2}, {"n_heads": 1}])
def test_each_block_holds_the_traces_own_numbers(sizes: dict[str, int]) -> None:
    trace = random_trace(**sizes)
    blocks = blocks_of(trace, Words("en"), axes="article", scale="linear", learned=True)
    for name, field in WHOLE.items():
        np.testing.assert_array_equal(blocks[name].values, getattr(trace, field).T)
    for name, field in BANDED.items():
        stacked = np.concatenate(list(blocks[name].values))
        np.testing.assert_array_equal(stacked, getattr(trace, field).T)
    for name in ("q_rot", "k_rot"):
        np.testing.assert_array_equal(
            blocks[name].values, np.swapaxes(getattr(trace, name), -1, -2)
        )
    shown = np.where(trace.keep, trace.pattern, np.nan)
    np.testing.assert_array_equal(blocks["pattern"].values, shown)
    # The bands that are not sent twice are the bands of what is sent.
    for head in range(trace.config.n_heads):
        np.testing.assert_array_equal(blocks["concat"].values[head], trace.heads[head].T)
        kv_head = head // trace.config.group
        np.testing.assert_array_equal(blocks["v"].values[kv_head], trace.v[kv_head].T)
    assert all(blocks[name].values.size == 0 for name in BANDS_OF)


@pytest.mark.parametrize(("axes", "shape"), [("article", "[4, 7]"), ("torch", "[1,3,7,4]")])
def test_shapes_follow_the_convention(axes: str, shape: str) -> None:
    blocks = blocks_of(random_trace(), Words("en"), axes=axes, scale="linear", learned=True)
    assert blocks["q_rot"].shape == shape


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 64), st.integers(1, 80))
def test_what_is_cut_down_fits_and_never_mixes_heads(tokens: int, heads: int, width: int) -> None:
    for size in (LARGE, SMALL):
        across, down = cut_columns(tokens, heads, size), cut_rows(heads, width, size)
        columns = -(-tokens // across)
        assert columns <= size.columns
        assert heads * columns**2 <= size.cells
        assert down <= width
        assert heads * -(-width // down) <= size.rows + heads
        # As even as can be: a smaller step would need more parts.
        assert -(-tokens // across) * across - tokens < across
        assert across == 1 or -(-tokens // (across - 1)) > columns


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_a_square_of_weights_shows_its_largest(tokens: int, across: int, causal: bool) -> None:
    trace = random_trace(tokens, causal=causal)
    found = largest_weights(trace.pattern, trace.keep, across)
    shown = np.where(np.broadcast_to(trace.keep, trace.pattern.shape), trace.pattern, np.nan)
    for head, row, column in np.ndindex(*found.shape):
        rows = slice(row * across, (row + 1) * across)
        columns = slice(column * across, (column + 1) * across)
        square = shown[head, rows, columns]
        if np.isnan(square).all():
            assert np.isnan(found[head, row, column])
        else:
            assert found[head, row, column] == np.nanmax(square)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9))
def test_the_strongest_looks_are_the_rows_largest(tokens: int, most: int) -> None:
    trace = random_trace(tokens)
    looks = strongest_looks(trace.pattern[1], trace.keep, most)
    for query, row in enumerate(np.where(trace.keep, trace.pattern[1], 0.0)):
        np.testing.assert_array_equal(looks["weights"][query], np.sort(row)[::-1][:most])
        np.testing.assert_array_equal(row[looks["keys"][query]], looks["weights"][query])


def test_turning_gives_the_rotation_that_the_layer_used() -> None:
    trace = random_trace()
    rope = turning(trace)
    assert rope is not None
    angles = rope["positions"][:, None] * rope["frequencies"]
    half = trace.config.d_head // 2
    first, second = trace.q[..., :half], trace.q[..., half:]
    turned = np.concatenate(
        [
            first * np.cos(angles) - second * np.sin(angles),
            second * np.cos(angles) + first * np.sin(angles),
        ],
        axis=-1,
    )
    np.testing.assert_allclose(turned, trace.q_rot, atol=1e-5)
    assert turning(compute.layer_of(Scene(rope=False))) is None


@pytest.mark.parametrize("lang", LANGS)
def test_each_step_says_what_the_trace_holds(lang: str) -> None:
    look = TELLING["cat"]
    scene = Scene(lang=lang, text=TEXTS["cat"], layer=look.layer)
    trace, labels = compute.layer_of(scene), compute.reading_of(scene).labels
    query = look.focus + 1  # after `<bos>`
    said = dict(
        zip(
            STEP_NAMES,
            sayings(trace, labels, look.head, query, Words(lang), learned=True),
            strict=True,
        )
    )
    weight = f"{trace.pattern[look.head, query].max():.3f}"
    assert all(part in said["attention"] for part in ("it", "cat", weight))
    lengths = [f"{np.linalg.norm(step[query]):.1f}" for step in (trace.stream, trace.out)]
    assert all(length in said["residual"] for length in lengths)
    assert str(trace.n_tokens) in said["tokens"]
    assert not re.search(r"[{}]", "".join(said.values()))


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("sizes", [{}, {"n_heads": 4, "n_kv_heads": 2}, {"n_heads": 1}])
def test_random_weights_are_called_random(lang: str, sizes: dict[str, int]) -> None:
    words, trace = Words(lang), random_trace(**sizes)
    for token in range(trace.n_tokens):
        said = sayings(trace, "abcdefg", 0, token, words, learned=False)
        kind = ".self" if trace.pattern[0, token].argmax() == token else ""
        told = words(f"stage.say.attention.random{kind}").split("{")[-1].split("}")[-1]
        assert said[4].endswith(told)


def test_words_of_the_sentence_are_no_markup() -> None:
    trace = random_trace()
    said = sayings(
        trace, ["<b>", "&", "<img src=x>", "d", "e", "f", "g"], 0, 2, Words("en"), learned=True
    )
    assert "<img" not in "".join(said)
    assert "&lt;img src=x&gt;" in said[0]


@pytest.mark.parametrize(
    ("scene", "most"),
    [
        (Scene(), MOST_BYTES),
        (Scene(weights="article", text=TEXTS["long_en"]), MOST_LARGE_BYTES),
        (Scene(weights="article", text=TEXTS["long_zh"]), MOST_LARGE_BYTES),
    ],
)
def test_the_layer_stays_small_on_its_way(
    scene: Scene, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mha_view.walk import stage

    sent: list[int] = []
    monkeypatch.setattr(
        "mha_view.components.stage.mount",
        lambda module, header, **other: sent.append(len(pack(header))),
    )
    trace, reading = compute.layer_of(scene), compute.reading_of(scene)
    stage.draw_stage(Words("en"), scene, trace, reading.labels, 3, 5)
    stage.draw_map("attention", Words("en"), scene, trace, 3, 5)
    assert sent[0] <= most
    assert sent[1] <= 60_000


@pytest.mark.parametrize(
    "sent",
    [None, "x", {}, {"head": -1}, {"head": "2"}, {"token": 1.5}, {"page": 3}, {"head": True}],
)
def test_what_cannot_be_a_choice_is_none(sent: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.session_state", {"stage": {"told": sent}})
    assert _told("stage") == Told()


@given(st.floats(-9, 9), st.booleans())
def test_a_shade_is_where_the_number_lies(value: float, signed: bool) -> None:
    place = int(shade(np.array([value]), 3.0, signed=signed)[0])
    low = -3.0 if signed else 0.0
    share = (min(max(value, low), 3.0) - low) / (3.0 - low)
    assert place == pytest.approx(1 + 254 * share, abs=1)
