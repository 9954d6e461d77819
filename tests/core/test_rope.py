"""RoPE: only distances count, and the two pairings are one rotation in two feature orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.errors import ConfigError, ShapeError
from mha_core.rope import Rope, half_from_interleaved, pair_frequencies, rotate, rotate_with

PAIRINGS = ("half", "interleaved")
ropes = st.builds(
    Rope,
    base=st.floats(1.5, 1e6),
    dim=st.sampled_from([None, 2, 4]),
    pairing=st.sampled_from(PAIRINGS),
)


@settings(deadline=None)
@given(ropes, st.integers(0, 5000), st.integers(0, 999))
def test_scores_depend_on_the_distance_alone(rope: Rope, shift: int, seed: int):
    q, k = torch.randn(
        2, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    ).unbind()
    positions = torch.arange(7)

    def score(start: int) -> torch.Tensor:
        return rotate(q, rope, positions + start) @ rotate(k, rope, positions + start).mT

    torch.testing.assert_close(score(shift), score(0), rtol=0, atol=1e-9)


@settings(deadline=None)
@given(ropes, st.integers(0, 999))
def test_lengths_stay(rope: Rope, seed: int):
    x = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(rotate(x, rope).norm(dim=-1), x.norm(dim=-1))


@settings(deadline=None)
@given(st.integers(1, 6), st.floats(1.5, 1e6), st.integers(0, 999))
def test_the_pairings_are_equal_up_to_the_stated_order(pairs: int, base: float, seed: int):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(5, 2 * pairs, dtype=torch.float64, generator=generator)
    order = half_from_interleaved(2 * pairs)
    half = rotate(x[:, order], Rope(base=base))
    interleaved = rotate(x, Rope(base=base, pairing="interleaved"))
    assert torch.equal(half, interleaved[:, order])


def test_one_pair_by_hand():
    """Pair 1 of 2 with base 100 turns by 1/10 radian a token; at token 5 by 1/2."""
    x = torch.tensor([[0.0, 3.0, 0.0, 4.0]], dtype=torch.float64)
    turned = rotate(x, Rope(base=100.0), torch.tensor([5]))[0]
    cos, sin = math.cos(0.5), math.sin(0.5)
    expected = [0.0, 3 * cos - 4 * sin, 0.0, 4 * cos + 3 * sin]
    torch.testing.assert_close(turned, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_features_beyond_the_rotary_width_stay(pairing: str):
    x = torch.randn(2, 3, 5, 8)
    turned = rotate(x, Rope(dim=4, pairing=pairing))
    assert torch.equal(turned[..., 4:], x[..., 4:])
    assert not torch.equal(turned[..., :4], x[..., :4])
    torch.testing.assert_close(turned[..., :4], rotate(x[..., :4], Rope(pairing=pairing)))


def test_frequencies_given_directly_replace_the_base():
    x = torch.randn(5, 6)
    usual = pair_frequencies(Rope(base=500.0), 6)
    given_directly = rotate(x, Rope(frequencies=tuple(usual)))
    assert torch.equal(given_directly, rotate(x, Rope(base=500.0)))
    halved = rotate(x, Rope(frequencies=tuple(usual / 2)), torch.arange(5) * 2)
    torch.testing.assert_close(halved, given_directly)


def test_the_attention_factor_multiplies_what_is_turned():
    x = torch.randn(5, 8)
    plain, scaled = (rotate(x, Rope(dim=4, attention_factor=f)) for f in (1.0, 1.5))
    torch.testing.assert_close(scaled[:, :4], 1.5 * plain[:, :4])
    assert torch.equal(scaled[:, 4:], x[:, 4:])


def test_ready_made_tables_are_the_angles():
    x = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    angles = torch.arange(9)[:, None] * torch.tensor(pair_frequencies(Rope(), 6))
    positions = torch.tensor([[4, 0, 8, 1, 1], [0, 1, 2, 3, 4]])
    turned = rotate_with(x, angles.cos(), angles.sin(), positions=positions)
    torch.testing.assert_close(turned, rotate(x, Rope(), positions))


def test_far_away_angles_stay_exact():
    """At position 100,000 an angle computed in float32 is off by about 0.004 radians."""
    x = torch.tensor([[1.0, 0.0]])
    turned = rotate(x, Rope(frequencies=(0.7,)), torch.tensor([100_000]))[0]
    np.testing.assert_allclose(turned, [math.cos(70_000), math.sin(70_000)], atol=1e-7)


def test_what_cannot_be_turned_is_refused():
    with pytest.raises(ShapeError, match="cannot turn 5 features"):
        rotate(torch.ones(2, 5), Rope())
    with pytest.raises(ShapeError, match="cannot turn 8 features of a head that has 6"):
        rotate(torch.ones(2, 6), Rope(dim=8))
    with pytest.raises(ShapeError, match="2 frequencies do not fit 6 rotated features"):
        rotate(torch.ones(2, 6), Rope(frequencies=(1.0, 0.1)))
    with pytest.raises(ShapeError, match="but 4 tokens with 3 pairs"):
        rotate(torch.ones(4, 6), Rope(), torch.arange(3))
    with pytest.raises(ConfigError, match="pairing = 'quarter' is not known"):
        Rope(pairing="quarter")
    with pytest.raises(ConfigError, match="pairing = 'quarter' is not known"):
        rotate_with(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 1), pairing="quarter")
    with pytest.raises(ConfigError, match=r"base = 0\.0 is out of range"):
        Rope(base=0.0)
