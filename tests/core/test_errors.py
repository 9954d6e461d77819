"""Errors and remarks go to other processes, into copies and back without a change."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from mha_core.config import AttentionConfig
from mha_core.errors import (
    MESSAGES,
    ConfigError,
    DataError,
    DeviceError,
    Note,
    ShapeError,
    TwelveHeadsError,
)

ROUTES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
ERRORS = (
    ShapeError("heads.divide", d_model=10, n_heads=4),
    ConfigError("window.negative", side=Note("window.left"), reach=-1),
    DataError("mask.bool", name="keep", dtype="torch.float32"),
    DeviceError("device.absent", device="warp", found="cpu"),
    TwelveHeadsError("trace.one", shape=(2, 5, 14)),
)


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_it_was(error: TwelveHeadsError, route: Callable[[Any], Any]) -> None:
    error.add_note("while reading a file")
    again = route(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.key, again.values) == (error.key, error.values)
    assert again.__notes__ == error.__notes__


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
@pytest.mark.parametrize("key", sorted(key for key, text in MESSAGES.items() if "{" not in text))
def test_a_remark_arrives_as_it_was(key: str, route: Callable[[Any], Any]) -> None:
    assert route(Note(key)) == Note(key)


def test_an_error_crosses_from_another_process() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(ShapeError, match="10 cannot be shared"):
        pool.submit(AttentionConfig, 10, 4).result()
