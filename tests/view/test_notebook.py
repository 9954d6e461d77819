"""`draw(trace, …)`: a notebook's figures hold the trace's numbers and the reader's words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest
from numpy.typing import NDArray

from mha_core import (
    AttentionConfig,
    AttentionTrace,
    ModelTrace,
    load_toy_model,
    random_embedding,
    random_weights,
    walk_layer,
)
from mha_core.derivation import head_contributions, head_shares
from mha_core.errors import ConfigError, DataError, TwelveHeadsError
from mha_core.model.vit import Vit
from mha_core.rope import Rope
from mha_core.whatif import as_one_head, look_again
from mha_view.figures.heat import pool
from mha_view.notebook import PICTURES, draw, table
from mha_view.scene import ColourScale
from mha_view.words import LANGS, Words

ROOT = Path(__file__).parents[2]
SENTENCE = "the cat saw the 12 <b>"
WIDE = AttentionConfig(d_model=11, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=Rope())
STEPS = AttentionTrace.names()
WITH_HEADS = ("q", "k", "v", "q_rot", "k_rot", "heads")


def walked(n_tokens: int = 7, config: AttentionConfig = WIDE, **more: object) -> AttentionTrace:
    stream = random_embedding(n_tokens, config.d_model, seed=1)
    return walk_layer(stream, random_weights(config, 2), config, **more)  # type: ignore[arg-type]


TRACES = {
    "grouped": walked(),
    "one token": walked(1),
    "one head": walked(5, AttentionConfig(6, 1, rope=Rope())),
    "no rope, softcap": walked(5, AttentionConfig(6, 3, softcap=0.4)),
    "a mask a head": walked(5, keep=np.tri(5, dtype=bool)[::-1] | (np.ogrid[:6, :5, :5][0] < 3)),
    "nothing to look at": walked(4, keep=np.zeros((4, 4), dtype=bool)),
    "long": walked(70),
}


@pytest.fixture(scope="module")
def model_trace() -> ModelTrace:
    return load_toy_model().trace(SENTENCE)


def heat_of(figure: go.Figure) -> NDArray[np.float32]:
    """The one heatmap's numbers."""
    (heat,) = (trace for trace in figure.data if trace.type == "heatmap")
    return np.asarray(heat.z)


def tiles_of(figure: go.Figure, count: int, shape: tuple[int, int]) -> list[NDArray[np.float32]]:
    """Each tile's numbers, found by the ground that lies under it."""
    laid, (high, wide) = heat_of(figure), shape
    corners = [(round(s.y0 + 0.5), round(s.x0 + 0.5)) for s in figure.layout.shapes]
    assert len(corners) == count
    heads = np.asarray(figure.data[0].customdata)
    inside = np.zeros(laid.shape, dtype=bool)
    tiles = []
    for head, (top, left) in enumerate(corners):
        here = (slice(top, top + high), slice(left, left + wide))
        assert not inside[here].any(), "two tiles share a cell"
        inside[here] = True
        assert (heads[here] == head).all()
        tiles.append(laid[here])
    assert np.isnan(laid[~inside]).all(), "something is drawn between the tiles"
    return tiles


@pytest.mark.parametrize("case", TRACES)
@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_a_figure_plotly_takes(picture: str, case: str) -> None:
    trace = TRACES[case]
    if picture == "one" and trace.keep.ndim == 3:
        with pytest.raises(TwelveHeadsError, match=r"keep|mask"):
            draw(trace, picture)  # one head cannot have a mask a head
        return
    figure = draw(trace, picture, head=trace.config.n_heads - 1)
    assert isinstance(figure, go.Figure)
    told = plotly.io.to_json(figure)
    assert "var(--" not in told
    hovers = [each.hovertemplate for each in figure.data if each.hovertemplate]
    assert all(not re.search(r"(?<!%)\{", hover) for hover in hovers)
    assert figure.layout.meta["alt"]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_drawn_with_its_own_numbers(name: str) -> None:
    trace = TRACES["grouped"]
    step = trace[name]
    figure = draw(trace, name)
    drawn = step.article_value.astype(np.float32)
    if step.value.ndim == 2:
        assert np.array_equal(heat_of(figure), drawn)
        return
    expected = np.where(np.isfinite(drawn), drawn, np.nan)
    if name == "pattern":
        expected = np.where(trace.keep, drawn, np.nan)
    tiles = tiles_of(figure, len(drawn), drawn.shape[1:])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(tiles, expected, strict=True))


