"""One sentence through one layer, held against the article's own arithmetic."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.masks import MASK_NAMES, named_mask
from mha_core.rope import Rope
from mha_core.walk import compare, compare_fused, limits, walk_layer
from mha_core.weights import random_embedding, random_weights

SIZES = AttentionConfig(
    d_model=14, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=Rope(), causal=False
)


@pytest.mark.parametrize("name", MASK_NAMES)
@pytest.mark.parametrize("norm", [None, "rms", "layer"])
def test_the_walk_agrees_with_the_article_under_every_mask(name, norm):
    stream = random_embedding(11, 14, seed=3)
    trace = walk_layer(
        stream, random_weights(SIZES, 5), SIZES, norm=norm, keep=named_mask(name, 11)
    )
    allowed = limits(trace)
    assert {step: far for step, far in compare(trace).items() if far > allowed[step]} == {}
    assert compare_fused(trace) <= allowed["out"]


def test_compare_sees_a_number_that_is_wrong():
    trace = walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES)
    wrong = np.array(trace.pattern)
    wrong[2, 3, 1] += 0.25
    bent = dataclasses.replace(trace, pattern=wrong)
    apart = compare(bent)
    assert apart["pattern"] == pytest.approx(0.25, abs=1e-6)
    assert max(far for name, far in apart.items() if name != "pattern") < 1e-4


def test_compare_gives_infinity_where_only_one_side_is_masked():
    trace = walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES)
    wrong = np.array(trace.masked)
    wrong[0, 0, 0] = -np.inf
    assert compare(dataclasses.replace(trace, masked=wrong))["masked"] == np.inf


def test_the_stream_passes_by_the_norm():
    stream = 3 * random_embedding(5, 14, 0)
    trace = walk_layer(stream, random_weights(SIZES, 0), SIZES)
    np.testing.assert_array_equal(trace.residual, stream + trace.out)
    np.testing.assert_allclose((trace.x**2).mean(axis=1), 1, rtol=1e-5)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ConfigError, match="norm = 'batch' is not known"):
        walk_layer(random_embedding(5, 14, 0), random_weights(SIZES, 0), SIZES, norm="batch")


def test_tokens_of_another_width_are_refused():
    with pytest.raises(ShapeError, match=r"shape \(5, 15\).*14 features"):
        walk_layer(random_embedding(5, 15, 0), random_weights(SIZES, 0), SIZES)
