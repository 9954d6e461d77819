"""A station's page as a small picture: its main numbers, for the sentence on the screen."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mha_core.arrays import Array
from mha_view import compute, theme, thread
from mha_view.figures.heat import signed_reach
from mha_view.store import STORE
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_view.scene import Scene

# By page, the step whose numbers stand for it; a page that is not named shows the pattern.
STEP = {
    "overview": "residual", "tokens": "stream", "projection": "q_full", "heads": "q",
    "rope": "q_rot", "concat": "concat", "output": "out",
}  # fmt: skip
MOST_CELLS = 96  # rows or columns


def thumbnail(page: str, scene: Scene, words: Words) -> str:
    """The picture as HTML, with what it shows as its alternative text."""
    scene = compute.resolve(scene)
    head, is_dark = thread.head_of(scene), theme.is_dark()
    key = ("thumbnail", page, compute.walk_key(scene), scene.layer, head, is_dark)
    drawn = STORE.get(key, lambda: _draw(page, scene, head))
    alt = escape(words("class.thumbnail", title=words(f"nav.{page}")), quote=True)
    return f'<img class="station" src="data:image/png;base64,{drawn}" alt="{alt}">'


def _draw(page: str, scene: Scene, head: int) -> str:
    """The numbers as colours, a pixel each, as an encoded PNG."""
    trace = compute.layer_of(scene)
    if page in STEP:
        values = trace[STEP[page]].article_value
        matrix = values[head] if values.ndim == 3 else values
        pixels = _signed(matrix[:MOST_CELLS, :MOST_CELLS])
    else:
        keep = np.broadcast_to(trace.keep, trace.pattern.shape)[head]
        pattern = np.where(keep, trace.pattern[head], np.nan)
        pixels = _ramp(pattern[:MOST_CELLS, :MOST_CELLS], theme.CIVIDIS)
    stored = io.BytesIO()
    Image.fromarray(pixels).save(stored, "PNG", optimize=True)
    return base64.b64encode(stored.getvalue()).decode("ascii")


def _signed(matrix: Array) -> NDArray[np.uint8]:
    """Numbers from orange to purple, zero in the middle."""
    reach = signed_reach([matrix])
    ramp = theme.SIGNED_DARK if theme.is_dark() else theme.SIGNED_LIGHT
    return _ramp((matrix / reach + 1) / 2, ramp)


def _ramp(shares: Array, colours: tuple[str, ...]) -> NDArray[np.uint8]:
    """Shares from 0 to 1 as [row, column, red green blue alpha]; NaN is clear.

    >>> _ramp(np.array([[0.0, 1.0, np.nan]]), ("#000000", "#ff8000")).tolist()
    [[[0, 0, 0, 255], [255, 128, 0, 255], [0, 0, 0, 0]]]
    """
    stops = np.array([[int(colour[n : n + 2], 16) for n in (1, 3, 5)] for colour in colours])
    places = np.nan_to_num(np.clip(shares, 0, 1)) * (len(colours) - 1)
    channels = [np.interp(places, range(len(colours)), stops[:, n]) for n in range(3)]
    clear = np.where(np.isnan(shares), 0, 255)
    return np.where(clear[..., None] == 0, 0, np.stack([*channels, clear], axis=-1)).astype(
        np.uint8
    )
