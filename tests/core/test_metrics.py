"""Scores over many documents: planted heads, hand-worked numbers, other people's definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mha_core.heads import measures, metrics

LENGTH = 7
REPEAT = [0, *range(11, 18), *range(11, 18)]  # <bos> + s + s
N_TOKENS = len(REPEAT)


def planted(offset: int) -> NDArray[np.float64]:
    """A head that looks `offset` tokens back, at the first token where there is none."""
    keys = np.maximum(np.arange(N_TOKENS) - offset, 0)
    return np.eye(N_TOKENS)[keys]


def uniform() -> NDArray[np.float64]:
    """A head that looks at everything it may see alike."""
    keep = np.tril(np.ones((N_TOKENS, N_TOKENS)))
    return keep / keep.sum(-1, keepdims=True)


def test_a_planted_head_scores_one_on_its_own_role_and_nothing_on_others() -> None:
    heads = {1: "previous", LENGTH: "duplicate", LENGTH - 1: "induction"}
    for offset, role in heads.items():
        pattern = planted(offset)
        scores = {
            "previous": metrics.previous_score(pattern, first=LENGTH + 1),
            "duplicate": metrics.duplicate_score(pattern, LENGTH),
            "induction": metrics.induction_score(pattern, LENGTH),
        }
        assert scores == {name: float(name == role) for name in scores}
    assert metrics.self_score(planted(0)) == 1
    assert metrics.sink_score(planted(N_TOKENS)) == 1
    ahead = np.eye(N_TOKENS, k=1)
    assert metrics.next_score(ahead) == 1


def test_a_uniform_head_scores_the_baseline() -> None:
    later = np.arange(LENGTH + 1, N_TOKENS)
    expected = np.mean(1 / (later + 1))
    assert metrics.induction_score(uniform(), LENGTH) == pytest.approx(expected)
    assert metrics.duplicate_score(uniform(), LENGTH) == pytest.approx(expected)
    assert metrics.previous_score(uniform(), first=LENGTH + 1) == pytest.approx(expected)
    assert metrics.sink_score(uniform()) == pytest.approx(np.mean(1 / np.arange(3, 16)))
    assert metrics.entropy_share(uniform()) == pytest.approx(1)
    assert metrics.effective_keys(uniform()) == pytest.approx((N_TOKENS + 1) / 2)
    assert metrics.mean_distance(uniform()) == pytest.approx((N_TOKENS - 1) / 4)
    assert metrics.confidence(uniform()) == pytest.approx(np.mean(1 / np.arange(1, 16)))
    assert metrics.share_on(uniform(), np.arange(N_TOKENS) == 0) == pytest.approx(
        np.mean(1 / np.arange(1, 16))
    )


@pytest.mark.parametrize("seed", range(3))
def test_detection_agrees_with_transformer_lens_on_a_repeat(seed: int) -> None:
    raw = np.tril(np.random.default_rng(seed).random((N_TOKENS, N_TOKENS)))
    pattern = raw / raw.sum(-1, keepdims=True)
    edges = {
        "previous": (metrics.previous_detection(N_TOKENS), lambda q, k: k == q - 1),
        "duplicate": (
            metrics.duplicate_detection(REPEAT),
            lambda q, k: k < q and REPEAT[k] == REPEAT[q],
        ),
        "induction": (
            metrics.induction_detection(REPEAT),
            lambda q, k: 0 < k <= q and k - 1 < q and REPEAT[k - 1] == REPEAT[q],
        ),
    }
    for name, (detection, wanted) in edges.items():
        by_hand = (
            sum(pattern[q, k] for q in range(N_TOKENS) for k in range(q + 1) if wanted(q, k))
            / pattern.sum()
        )
        assert metrics.share_by_detection(pattern, detection) == pytest.approx(by_hand), name
    share = metrics.share_by_detection(pattern, edges["induction"][0])
    ours = metrics.induction_score(pattern, LENGTH)
    assert share == pytest.approx(ours * LENGTH / N_TOKENS), "theirs counts every row"


@given(st.lists(st.integers(1, 4), min_size=2, max_size=9))
def test_edges_are_the_measures_cells(ids: list[int]) -> None:
    assert (metrics.duplicate_detection(ids) == measures.duplicate_cells(np.array(ids))).all()
    assert (metrics.induction_detection(ids) == measures.induction_cells(np.array(ids))).all()


def test_after_a_word_that_repeats_at_once_the_induction_edge_is_the_query_itself() -> None:
    edges = metrics.induction_detection([5, 9, 9, 4, 9])
    assert [(int(q), int(k)) for q, k in np.argwhere(edges)] == [(2, 2), (4, 2), (4, 3)]


def test_relations_by_hand() -> None:
    rows = np.array([[[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]])
    assert metrics.mass_on(rows, [1, 0]).tolist() == [[0.7, 0.3], [0.9, 0.2]]
    hit = metrics.hits(rows, [1, 1], [2, 2])
    assert hit.tolist() == [[True, True], [True, True]]
    plain = metrics.hits(rows, [1, 0], [2, 2], strict=False)
    assert plain.tolist() == [[True, False], [True, False]]
    assert metrics.best_fixed_offset([4, 8, 9, 7], [1, 5, 7, 2]) == (3, 0.5)
    assert metrics.uniform_mass([4, 8, 9, 7]) == pytest.approx((1 / 5 + 1 / 9 + 1 / 10 + 1 / 8) / 4)
    assert metrics.nearest_candidate([5, 2, 2], [(2, 5), (2, 5), (2, 4)]) == pytest.approx(1 / 3)


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    held = []
    for seed in range(200):
        found = metrics.bootstrap(generator.normal(0.3, 0.1, 80), draws=300, seed=seed)
        assert found.low < found.mean < found.high
        assert found.n == 80
        held.append(found.low <= 0.3 <= found.high)
    assert 0.88 <= np.mean(held) <= 0.99
