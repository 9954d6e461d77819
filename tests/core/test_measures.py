"""Scores of heads: planted heads, hand-worked numbers, other people's definitions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from mha_core.heads import measures, regroup
from mha_core.heads.measures import MEASURES, Seen
from mha_core.masks import named_mask

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
    "previous": measures.offset_cells(15, -1),
    "current": measures.offset_cells(15, 0),
    "next": measures.offset_cells(15, 1),
    "first": np.eye(1, 15, dtype=bool).repeat(15, axis=0),
    "punctuation": np.broadcast_to(REPEAT >= 15, (15, 15)),
    "duplicate": measures.duplicate_cells(REPEAT),
    "induction": measures.induction_cells(REPEAT),
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


@pytest.mark.parametrize("kind", ["previous", "duplicate", "induction"])
@pytest.mark.parametrize("seed", range(3))
def test_shares_agree_with_transformer_lens_and_ours_is_named_apart(kind: str, seed: int) -> None:
    pattern = random_pattern(seed)
    wanted = their_cells(kind, REPEAT.tolist())
    cells = {
        "previous": measures.offset_cells(15, -1),
        "duplicate": measures.duplicate_cells(REPEAT),
        "induction": measures.induction_cells(REPEAT),
    }[kind]
    theirs = (pattern * wanted).sum() / pattern.sum()
    assert measures.detected_share(pattern, cells) == pytest.approx(theirs)
    ours = np.nanmean(measures.mass(pattern, cells))
    counted = [row for row in range(15) if wanted[row].any()]
    assert ours == pytest.approx((pattern * wanted)[counted].sum(axis=-1).mean())
    assert theirs == pytest.approx(ours * len(counted) / 15), "theirs counts every row"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9))
def test_cells_agree_with_transformer_lens_on_any_tokens(ids: list[int]) -> None:
    assert (measures.duplicate_cells(np.array(ids)) == their_cells("duplicate", ids)).all()
    assert (measures.induction_cells(np.array(ids)) == their_cells("induction", ids)).all()


def test_a_perfect_induction_head_is_one_for_us_and_less_for_transformer_lens() -> None:
    cells = measures.induction_cells(REPEAT)
    perfect = planted(cells, seen().keep)
    assert np.nanmean(measures.mass(perfect, cells)) == 1
    assert measures.detected_share(perfect, cells) == pytest.approx(7 / 15)


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
    apart = regroup.divergences(patterns)
    assert np.allclose(apart, apart.T)
    assert (np.diag(apart) == 0).all()
    assert ((apart >= 0) & (apart <= 1)).all()
    middle = (patterns[1] + patterns[3]) / 2
    by_hand = [
        sum((each[row, : row + 1] * np.log2(each[row, : row + 1] / middle[row, : row + 1])).sum()
            for each in (patterns[1], patterns[3])) / 2
        for row in range(15)
    ]  # fmt: skip
    assert apart[1, 3] == pytest.approx(np.mean(by_hand))


def test_measures_need_no_torch() -> None:
    code = (
        "import sys, mha_core.heads.measures, mha_core.heads.regroup; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
