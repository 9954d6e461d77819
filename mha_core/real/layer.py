"""A layer of somebody's model, taken through our own walk, and proved.

Nothing about a class is believed. What runs round an attention call is looked at; from the numbers
that went in and came out it is told which matrices, norms, angles and sums made them; the walk is
then taken with these, and what it gives is held against what the model computed. A layer that
does not agree is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mha_core.after import After
from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import DataError, Note
from mha_core.real.capture import Call, TileMask
from mha_core.real.load import probe
from mha_core.real.mapping import Mapped, map_layer
from mha_core.real.seen import Scene, look_on
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_from_heads, walk_layer

if TYPE_CHECKING:
    from mha_core.real.labels import Encoded
    from mha_core.real.load import RealModel

# What the walk and the model may differ by: of the pattern as it is, of the others by the largest.
NEAR = 1e-5
PROBE = 24


@dataclass(frozen=True, eq=False)
class RealLayer:
    """One layer on one text, proved.

    Args:
        number: of the layer, from 0.
        trace: the walk. `keep`, `bias` and `after.beside` are what the model had on this text.
        proof: step → how far the walk is from what the model computed.
        call: what the model computed.
        hidden: where the walk begins at queries, keys and values as the model had them: what of
            the way to them is not known here. None where the walk begins at the stream.
    """

    number: int
    trace: AttentionTrace
    proof: dict[str, float]
    call: Call
    hidden: Note | None = None

    __repr__ = brief


def real_layer(model: RealModel, encoded: Encoded, number: int) -> RealLayer:
    """Take one layer of a model through the walk on one text.

    Args:
        model: see `load_model`.
        encoded: see `RealModel.encode`.
        number: of the layer, from 0.

    Raises:
        DataError: the layer does something that is not known here, or the walk does not agree
            with the model.
        ConfigError: there is no such layer.
    """
    return real_layers(model, encoded, [number])[0]


def real_layers(
    model: RealModel, encoded: Encoded, numbers: Iterable[int] | None = None
) -> tuple[RealLayer, ...]:
    """Take several layers through the walk, the model run once.

    Args:
        model: see `load_model`.
        encoded: see `RealModel.encode`.
        numbers: of layers, from 0; all unless given.

    Raises:
        DataError: as `real_layer`, for the first layer that is not proved.
        ConfigError: there is no such layer.
    """
    asked = list(range(model.n_layers) if numbers is None else numbers)
    for number in asked:
        model.check_layer(number)
    ids = torch.tensor([encoded.ids], device=next(model.network.parameters()).device)
    with model.lock:
        mapped = _maps(model, asked)
        scenes = look_on(model.network, ids, asked)
    return tuple(walk_scene(model.name, mapped[each], scenes[each]) for each in asked)


def _maps(model: RealModel, numbers: list[int]) -> dict[int, Mapped]:
    """How each layer is made, found out once, on tokens that tell positions apart."""
    absent = [number for number in numbers if number not in model.maps]
    if absent:
        ids = probe(model.tokenizer, model.n_rows, model.limit, PROBE)
        scenes = look_on(model.network, ids.to(next(model.network.parameters()).device), absent)
        for number in absent:
            model.maps[number] = map_layer(model.network, model.name, scenes[number])
    return {number: model.maps[number] for number in numbers}


def walk_scene(name: str, mapped: Mapped, scene: Scene) -> RealLayer:
    """Walk a layer on what was seen, and prove it.

    Raises:
        DataError: the walk does not agree with the model.
    """
    call = scene.call
    stream, beside = mapped.stream_of(scene), mapped.beside_of(scene)
    config, keep = _mask_of(mapped.config, call)
    bias = call.added()
    after = mapped.after if beside is None else replace(mapped.after, beside=_array(beside))
    given: dict[str, Any] = {
        "norm": mapped.norm,
        "after": None if _is_plain(after) else after,
        "keep": keep,
        "bias": None if bias is None else _array(bias[0]),
        "device": stream.device,
        "dtype": stream.dtype,
    }
    if mapped.hidden is None:
        trace = walk_layer(_array(stream), mapped.weights, config, **given)
    else:
        q, k, v = (_array(each[0]) for each in (call.q, call.k, call.v))
        trace = walk_from_heads(_array(stream), q, k, v, mapped.weights, config, **given)
    proof = prove(trace, mapped, scene)
    for step, apart in proof.items():
        if not apart <= NEAR:
            raise DataError(
                "real.unproved",
                name=name, layer=call.number, step=step, apart=f"{apart:.1e}", most=f"{NEAR:g}",
            )  # fmt: skip
    return RealLayer(call.number, trace, proof, call, mapped.hidden)


def prove(trace: AttentionTrace, mapped: Mapped, scene: Scene) -> dict[str, float]:
    """Say how far a walk is from what the model computed.

    Queries are compared as they meet the keys, scaled: some classes scale them beforehand.

    Returns:
        step → max |walk − model|, for all but the pattern as a share of the largest number there.
    """
    call = scene.call
    pattern = call.rows() if call.pattern is None else call.pattern
    scaled = trace.q_rot * trace.config.scale
    pairs = {
        "x": (trace.x, mapped.x_of(scene)),
        "q_rot": (scaled, call.q[0] * call.scale),
        "k_rot": (trace.k_rot, call.k[0]),
        "v": (trace.v, call.v[0]),
        "pattern": (trace.pattern, pattern[0]),
        "concat": (trace.concat, scene.concat),
        "out": (trace.out, mapped.out_of(scene)),
        "residual": (trace.residual, mapped.residual_of(scene)),
    }
    return {
        step: _apart(ours, _array(theirs), absolute=step == "pattern")
        for step, (ours, theirs) in pairs.items()
    }


def _apart(ours: Array, theirs: Array, *, absolute: bool) -> float:
    """The largest distance, as it is or by the largest number."""
    apart = float(np.abs(ours.astype(np.float64) - theirs).max())
    return apart if absolute else apart / max(1e-30, float(np.abs(theirs).max()))


def _array(tensor: Tensor) -> Array:
    """A tensor's numbers."""
    found: Array = tensor.detach().float().cpu().numpy()
    return found


