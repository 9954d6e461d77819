"""How a figure travels to the browser: one block of bytes, arrays as they lie in memory.

A packet is a JSON header and, after it, the raw arrays. The header is the figure's dict with
each array replaced by `{"__array__": n}`, the nth of `header["arrays"]`. An array that occurs
twice (drawn, and offered as a download) travels once.

    4 bytes   length of the header, little-endian
    header    UTF-8 JSON, padded with spaces to a multiple of 8 bytes
    arrays    little-endian, C order, each padded to a multiple of 8 bytes

`browser/packet.js` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 8
# What a browser's typed arrays can hold; other types are widened to one of these.
BROWSER_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")


def pack(header: Mapping[str, Any]) -> bytes:
    """Return `header` as a packet.

    Args:
        header: nested dicts and lists of plain values, strings and NumPy arrays of numbers.

    Raises:
        TypeError: for a value that is none of these.

    >>> packet = pack({"z": np.zeros((2, 3), np.float32)})
    >>> unpack(packet)["z"].shape
    (2, 3)
    """
    arrays = _Arrays()
    try:  # the encoder walks the tree itself, and asks only for what JSON does not have
        tree = _write(dict(header), default=arrays.replace)
    except (ValueError, TypeError):  # not finite, or a name that is no text: it does not ask
        arrays = _Arrays()
        tree = _write(arrays.replace(dict(header)))
    ending = f'{"" if tree == "{}" else ","}"arrays":{_write(arrays.descriptions())}}}'
    text = (tree[:-1] + ending).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, *arrays.blocks()])


def _write(tree: object, default: Callable[[Any], Any] | None = None) -> str:
    """A tree as JSON, as short as can be."""
    return json.dumps(
        tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default
    )


def unpack(packet: bytes) -> dict[str, Any]:
    """Return what was packed, arrays as NumPy arrays: the inverse of `pack`."""
    length = int.from_bytes(packet[:4], "little")
    tree: dict[str, Any] = json.loads(packet[4 : 4 + length])
    start, arrays = 4 + length, []
    for description in tree.pop("arrays"):
        dtype, shape = np.dtype(description["dtype"]).newbyteorder("<"), description["shape"]
        count = int(np.prod(shape, dtype=np.int64))
        arrays.append(np.frombuffer(packet, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize + (-(count * dtype.itemsize) % ALIGNMENT)
    restored: dict[str, Any] = _restore(tree, arrays)
    return restored


def _restore(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Put the arrays back in their places."""
    if isinstance(value, dict):
        if "__array__" in value:
            return arrays[value["__array__"]]
        return {name: _restore(part, arrays) for name, part in value.items()}
    if isinstance(value, list):
        return [_restore(part, arrays) for part in value]
    return value


class _Arrays:
    """The arrays of a packet, each once."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []
        self._places: dict[tuple[object, ...], int] = {}
        # Keeps every array seen alive: a memory address names it only while it lives.
        self._alive: list[NDArray[Any]] = []

    def replace(self, value: Any) -> Any:
        """Return `value` with every array replaced by its place, and numbers as JSON has them."""
        if isinstance(value, np.ndarray):
            return self._replace_array(value)
        if isinstance(value, Mapping):
            return {str(name): self.replace(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.replace(part) for part in value]
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float):
            return value if np.isfinite(value) else None
        if value is None or isinstance(value, bool | int | str):
            return value
        raise TypeError(f"a {type(value).__name__} cannot travel to the browser")

    def _replace_array(self, array: NDArray[Any]) -> Any:
        if array.dtype.kind not in "biuf":
            return self.replace(array.tolist())
        name = (array.__array_interface__["data"][0], array.dtype.str, array.shape, array.strides)
        if name not in self._places:
            self._alive.append(array)
            self._places[name] = len(self._arrays)
            self._arrays.append(_widen(array))
        return {"__array__": self._places[name]}

    def descriptions(self) -> list[dict[str, Any]]:
        """Return type and shape of each array, in order."""
        return [{"dtype": a.dtype.name, "shape": list(a.shape)} for a in self._arrays]

    def blocks(self) -> list[bytes]:
        """Return the bytes of each array, padded."""
        return [a.tobytes() + b"\0" * (-a.nbytes % ALIGNMENT) for a in self._arrays]


def _widen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in a type that a browser has, little-endian."""
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.name not in BROWSER_TYPES:
        limits = np.iinfo(np.int32)
        small = array.dtype.kind in "iu" and (
            array.size == 0 or (array.min() >= limits.min and array.max() <= limits.max)
        )
        return array.astype(np.int32 if small else np.float64)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
