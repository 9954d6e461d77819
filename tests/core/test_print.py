"""What `print` and a notebook show of a record: its shapes and ranges, never its numbers."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

import mha_core
from mha_core import (
    AttentionConfig,
    AttentionTrace,
    attention,
    load_tokenizer,
    load_toy_model,
    random_embedding,
    random_weights,
    walk_layer,
)
from mha_core.brief import brief
from mha_core.cache import KVCache
from mha_core.errors import ConfigError
from mha_core.model.vit import Vit
from mha_core.norms import layer_norm
from mha_core.palette import CHIP, INK, ROLE_OF
from mha_core.rope import Rope

# Different primes for every size, so that a swapped axis cannot pass.
SIZES = AttentionConfig(d_model=13, n_heads=10, n_kv_heads=5, d_head=2, d_value=3, rope=Rope())
HELD = re.compile(r"\b(Array|Tensor|NDArray|Floats|ArrayT|Matrix|AnyArray|Trace|Token)\b")
FUNCTION = re.compile(r"Callable\[.*\]")  # takes arrays, holds none
SENTENCE = "The cat sat on the mat because it was tired."
BRIEF_ENOUGH = 600  # letters


@pytest.fixture(scope="module")
def trace() -> AttentionTrace:
    return walk_layer(random_embedding(7, 13, 0), random_weights(SIZES, 0), SIZES)


def records() -> list[type]:
    """Every dataclass and named tuple of the core that may hold arrays."""
    found = []
    for each in pkgutil.walk_packages(mha_core.__path__, "mha_core."):
        if each.name.endswith("__main__"):
            continue
        module = importlib.import_module(each.name)
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            types = getattr(value, "__annotations__", {}).values()
            is_record = dataclasses.is_dataclass(value) or hasattr(value, "_fields")
            if is_record and any(HELD.search(FUNCTION.sub("", str(kind))) for kind in types):
                found.append(value)
    return found


@pytest.mark.parametrize("record", records(), ids=lambda record: record.__name__)
def test_no_record_of_arrays_prints_them(record: type) -> None:
    own = vars(record).get("__repr__")
    # What `dataclass` and `NamedTuple` make by themselves has no file.
    is_ours = own is not None and Path(inspect.unwrap(own).__code__.co_filename).is_file()
    assert is_ours, f"give {record.__name__} `__repr__ = brief`"


def test_the_records_were_found() -> None:
    assert {"AttentionTrace", "AttentionSteps", "ScoreSteps", "ModelTrace", "Encoding", "Projected",
            "KVCache", "AttentionWeights", "VitTrace", "Norm", "Seen"} <= {
        record.__name__ for record in records()
    }  # fmt: skip


def test_everything_a_notebook_user_meets_is_short() -> None:
    model = load_toy_model()
    long = " ".join([SENTENCE] * 4)
    encoding = load_tokenizer().encode(long)
    weights = random_weights(SIZES, 0)
    steps = attention(torch.ones(7, 13), weights.to_torch(), SIZES)
    met = [
        model, model.trace(long), model.trace(long).layers[0], encoding, weights, steps,
        steps.score_steps, steps.cache, KVCache(torch.ones(2, 3, 4), torch.ones(2, 3, 5)),
        model.run(torch.tensor([model.ids_of(long)])), Vit(), load_tokenizer(),
        Vit().trace(np.zeros((8, 8), dtype=np.uint8)), model.trace(long).layers[0].norm,
    ]  # fmt: skip
    for each in met:
        assert "\n" not in repr(each)
        assert len(repr(each)) < BRIEF_ENOUGH, type(each)
        assert type(each).__name__ in repr(each)
    assert repr(model.trace(SENTENCE)).startswith("ModelTrace(tokens=12 × str, layers=3 ×")


def test_a_shape_is_the_arrays_own() -> None:
    steps = attention(torch.ones(7, 13), random_weights(SIZES, 0).to_torch(), SIZES)
    assert "pattern=[10, 7, 7], heads=[10, 7, 3]" in repr(steps.score_steps)
    assert repr(steps.cache) == "KVCache(k_rot=[5, 7, 2], v=[5, 7, 3])"
    assert "score_steps=ScoreSteps(…), concat=[7, 30]" in repr(steps)


@dataclasses.dataclass
class Holder:
    value: object


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.zeros((2, 3)), "[2, 3]"),
        (np.float32(1.5), "np.float32(1.5)"),
        ((1, 2), "(1, 2)"),
        ([], "[]"),
        ([np.zeros(3), None], "2 × NoneType | ndarray"),
        ({"a": np.zeros(3)}, "1 × ndarray"),
        (list(range(1000)), "1000 × int"),
        ("word " * 100, "'" + "word " * 12 + "'…"),
        (Holder(1), "Holder(…)"),
        (True, "True"),
    ],
)
def test_each_kind_of_value_is_told_shortly(value: object, told: str) -> None:
    assert brief(Holder(value)) == f"Holder(value={told})"


def test_the_table_lists_every_step_as_it_is(trace: AttentionTrace) -> None:
    head = 7
    lines = str(trace.table(head)).splitlines()
    assert lines[0] == "S 7, d 13, h 10, h_kv 5, d_head 2, float32 on cpu"
    assert len(lines) == 2 + len(trace.names())
    for line, step in zip(lines[2:], trace, strict=True):
        symbol, name, article, in_torch, numbers = re.split(r"\s{2,}", line)
        assert name == step.name
        assert in_torch == str([1, *step.value.shape])
        first = {"head": head, "kv_head": head // 2}.get(step.axes[0])
        matrix = step.value if first is None else step.value[first]
        rows = step.article_value if first is None else step.article_value[first]
        times = "" if first is None else f"{len(step.value)} × "
        assert article == f"{times}{list(rows.shape)}"
        low, high = (float(text.replace("∞", "inf")) for text in numbers.split(" … "))
        assert (low, high) == pytest.approx((matrix.min(), matrix.max()), rel=5e-4)
        assert symbol.endswith(f"_{first}") == step.symbol.endswith("_k")


def test_printing_shows_the_table_and_repr_one_line(trace: AttentionTrace) -> None:
    assert str(trace) == str(trace.table(0))
    assert repr(trace) == "AttentionTrace(S 7, d 13, h 10, h_kv 5, d_head 2, float32 on cpu)"


def test_columns_stand_under_each_other(trace: AttentionTrace) -> None:
    lines = str(trace).splitlines()[1:]
    flat = [re.sub("[\u0300-\u036f]", "", line) for line in lines]
    starts = {line.index(step.name, 5) for line, step in zip(flat[1:], trace, strict=True)}
    assert starts == {flat[0].index("name")}


@pytest.mark.parametrize("head", [-1, 10, 1.5, None])
def test_a_head_that_is_not_there_is_refused(trace: AttentionTrace, head: int) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"head = {head}")):
        trace.table(head)


class Cells(HTMLParser):
    """The texts of a table's cells, row by row, and each row's first colour."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.styles: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag == "code":
            self.styles.append(str(dict(attrs)["style"]))

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1].append(data)