def _is_plain(after: After) -> bool:
    """Whether nothing but the sum follows the output."""
    parts = (after.norm_out, after.norm_sum, after.beside)
    return after.factor == 1 and all(part is None for part in parts)


def _mask_of(config: AttentionConfig, call: Call) -> tuple[AttentionConfig, Array | None]:
    """Say a call's mask as causality and a window where it is one; else as cells."""
    keep = call.keep()
    n = call.q.shape[2]
    if keep is None:
        return replace(config, causal=False), None
    cells: Array = keep[0].cpu().numpy()
    cells = cells[0] if len(cells) == 1 else cells
    if cells.all() and not (n == 1 and _causal_at(call, 8)):
        return replace(config, causal=False), None
    query, key = np.ogrid[:n, :n]
    if np.array_equal(cells, key <= query):
        return replace(config, causal=True, window=(_window_of(call), None)), None
    window = _window_of(call)
    if window is not None and np.array_equal(cells, (key <= query) & (query - key <= window)):
        return replace(config, causal=True, window=(window, None)), None
    left = _reach(call)
    if left is not None and np.array_equal(cells, np.abs(query - key) <= left):
        return replace(config, causal=False, window=(left, left)), None
    back = not np.triu(cells, 1).any()
    return replace(config, causal=bool(back)), cells


def _ask(call: Call, query: int, first: int, last: int) -> Array | None:
    """Which keys of a stretch one query would see, wherever the text ends."""
    if not isinstance(call.mask, TileMask) or call.mask.whole is not None:
        return None
    try:
        row: Array = call.mask.tile(query, query + 1, first, last)[0, 0, 0].cpu().numpy()
    except (IndexError, RuntimeError):  # a rule that looks the text's own tokens up
        return None
    return row


def _causal_at(call: Call, query: int) -> bool:
    """Whether a query would see nothing after it."""
    row = _ask(call, query, query + 1, query + 9)
    return row is not None and not row.any()


def _window_of(call: Call) -> int | None:
    """How many earlier tokens a query sees, where the rule looks back so far and no farther."""
    for holder in (call.module, getattr(call.module, "config", None)):
        told = getattr(holder, "sliding_window", None)
        if isinstance(told, int) and 0 < told < 2**24 and _sees_back(call, told):
            return told - 1
    return None


def _sees_back(call: Call, n_keys: int) -> bool:
    """Whether a query sees itself and what comes just before it, so many keys in all."""
    for query in (n_keys + 3, 2 * n_keys + 1):
        row = _ask(call, query, 0, query + 1)
        if row is None or int(row.sum()) != n_keys or not row[-n_keys:].all():
            return False
    return True


def _reach(call: Call) -> int | None:
    """How far a query sees to either side, where the rule looks equally far."""
    far = 2**14
    row = _ask(call, far, 0, 2 * far + 1)
    if row is None or row.all() or not row[far]:
        return None
    left = int(row[:far].sum())
    return left if row[far - left : far + left + 1].all() and row.sum() == 2 * left + 1 else None
