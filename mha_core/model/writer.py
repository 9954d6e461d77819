"""The toy model writes on: it reads each new token alone, and keeps the keys and values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import linear

from mha_core.cache import KVCache
from mha_core.continuing import Edge, Head, Next
from mha_core.layer import attention
from mha_core.model.edits import Edits
from mha_core.model.toy import ToyModel
from mha_core.norms import rms_norm


@dataclass(frozen=True, eq=False)
class Past:
    """What is kept of the tokens read: their numbers, and each layer's keys and values."""

    ids: tuple[int, ...]
    caches: tuple[KVCache, ...]


class ToyWriter:
    """Writes on with a toy model; see `mha_core.continuing.Writer`.

    Args:
        model: which.
        may_follow: the only tokens that can come next, by number; all if None.
    """

    def __init__(self, model: ToyModel, may_follow: Collection[int] | None = None) -> None:
        self.model = model
        self.n_vocabulary = model.sizes.n_vocabulary
        self.ends: frozenset[int] = frozenset()
        self._closed = np.full(self.n_vocabulary, may_follow is not None)
        self._closed[[] if may_follow is None else list(may_follow)] = False

    def encode(self, text: str) -> tuple[int, ...]:
        """The token numbers of a text, `<bos>` first."""
        return tuple(self.model.ids_of(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token numbers, of which `<bos>` has none."""
        return self.model.tokenizer.decode(ids)

    def display(self, token: int) -> str:
        """A token in a form a person can read."""
        return self.model.tokenizer.entries[token].display

    def read(self, ids: Sequence[int], past: Past | None = None) -> Next:
        """What comes after these tokens; those that `past` holds are not read again."""
        start = 0 if past is None else min(n_shared(past.ids, ids), len(ids) - 1)
        model, config = self.model, self.model.config
        caches, rows = [], []
        with torch.inference_mode():
            stream = model.embedding[torch.tensor(ids[start:])]
            for number, layer in enumerate(model.each_layer()):
                cache = None if past is None else _first(past.caches[number], start)
                x = rms_norm(stream, layer.norm)
                steps = attention(x, layer.weights, config, cache=cache)
                caches.append(steps.cache)
                rows.append(steps.pattern[:, -1].numpy().copy())
                stream = stream + steps.out
                if layer.d_mlp:
                    stream = stream + layer.mlp(stream)
            logits = linear(rms_norm(stream[-1], model.norm), model.unembedding).numpy()
        logits = cast("NDArray[np.float32]", np.where(self._closed, np.float32(-np.inf), logits))
        return Next(logits, tuple(rows), Past(tuple(ids), tuple(caches)))

    def read_without(
        self, ids: Sequence[int], heads: Collection[Head], edge: Edge | None = None
    ) -> NDArray[np.float32]:
        """The logits after these tokens with some heads giving nothing, or an edge forbidden."""
        nothing = torch.zeros(self.model.config.d_value)
        forbidden: dict[int, torch.Tensor] = {}
        if edge is not None:
            layer, head, query, key = edge
            mask = torch.zeros(self.model.n_heads, len(ids), len(ids), dtype=torch.bool)
            mask[head, query, key] = True
            forbidden = {layer: mask}
        edits = Edits(heads=dict.fromkeys(heads, nothing), forbidden=forbidden)
        with torch.no_grad():
            logits = self.model.run(torch.tensor(list(ids)), edits=edits).logits[-1].numpy()
        return cast("NDArray[np.float32]", np.where(self._closed, np.float32(-np.inf), logits))


def n_shared(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two sequences have in common from the start.

    >>> n_shared([5, 1, 2], [5, 1, 3, 2])
    2
    """
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _first(cache: KVCache, n: int) -> KVCache | None:
    """The first tokens of a cache, as a view; None for none."""
    return KVCache(cache.k_rot[..., :n, :], cache.v[..., :n, :]) if n else None
