"""A layer's tensors, cut down to what a screen can show of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.rope import pair_frequencies
from mha_core.trace import AttentionTrace
from mha_view.components.stage import Block, limit_of, shade
from mha_view.figures.heat import pool
from mha_view.words import Words

# name on the stage: the trace's step, its role, its page.
PLACES: dict[str, tuple[str, str, str]] = {
    "x": ("x", "plain", "tokens"),
    "q": ("q_full", "query", "projection"),
    "k": ("k_full", "key", "projection"),
    "v": ("v_full", "value", "projection"),
    "q_rot": ("q_rot", "query", "rope"),
    "k_rot": ("k_rot", "key", "rope"),
    "v_band": ("v", "value", "heads"),
    "pattern": ("pattern", "pattern", "attention"),
    "heads": ("heads", "plain", "attention"),
    "concat": ("concat", "plain", "concat"),
    "out": ("out", "output", "output"),
    "residual": ("residual", "residual", "output"),
}  # Bands of another block: nothing is sent twice.
BANDS_OF = {"v_band": "v", "heads": "concat"}


# Where nothing has been learned, no number should catch the eye.
QUIET = 1.7


@dataclass(frozen=True)
class Size:
    """How much of a tensor is sent.

    Attributes:
        rows: of a whole tensor, at most.
        columns: at most.
        cells: of all heads' patterns together, at most.
        looks: a query's strongest keys that are sent exactly where columns are pooled.
        shaded: whether numbers are sent as colours only.
    """

    rows: int
    columns: int
    cells: int
    looks: int
    shaded: bool


LARGE = Size(rows=96, columns=48, cells=57_600, looks=8, shaded=False)
SMALL = Size(rows=48, columns=24, cells=8_000, looks=0, shaded=True)


def cut_columns(n_tokens: int, n_heads: int, size: Size) -> int:
    """How many tokens one column stands for.

    >>> [cut_columns(n, 12, LARGE) for n in (12, 48, 49, 1024)], cut_columns(40, 64, LARGE)
    ([1, 1, 2, 22], 2)
    """
    return _even(
        n_tokens, math.ceil(n_tokens / min(size.columns, math.isqrt(size.cells // n_heads)))
    )


def cut_rows(n_heads: int, d_head: int, size: Size) -> int:
    """How many rows of a head one row stands for; no row holds numbers of two heads.

    >>> cut_rows(6, 16, LARGE), cut_rows(12, 64, LARGE), cut_rows(64, 1, LARGE)
    (1, 8, 1)
    """
    return _even(d_head, min(d_head, math.ceil(n_heads * d_head / size.rows)))


def _even(count: int, step: int) -> int:
    """The step that cuts `count` into as many parts as `step` does, as even as can be."""
    return math.ceil(count / math.ceil(count / step))


def blocks_of(
    trace: AttentionTrace, words: Words, *, axes: str, scale: str, learned: bool, size: Size = LARGE
) -> dict[str, Block]:
    """The layer's tensors as the browser draws them, in the article's order.

    Args:
        trace: the layer.
        words: the reader's words.
        axes: how shapes are printed, "article" or "torch".
        scale: how weights become colours, where only colours are sent.
        learned: whether the weights have learned anything; random numbers are drawn quieter.
        size: how much is sent.
    """
    across = cut_columns(trace.n_tokens, trace.config.n_heads, size)
    blocks = {}
    for name, (field, role, page) in PLACES.items():
        step = trace[field]
        values, down, rows = _cut(trace, name, across, size)
        limit = 1.0 if name == "pattern" else limit_of(values) * (1.0 if learned else QUIET)
        if size.shaded and name == "pattern" and scale == "sqrt":
            values = np.sqrt(values)
        blocks[name] = Block(
            symbol=_symbol(step.symbol, name, trace.config.rope is not None),
            label=words(f"stage.block.{name}"),
            shape=_shape(step.shape, step.article_shape, axes),
            role=role,
            page=page,
            values=shade(values, limit, signed=name != "pattern") if size.shaded else values,
            step=(down, across),
            rows=rows,
            limit=limit,
        )
    return blocks


def _cut(trace: AttentionTrace, name: str, across: int, size: Size) -> tuple[Array, int, int]:
    """A block's numbers, how many rows one of them stands for, and how many rows there are."""
    config = trace.config
    step = trace[PLACES[name][0]]
    if name in BANDS_OF:
        return np.zeros((0, 0), np.float32), 1, step.shape[-1]
    if name == "pattern":
        return largest_weights(step.value, trace.keep, across), across, trace.n_tokens
    article = step.article_value
    heads = {"q": config.n_heads, "k": config.n_kv_heads, "v": config.n_kv_heads,
             "concat": config.n_heads}.get(name)  # fmt: skip
    if heads is not None:
        article = article.reshape(heads, -1, article.shape[-1])
    rows = article.shape[-2]
    down = cut_rows(config.n_heads if article.ndim == 3 else 1, rows, size)
    pooled, _, _ = pool(article, -(-rows // down), -(-trace.n_tokens // across))
    return np.ascontiguousarray(pooled), down, rows


def largest_weights(pattern: Array, keep: NDArray[np.bool_], across: int) -> Array:
    """The largest weight of each square of `across` × `across` cells, NaN where all are masked.

    Args:
        pattern: [head, query, key].
        keep: [query, key] or [head, query, key].
        across: a square's side.

    >>> causal = np.tril(np.ones((2, 2), bool))
    >>> largest_weights(np.array([[[1.0, 0.0], [0.25, 0.75]]]), causal, 1)
    array([[[1.  ,  nan],
            [0.25, 0.75]]])
    >>> largest_weights(np.array([[[1.0, 0.0], [0.25, 0.75]]]), causal, 2)
    array([[[1.]]])
    """
    starts = np.arange(0, pattern.shape[-1], across)
    seen = np.where(keep, pattern, np.float32(-1))
    if across > 1:
        seen = np.maximum.reduceat(np.maximum.reduceat(seen, starts, axis=-1), starts, axis=-2)
    seen[seen < 0] = np.nan
    return seen


def _symbol(symbol: str, name: str, rope: bool) -> str:
    """A block's symbol; without RoPE nothing is turned."""
    return symbol if rope or name not in ("q_rot", "k_rot") else symbol.replace("\u0303", "")


def _shape(shape: Sequence[int], article: Sequence[int], axes: str) -> str:
    """A tensor's shape as printed on the stage: short, since twelve stand side by side.

    >>> _shape((6, 12, 16), (16, 12), "article"), _shape((6, 12, 16), (16, 12), "torch")
    ('[16, 12]', '[1,6,12,16]')
    """
    return str(list(article)) if axes == "article" else f"[1,{','.join(map(str, shape))}]"


def strongest_looks(pattern: Array, keep: NDArray[np.bool_], most: int) -> dict[str, Any]:
    """Each query's strongest keys and their weights, strongest first, exactly.

    Args:
        pattern: [query, key] of one head.
        keep: [query, key].
        most: keys a query.

    >>> strongest_looks(np.array([[0.2, 0.8]]), np.array([[True, True]]), 1)["keys"].tolist()
    [[1]]
    """
    shown = np.where(keep, pattern, 0.0)
    most = min(most, shown.shape[-1])
    keys = np.argpartition(-shown, most - 1, axis=-1)[:, :most]
    order = np.argsort(-np.take_along_axis(shown, keys, axis=-1), axis=-1, kind="stable")
    keys = np.take_along_axis(keys, order, axis=-1)
    weights = np.take_along_axis(shown, keys, axis=-1).astype(np.float32)
    return {"keys": keys.astype(np.uint16), "weights": weights}


def turning(trace: AttentionTrace) -> dict[str, Any] | None:
    """What RoPE turns by: radians a token for each pair, and each token's position."""
    rope = trace.config.rope
    if rope is None:
        return None
    positions = np.arange(trace.n_tokens) if trace.positions is None else trace.positions
    return {
        "frequencies": pair_frequencies(rope, trace.config.d_head),
        "positions": np.asarray(positions, np.float64),
        "halves": rope.pairing == "half",
        "factor": float(rope.attention_factor),
    }
