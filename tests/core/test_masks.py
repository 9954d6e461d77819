"""Who may look at whom, by hand and by rule."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError
from mha_core.layer import attention
from mha_core.masks import keep_mask, named_mask
from mha_core.weights import random_weights

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
    assert keep.shape == (3, 1, 2, 4)  # sentence, head, query, key
    assert keep[0, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert keep[1, 0].int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert keep[2, 0].int().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize("n_sentences", [1, 2, 3])
def test_a_mask_per_sentence_is_never_read_as_one_per_head(n_sentences: int):
    """Three heads: with three sentences too, the two lengths agree."""
    config = AttentionConfig(12, 3, causal=False)
    weights = random_weights(config, 0).to_torch()
    x = torch.linspace(-1, 1, n_sentences * 48).view(n_sentences, 4, 12).sin()
    offsets = list(range(n_sentences))
    together = attention(x, weights, config, keep=keep_mask(4, 4, offset=torch.tensor(offsets)))
    for sentence, offset in enumerate(offsets):
        alone = attention(x[sentence], weights, config, keep=keep_mask(4, 4, offset=offset))
        torch.testing.assert_close(together.pattern[sentence], alone.pattern)


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
    with pytest.raises(ConfigError, match=r"cannot reach 1\.5 tokens to the left"):
        keep_mask(2, 2, left=1.5)
    with pytest.raises(ConfigError, match=r"n_key = 2\.0 is out of range"):
        keep_mask(2, 2.0)
    with pytest.raises(ConfigError, match=r"offset is torch\.float32.*expected a whole number"):
        keep_mask(2, 2, offset=torch.tensor([0.5]))


def test_whole_numbers_of_numpy_count_too():
    one = named_mask("window", np.int64(5), window=np.int32(2))
    assert np.array_equal(one, keep_mask(np.int64(5), 5, left=np.int64(1)))
