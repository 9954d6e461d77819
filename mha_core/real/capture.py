"""What every attention layer of a transformers model computes, seen as it is computed.

One attention function and one mask function are registered under one name. Without the mask
function transformers would hand over no mask at all: padding, windows and causality would be
lost without a word. Nothing as large as query × key is kept, unless it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mha_core.brief import brief

if TYPE_CHECKING:
    from mha_core.real.labels import Encoded
    from mha_core.real.load import RealModel

NAME = "twelve_heads"
# Rows of queries that are scored at once; cells that one call may have to be kept whole.
ROWS = 256
MOST_CELLS = 2**26
# A score moved down by so much is none: classes that add −10,000 mean that nobody looks there.
NOWHERE = -5_000.0
Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Run = Callable[["Call"], Tensor]
_watcher: ContextVar[Run | None] = ContextVar("watcher", default=None)


class TileMask:
    """Who may look at whom, worked out one tile at a time from transformers' own rule.

    It stands where a model expects its mask: it has a mask's shape and passes through a model's
    hands unchanged.

    Args:
        shape: [batch, 1, query, key].
        rule: transformers' mask function of indices of batch, head, query and key.
        starts: the positions of the first query and the first key.
        device: where tiles are made.
        whole: the mask itself, where the rule cannot be asked for a tile.
    """

    ndim = 4
    dtype = torch.bool

    def __init__(
        self,
        shape: tuple[int, int, int, int],
        rule: Rule,
        starts: tuple[int, int],
        device: torch.device | str,
        whole: Tensor | None = None,
    ) -> None:
        self.shape = torch.Size(shape)
        self.rule = rule
        self.starts = starts
        self.device = device
        self.whole = whole

    def tile(self, first_query: int, last_query: int, first_key: int, last_key: int) -> Tensor:
        """Give the cells of some queries and keys.

        Returns:
            bool [batch, 1, query, key], True where a query may look.
        """
        if self.whole is not None:
            return self.whole[..., first_query:last_query, first_key:last_key]
        n_batch = self.shape[0]
        query = torch.arange(first_query, last_query, device=self.device) + self.starts[0]
        key = torch.arange(first_key, last_key, device=self.device) + self.starts[1]
        batch = torch.arange(n_batch, device=self.device)
        head = torch.zeros(1, dtype=torch.long, device=self.device)
        keep = self.rule(
            batch[:, None, None, None],
            head[None, :, None, None],
            query[None, None, :, None],
            key[None, None, None, :],
        )
        return keep.expand(n_batch, -1, len(query), len(key))

    def size(self, axis: int | None = None) -> torch.Size | int:
        """Its shape, or one length of it."""
        return self.shape if axis is None else self.shape[axis]

    def dim(self) -> int:
        """How many axes it has."""
        return self.ndim

    def to(self, *_: object, **__: object) -> TileMask:
        """Itself: tiles are made where they are needed."""
        return self

    def contiguous(self) -> TileMask:
        """Itself."""
        return self


@dataclass(eq=False)
class Call:
    """One attention call of a model: what goes in, and from it the pattern, exactly.

    Args:
        number: the how-manieth call on the way through, from 0.
        module: the attention module that called; ALBERT's one module calls for every layer.
        q: [batch, head, query, d_head], after RoPE and the norms of queries.
        k: [batch, kv_head, key, d_head], likewise.
        v: [batch, kv_head, key, d_value].
        mask: who may look at whom; None where everyone may.
        scale: what the scores are multiplied by.
        softcap: see `AttentionConfig`.
        sinks: [head], see `AttentionWeights`.
        bias: [batch or 1, head, query, key], added to the scores.
        options: what else the module handed over.
        pattern: [batch, head, query, key] as the library's own function computed it, where that
            was asked for.
    """

    number: int
    module: Any
    q: Tensor
    k: Tensor
    v: Tensor
    mask: TileMask | Tensor | None
    scale: float
    softcap: float | None = None
    sinks: Tensor | None = None
    bias: Tensor | None = None
    options: dict[str, Any] = field(default_factory=dict)
    pattern: Tensor | None = None

    __repr__ = brief

    @property
    def n_heads(self) -> int:
        """Query heads."""
        return self.q.shape[1]

    @property
    def n_kv_heads(self) -> int:
        """Key and value heads."""
        return self.k.shape[1]

    @property
    def n_cells(self) -> int:
        """Cells of the pattern, of all heads."""
        return self.q.shape[0] * self.n_heads * self.q.shape[2] * self.k.shape[2]

    def keep(self, first: int = 0, last: int | None = None) -> Tensor | None:
        """Say where some queries may look.

        Returns:
            bool [batch or 1, head or 1, query, key]; None where they may look everywhere.
        """
        last = self.q.shape[2] if last is None else last
        if self.mask is None:
            return None
        if isinstance(self.mask, TileMask):
            return self.mask.tile(first, last, 0, self.k.shape[2])
        rows = self.mask[..., first:last, : self.k.shape[2]]
        return rows if rows.dtype == torch.bool else rows > NOWHERE

    def added(self, first: int = 0, last: int | None = None) -> Tensor | None:
        """Say what is added to the scores of some queries: a bias, and what a mask of numbers adds
        where it lets look.

        Returns:
            [batch or 1, head or 1, query, key]; None where nothing is.
        """
        last = self.q.shape[2] if last is None else last
        parts = [] if self.bias is None else [self.bias[..., first:last, : self.k.shape[2]]]
        mask = self.mask
        if isinstance(mask, Tensor) and mask.is_floating_point():
            rows = mask[..., first:last, : self.k.shape[2]]
            rows = rows.masked_fill(rows <= NOWHERE, 0)
            parts += [rows] if bool(rows.any()) else []
        return sum(parts[1:], parts[0]) if parts else None

    def looks_ahead(self) -> bool:
        """Whether any query sees a key after it."""
        n = min(self.q.shape[2], self.k.shape[2])
        keep = self.keep()
        return n > 1 and (keep is None or bool(keep[..., :n, :n].triu(1).any()))

    def rows(
        self, first: int = 0, last: int | None = None, *, forbidden: Tensor | None = None
    ) -> Tensor:
        """Work the pattern of some queries out.

        Args:
            first: the first query.
            last: the one after the last; all to the end unless given.
            forbidden: bool, spread to [batch, head, query, key] of all queries, True where a
                query may not look besides.

        Returns:
            [batch, head, query, key]; a row with nothing to look at is zeros.
        """
        from mha_core.scores import block, score, softmax_or_zero

        last = self.q.shape[2] if last is None else last
        n_batch, n_heads, _, d_head = self.q.shape
        grouped = self.q[:, :, first:last].reshape(n_batch, self.n_kv_heads, -1, d_head)
        scores = score(grouped, self.k, self.scale, self.softcap)
        scores = scores.view(n_batch, n_heads, last - first, -1)
        keep = self.keep(first, last)
        if forbidden is not None:
            shape = (*self.q.shape[:3], self.k.shape[2])
            also = ~forbidden.to(self.q.device).expand(shape)[:, :, first:last]
            keep = also if keep is None else keep & also
        bias = self.added(first, last)
        masked = block(scores, keep, bias)
        return softmax_or_zero(masked, keep, bias, self.sinks).to(self.v.dtype)

    def collect(self, rows: Tensor) -> Tensor:
        """Collect the values that some rows of the pattern look at.

        Args:
            rows: [batch, head, query, key].

        Returns:
            [batch, head, query, d_value].
        """
        n_batch, n_heads, n_rows, n_keys = rows.shape
        grouped = rows.reshape(n_batch, self.n_kv_heads, -1, n_keys)
        return (grouped @ self.v).view(n_batch, n_heads, n_rows, -1)

    def heads(self) -> Tensor:
        """Work the heads' outputs out, strip by strip.

        Returns:
            [batch, head, query, d_value].
        """
        n = self.q.shape[2]
        strips = [
            self.collect(self.rows(first, min(first + ROWS, n))) for first in range(0, n, ROWS)
        ]
        return strips[0] if len(strips) == 1 else torch.cat(strips, dim=2)

    def heads_by_the_library(self) -> Tensor:
        """Have the module's own eager function compute, and keep the pattern it gives: where that
        is what it mixed the values by, and not one from before a sink took its share.

        Returns:
            [batch, head, query, d_value]; `pattern` is filled in.
        """
        eager: Any = sys.modules[type(self.module).__module__].eager_attention_forward
        mask = self.mask
        if isinstance(mask, TileMask):
            low = torch.finfo(self.q.dtype).min
            keep = self.keep()
            assert keep is not None
            mask = torch.where(keep, torch.zeros((), dtype=self.q.dtype, device=keep.device), low)
        heads, pattern = eager(self.module, self.q, self.k, self.v, mask, **self.options)
        found: Tensor = heads.transpose(1, 2)
        mixed = self.collect(pattern)
        if torch.allclose(mixed, found, atol=1e-4 * float(found.abs().max()), rtol=0):
            self.pattern = pattern
        return found


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: TileMask | Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """The attention function that transformers calls in every layer."""
    scale = options.get("scaling")
    call = Call(
        number=-1,
        module=module,
        q=query,
        k=key,
        v=value,
        mask=attention_mask,
        scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
        softcap=options.get("softcap"),
        sinks=options.get("s_aux"),
        bias=options.get("position_bias"),
        options=options,
    )
    run = _watcher.get()
    heads = call.heads() if run is None else run(call)
    return heads.transpose(1, 2).contiguous(), None


def _tile_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: Any = None,
    attention_mask: Tensor | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **options: Any,
) -> TileMask:
    """The mask function that transformers calls instead of making a mask."""
    from transformers.masking_utils import (
        and_masks,
        causal_mask_function,
        padding_mask_function,
        prepare_padding_mask,
        sdpa_mask,
    )

    rule = causal_mask_function if mask_function is None else mask_function
    whole = None
    if use_vmap:  # such a rule answers for single cells only
        whole = sdpa_mask(
            batch_size, q_length, kv_length, q_offset, kv_offset, rule, attention_mask,
            allow_is_causal_skip=False, use_vmap=True, device=device,
        )  # fmt: skip
    padding = prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if padding is not None and not bool(padding.all()):
        rule = and_masks(rule, padding_mask_function(padding))
    shape = (batch_size, 1, q_length, kv_length)
    return TileMask(shape, rule, (int(q_offset), int(kv_offset)), device, whole)


def register() -> None:
    """Tell transformers of both functions, under one name."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, _tile_mask)


