"""A text goes on: the same token by token as in one go, chosen as the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from mha_core.continuing import Next, Sampling, Writer, chances, choose, continue_text, draw
from mha_core.errors import ConfigError
from mha_core.model.checkpoint import load_toy_model
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.model.writer import ToyWriter

TEXTS = (
    "The cat sat on the mat because it was tired.",
    "小明把书给了小红，因为",
    "",
    "zxqj 12 <b>",
)


@pytest.fixture(scope="module")
def writer() -> ToyWriter:
    """The shipped model."""
    return ToyWriter(load_toy_model())


@pytest.mark.parametrize("text", TEXTS)
def test_greedy_text_and_rows_are_those_of_reading_it_all(writer: ToyWriter, text: str) -> None:
    ids = list(writer.encode(text))
    start = len(ids)
    found = list(continue_text(writer, text, 24))
    for new in found:
        with torch.no_grad():
            whole = writer.model.run(torch.tensor(ids))
        assert new.id == int(writer.model(torch.tensor([ids]))[0, -1].argmax())
        np.testing.assert_allclose(new.found.logits, whole.logits[-1].numpy(), atol=1e-4)
        for row, pattern in zip(new.found.rows, whole.patterns, strict=True):
            np.testing.assert_allclose(row, pattern[:, -1].numpy(), atol=1e-5)
        ids.append(new.id)
    assert len(ids) == start + 24
    assert writer.decode(ids[1:]).startswith(text)
    assert [new.display for new in found] == [writer.display(token) for token in ids[start:]]


@given(st.integers(0, 2**31), st.integers(0, 12), st.floats(0.1, 1.0))
@settings(max_examples=8, deadline=None)
def test_who_stops_and_goes_on_writes_the_same(seed: int, stop: int, top_p: float) -> None:
    writer = ToyWriter(load_toy_model())
    sampling = Sampling(seed=seed, top_p=top_p)
    whole = [new.id for new in continue_text(writer, "The dog", 12, sampling=sampling)]
    rest = continue_text(writer, "The dog", 12 - stop, sampling=sampling, said=whole[:stop])
    assert [new.id for new in rest] == whole[stop:]


SMALL = ToyModel(ModelConfig(11_994, 12, 3, (0, 8)), seed=1)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=9),
       st.lists(st.integers(0, 500), min_size=1, max_size=9), st.integers(0, 9))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_what_was_read_before_never_shows(first: list[int], other: list[int], shared: int) -> None:
    small = ToyWriter(SMALL)
    second = [*first[:shared], *other]
    past = small.read(first).past
    known, anew = small.read(second, past), small.read(second)
    np.testing.assert_allclose(known.logits, anew.logits, atol=1e-4)
    for a, b in zip(known.rows, anew.rows, strict=True):
        assert a.shape == b.shape == (3, len(second))
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert known.past.ids == tuple(second)
    assert all(cache.n_tokens == len(second) for cache in known.past.caches)


logits_of = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=40, unique=True)


@given(logits_of, st.floats(0.05, 3), st.integers(0, 45), st.floats(0.01, 1))
def test_the_settings_mean_what_they_mean_in_transformers(
    logits: list[float], temperature: float, top_k: int, top_p: float
) -> None:
    expected = torch.tensor([logits], dtype=torch.float64)
    expected = TemperatureLogitsWarper(temperature)(None, expected)
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1:
        # Where a sum of shares meets top_p to the last digit, either answer is right.
        ends = expected.softmax(-1).sort(descending=True).values.cumsum(-1)
        if (ends - top_p).abs().min() < 1e-9:
            return
        expected = TopPLogitsWarper(top_p)(None, expected)
    found = chances(np.array(logits), Sampling(temperature, top_k, top_p))
    np.testing.assert_allclose(found, expected.softmax(-1)[0].numpy(), rtol=1e-6, atol=1e-12)


@given(logits_of, st.integers(0, 2**40), st.integers(0, 99))
def test_only_what_has_a_share_is_chosen(logits: list[float], seed: int, place: int) -> None:
    logits = [*logits, -np.inf]
    sampling = Sampling(temperature=1.5, top_k=3, top_p=0.9, seed=seed)
    token, drawn = choose(np.array(logits), sampling, place)
    assert chances(np.array(logits), sampling)[token] > 0
    assert drawn == draw(seed, place)
    assert choose(np.array(logits), sampling, place) == (token, drawn)
    coldest = Sampling(temperature=0, top_k=3, seed=seed)
    assert choose(np.array(logits), coldest, place) == (int(np.argmax(logits)), None)
    assert chances(np.array(logits), coldest)[np.argmax(logits)] == 1


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    tokens = [choose(logits, Sampling(seed=seed), place)[0] for seed in range(40)
              for place in range(50)]  # fmt: skip
    often = np.bincount(tokens, minlength=4) / len(tokens)
    np.testing.assert_allclose(often, [0.5, 0.3, 0.15, 0.05], atol=0.04)
    assert len({draw(seed, place) for seed in range(10) for place in range(10)}) == 100


def test_a_number_falls_on_the_share_it_lies_on() -> None:
    logits = np.log([0.2, 0.7, 0.1])  # in a row: token 1 up to .7, token 0 up to .9, token 2
    for seed in range(60):
        token, drawn = choose(logits, Sampling(seed=seed), 0)
        assert token == (1 if drawn < 0.7 else 0 if drawn < 0.9 else 2)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [({"temperature": -0.1}, "temperature"), ({"temperature": float("nan")}, "temperature"),
     ({"top_k": -1}, "top_k"), ({"top_p": 0.0}, "top_p"), ({"top_p": 1.5}, "top_p"),
     ({"seed": 0.5}, "seed")],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        Sampling(**wrong)


class Parrot:
    """Says 1, 2, 3, … and ends at 3: what a writer must have, and no more."""

    n_vocabulary = 5
    ends = frozenset({3})

    def encode(self, text: str) -> tuple[int, ...]:
        return (0,)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(str, ids))

    def display(self, token: int) -> str:
        return str(token)

    def read(self, ids: Sequence[int], past: Any = None) -> Next:
        logits = np.zeros(5, dtype=np.float32)
        logits[ids[-1] + 1] = 9
        return Next(logits, (np.ones((1, len(ids)), dtype=np.float32),), past)


def test_any_model_that_reads_so_can_write_and_stops_where_it_ends() -> None:
    parrot: Writer = Parrot()
    assert [new.id for new in continue_text(parrot, "", 10)] == [1, 2, 3]
    assert [new.id for new in continue_text(parrot, "", 2)] == [1, 2]
    assert [new.id for new in continue_text(parrot, "", 0)] == []


def test_only_what_may_follow_follows() -> None:
    few = ToyWriter(SMALL, may_follow=[7, 9])
    found = few.read([0, 5])
    assert np.flatnonzero(np.isfinite(found.logits)).tolist() == [7, 9]
    assert {new.id for new in continue_text(few, "cat", 6, sampling=Sampling())} <= {7, 9}


def test_a_head_that_is_off_gives_nothing(writer: ToyWriter) -> None:
    from mha_core.heads.ablation import ablate

    ids, model = writer.encode("The cat sat on the mat because"), writer.model
    edits = ablate(model, ((1, 2), (0, 3)), mode="zero")
    with torch.no_grad():
        expected = model.run(torch.tensor(ids), edits=edits).logits[-1].numpy()
    np.testing.assert_allclose(writer.read_without(ids, [(1, 2), (0, 3)]), expected, atol=1e-5)
    np.testing.assert_allclose(writer.read_without(ids, ()), writer.read(ids).logits, atol=1e-4)
    cut = writer.read_without(ids, (), (0, 4, len(ids) - 1, 2))
    assert np.abs(cut - writer.read(ids).logits).max() > 1e-5
