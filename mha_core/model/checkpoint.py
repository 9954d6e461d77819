"""Weights as files: safetensors that say how they were made and are checked when read.

Weights are float16 or int8, each row of a matrix with its own scale: row = int8 · scale, scale =
max |row| / 127; vectors stay float16. What is measured and shown is always the stored precision,
read back. The shipped files are int8. Earlier checkpoints are there for their patterns alone and
leave the unembedding out; read back it is NaN, so that nothing can be predicted with it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from mha_core.errors import DataError
from mha_core.language.tokenizer import Tokenizer, load_tokenizer
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.values import is_whole

Precision = Literal["float16", "int8"]
FORMAT = "twelve-heads 1"
SCALE = ".scale"
OUTPUT = "unembedding"
WEIGHTS = Path(__file__).parents[1] / "data" / "weights"
FINAL = WEIGHTS / "toy.safetensors"


def hash_vocabulary(tokenizer: Tokenizer) -> str:
    """SHA-256 of all tokens in order: weights fit only the vocabulary they were trained with."""
    listed = "\n".join(f"{entry.kind} {entry.display}" for entry in tokenizer.entries)
    return hashlib.sha256(listed.encode()).hexdigest()


def hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, types, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8 with one float16 scale per row.

    Args:
        matrix: [row, column].

    Returns:
        int8 [row, column] and float16 [row]; their product is off by at most half a scale,
        and the scale's own rounding.

    >>> whole, scale = quantise(torch.tensor([[1.0, -2.0], [0.0, 0.0]]))
    >>> whole.tolist()
    [[64, -127], [0, 0]]
    """
    tiny = torch.finfo(torch.float16).tiny
    scale = (matrix.abs().amax(1) / 127).clamp_min(tiny).to(torch.float16)
    whole = (matrix / scale.float()[:, None]).round().clamp(-127, 127)
    return whole.to(torch.int8), scale


def _is_output(name: str) -> bool:
    """Whether a stored tensor belongs to the unembedding."""
    return name.removesuffix(SCALE) == OUTPUT


def _pack(model: ToyModel, precision: Precision) -> dict[str, Tensor]:
    """The model's tensors as they are stored."""
    packed: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        if precision == "int8" and value.ndim == 2:
            packed[name], packed[name + SCALE] = quantise(value)
        else:
            packed[name] = value.to(torch.float16)
    return packed


def _unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stored tensors as float32."""
    tensors = {}
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        scale = packed.get(name + SCALE)
        tensors[name] = value.float() if scale is None else value.float() * scale.float()[:, None]
    return tensors


def save_model(
    model: ToyModel,
    path: Path | str,
    *,
    precision: Precision = "float16",
    predicts: bool = True,
    **about: Any,
) -> None:
    """Write a model with everything needed to check it and to make it again.

    Args:
        model: its parameters and sizes.
        path: where to; folders are made.
        precision: float16, or int8 per row.
        predicts: False leaves the unembedding out.
        about: goes into the metadata as JSON: recipe, seed, data, scores, step.
    """
    packed = _pack(model, precision)
    if not predicts:
        packed = {name: value for name, value in packed.items() if not _is_output(name)}
    metadata = {key: json.dumps(value) for key, value in about.items()} | {
        "format": FORMAT,
        "precision": precision,
        "predicts": json.dumps(predicts),
        "sizes": json.dumps(asdict(model.sizes)),
        "vocabulary": hash_vocabulary(model.tokenizer),
        "sha256": hash_tensors(packed),
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save_file(packed, path, metadata)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DataError("weights.file", path=path, reason=str(error)) from error


def load_model(path: Path | str) -> ToyModel:
    """Read a model that `save_model` wrote.

    Raises:
        DataError: no such file, no safetensors, not of this project, changed since it was
            written, made for another vocabulary, without sizes that a model can have, or a tensor
            is missing or has another shape.
    """
    path = Path(path)
    packed, metadata = _read(path)
    if metadata.get("format") != FORMAT:
        raise DataError("weights.format", path=path, format=metadata.get("format"), expected=FORMAT)
    if metadata.get("sha256") != hash_tensors(packed):
        raise DataError("weights.hash", path=path)
    tokenizer = load_tokenizer()
    if metadata.get("vocabulary") != hash_vocabulary(tokenizer):
        raise DataError("weights.vocabulary", path=path)
    tensors = _unpack(packed)
    model = ToyModel(_read_sizes(path, metadata, tensors["embedding"]), tokenizer=tokenizer)
    if metadata.get("predicts") == "false":
        tensors[OUTPUT] = torch.full_like(model.unembedding, math.nan)
    _check_shapes(path, tensors, model)
    model.load_state_dict(tensors)
    model.metadata = metadata
    return model.eval()


def _read_sizes(path: Path, metadata: Mapping[str, str], embedding: Tensor) -> ModelConfig:
    """The sizes that a file says it has; its embedding [vocabulary, feature] must have them too."""
    told = metadata.get("sizes")
    try:
        sizes = json.loads(told or "null")
        wide, found = (sizes["n_vocabulary"], sizes["d_model"]), tuple(embedding.shape)
        if all(map(is_whole, wide)) and wide != found:
            raise DataError(
                "weights.tensor", path=path, name="embedding", found=found, expected=wide
            )
        return ModelConfig(**{**sizes, "d_mlp": tuple(sizes["d_mlp"])})
    except DataError:
        raise
    except (TypeError, KeyError, ValueError) as error:  # no sizes, others, or none that can be
        raise DataError("weights.sizes", path=path, sizes=told) from error


def _check_shapes(path: Path, tensors: Mapping[str, Tensor], model: ToyModel) -> None:
    """Refuse tensors whose names or shapes are not the model's."""
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise DataError(
                "weights.tensor", path=path, name=name, found=found.get(name),
                expected=expected.get(name),
            )  # fmt: skip


def list_checkpoints() -> tuple[Path, ...]:
    """The shipped earlier checkpoints, from the first step to the last."""
    return tuple(sorted(WEIGHTS.glob("step-*.safetensors")))


def load_toy_model(path: Path | str | None = None) -> ToyModel:
    """The shipped model, or one read from a file.

    Raises:
        DataError: the file is missing, broken, or not of this vocabulary.

    >>> load_toy_model().n_layers
    3
    """
    return load_model(FINAL if path is None else path)
