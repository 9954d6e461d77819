"""Who may look at whom, by hand and by rule."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import ConfigError
from mha_core.masks import keep_mask, named_mask

reach = st.none() | st.integers(0, 5)


@given(st.integers(1, 6), st.integers(1, 8), st.booleans(), st.integers(-3, 6), reach, reach)
def test_every_cell_follows_the_rule(n_query, n_key, causal, offset, left, right):
    keep = keep_mask(n_query, n_key, causal=causal, offset=offset, left=left, right=right)
    for query in range(n_query):
        for key in range(n_key):
            place = query + offset
            allowed = not (causal and key > place)
            allowed &= left is None or place - key <= left
            allowed &= right is None or key - place <= right
            assert bool(keep[query, key]) == allowed


def test_an_offset_per_sentence_gives_a_mask_per_sentence():
    keep = keep_mask(2, 4, offset=torch.tensor([0, 2, -1]))
    assert keep.shape == (3, 2, 4)
    assert keep[0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert keep[1].int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert keep[2].int().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]


DRAWN = {
    "causal": ["#....", "##...", "###..", "####.", "#####"],
    "two_way": ["#####"] * 5,
    "window": ["#....", "##...", ".##..", "..##.", "...##"],
    "prefix": ["###..", "###..", "###..", "####.", "#####"],
    "sink_window": ["#....", "##...", "###..", "#.##.", "#..##"],
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_apps_masks_as_drawn(name: str):
    keep = named_mask(name, 5, window=2, prefix=3, sinks=1)
    assert ["".join("#" if cell else "." for cell in row) for row in keep] == DRAWN[name]


@given(st.integers(1, 12))
def test_the_two_ways_to_a_mask_agree(n_tokens: int):
    assert np.array_equal(named_mask("causal", n_tokens), keep_mask(n_tokens, n_tokens))
    window = named_mask("window", n_tokens, window=3)
    assert np.array_equal(window, keep_mask(n_tokens, n_tokens, left=2))


def test_masks_that_mean_nothing_are_refused():
    with pytest.raises(ConfigError, match="mask = 'diagonal' is not known"):
        named_mask("diagonal", 3)
    with pytest.raises(ConfigError, match="window = 0 is out of range"):
        named_mask("window", 3, window=0)
    with pytest.raises(ConfigError, match="sinks = -1 is out of range"):
        named_mask("sink_window", 3, sinks=-1)
    with pytest.raises(ConfigError, match="cannot reach -2 tokens to the right"):
        keep_mask(2, 2, right=-2)
