"""What keeps how many bytes alive: objects, arrays and tensors, each piece of memory once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from mha_core.trace import Later

# Alive anyway, whoever refers to them.
SHARED = (type, ModuleType, BuiltinFunctionType, Enum, np.dtype)


def footprint(*roots: object) -> dict[int, int]:
    """The bytes that some objects keep alive, by piece of memory.

    Views of one array, and an array and a tensor over the same numbers, are one piece. What a
    `Later` may come to keep is counted as if it were kept.

    Returns:
        a number that names the piece for as long as it lives → bytes. Two footprints that share a
        piece share its number.

    >>> numbers = np.zeros((10, 100))
    >>> sum(footprint([numbers, numbers[:5], numbers.T]).values()) // 1000
    8
    """
    found: dict[int, int] = {}
    waiting = list(roots)
    while waiting:
        each = waiting.pop()
        if each is None or isinstance(each, SHARED) or id(each) in found:
            continue
        found[id(each)] = _own_size(each)
        block = _block_of(each)
        if block is not None:
            found[block[0]] = max(block[1], found.get(block[0], 0))
        waiting.extend(_parts(each))
    return found


def _own_size(each: object) -> int:
    """The bytes of the object itself, without the block of numbers it looks at."""
    if isinstance(each, np.ndarray):
        return int(object.__sizeof__(each))
    return sys.getsizeof(each) + (each.most_kept if isinstance(each, Later) else 0)


def _block_of(each: Any) -> tuple[int, int] | None:
    """The block of numbers behind an array or a tensor: its name and its bytes."""
    if isinstance(each, np.ndarray):
        if each.base is not None:  # who owns the block is among the parts
            return None
        address, n_bytes = int(each.__array_interface__["data"][0]), each.nbytes
    elif hasattr(type(each), "untyped_storage"):  # a tensor, of a torch that may not be loaded
        storage = each.untyped_storage()
        address, n_bytes = storage.data_ptr(), storage.nbytes()
    else:
        return None
    return (-address, n_bytes) if n_bytes else None


def _parts(each: Any) -> Iterator[object]:
    """What an object holds on to."""
    if isinstance(each, np.ndarray):
        yield each.base
    elif isinstance(each, str | bytes | int | float):
        return
    elif isinstance(each, Mapping):
        yield from each.keys()
        yield from each.values()
    elif isinstance(each, tuple | list | set | frozenset):
        yield from each
    elif isinstance(each, Later):
        yield each.make
    elif isinstance(each, FunctionType):
        yield from each.__closure__ or ()
        yield from each.__defaults__ or ()
    elif isinstance(each, MethodType):
        yield each.__self__
    elif isinstance(each, CellType):
        with suppress(ValueError):  # a name not given a value yet
            yield each.cell_contents
    else:
        yield from getattr(each, "__dict__", {}).values()
        yield from _slots_of(each)


def _slots_of(each: Any) -> Iterator[object]:
    """What an object without a `__dict__` keeps in its slots."""
    for kind in type(each).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(each, name, None)
