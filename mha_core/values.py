"""One setting held against what it can be: a size, a count, a number, one of some words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from mha_core.errors import ConfigError, ShapeError


def check_size(name: str, size: Any) -> int:
    """Give a size as Python's own whole number, whatever library counted it.

    Raises:
        ShapeError: it is no whole number of at least 1; True is none.

    >>> import numpy as np
    >>> check_size("n_heads", np.int64(12))
    12
    """
    if not is_whole(size) or size < 1:
        raise ShapeError("size.positive", name=name, size=size)
    return int(size)


def check_count(name: str, count: Any, least: int = 0) -> int:
    """Give a whole number as Python's own.

    Raises:
        ConfigError: it is no whole number, or too small.

    >>> check_count("prefix", 2)
    2
    """
    if not is_whole(count) or count < least:
        raise ConfigError("setting.count", name=name, value=count, least=least)
    return int(count)


def check_finite(name: str, value: Any) -> None:
    """Refuse what is no finite number.

    Raises:
        ConfigError: as said.
    """
    if not _is_finite(value):
        raise ConfigError("setting.finite", name=name, value=value)


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no finite number above 0.

    Raises:
        ConfigError: as said.
    """
    if not _is_finite(value) or value <= 0:
        raise ConfigError("setting.positive", name=name, value=value)


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number of at least 0.

    Raises:
        ConfigError: as said.
    """
    if not _is_finite(value) or value < 0:
        raise ConfigError("setting.negative", name=name, value=value)


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Refuse what is none of the choices.

    Raises:
        ConfigError: as said, with the choices listed.
    """
    known = tuple(choices)
    if value not in known:
        listed = ", ".join(repr(choice) for choice in known)
        raise ConfigError("setting.choice", name=name, value=value, choices=listed)


def check_index(name: str, value: Any, n: int) -> None:
    """Refuse what is no place among n, counted from 0.

    Raises:
        ConfigError: as said.
    """
    if not is_whole(value) or not 0 <= value < n:
        raise ConfigError("setting.choice", name=name, value=value, choices=f"0 … {n - 1}")


def is_whole(value: Any) -> bool:
    """Whether it counts something: a whole number of any library, but not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    """Whether it is a number to compute with, of any library, but not True or False."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value)
