"""Settings are filled in, and what means nothing is refused in words."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError
from mha_core.rope import Rope


def test_what_is_left_out_is_filled_in():
    config = AttentionConfig(d_model=768, n_heads=12)
    assert (config.n_kv_heads, config.d_head, config.d_value) == (12, 64, 64)
    assert config.scale == 1 / 8
    assert config.group == 1


def test_what_is_given_stays():
    config = AttentionConfig(10, 6, n_kv_heads=2, d_head=7, d_value=5, scale=1.0)
    assert (config.n_kv_heads, config.d_head, config.d_value, config.scale) == (2, 7, 5, 1.0)
    assert config.group == 3
    assert AttentionConfig(10, 6, d_head=7).scale == 1 / math.sqrt(7)


def test_none_derives_anew():
    config = AttentionConfig(12, 3)
    fewer = dataclasses.replace(config, n_heads=2, n_kv_heads=None, d_head=None, d_value=None)
    assert (fewer.n_kv_heads, fewer.d_head, fewer.d_value) == (2, 6, 6)


def test_a_config_can_be_a_key():
    left, right = (AttentionConfig(4, 2, rope=Rope(frequencies=[1.0])) for _ in range(2))
    assert {left: 1}[right] == 1


REFUSED = {
    "heads do not divide d": (ShapeError, {"n_heads": 5}, "12 cannot be shared equally by 5"),
    "no heads": (ShapeError, {"n_heads": 0}, "n_heads = 0 is not a size"),
    "half a head": (ShapeError, {"d_head": 2.5}, "d_head = 2.5 is not a size"),
    "KV heads": (ShapeError, {"n_kv_heads": 2}, "2 KV heads cannot serve 3 query heads"),
    "odd width": (ShapeError, {"d_head": 5, "rope": Rope()}, "cannot turn 5 features"),
    "too wide": (ShapeError, {"rope": Rope(dim=6)}, "6 features of a head that has 4"),
    "softcap": (ConfigError, {"softcap": 0.0}, "softcap = 0.0 is out of range"),
    "scale": (ConfigError, {"scale": math.nan}, "scale = nan cannot be computed with"),
    "window": (ConfigError, {"window": (-1, None)}, "cannot reach -1 tokens to the left"),
    "window's kind": (ConfigError, {"window": (1.5, None)}, "cannot reach 1.5 tokens to the left"),
    "window of one": (ConfigError, {"window": 4}, r"window = 4 is no pair: expected \(left, right"),
    "yes for a size": (ShapeError, {"n_heads": True}, "n_heads = True is not a size"),
    "words for a number": (ConfigError, {"softcap": "30"}, "softcap = 30 is out of range"),
    "a scale of yes": (ConfigError, {"scale": True}, "scale = True cannot be computed with"),
    "causal": (ConfigError, {"causal": "no"}, "causal = 'no' is not known: expected one of True"),
    "eps": (ConfigError, {"qk_norm_eps": -1e-6}, "qk_norm_eps = -1e-06 is out of range"),
    "norm": (ConfigError, {"qk_norm": "all"}, "qk_norm = 'all' is not known"),
    "softmax": (ConfigError, {"softmax_dtype": "int8"}, "softmax_dtype = 'int8' is not known"),
}


@pytest.mark.parametrize(("kind", "settings", "words"), REFUSED.values(), ids=REFUSED)
def test_what_means_nothing_is_refused(kind, settings, words):
    with pytest.raises(kind, match=words):
        AttentionConfig(**({"d_model": 12, "n_heads": 3} | settings))


def test_yes_and_yes_are_no_sizes():
    with pytest.raises(ShapeError, match="d_model = True is not a size"):
        AttentionConfig(True, True)


def test_sizes_counted_by_numpy_are_sizes():
    counted = AttentionConfig(
        np.int64(12), np.int32(6), np.uint8(2), np.int64(4), window=[np.int64(3), None]
    )
    plain = AttentionConfig(12, 6, 2, 4, window=(3, None))
    assert counted == plain
    assert hash(counted) == hash(plain)
    assert repr(counted) == repr(plain)
    assert json.dumps(dataclasses.asdict(counted)) == json.dumps(dataclasses.asdict(plain))
    assert Rope(dim=np.int64(4)) == Rope(dim=4)


ROPES = {
    "base": ({"base": True}, "base = True is out of range"),
    "base of words": ({"base": "10000"}, "base = 10000 is out of range"),
    "factor": ({"attention_factor": math.inf}, "attention_factor = inf cannot be computed with"),
    "pairing": ({"pairing": "thirds"}, "pairing = 'thirds' is not known"),
    "frequency": ({"frequencies": (1.0, math.nan)}, "frequencies = nan cannot be computed with"),
}


@pytest.mark.parametrize(("settings", "words"), ROPES.values(), ids=ROPES)
def test_a_rope_that_means_nothing_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        Rope(**settings)


def test_a_rotary_width_is_a_size():
    with pytest.raises(ShapeError, match=r"dim = 4\.0 is not a size"):
        Rope(dim=4.0)
