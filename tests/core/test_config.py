"""Settings are filled in, and what means nothing is refused in words."""

from __future__ import annotations

import dataclasses
import math

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
    "norm": (ConfigError, {"qk_norm": "all"}, "qk_norm = 'all' is not known"),
    "softmax": (ConfigError, {"softmax_dtype": "int8"}, "softmax_dtype = 'int8' is not known"),
}


@pytest.mark.parametrize(("kind", "settings", "words"), REFUSED.values(), ids=REFUSED)
def test_what_means_nothing_is_refused(kind, settings, words):
    with pytest.raises(kind, match=words):
        AttentionConfig(**({"d_model": 12, "n_heads": 3} | settings))
