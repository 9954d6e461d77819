"""A drawing of 32 × 32 pixels as text: a bit a pixel, row by row, in URL-safe base64."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray

from mha_core.model.digits import BLOCK, SIDE

Pixels = NDArray[np.bool_]
WIDE = SIDE * BLOCK


def pack_drawing(pixels: Pixels) -> str:
    """A drawing [row, column] as text.

    >>> len(pack_drawing(np.ones((32, 32), dtype=bool)))
    171
    """
    return base64.urlsafe_b64encode(np.packbits(pixels).tobytes()).decode("ascii").rstrip("=")


def unpack_drawing(text: str) -> Pixels:
    """The reverse of `pack_drawing`; no ink for no text.

    >>> dot = np.eye(32, dtype=bool)
    >>> bool((unpack_drawing(pack_drawing(dot)) == dot).all())
    True
    """
    if not text:
        return np.zeros((WIDE, WIDE), dtype=bool)
    packed = np.frombuffer(base64.urlsafe_b64decode(text + "="), dtype=np.uint8)
    return np.unpackbits(packed).reshape(WIDE, WIDE).astype(bool)
