"""The result: every size of a model that can be known, and a note for each that cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mha_core.errors import DataError, Note
from mha_core.sizes.cache import CacheLayers, cache_bytes, context_that_fits, elements_per_token
from mha_core.sizes.flops import Shape, crossover, flops_by_step, parameters_by_matrix
from mha_core.sizes.rope_waves import RopeWaves
from mha_core.sizes.storage import FileStorage, storage_named

# A matrix [out, in], or a chain of two where it is factored, or null where it cannot be known.
Chain = tuple[Shape, ...]
MATRICES = ("w_q", "w_k", "w_v", "w_o")


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The attention of one layer, or of `count` layers that are alike.

    Args:
        n_heads: query heads.
        n_kv_heads: key and value heads.
        d_head: features of one query and one key.
        d_value: features of one value.
        shapes: chain of [out, in] for each of w_q, w_k, w_v, w_o; None where there is none.
        bias: whether "q", "k", "v", "o" have a bias of their own.
        n_parameters: learned numbers of the projections.
        window: keys a query sees at most, itself counted; None is unbounded.
        count: layers like this one.
    """

    n_heads: int | None = None
    n_kv_heads: int | None = None
    d_head: int | None = None
    d_value: int | None = None
    shapes: Mapping[str, Chain | None] = field(default_factory=dict)
    bias: Mapping[str, bool | None] = field(default_factory=dict)
    n_parameters: int | None = None
    window: int | None = None
    count: int = 1

    def as_json(self) -> dict[str, object]:
        """Plain values; a chain of one matrix is written as the matrix."""
        return {
            "n_heads": self.n_heads,
            "n_kv_heads": self.n_kv_heads,
            "d_head": self.d_head,
            "d_value": self.d_value,
            "shapes": shapes_as_json(self.shapes),
            "bias": {name: self.bias.get(name) for name in "qkvo"},
            "n_parameters": self.n_parameters,
            "window": self.window,
            "count": self.count,
        }


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Learned numbers: of the attention projections, without the head, and in all.

    `base` is the model without its head, `total` with it, tied embeddings counted once. A base
    model may hold parts its full class lacks (BERT's pooler), so base can exceed total.
    """

    attention_per_layer: int | None = None
    attention: int | None = None
    base: int | None = None
    total: int | None = None
    source: Note | None = None

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        return vars(self) | {"source": self.source and str(self.source)}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a config says about its model; see `mha_core.sizes.measure`.

    Args:
        model_type: the architecture, as the file names it.
        d_model: features of a token (hidden_size).
        n_heads: query heads; one per stage where they differ.
        n_layers: layers, or stages of a staged model.
        first: the first attention layer.
        layers: all kinds of attention layers, in order of appearance.
        stages: one entry per stage of a staged model, else empty.
        parameters: learned numbers.
        cache: what the decoder keeps, None where it keeps nothing or it cannot be known.
        causal: whether the layers at the top are causal; None if not known.
        rope: RoPE as the file sets it, one for each kind of layer with settings of its own.
        stored: how the file says its weights are stored; None where it does not say.
        in_tables: learned numbers in the tables of words at both ends.
        entries: parts with a configuration of their own, by their key.
        notes: what was odd, assumed, or cannot be known.
    """

    model_type: str | None = None
    d_model: int | None = None
    n_heads: int | list[int] | None = None
    n_layers: int | None = None
    first: Layer = field(default_factory=Layer)
    layers: tuple[Layer, ...] = ()
    stages: tuple[dict[str, object], ...] = ()
    parameters: Parameters = field(default_factory=Parameters)
    cache: tuple[CacheLayers, ...] | None = None
    causal: bool | None = None
    rope: tuple[RopeWaves, ...] = ()
    stored: FileStorage | None = None
    in_tables: int | None = None
    entries: Mapping[str, Sizes] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def has_shapes(self) -> bool:
        """Whether FLOPs can be counted: heads and all four matrices are known."""
        chains = [self.first.shapes.get(name) for name in MATRICES if name != "w_v"]
        return all(chains) and None not in (self.first.n_heads, self.first.d_head)

    def matrix_parameters(self) -> dict[str, int]:
        """Learned numbers of each matrix of the first layer, biases included."""
        bias = {name: bool(value) for name, value in self.first.bias.items()}
        return parameters_by_matrix(_counted_once(self.first.shapes), bias)

    def flops(self, n_tokens: int, *, causal: bool | None = None) -> dict[str, int] | None:
        """FLOPs of the first layer's steps at `n_tokens`; None where shapes are not known."""
        return (
            flops_by_step(n_tokens=n_tokens, **self._arithmetic(causal))
            if self.has_shapes
            else None
        )

    def crossover(self, *, causal: bool | None = None) -> float | None:
        """Tokens at which the products with S² overtake the projections; see `flops.crossover`."""
        return crossover(**self._arithmetic(causal)) if self.has_shapes else None

    def weight_bytes(self, precision: str = "file") -> int | None:
        """About how many bytes the weights take; None where their number is not known.

        Args:
            precision: a key of `storage.STORAGES` for every weight, or "file" for what the file
                says: its float type, or its quantised maps with tables of words left as they are.
        """
        total = self.parameters.total or self.parameters.base
        if total is None:
            return None
        if precision != "file":
            return storage_named(precision).n_bytes(total)
        if self.stored is None:
            return None
        attention = self.parameters.attention or 0
        aside = (self.in_tables or 0) + attention * self.stored.leaves_attention
        return self.stored.n_bytes(total, min(aside, total))

    def context_that_fits(
        self, memory: int, precision: str = "file", dtype: str = "fp16", n_sequences: int = 1
    ) -> int | None:
        """The longest context that fits beside the weights; see `cache.context_that_fits`.

        Args:
            memory: bytes for weights and cache together.
            precision: of the weights, as `weight_bytes` takes it.
            dtype: of the cache, a key of `storage.STORAGES`.
            n_sequences: sequences kept at once.

        Returns:
            Tokens of each sequence, 0 where the weights leave no room; None where the cache stops
            growing before the memory is full.

        Raises:
            DataError: the weights' bytes or the cache are not known.
        """
        weights = self.weight_bytes(precision)
        if weights is None or self.cache is None:
            raise DataError("sizes.fits.unknown")
        return context_that_fits(self.cache, memory - weights, dtype, n_sequences)

    def _arithmetic(self, causal: bool | None) -> dict[str, Any]:
        first = self.first
        causal = bool(self.causal) if causal is None else causal
        return {
            "shapes": _counted_once(first.shapes),
            "n_heads": first.n_heads,
            "d_head": first.d_head,
            "d_value": first.d_value,
            "causal": causal,
            "window": first.window if causal else None,
        }

    def as_json(
        self, n_tokens: int | None = None, dtype: str = "fp16", n_sequences: int = 1
    ) -> dict[str, object]:
        """Plain values for JSON.

        Args:
            n_tokens: S; adds the cache and the FLOPs at so many tokens.
            dtype: how a cached number is stored, a key of `storage.STORAGES`.
            n_sequences: sequences kept at once, the batch.
        """
        return {
            "model_type": self.model_type,
            "d_model": self.d_model,
            "n_heads": self.n_heads,
            "n_kv_heads": self.first.n_kv_heads,
            "d_head": self.first.d_head,
            "d_value": self.first.d_value,
            "n_layers": self.n_layers,
            "shapes": shapes_as_json(self.first.shapes),
            "bias": {name: self.first.bias.get(name) for name in "qkvo"},
            "layers": [layer.as_json() for layer in self.layers],
            **({"stages": list(self.stages)} if self.stages else {}),
            "parameters": self.parameters.as_json(),
            "weights": self._weights_as_json(),
            "kv_cache": self._cache_as_json(n_tokens, dtype, n_sequences),
            "rope": [self._rope_as_json(waves, n_tokens) for waves in self.rope],
            "flops": self._flops_as_json(n_tokens),
            **(
                {
                    "entries": {
                        name: part.as_json(n_tokens, dtype, n_sequences)
                        for name, part in self.entries.items()
                    }
                }
                if self.entries
                else {}
            ),
            "notes": [str(note) for note in self.notes],
        }

    def _weights_as_json(self) -> dict[str, object]:
        stored = self.stored
        return {
            "stored_as": stored and stored.name,
            "bits_per_number": stored and stored.matrices.bits_per_number,
            "bytes": self.weight_bytes(),
        }

    def _rope_as_json(self, waves: RopeWaves, n_tokens: int | None) -> dict[str, object]:
        scaled = waves.scaled(n_tokens)
        return {
            "layers": waves.layers or None,
            "kind": waves.kind,
            "base": waves.base,
            "width": waves.width,
            "factor": waves.factor,
            "longest_wavelength": float(waves.plain()[-1]),
            "longest_wavelength_scaled": None
            if scaled is None or not math.isfinite(scaled[-1])
            else float(scaled[-1]),
        }

    def _cache_as_json(
        self, n_tokens: int | None, dtype: str, n_sequences: int
    ) -> dict[str, object] | None:
        found: dict[str, object] = {
            "elements_per_token": None,
            "bytes_per_token": None,
            "dtype": dtype,
            "bits_per_number": storage_named(dtype).bits_per_number,
            "n_sequences": n_sequences,
            "n_tokens": n_tokens,
            "bytes": None,
            "layers": None,
        }
        if self.cache is None:
            return found
        elements = elements_per_token(self.cache)
        found |= {
            "elements_per_token": elements,
            "bytes_per_token": storage_named(dtype).n_bytes(elements),
            "layers": [vars(group).copy() for group in self.cache],
        }
        if n_tokens is not None:
            found["bytes"] = cache_bytes(self.cache, n_tokens, dtype, n_sequences)
        return found

    def _flops_as_json(self, n_tokens: int | None) -> dict[str, object]:
        return {
            "n_tokens": n_tokens,
            "causal": self.causal,
            "per_layer": None if n_tokens is None else self.flops(n_tokens),
            "crossover_two_way": self.crossover(causal=False),
            "crossover_causal": self.crossover(causal=True),
        }


def shapes_as_json(shapes: Mapping[str, Chain | None]) -> dict[str, object]:
    """[out, in] for one matrix, [[out, in], [out, in]] for a chain, null for none.

    >>> shapes_as_json({"w_q": ((8, 4),), "w_k": ((2, 4), (8, 2))})
    {'w_q': [8, 4], 'w_k': [[2, 4], [8, 2]], 'w_v': None, 'w_o': None}
    """
    return {name: _chain_as_json(shapes.get(name)) for name in MATRICES}


def _chain_as_json(chain: Chain | None) -> object:
    if not chain:
        return None
    lists = [list(shape) for shape in chain]
    return lists[0] if len(lists) == 1 else lists


def _counted_once(shapes: Mapping[str, Chain | None]) -> dict[str, list[Shape]]:
    """Chains without None; a projection that makes keys and values counts for the keys only."""
    found = {name: list(shapes.get(name) or ()) for name in MATRICES}
    if shapes.get("w_v") is not None and shapes.get("w_v") is shapes.get("w_k"):
        found["w_v"] = []
    return found