def test_a_notebook_shows_the_same_in_the_roles_colours(trace: AttentionTrace) -> None:
    cells = Cells(trace.table(3)._repr_html_())
    told = [re.split(r"\s{2,}", line) for line in str(trace.table(3)).splitlines()[1:]]
    assert cells.rows == told
    for step, style in zip(trace, cells.styles, strict=True):
        role = ROLE_OF.get(step.name)
        assert (f"color:{INK[role][0]};" in style) if role else True
        assert f"background:{CHIP}" in style
    assert trace._repr_html_() == trace.table(0)._repr_html_()


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("role", INK)
def test_a_symbol_is_read_on_its_chip(role: str) -> None:
    assert (luminance(CHIP) + 0.05) / (luminance(INK[role][0]) + 0.05) >= 4.5


def test_a_step_is_an_array(trace: AttentionTrace) -> None:
    step = trace["pattern"]
    assert np.array_equal(np.asarray(step), trace.pattern)
    assert np.shares_memory(np.asarray(step), step.value)
    assert np.array_equal(np.abs(trace["scores"]), np.abs(trace.scores))
    assert np.asarray(step, dtype=np.float64).dtype == np.float64
    copied = np.array(step)
    copied[0, 0, 0] = 5.0
    assert step.value[0, 0, 0] != 5.0
    with pytest.raises(ValueError, match="copy"):
        np.asarray(step, dtype=np.float64, copy=False)
    assert not np.asarray(step).flags.writeable
    assert torch.as_tensor(np.array(step)).shape == (10, 7, 7)


def test_nothing_is_lost_on_words_that_look_like_markup() -> None:
    stream = layer_norm(torch.ones(2, 13)).numpy()
    trace = walk_layer(stream, random_weights(SIZES, 0), SIZES)
    html = trace.table(0, title="<b> & co")._repr_html_()
    assert "&lt;b&gt; &amp; co" in html
