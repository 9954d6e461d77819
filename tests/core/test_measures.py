"""Scores of heads: planted heads, hand-worked numbers, other people's definitions."""

from __future__ import annotations

import itertools
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from mha_core.heads import measures, regroup, sample
from mha_core.heads.measures import MEASURES, Seen, Tally
from mha_core.heads.repeats import REPEAT_ROLES, draw_repeats, repeat_chance, rows_counted
from mha_core.masks import named_mask
from tests.core import measures_by_hand
from tests.core.mutants import MEASURE_MUTANTS, Mutant, loaded_alone

LENGTH = 7
WORDS = np.array([11, 12, 13, 14, 15, 16, 17])
REPEAT = np.concatenate([[0], WORDS, WORDS])  # <bos> + s + s


def seen(mask: str = "causal", ids: NDArray[np.int64] = REPEAT) -> Seen:
    """A sentence under a mask; every word from 15 on is punctuation."""
    return Seen(named_mask(mask, len(ids)), ids, ids >= 15)  # type: ignore[arg-type]


def planted(cells: NDArray[np.bool_], keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A head that does one thing: looks at `cells` alike, at token 0 where there are none."""
    wanted = np.where((cells & keep).any(-1, keepdims=True), cells & keep, np.eye(1, len(keep)) > 0)
    return wanted / wanted.sum(-1, keepdims=True)


PERFECT = {
    "previous": np.eye(15, k=-1, dtype=bool),
    "current": np.eye(15, dtype=bool),
    "next": np.eye(15, k=1, dtype=bool),
    "first": np.eye(1, 15, dtype=bool).repeat(15, axis=0),
    "punctuation": np.broadcast_to(REPEAT >= 15, (15, 15)),
    "duplicate": measures.duplicate_cells(seen()),
    "induction": measures.induction_cells(seen()),
}


@pytest.mark.parametrize("name", PERFECT)
def test_a_planted_head_scores_one_and_a_uniform_one_chance(name: str) -> None:
    sentence = seen("two_way" if name == "next" else "causal")
    perfect = planted(PERFECT[name], sentence.keep)
    measure = MEASURES[name]
    assert measure.unit == "share"
    assert measure.score(perfect, sentence) == pytest.approx(1)
    assert measure.score(sentence.uniform, sentence) == measure.chance(sentence)
    assert measure.chance(sentence) < 0.5
    others = [other for other in PERFECT if other not in (name, "next")]
    for other in others:
        if not (PERFECT[other] & PERFECT[name]).any():
            elsewhere = planted(PERFECT[other], sentence.keep)
            assert measure.score(elsewhere, sentence) < 0.5, other


def test_chance_by_hand() -> None:
    causal, two_way = seen(), seen("two_way")
    rows = np.arange(1, 15)
    assert MEASURES["previous"].chance(causal) == pytest.approx(np.mean(1 / (rows + 1)))
    assert MEASURES["first"].chance(causal) == pytest.approx(np.mean(1 / (rows[1:] + 1)))
    assert MEASURES["induction"].chance(causal) == pytest.approx(np.mean(1 / np.arange(9, 16)))
    assert MEASURES["previous"].chance(two_way) == pytest.approx(1 / 15)
    assert MEASURES["entropy"].chance(two_way) == pytest.approx(np.log(15))
    assert MEASURES["effective_keys"].chance(two_way) == pytest.approx(15)
    assert MEASURES["entropy_share"].chance(causal) == pytest.approx(1)
    assert MEASURES["distance"].chance(causal) == pytest.approx(np.mean(rows / 2))
    assert np.isnan(MEASURES["next"].chance(causal)), "no causal head can look ahead"


def test_measures_by_hand() -> None:
    pattern = np.array([[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]])
    sentence = Seen(named_mask("causal", 3), np.array([4, 5, 4]), np.array([False, True, False]))
    by_hand = {
        "entropy": (0.562335 + 1.039721) / 2,
        "confidence": (0.75 + 0.5) / 2,
        "distance": (0.25 + 1.25) / 2,
        "previous": (0.25 + 0.25) / 2,
        "current": (0.75 + 0.25) / 2,
        "first": 0.5,
        "punctuation": (0.75 + 0.25) / 2,
        "duplicate": 0.5,
        "induction": 0.25,
    }
    for name, expected in by_hand.items():
        assert MEASURES[name].score(pattern, sentence) == pytest.approx(expected, abs=1e-6), name


@given(
    raw=arrays.arrays(float, (3, 7, 7), elements=st.floats(0.01, 1)),
    mask=st.sampled_from(["causal", "two_way", "window", "prefix", "sink_window"]),
)
def test_scores_stay_within_their_bounds_under_every_mask(raw, mask) -> None:  # type: ignore[no-untyped-def]
    keep = named_mask(mask, 7)
    sentence = Seen(keep, np.array([1, 2, 3, 1, 2, 3, 1]), np.arange(7) == 3)
    pattern = raw * keep / (raw * keep).sum(-1, keepdims=True)
    most = {"share": 1, "nats": np.log(7), "keys": 7, "tokens": 6}
    for measure in MEASURES.values():
        scores = measure.score(pattern, sentence)
        assert scores.shape == (3,)
        finite = scores[np.isfinite(scores)]
        assert (finite >= 0).all()
        assert (finite <= most[measure.unit] + 1e-9).all()


def random_pattern(seed: int) -> NDArray[np.float64]:
    """Some causal pattern over the repeat."""
    raw = np.tril(np.random.default_rng(seed).random((15, 15)))
    pattern: NDArray[np.float64] = raw / raw.sum(-1, keepdims=True)
    return pattern


def their_cells(kind: str, ids: list[int]) -> NDArray[np.float64]:
    """The pattern TransformerLens looks for, cell by cell as its documentation says.

    Previous: ones on the first diagonal below the main one. Duplicate: ones where an earlier
    token is equal. Induction: the duplicate pattern moved one column to the right.
    """
    wanted = np.zeros((len(ids), len(ids)))
    for query in range(len(ids)):
        for key in range(query + 1):
            same = {
                "previous": key == query - 1,
                "duplicate": key < query and ids[key] == ids[query],
                "induction": key > 0 and key - 1 < query and ids[key - 1] == ids[query],
            }
            wanted[query, key] = same[kind]
    return wanted


CELLS = {
    "previous": np.eye(15, k=-1, dtype=bool),
    "duplicate": measures.duplicate_cells(seen()),
    "induction": measures.induction_cells(seen()),
}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("seed", range(3))
def test_cells_are_those_of_transformer_lens_and_our_mean_is_over_the_rows_that_count(
    kind: str, seed: int
) -> None:
    pattern = random_pattern(seed)
    wanted = their_cells(kind, REPEAT.tolist())
    assert (CELLS[kind] == wanted).all()
    theirs = (pattern * wanted).sum() / pattern.sum()
    ours = MEASURES[kind].score(pattern, seen())
    counted = [row for row in range(15) if wanted[row].any()]
    assert ours == pytest.approx((pattern * wanted)[counted].sum(axis=-1).mean())
    assert theirs == pytest.approx(ours * len(counted) / 15), "theirs counts every row"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9))
def test_cells_agree_with_transformer_lens_on_any_tokens(ids: list[int]) -> None:
    sentence = Seen(np.tri(len(ids), dtype=bool), np.array(ids))
    assert (measures.duplicate_cells(sentence) == their_cells("duplicate", ids)).all()
    assert (measures.induction_cells(sentence) == their_cells("induction", ids)).all()


def test_a_perfect_induction_head_is_one_for_us_and_less_for_transformer_lens() -> None:
    cells = CELLS["induction"]
    perfect = planted(cells, seen().keep)
    assert MEASURES["induction"].score(perfect, seen()) == 1
    assert (perfect * cells).sum() / perfect.sum() == pytest.approx(7 / 15)


def test_after_a_word_that_repeats_at_once_the_induction_cell_is_the_query_itself() -> None:
    cells = measures.induction_cells(Seen(np.tri(5, dtype=bool), np.array([5, 9, 9, 4, 9])))
    assert [(int(q), int(k)) for q, k in np.argwhere(cells)] == [(2, 2), (4, 2), (4, 3)]


MASKS = ["causal", "two_way", "window", "prefix", "sink_window"]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[NDArray[np.float64], Seen]:
    """Three heads on any tokens under any mask, and what they were made from."""
    ids = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=9)))
    n_tokens = len(ids)
    keep = named_mask(draw(st.sampled_from(MASKS)), n_tokens)  # type: ignore[arg-type]
    raw = draw(arrays.arrays(float, (3, n_tokens, n_tokens), elements=st.floats(0.01, 1)))
    pattern = raw * keep / (raw * keep).sum(-1, keepdims=True)
    return pattern, Seen(keep, ids, ids == 4)


@given(sentences())
def test_every_measure_is_what_a_person_would_count(made: tuple[Any, Seen]) -> None:
    patterns, sentence = made
    for name, measure in MEASURES.items():
        rows = measure.rows(patterns, sentence)
        for pattern, found in zip(patterns, rows, strict=True):
            expected = measures_by_hand.rows_of(
                name, pattern, sentence.keep, sentence.ids.tolist(), sentence.punctuation.tolist()
            )
            assert np.flatnonzero(np.isfinite(found)).tolist() == list(expected), name
            assert found[list(expected)] == pytest.approx(list(expected.values())), name
            score = measure.score(pattern, sentence)
            assert score == pytest.approx(measures_by_hand.score(expected), nan_ok=True), name


@given(sentences(), st.lists(st.integers(0, 9), max_size=4))
def test_a_text_measured_a_stretch_at_a_time_scores_the_same(
    made: tuple[Any, Seen], cuts: list[int]
) -> None:
    patterns, sentence = made
    n_tokens = patterns.shape[-1]
    bounds = sorted({0, n_tokens, *(min(cut, n_tokens) for cut in cuts)})
    odd = np.arange(n_tokens) % 2 == 1
    for measure in MEASURES.values():
        tally = Tally(np.zeros(3), np.zeros(3))
        for first, stop in itertools.pairwise(bounds):
            stretch = sentence.between(first, stop)
            tally += measure.tally(patterns[:, first:stop], stretch, odd[first:stop])
        expected = measure.score(patterns, sentence, odd)
        assert tally.mean == pytest.approx(expected, nan_ok=True), measure.name


def test_rows_that_see_one_key_never_count() -> None:
    alone = Seen(np.eye(5, dtype=bool), np.full(5, 7), np.ones(5, dtype=bool))
    for measure in MEASURES.values():
        assert np.isnan(measure.score(np.eye(5), alone)), measure.name
    assert np.isnan(regroup.divergences(np.stack([np.eye(5)] * 2), alone.keep)[0, 1])
    assert np.isnan(regroup.moved(np.eye(5), np.eye(5), alone.keep))


def test_half_precision_patterns_are_measured_in_float32() -> None:
    pattern = random_pattern(4)
    for measure in MEASURES.values():
        if measure.name != "next":
            rough = measure.score(pattern.astype(np.float16), seen())
            assert rough == pytest.approx(measure.score(pattern, seen()), abs=2e-3), measure.name


@pytest.mark.parametrize("mutant", MEASURE_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mistake_in_a_measure_is_noticed(mutant: Mutant) -> None:
    with pytest.raises(AssertionError):
        check_measures(loaded_alone(mutant))


def test_without_a_mistake_no_measure_is_off() -> None:
    check_measures(loaded_alone(None))


def check_measures(module: ModuleType) -> None:
    """Compare a measures module with the counts by hand, on sentences that tell mistakes apart."""
    ids = np.array([0, 5, 7, 7, 5, 6, 5, 7, 9])
    for mask in MASKS:
        keep = named_mask(mask, 9)  # type: ignore[arg-type]
        raw = np.random.default_rng(3).random((9, 9)) * keep
        pattern = raw / raw.sum(-1, keepdims=True)
        sentence = module.Seen(keep, ids, ids >= 7)
        for name, measure in module.MEASURES.items():
            expected = measures_by_hand.rows_of(
                name, pattern, keep, ids.tolist(), (ids >= 7).tolist()
            )
            found = measure.score(pattern, sentence)
            assert found == pytest.approx(measures_by_hand.score(expected), nan_ok=True)
            parts = [(0, 4), (4, 9)]
            tallies = [
                measure.tally(pattern[first:stop], sentence.between(first, stop))
                for first, stop in parts
            ]
            assert (tallies[0] + tallies[1]).mean == pytest.approx(float(found), nan_ok=True)
        gone = module.total_variation(pattern[3], pattern[4])
        by_hand = sum(max(p - q, 0) for p, q in zip(pattern[3], pattern[4], strict=True))
        assert gone == pytest.approx(by_hand)


@pytest.mark.parametrize("seed", range(4))
def test_on_a_repeat_the_roles_are_the_fields_definitions(seed: int) -> None:
    [repeat] = draw_repeats(range(100, 160), seed, 1)
    length, n_tokens = len(repeat) // 2, len(repeat)
    raw = np.tril(np.random.default_rng(seed).random((n_tokens, n_tokens)))
    pattern = raw / raw.sum(-1, keepdims=True)
    sentence = Seen(np.tri(n_tokens, dtype=bool), np.array(repeat))
    second = range(length + 1, n_tokens)
    expected = {
        "previous": np.mean([pattern[q, q - 1] for q in second]),
        "induction": np.mean([pattern[q, q - length + 1] for q in second]),
        "duplicate": np.mean([pattern[q, q - length] for q in second]),
        "sink": np.mean([pattern[q, 0] for q in range(2, n_tokens)]),
    }
    assert set(expected) == set(REPEAT_ROLES)
    for role, value in expected.items():
        score = REPEAT_ROLES[role].score(pattern, sentence, rows_counted(role, repeat))
        assert score == pytest.approx(value), role


def test_repeats_say_each_word_once_a_half_and_the_first_ones_stay() -> None:
    repeats = draw_repeats(range(20), 5, 40)
    for repeat in repeats:
        half = len(repeat) // 2
        assert repeat[1 : half + 1] == repeat[half + 1 :]
        assert len(set(repeat[1 : half + 1])) == half
        assert 5 <= half <= 20
    assert len({len(repeat) for repeat in repeats}) > 5
    assert draw_repeats(range(20), 5, 3) == repeats[:3]
    assert repeat_chance("induction", [(0, 1, 2, 1, 2)]) == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert repeat_chance("sink", [(0, 1, 2, 1, 2)]) == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3)


def test_hidden_tokens_are_gone_and_rows_sum_to_one() -> None:
    pattern = random_pattern(1)
    rest = regroup.hide_tokens(pattern, [0, 4])
    assert rest.shape == (13, 13)
    assert rest.sum(-1) == pytest.approx(1)
    assert rest[6, 2] / rest[6, 1] == pytest.approx(pattern[8, 3] / pattern[8, 2])
    only_first = np.eye(1, 3).repeat(3, axis=0)
    assert (regroup.hide_tokens(only_first, [0]) == 0).all(), "never a number out of nothing"


def test_merged_pieces_add_up_as_keys_and_average_as_queries() -> None:
    pattern = random_pattern(2)[None]
    groups = [[0], [1, 2, 3], *([place] for place in range(4, 15))]
    merged = regroup.merge_tokens(pattern, groups)
    assert merged.shape == (1, 13, 13)
    assert merged.sum(-1) == pytest.approx(1)
    assert merged[0, 5, 1] == pytest.approx(pattern[0, 7, 1:4].sum())
    assert merged[0, 1, 0] == pytest.approx(pattern[0, 1:4, 0].mean())


def test_divergence_is_a_distance_between_heads() -> None:
    patterns = np.stack([random_pattern(seed) for seed in range(4)])
    keep = np.tri(15, dtype=bool)
    apart = regroup.divergences(patterns, keep)
    assert np.allclose(apart, apart.T)
    assert (np.diag(apart) == 0).all()
    assert ((apart >= 0) & (apart <= 1)).all()
    middle = (patterns[1] + patterns[3]) / 2
    by_hand = [
        sum((each[row, : row + 1] * np.log2(each[row, : row + 1] / middle[row, : row + 1])).sum()
            for each in (patterns[1], patterns[3])) / 2
        for row in range(1, 15)
    ]  # fmt: skip
    assert apart[1, 3] == pytest.approx(np.mean(by_hand))
    moved = [sum(np.maximum(patterns[1, row] - patterns[3, row], 0)) for row in range(1, 15)]
    assert regroup.moved(patterns[1], patterns[3], keep) == pytest.approx(np.mean(moved))


def test_distance_of_heads_by_hand() -> None:
    alike = np.array([[[0.5, 0.5]], [[0.5, 0.5]]])
    apart = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]])
    keep = np.ones((1, 2), dtype=bool)
    assert regroup.heads_apart(alike, keep) == 0.0
    assert regroup.heads_apart(apart, keep) == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_entropy_by_hand() -> None:
    rows = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    assert measures.entropy(rows) == pytest.approx([0.0, np.log(4), np.log(2)])
    mean = measures.mean_entropy(rows, np.ones((3, 4), dtype=bool))
    assert mean == pytest.approx((np.log(4) + np.log(2)) / 3)


def test_relations_by_hand() -> None:
    rows = np.array([[[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]])
    assert measures.mass_on(rows, [1, 0]).tolist() == [[0.7, 0.3], [0.9, 0.2]]
    assert measures.hits(rows, [1, 1], [2, 2]).tolist() == [[True, True], [True, True]]
    assert measures.hits(rows, [2, 2], [1, 1])[0].tolist() == [True, True], "the query is no key"
    assert sample.best_fixed_offset([4, 8, 9, 7], [1, 5, 7, 2]) == (3, 0.5)
    assert sample.uniform_mass([4, 8, 9, 7]) == pytest.approx((1 / 5 + 1 / 9 + 1 / 10 + 1 / 8) / 4)
    assert sample.nearest_candidate([5, 2, 2], [(2, 5), (2, 5), (2, 4)]) == pytest.approx(1 / 3)


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    held = []
    for seed in range(200):
        found = sample.bootstrap(generator.normal(0.3, 0.1, 80), draws=300, seed=seed)
        assert found.low < found.mean < found.high
        assert found.n == 80
        held.append(found.low <= 0.3 <= found.high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_measures_need_no_torch() -> None:
    code = (
        "import sys, mha_core.heads.measures, mha_core.heads.regroup; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
