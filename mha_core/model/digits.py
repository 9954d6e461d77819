"""Handwritten digits of 8 × 8: the bundled set, and a drawing brought to its form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mha_core.brief import brief
from mha_core.errors import DataError

FILE = Path(__file__).parents[1] / "data" / "digits" / "digits.npz"
SIDE = 8
BLOCK = 4
MAX_INK = BLOCK * BLOCK
HELD_OUT_EVERY = 5

Images = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Digits:
    """Images [image, row, column] of whole numbers 0 to 16, and the digit each one shows.

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository, 1998 (data/digits/SOURCE.md).
    """

    images: Images
    labels: Images

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.labels)


@cache
def load_digits() -> Digits:
    """Load all 1,797 bundled digits.

    Raises:
        DataError: the file is not what was shipped.

    >>> digits = load_digits()
    >>> digits.images.shape, int(digits.images.max()), int(digits.labels[5])
    ((1797, 8, 8), 16, 5)
    """
    with np.load(FILE, allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    fits = images.shape == (len(labels), SIDE, SIDE) and images.dtype == labels.dtype == np.uint8
    if not fits or images.max() > MAX_INK or labels.max() > 9:
        raise DataError("digits.file", name=FILE.name)
    images.flags.writeable = labels.flags.writeable = False
    return Digits(images, labels)


def split_digits(digits: Digits) -> tuple[Digits, Digits]:
    """Split into (to learn from, held out): every fifth image, from the first, is held out.

    >>> learn, held_out = split_digits(load_digits())
    >>> len(learn), len(held_out)
    (1437, 360)
    """
    out = np.arange(len(digits)) % HELD_OUT_EVERY == 0
    return (
        Digits(digits.images[~out], digits.labels[~out]),
        Digits(digits.images[out], digits.labels[out]),
    )


def digit_from_canvas(canvas: NDArray[np.generic]) -> Images:
    """Bring a drawing of 32 × 32 pixels to the form of the set: centred, ink counted by block.

    Args:
        canvas: [row, column], nonzero where there is ink.

    Returns:
        [8, 8], for each block of 4 × 4 pixels how many have ink, 0 to 16.

    Raises:
        DataError: the canvas is not 32 × 32, or empty.

    Source: the set's own description; there the bitmaps were also brought to one size.

    >>> canvas = np.zeros((32, 32))
    >>> canvas[:16, :8] = 1
    >>> digit_from_canvas(canvas)[:, 3].tolist()
    [0, 0, 16, 16, 16, 16, 0, 0]
    """
    side = SIDE * BLOCK
    if canvas.shape != (side, side):
        raise DataError("digits.canvas.shape", shape=canvas.shape, side=side)
    ink = centred(canvas != 0)
    blocks = ink.reshape(SIDE, BLOCK, SIDE, BLOCK)
    counts: Images = blocks.sum(axis=(1, 3)).astype(np.uint8)
    return counts


def centred(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Move the ink so that the box around it lies in the middle, half a pixel up and left at most.

    Raises:
        DataError: there is no ink.
    """
    if not ink.any():
        raise DataError("digits.canvas.empty")
    shifts = []
    for axis in (0, 1):
        used = np.flatnonzero(ink.any(axis=1 - axis))
        length = ink.shape[axis]
        shifts.append((length - 1 - int(used[0]) - int(used[-1])) // 2)
    moved: NDArray[np.bool_] = np.roll(ink, shifts, axis=(0, 1))
    return moved
