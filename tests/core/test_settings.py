"""Every setting of a layer, drawn together: no what-if and no derivation forgets one."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.trace import AttentionTrace
from tests.core.exams import EXAMS, functions_of_a_walk
from tests.core.settings import draw_fields, walks


@settings(deadline=None, max_examples=60)
@given(trace=walks())
def test_every_setting_is_honoured_by_every_function(trace: AttentionTrace) -> None:
    for module, exams in EXAMS.items():
        examined = importlib.import_module(f"mha_core.{module}")
        for name, exam in exams.items():
            try:
                exam(examined, trace)
            except BaseException as error:
                error.add_note(f"{module}.{name}: {trace.config}, {trace.norm}, {trace.dtype}")
                raise


@pytest.mark.parametrize("module", EXAMS)
def test_every_function_of_a_walk_is_examined(module: str) -> None:
    """One that is added has to say what holds for it."""
    found = functions_of_a_walk(importlib.import_module(f"mha_core.{module}"))
    assert found == EXAMS[module].keys()


def test_a_setting_that_nobody_described_fails_loudly() -> None:
    @dataclasses.dataclass(frozen=True)
    class Warmer(AttentionConfig):
        temperature: float = 1.0

    strategies = {each.name: st.none() for each in dataclasses.fields(AttentionConfig)}
    with pytest.raises(LookupError, match=r"Warmer\.temperature: say in tests\.core\.settings"):
        draw_fields(lambda strategy: None, Warmer, strategies)
    with pytest.raises(LookupError, match=r"AttentionConfig\.colour"):
        draw_fields(lambda strategy: None, AttentionConfig, strategies | {"colour": st.none()})


@settings(deadline=None, max_examples=100)
@given(trace=walks())
def test_what_is_drawn_is_a_walk(trace: AttentionTrace) -> None:
    """No NaN anywhere, rows that sum to one, to less with a sink, or to nothing."""
    for step in trace:
        assert not np.isnan(step.value).any(), step.name
    sums = trace.pattern.astype(np.float64).sum(axis=-1)
    empty = ~np.broadcast_to(trace.keep, trace.pattern.shape).any(axis=-1)
    assert (sums[empty] == 0).all()
    if trace.weights.sinks is None:
        assert np.allclose(sums[~empty], 1, atol=0.02)
