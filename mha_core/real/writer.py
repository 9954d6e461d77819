"""Another people's model writes on: each new token is read alone, and every head's row is kept."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.continuing import Edge, Head, Next
from mha_core.errors import DataError
from mha_core.model.edits import Edits, zeros_for
from mha_core.model.writer import n_shared
from mha_core.real.capture import Call, watching
from mha_core.real.edited import run_edited

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mha_core.real.load import RealModel


@dataclass(frozen=True, eq=False)
class Past:
    """What is kept of the tokens read: their numbers, and each layer's keys and values."""

    ids: tuple[int, ...]
    layers: tuple[tuple[Tensor, Tensor], ...]

    __repr__ = brief


class RealWriter:
    """Writes on with a model of transformers; see `mha_core.continuing.Writer`.

    Args:
        model: which.

    Raises:
        DataError: it does not say what comes next.
    """

    def __init__(self, model: RealModel) -> None:
        if not model.speaks:
            raise DataError("real.silent", name=model.name)
        network: Any = model.network
        self.model = model
        self.n_vocabulary = int(network.get_output_embeddings().weight.shape[0])
        self.ends = _ends(model)
        takes = inspect.signature(inspect.unwrap(network.forward)).parameters
        self._takes_last = "logits_to_keep" in takes
        # Its name changed in transformers 5.
        self._cache_name = "cache" if "cache" in takes else "past_key_values"
        self._keeps = _can_be_cropped(network)
        self._byte_of = _bytes_by_letter()

    def encode(self, text: str) -> tuple[int, ...]:
        """The token numbers of a text, with those that the tokenizer puts before it."""
        return tuple(self.model.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token numbers, without special ones."""
        found = self.model.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return str(found)

    def display(self, token: int) -> str:
        """A token in a form a person can read; what is no character of its own as its bytes."""
        tokenizer = self.model.tokenizer
        text = str(tokenizer.decode([token], clean_up_tokenization_spaces=False))
        name = str(tokenizer.convert_ids_to_tokens(token))
        if "\ufffd" in text and all(letter in self._byte_of for letter in name):
            return " ".join(f"0x{self._byte_of[letter]:02X}" for letter in name)
        if name.startswith("\u2581") and not text.startswith(" "):  # a blank that decoding drops
            text = f" {text}"
        shown = text.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥")
        return shown or name

    def read(self, ids: Sequence[int], past: Past | None = None) -> Next:
        """What comes after these tokens; those that `past` holds are not read again."""
        start = 0
        if past is not None and self._keeps:
            start = min(n_shared(past.ids, ids), len(ids) - 1)
        rows: list[NDArray[np.float32]] = []

        def look(call: Call) -> Tensor:
            n = call.q.shape[2]
            last = call.rows(n - 1, n)
            rows.append(last[0, :, 0].float().cpu().numpy())
            return call.collect(last) if n == 1 else call.heads()

        network: Any = self.model.network
        inputs: dict[str, Any] = {
            "input_ids": torch.tensor([list(ids[start:])], device=network.device)
        }
        cache = _cache_of(past, start) if self._keeps else None
        if self._keeps:
            inputs |= {self._cache_name: cache, "use_cache": True}
        if self._takes_last:
            inputs["logits_to_keep"] = 1
        with self.model.lock, torch.no_grad(), watching(look):
            logits = network(**inputs).logits[0, -1].float().cpu().numpy()
        layers = () if cache is None else tuple((kept.keys, kept.values) for kept in cache.layers)
        return Next(logits, tuple(rows), Past(tuple(ids), layers))

    def read_without(
        self, ids: Sequence[int], heads: Collection[Head], edge: Edge | None = None
    ) -> NDArray[np.float32]:
        """The logits after these tokens with some heads giving nothing, or an edge forbidden."""
        forbidden: dict[int, Tensor] = {}
        if edge is not None:
            layer, head, query, key = edge
            mask = torch.zeros(self.model.n_heads[layer], len(ids), len(ids), dtype=torch.bool)
            mask[head, query, key] = True
            forbidden = {layer: mask}
        edits = zeros_for(heads) | Edits(forbidden=forbidden)
        run = run_edited(self.model, torch.tensor([list(ids)]), edits)
        logits: NDArray[np.float32] = run.logits[0, -1].float().cpu().numpy()
        return logits


def _cache_of(past: Past | None, start: int) -> Any:
    """A cache of the first tokens' keys and values, which it shares and never changes."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    cache: Any = DynamicCache()
    if past is None or not start:
        return cache
    for keys, values in past.layers:
        layer: Any = DynamicLayer()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys[..., :start, :], values[..., :start, :]
        cache.layers.append(layer)
    return cache


def _can_be_cropped(network: Any) -> bool:
    """Whether all that a model keeps of the tokens read are keys and values, one a token."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    layers = DynamicCache(config=network.config).layers
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


def _ends(model: RealModel) -> frozenset[int]:
    """The tokens by which a model says that a text is over."""
    network: Any = model.network
    told = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    told = model.tokenizer.eos_token_id if told is None else told
    every = told if isinstance(told, list) else [told]
    return frozenset(each for each in every if isinstance(each, int) and 0 <= each < model.n_rows)


def _bytes_by_letter() -> dict[str, int]:
    """The byte that each letter of a byte-level vocabulary stands for, as GPT-2 wrote them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): byte for byte in plain}
    return letters | {chr(256 + place): byte for place, byte in enumerate(others)}
