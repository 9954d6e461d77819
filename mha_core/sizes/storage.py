"""How many bytes numbers take: whole float types, and a few bits with a scale for each group.

A number kept in 4, 5, 6 or 8 bits needs a scale that many numbers share. Here, as in the widely
used q4_0 to q8_0, 32 numbers share one scale of 16 bits: 4.5 bits a number and not 4. What a
file's own `quantization_config` says is read with its own group size and scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from mha_core.errors import ConfigError, Note
from mha_core.sizes.read import Json


@dataclass(frozen=True)
class Storage:
    """How one number is stored.

    Args:
        bits: of a number itself.
        group: numbers that share a scale; 0 for none.
        scale_bits: of a group's scale, and of its zero point where it has one.

    >>> Storage(4, group=32, scale_bits=16).bits_per_number
    4.5
    """

    bits: int
    group: int = 0
    scale_bits: int = 0

    @property
    def bits_per_number(self) -> float:
        """Bits of a number with its share of the scale."""
        return self.bits + (self.scale_bits / self.group if self.group else 0)

    def n_bytes(self, count: int) -> int:
        """Bytes of so many numbers; a group that is not full has a whole scale.

        >>> Storage(4, group=32, scale_bits=16).n_bytes(64)
        36
        """
        n_groups = -(-count // self.group) if self.group else 0
        return -(-(count * self.bits + n_groups * self.scale_bits) // 8)


STORAGES: dict[str, Storage] = {
    "fp32": Storage(32),
    "fp16": Storage(16),
    "bf16": Storage(16),
    "fp8": Storage(8),
    "int8": Storage(8),
    "q8": Storage(8, 32, 16),
    "q6": Storage(6, 32, 16),
    "q5": Storage(5, 32, 16),
    "q4": Storage(4, 32, 16),
}
BY_DTYPE = {
    "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8", "fp8": "fp8", "bf16": "bf16", "fp16": "fp16", "fp32": "fp32",
}  # fmt: skip


def storage_named(dtype: str) -> Storage:
    """A way of storing by its name.

    Raises:
        ConfigError: not a key of `STORAGES`.
    """
    if dtype not in STORAGES:
        raise ConfigError("sizes.dtype", dtype=dtype, known=", ".join(STORAGES))
    return STORAGES[dtype]


@dataclass(frozen=True)
class FileStorage:
    """How a file says its weights are stored.

    Args:
        matrices: of the maps between features.
        rest: of tables of words, norms and whatever the file leaves as it is.
        name: what the file calls it.
    """

    matrices: Storage
    rest: Storage
    name: str

    def n_bytes(self, total: int, in_tables: int) -> int:
        """About how many bytes a model takes.

        Args:
            total: learned numbers in all.
            in_tables: of those, in the tables of words at both ends.
        """
        return self.matrices.n_bytes(total - in_tables) + self.rest.n_bytes(in_tables)


def read_storage(config: Json) -> tuple[FileStorage | None, Note | None]:
    """What a file says of the storage of its weights, or a note on what is not known here.

    Args:
        config: the file's object.

    >>> read_storage({"torch_dtype": "bfloat16"})[0].name
    'bfloat16'
    """
    dtype = config.get("torch_dtype") or config.get("dtype")
    name = str(dtype).removeprefix("torch.") if isinstance(dtype, str) else ""
    plain = STORAGES.get(BY_DTYPE.get(name, ""))
    asked = config.get("quantization_config")
    if not isinstance(asked, dict):
        return (None if plain is None else FileStorage(plain, plain, name)), None
    found = _quantised(asked)
    method = str(asked.get("quant_method") or asked.get("quant_algo") or "?")
    if found is None:
        return None, Note("sizes.note.storage_unknown", name=method)
    return FileStorage(found, plain or Storage(16), method), None


def _quantised(asked: dict[str, Any]) -> Storage | None:
    """A quantisation block's bits, group and scales; None for a method that is not known here."""
    method = str(asked.get("quant_method", "")).lower()
    if method == "bitsandbytes" or "load_in_4bit" in asked or "load_in_8bit" in asked:
        if asked.get("load_in_4bit") or asked.get("_load_in_4bit"):
            # One scale for 64 numbers: 32 bits, or 8 and a little where scales are scaled again.
            return Storage(4, 64, 8 if asked.get("bnb_4bit_use_double_quant") else 32)
        return Storage(8)
    if method in ("gptq", "awq", "auto-round", "intel/auto-round"):
        bits, group = asked.get("bits") or asked.get("w_bit"), asked.get("group_size", 128)
        if not _is_count(bits):
            return None
        # A scale of 16 bits and a zero point as wide as the numbers; group -1 is a whole row.
        return Storage(bits, group, 16 + bits) if _is_count(group) else Storage(bits)
    if method in ("hqq", "eetq", "quanto", "fbgemm_fp8", "fp8", "mxfp4", "modelopt"):
        return _by_method(method, asked)
    if method == "compressed-tensors":
        return _of_groups(asked.get("config_groups"))
    return None


def _by_method(method: str, asked: dict[str, Any]) -> Storage | None:
    if method == "mxfp4":
        return Storage(4, 32, 8)
    if method == "fp8":
        block = asked.get("weight_block_size")
        if isinstance(block, list) and len(block) == 2 and all(map(_is_count, block)):
            return Storage(8, block[0] * block[1], 32)
        return Storage(8)
    if method == "modelopt":
        algo = str(asked.get("quant_algo") or "").upper()
        groups = _of_groups(asked.get("config_groups"))
        known = {"NVFP4": Storage(4, 16, 8), "FP8": Storage(8)}
        return known.get(algo) or groups
    if method == "quanto":
        return {"int8": Storage(8), "float8": Storage(8), "int4": Storage(4, 128, 32)}.get(
            str(asked.get("weights"))
        )
    return Storage(8) if method in ("eetq", "fbgemm_fp8") else None


def _of_groups(groups: object) -> Storage | None:
    """The first group of modules of a compressed-tensors or modelopt block."""
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict) or not _is_count(weights.get("num_bits")):
        return None
    bits, group = weights["num_bits"], weights.get("group_size")
    scale = 8 if weights.get("type") == "float" and bits == 4 else 16
    return Storage(bits, group, scale) if _is_count(group) else Storage(bits)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value > 0
