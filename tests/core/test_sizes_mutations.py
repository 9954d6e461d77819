"""A seeded part of the mutations; `python -m tests.core.sizes_mutations 1000` tries all."""

from __future__ import annotations

import pytest

from tests.core import sizes_mutations
from tests.core.sizes_mutations import faults, mutate, originals

SEEDS = range(0, 1000, 50)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_answer_is_the_classs_or_none(seed: int) -> None:
    assert list(faults(seed)) == []


def test_mutations_are_of_every_kind_and_of_many_files() -> None:
    found = [mutate(seed) for seed in range(300)]
    assert {kind for _, kind, *_ in found} == {"drop", "null", "resize", "add", "pattern", "class"}
    assert len({name for name, *_ in found}) > 60
    assert len(originals()) > 120


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = sizes_mutations.measure

    def wrong(config: dict[str, object], **asked: bool) -> object:
        from dataclasses import replace

        sizes = measure(config, **asked)
        total = sizes.parameters.total
        return replace(sizes, parameters=replace(sizes.parameters, total=total and total + 1))

    monkeypatch.setattr(sizes_mutations, "measure", wrong)
    assert any(list(faults(seed)) for seed in range(3))