def test_the_other_pictures_have_the_cores_numbers() -> None:
    trace, head, token = TRACES["grouped"], 4, 2
    assert np.array_equal(heat_of(draw(trace, "w_o")), np.asarray(trace.weights.w_o))
    shares = draw(trace, "shares", token=token).data[0].y
    assert np.allclose(shares, head_shares(trace)[:, token])
    rows = heat_of(draw(trace, "contributions", token=token))
    assert np.allclose(rows[:-1], head_contributions(trace)[:, token], atol=1e-6)
    assert np.allclose(rows[-1], trace.out[token])
    size = (trace.n_tokens, trace.n_tokens)
    (one,) = tiles_of(draw(trace, "one"), 1, size)
    seen = np.where(trace.keep, as_one_head(trace).pattern[0], np.nan)
    assert np.allclose(one, seen, atol=1e-6, equal_nan=True)
    roots = [None, trace.config.d_model**-0.5, 1.0]
    for tile, scale in zip(
        tiles_of(draw(trace, "divisors", head=head), 3, size), roots, strict=True
    ):
        pattern = trace.pattern[head] if scale is None else look_again(trace, head, scale=scale)
        assert np.allclose(tile, np.where(trace.keep, pattern, np.nan), atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("case", ["grouped", "no rope, softcap", "a mask a head"])
def test_the_chain_is_the_layers_own(case: str) -> None:
    trace, head = TRACES[case], 1
    size = (trace.n_tokens, trace.n_tokens)
    raw, scores, masked = tiles_of(draw(trace, "chain", head=head), 3, size)
    assert np.allclose(raw, trace.raw[head], atol=1e-5)
    assert np.allclose(scores, trace.scores[head], atol=1e-5)
    own = trace.masked[head]
    assert np.allclose(masked, np.where(np.isfinite(own), own, np.nan), atol=1e-5, equal_nan=True)


def test_a_models_trace_brings_its_layers_and_tokens(model_trace: ModelTrace) -> None:
    for layer, trace in enumerate(model_trace.layers):
        (head, *_), n = tiles_of(draw(model_trace, layer=layer), 6, (trace.n_tokens,) * 2), 6
        assert np.allclose(head, np.where(trace.keep, trace.pattern[0], np.nan), equal_nan=True)
    all_heads = tiles_of(draw(model_trace, "gallery"), n * len(model_trace.layers), head.shape)
    last = model_trace.layers[-1].pattern[-1]
    assert np.allclose(np.nan_to_num(all_heads[-1]), last)
    digit = Vit().trace(np.eye(8, dtype=np.uint8))
    assert draw(digit, layer=1).layout.xaxis.ticktext[:2] == digit.tokens[:2]


def test_tokens_stand_as_they_are_and_where_they_are(model_trace: ModelTrace) -> None:
    axis = draw(model_trace, "x").layout.xaxis
    shown = [token.replace("<", "&lt;").replace(">", "&gt;") for token in model_trace.tokens]
    assert list(axis.ticktext) == shown
    assert list(axis.tickvals) == list(range(len(shown)))
    assert axis.type == "linear"
    named = draw(TRACES["one token"], "x", labels=["<i>"]).layout.xaxis.ticktext
    assert named == ("&lt;i&gt;",)


def test_a_pooled_picture_says_so() -> None:
    trace = TRACES["long"]
    figure = draw(trace, "pattern")
    seen = np.where(trace.keep, trace.pattern, np.nan)
    values, rows, columns = pool(seen, 64, 64)
    assert (rows, columns) == (2, 2)
    tiles = tiles_of(figure, 6, values.shape[1:])
    assert np.allclose(np.stack(tiles), values, equal_nan=True)
    assert "2 × 2" in figure.layout.title.text
    assert draw(TRACES["grouped"], "pattern").layout.title.text is None


@pytest.mark.parametrize("role", ["query", "key"])
def test_the_circles_turn_under_plotlys_own_slider(role: str) -> None:
    trace = TRACES["grouped"]
    figure = draw(trace, f"circles_{role}", token=3)
    (slider,) = figure.layout.sliders
    assert slider.active == 3
    assert [step.args[0][0] for step in slider.steps] == [frame.name for frame in figure.frames]
    here = figure.frames[3]
    assert here.traces == (1,)
    assert np.allclose(here.data[0].x, figure.data[1].x, equal_nan=True)
    assert not np.allclose(figure.frames[4].data[0].x, figure.data[1].x, equal_nan=True)


@pytest.mark.parametrize("picture", PICTURES)
def test_both_languages_draw_the_same_numbers(picture: str, model_trace: ModelTrace) -> None:
    english, chinese = (draw(model_trace, picture, lang=lang, head=2) for lang in LANGS)
    for one, other in zip(english.data, chinese.data, strict=True):
        for values in ("x", "y", "z"):
            a, b = one.to_plotly_json().get(values), other.to_plotly_json().get(values)
            assert (a is None and b is None) or np.array_equal(a, b, equal_nan=True)
    assert english.layout.meta["alt"] != chinese.layout.meta["alt"]
    assert re.search(r"[\u4e00-\u9fff]", chinese.layout.meta["alt"])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"picture": "patern"}, "picture = 'patern'"),
        ({"head": 6}, "head = 6"),
        ({"head": -1}, "head = -1"),
        ({"token": 7}, "token = 7"),
        ({"layer": 1}, "layer = 1"),
        ({"scale": "cubic"}, "scale = 'cubic'"),
        ({"lang": "fr"}, "lang = 'fr'"),
    ],
)
def test_what_is_not_there_is_named(asked: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        draw(TRACES["grouped"], **asked)  # type: ignore[arg-type]


def test_an_error_is_told_in_chinese_too() -> None:
    with pytest.raises(DataError, match="2 labels were given for 7 tokens") as caught:
        draw(TRACES["grouped"], labels=["a", "b"], lang="zh")
    assert caught.value.__notes__ == [Words("zh").error(caught.value)]
    assert "7 个词元" in caught.value.__notes__[0]


@pytest.mark.parametrize("scale", get_args(ColourScale))
def test_a_colour_scale_spreads_colours_and_no_numbers(scale: ColourScale) -> None:
    plain, spread = draw(TRACES["grouped"]), draw(TRACES["grouped"], scale=scale)
    assert np.array_equal(heat_of(plain), heat_of(spread), equal_nan=True)
    assert (plain.layout.coloraxis == spread.layout.coloraxis) == (scale == "linear")


def test_the_table_speaks_the_readers_language(model_trace: ModelTrace) -> None:
    own = model_trace.layers[1].table(head=3)
    for lang in LANGS:
        told = table(model_trace, 3, layer=1, lang=lang)
        assert told.rows == own.rows
        assert f"{model_trace.layers[1].n_tokens}" in told.title
    assert "数值范围（头 3）" in str(told)
    with pytest.raises(ConfigError, match="head = 9"):
        table(model_trace, 9)


def test_drawing_says_nothing_beside_the_figure() -> None:
    code = (
        "from mha_core import load_toy_model; from mha_view.notebook import draw;"
        "print(type(draw(load_toy_model().trace('The cat sat'))).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("Figure\n", "")
