"""How many bytes numbers take: whole float types, and a few bits with a scale for each group.

A number kept in 4, 5, 6 or 8 bits needs a scale that many numbers share. Here, as in the widely
used q4_0 to q8_0, 32 numbers share one scale of 16 bits: 4.5 bits a number and not 4. What a
file's own `quantization_config` says is read with its own group size and scales.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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


# Where a file says how its weights are stored: the usual block, an older one, MLX's.
BLOCKS = ("quantization_config", "compression_config", "quantization")
# A list of modules that are left as they are names the attention of one layer, or of all.
ATTENTION = re.compile(r"(self_attn|attn|attention)(\.?\*)*$")
EVERY_LAYER = re.compile(r"layers?\.(\*|\\d\+|\[0-9\]\+)|^re:\.\*|^\*|^(self_attn|attn|attention)")


@dataclass(frozen=True)
class FileStorage:
    """How a file says its weights are stored.

    Args:
        matrices: of the maps between features.
        rest: of tables of words, norms and whatever the file leaves as it is.
        name: what the file calls it.
        leaves_attention: whether the file leaves the projections of attention as they are.
    """

    matrices: Storage
    rest: Storage
    name: str
    leaves_attention: bool = False

    def n_bytes(self, total: int, aside: int) -> int:
        """About how many bytes a model takes.

        Args:
            total: learned numbers in all.
            aside: of those, in the tables of words at both ends and in whatever is left as it is.
        """
        return self.matrices.n_bytes(total - aside) + self.rest.n_bytes(aside)


def read_storage(
    config: Json, main: Json | None = None, n_layers: int | None = None
) -> tuple[FileStorage | None, Note | None]:
    """What a file says of the storage of its weights, or a note on what is not known here.

    Args:
        config: the file's object.
        main: the object that states the language model's sizes, which may say it instead.
        n_layers: layers of the language model, to tell a list of every one.

    >>> read_storage({"torch_dtype": "bfloat16"})[0].name
    'bfloat16'
    """
    places = [config] if main is None or main is config else [config, main]
    dtypes = (place.get(key) for place in places for key in ("torch_dtype", "dtype"))
    name = next((str(one).removeprefix("torch.") for one in dtypes if isinstance(one, str)), "")
    plain = STORAGES.get(BY_DTYPE.get(name, ""))
    blocks = (place.get(key) for place in places for key in BLOCKS)
    asked = next((block for block in blocks if isinstance(block, dict)), None)
    if asked is None:
        return _by_bits(config, plain, name)
    named = (asked.get(key) for key in ("quant_method", "quant_algo", "qformat_weight"))
    method = next((str(one) for one in named if one), "?")
    mixed = next(_other_bits(asked), None) or config.get("expert_dtype")
    if mixed:
        return None, Note("sizes.note.storage_mixed", name=method, other=str(mixed))
    if _is_mlx(asked):
        found = _by_mlx(asked)
        stored = None if found is None else FileStorage(found, found, "mlx")
        return stored, None if stored else _unknown("mlx")
    found = _quantised(asked)
    if found is None:
        return None, _unknown(method)
    as_is = _leaves_attention(asked, n_layers)
    return FileStorage(found, plain or Storage(16), method, as_is), None


def _unknown(name: str) -> Note:
    return Note("sizes.note.storage_unknown", name=name)


def _by_bits(
    config: Json, plain: Storage | None, name: str
) -> tuple[FileStorage | None, Note | None]:
    """Without a block: the float type, or ChatGLM's bits with a scale for each row."""
    bits = config.get("quantization_bit")
    if _is_count(bits) and bits <= 16:
        return FileStorage(Storage(bits), plain or Storage(16), "quantization_bit"), None
    return (None if plain is None else FileStorage(plain, plain, name)), None


def _other_bits(asked: dict[str, Any]) -> Iterator[str]:
    """What says that not all maps are stored alike."""
    if "MIXED" in str(asked.get("quant_algo")).upper():
        yield "quant_algo"
    yield from (key for key in ("moe_quant_algo", "quantized_layers") if asked.get(key))
    groups = asked.get("config_groups")
    kinds = [_of_group(group) for group in groups.values()] if isinstance(groups, dict) else []
    if len(set(kinds)) > 1:
        yield "config_groups"
    if _is_mlx(asked):
        yield from (key for key, value in asked.items() if isinstance(value, dict | bool))
    rules = asked.get("dynamic")
    for rule in rules.values() if isinstance(rules, dict) else ():
        if isinstance(rule, dict) and rule.get("bits", asked.get("bits")) != asked.get("bits"):
            yield "dynamic"


def _is_mlx(asked: dict[str, Any]) -> bool:
    """Whether a block is MLX's, which names no method."""
    return "quant_method" not in asked and {"bits", "group_size"} <= asked.keys()


def _by_mlx(asked: dict[str, Any]) -> Storage | None:
    """Every map and every table in groups with a scale and an offset of 16 bits each."""
    bits, group, mode = asked["bits"], asked["group_size"], asked.get("mode", "affine")
    if not _is_count(bits) or bits > 16 or not _is_count(group):
        return None
    return {"affine": Storage(bits, group, 32), "mxfp4": Storage(bits, group, 8)}.get(str(mode))


def _leaves_attention(asked: dict[str, Any], n_layers: int | None) -> bool:
    """Whether the modules that a block leaves as they are hold the attention of every layer."""
    lists = (asked.get(key) for key in ("modules_to_not_convert", "ignore", "ignored_layers"))
    names = {name for one in lists if isinstance(one, list) for name in attention_among(one)}
    return any(map(EVERY_LAYER.search, names)) or (n_layers is not None and len(names) >= n_layers)


def attention_among(names: list[Any]) -> list[str]:
    """Those names of a list of modules that stand for the attention of a layer, or of all.

    >>> attention_among(["lm_head", "model.layers.3.self_attn", "re:.*self_attn.*"])
    ['model.layers.3.self_attn', 're:.*self_attn.*']
    """
    return [name for name in names if isinstance(name, str) and ATTENTION.search(name)]


def _quantised(asked: dict[str, Any]) -> Storage | None:
    """A quantisation block's bits, group and scales; None for a method that is not known here."""
    method = str(asked.get("quant_method", "")).lower()
    if method == "bitsandbytes" or "load_in_4bit" in asked or "load_in_8bit" in asked:
        if asked.get("load_in_4bit") or asked.get("_load_in_4bit"):
            # One scale for 64 numbers: 32 bits, or 8 and a little where scales are scaled again.
            return Storage(4, 64, 8 if asked.get("bnb_4bit_use_double_quant") else 32)
        return Storage(8) if asked.get("load_in_8bit") or asked.get("_load_in_8bit") else None
    if method in ("gptq", "awq", "auto-round", "intel/auto-round"):
        bits, group = asked.get("bits") or asked.get("w_bit"), asked.get("group_size", 128)
        if not _is_count(bits) or bits > 16:
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
    """The groups of modules of a compressed-tensors or modelopt block, which are alike."""
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    return _of_group(first)


def _of_group(group: object) -> Storage | None:
    weights = group.get("weights") if isinstance(group, dict) else None
    if not isinstance(weights, dict) or not _is_count(weights.get("num_bits")):
        return None
    bits, shared = weights["num_bits"], weights.get("group_size")
    scale = 8 if weights.get("type") == "float" and bits == 4 else 16
    return Storage(bits, shared, scale) if _is_count(shared) else Storage(bits)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value > 0
