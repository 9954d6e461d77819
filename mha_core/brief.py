"""A record of arrays in one line: an array by its shape, not by its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

MOST_LETTERS = 60


def brief(record: Any) -> str:
    """Say what a record holds, in one line that a person can read.

    A record's class takes it as its `__repr__`: an array gives its shape, a record inside gives
    its class, many of them their number, and a long text its beginning. What is None is left out.

    Args:
        record: an instance of a dataclass or of a named tuple.

    >>> import numpy as np
    >>> from mha_core import AttentionWeights
    >>> square = np.zeros((6, 6))
    >>> brief(AttentionWeights(square, square, square, square, b_o=np.zeros(6)))
    'AttentionWeights(w_q=[6, 6], w_k=[6, 6], w_v=[6, 6], w_o=[6, 6], b_o=[6])'
    """
    names = [each.name for each in fields(record)] if is_dataclass(record) else record._fields
    values = {name: getattr(record, name) for name in names}
    told = [f"{name}={_tell(value)}" for name, value in values.items() if value is not None]
    return f"{type(record).__name__}({', '.join(told)})"


def _tell(value: Any) -> str:
    """One field's value."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return str(list(shape))
    if _is_record(value):
        return f"{type(value).__name__}(…)"
    if isinstance(value, (list, tuple, Mapping)) and value and not _is_short(value):
        held = list(value.values()) if isinstance(value, Mapping) else list(value)
        kinds = sorted({type(each).__name__ for each in held})
        return f"{len(held)} × {' | '.join(kinds)}"
    if isinstance(value, str):
        return repr(value) if len(value) <= MOST_LETTERS else f"{value[:MOST_LETTERS]!r}…"
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _is_record(value: Any) -> bool:
    """Whether a value is a record itself."""
    return is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def _is_short(values: Any) -> bool:
    """Whether a collection holds a few plain values that can stand as they are."""
    held = values.values() if isinstance(values, Mapping) else values
    plain = all(isinstance(each, (str, int, float, bool, type(None))) for each in held)
    return plain and len(values) <= MOST_LETTERS and len(repr(values)) <= MOST_LETTERS
