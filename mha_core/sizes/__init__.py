"""Read any Hugging Face style config.json: shapes, parameters, FLOPs and KV cache.

    python -m mha_core.sizes config.json --tokens 4096 --dtype fp16 --json

`measure` is the whole thing in one call; the arithmetic of a single layer, for sizes that come
from no file, is in `flops` and `cache`.
"""

from __future__ import annotations

from pathlib import Path

from mha_core.errors import Note
from mha_core.sizes.bundled import Bundled, list_bundled, read_bundled
from mha_core.sizes.by_hand import from_numbers
from mha_core.sizes.cache import (
    CacheLayers,
    cache_bytes,
    cache_elements,
    context_that_fits,
    elements_per_token,
)
from mha_core.sizes.flops import (
    crossover,
    flops_by_step,
    looked_at,
    parameters_by_matrix,
    projection_shapes,
)
from mha_core.sizes.read import Json, decode_bytes, read_bytes, read_file, read_text
from mha_core.sizes.report import Layer, Parameters, Sizes
from mha_core.sizes.rope_waves import RopeWaves
from mha_core.sizes.storage import STORAGES, Storage

__all__ = [
    "STORAGES",
    "Bundled",
    "CacheLayers",
    "Layer",
    "Note",
    "Parameters",
    "RopeWaves",
    "Sizes",
    "Storage",
    "cache_bytes",
    "cache_elements",
    "context_that_fits",
    "crossover",
    "decode_bytes",
    "elements_per_token",
    "flops_by_step",
    "from_numbers",
    "list_bundled",
    "looked_at",
    "measure",
    "measure_file",
    "parameters_by_matrix",
    "projection_shapes",
    "read_bundled",
    "read_bytes",
    "read_file",
    "read_text",
]


def measure_file(path: str | Path, *, totals: bool = True) -> Sizes:
    """Read a config file, a params.json or a GGUF file and measure it; see `measure`."""
    from mha_core.sizes.gguf_file import is_gguf, measure_gguf

    if is_gguf(Path(path)):
        return measure_gguf(Path(path))
    config, notes = read_file(path)
    return measure(config, totals=totals, notes=notes)


def measure(config: Json, *, totals: bool = True, notes: list[Note] | None = None) -> Sizes:
    """Measure the model that a config describes.

    With `totals`, transformers builds the model without weights where it knows the architecture,
    and every size is read off its modules; this takes a few seconds the first time. Without, and
    for architectures that transformers does not know, sizes come in closed form where one is
    written down, and are null with a reason in `notes` elsewhere.

    Args:
        config: the JSON object, as `read_file` gives it.
        totals: whether to ask transformers.
        notes: remarks from reading the file, to head the result's.

    Raises:
        DataError: a size is missing, is not a positive whole number, is absurd, or does not fit
            the others; the text names the key.

    >>> sizes = measure({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
    ...     "num_key_value_heads": 2, "num_hidden_layers": 3}, totals=False)
    >>> sizes.first.shapes["w_k"], elements_per_token(sizes.cache)
    (((32, 64),), 192)
    """
    from mha_core.sizes.from_config import measure_config

    return measure_config(config, totals=totals, notes=notes or [])