@contextmanager
def watching(run: Run) -> Iterator[None]:
    """Have every attention call of this thread's models computed by `run`.

    Args:
        run: gets a call, numbered from 0, and gives its heads' outputs, [batch, head, query,
            d_value].
    """
    count = 0

    def numbered(call: Call) -> Tensor:
        nonlocal count
        call.number = count
        count += 1
        return run(call)

    before = _watcher.set(numbered)
    try:
        yield
    finally:
        _watcher.reset(before)


def capture_calls(network: Any, *, patterns: bool = False, **inputs: Any) -> list[Call]:
    """Run a model once and keep every attention call.

    Args:
        network: a model switched to this project's attention function.
        patterns: whether the library's own eager function computes, and each call keeps the
            pattern it gave; for short texts.
        inputs: what the model is called with.
    """
    return capture_with_output(network, patterns=patterns, **inputs)[0]


def capture_with_output(
    network: Any, *, patterns: bool = False, **inputs: Any
) -> tuple[list[Call], Any]:
    """As `capture_calls`, with what the model gave."""
    calls: list[Call] = []

    def keep(call: Call) -> Tensor:
        calls.append(call)
        whole = patterns and call.n_cells <= MOST_CELLS
        return call.heads_by_the_library() if whole else call.heads()

    with torch.no_grad(), watching(keep):
        out = network(**inputs)
    return calls, out


def capture(model: RealModel, encoded: Encoded, *, patterns: bool = False) -> list[Call]:
    """Read a text with a model and keep every attention call, in order.

    Args:
        model: see `load_model`.
        encoded: see `RealModel.encode`.
        patterns: see `capture_calls`.

    Returns:
        One call a layer; `call.rows()` is its pattern, [1, head, query, key].
    """
    ids = torch.tensor([encoded.ids], device=next(model.network.parameters()).device)
    with model.lock:
        return capture_calls(model.network, patterns=patterns, input_ids=ids)


register()
