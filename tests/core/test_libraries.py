"""Fourteen libraries' layers give the same pattern and output, and one wrong setting does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mha_core.layer import attention, fused_attention
from tests.core.libraries import LIBRARIES, Seen


@pytest.fixture(scope="module", params=LIBRARIES, ids=lambda make: make.__name__)
def seen(request: pytest.FixtureRequest) -> Seen:
    make: Callable[[], Seen] = request.param
    return make()


def test_pattern_and_output_are_the_librarys(seen: Seen):
    steps = attention(seen.x, seen.weights, seen.config, **seen.inputs)
    assert (steps.pattern - seen.pattern).abs().max() <= 1e-5
    assert (steps.out - seen.out).abs().max() <= 1e-5
    fused = fused_attention(seen.x, seen.weights, seen.config, **seen.inputs)
    assert (fused - seen.out).abs().max() <= 1e-5


def test_one_wrong_setting_misses(seen: Seen):
    wrong = dict(seen.wrong)
    config = replace_known(seen.config, wrong)
    weights = replace_known(seen.weights, wrong)
    if seen.config.qk_norm and not config.qk_norm:
        weights = dataclasses.replace(weights, q_norm=None, k_norm=None)
    steps = attention(seen.x, weights, config, **(seen.inputs | wrong))
    assert (steps.pattern - seen.pattern).abs().max() > 1e-2
    assert (steps.out - seen.out).abs().max() > 1e-2


def replace_known(record: Any, wrong: dict[str, Any]) -> Any:
    """Take out of `wrong` what is a field of the record, and replace it there."""
    known = {field.name for field in dataclasses.fields(record)} & wrong.keys()
    return dataclasses.replace(record, **{name: wrong.pop(name) for name in known})


def test_the_patterns_are_far_from_flat(seen: Seen):
    """A flat pattern would agree whatever the scores were."""
    assert torch.all(seen.pattern.sum(-1) < 1 + 1e-5)
    assert seen.pattern.amax(-1).median() > 2 / seen.pattern.shape[-1]
