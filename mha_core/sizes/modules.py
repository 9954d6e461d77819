"""Find the attention layers of a built model and read the shapes of their projections.

Models name the same four matrices in many ways, fuse three of them into one, or factor one into
two. What is read here is what the module holds; nothing is assumed from the model's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, int]

# (query, key, value) as sibling modules or parameters.
SEPARATE = [
    *[(f"q_{tail}", f"k_{tail}", f"v_{tail}") for tail in ("proj", "lin", "head", "linear")],
    ("query", "key", "value"),
    ("query_proj", "key_proj", "value_proj"),
    ("q", "k", "v"),
    ("to_q", "to_k", "to_v"),
    ("wq", "wk", "wv"),
    ("Wq", "Wk", "Wv"),
    ("linear_q", "linear_k", "linear_v"),
    ("project_q", "project_k", "project_v"),
    ("projection_query", "projection_key", "projection_value"),
]
FUSED = (
    "c_attn", "qkv_proj", "query_key_value", "Wqkv", "qkv", "in_proj", "in_proj_weight",
    "W_pack", "wqkv", "qkv_lin", "att_proj",
)  # fmt: skip
# Low rank: down to a latent, then up (DeepSeek's MLA).
QUERY_CHAIN = ("q_a_proj", "q_b_proj")
KEY_VALUE_CHAIN = ("kv_a_proj_with_mqa", "kv_b_proj")
KEY_VALUE_SHARED = "kv_proj"
OUTPUT = (
    "o_proj", "out_proj", "dense", "c_proj", "proj", "o", "out_lin", "Wo", "to_out", "wo",
    "post_proj", "linear_out", "attention_out", "projection", "projection_layer", "output_proj",
    "output", "output.dense", "post",
)  # fmt: skip
OUTPUT_CHAIN = ("o_a_proj", "o_b_proj")
CROSS = re.compile(r"cross|encoder_attn|encdec|enc_attn|multihead_attn", re.IGNORECASE)
ATTENTION = re.compile("attention|attn|^att", re.IGNORECASE)
# Layers that mix tokens without a softmax, or pool them into one vector.
NOT_SOFTMAX = re.compile(
    r"deltanet|mamba|lightning|linearattention|rglru|retention|deformable|pool"
)
RECURRENT_PARTS = frozenset({"conv1d", "forget_gate", "A_log", "dt_bias", "q_conv1d"})


@dataclass(frozen=True)
class Projection:
    """One learned map: a chain of matrices [out, in], the first applied first."""

    chain: tuple[Shape, ...]
    bias: bool
    n_parameters: int

    @property
    def rows(self) -> int:
        """Features that come out."""
        return self.chain[-1][0]

    @property
    def columns(self) -> int:
        """Features that go in."""
        return self.chain[0][1]


@dataclass(frozen=True)
class AttentionModule:
    """The projections of one attention layer, as its module holds them."""

    path: str
    kind: str  # "separate", "fused", "latent", "shared", or "query": another layer's keys are read
    query: Projection | None = None
    key: Projection | None = None
    value: Projection | None = None
    fused: Projection | None = None
    output: Projection | None = None
    cross: bool = False
    causal: bool | None = None
    layer: int | None = None
    attributes: dict[str, int] = field(default_factory=dict)
    extra: tuple[str, ...] = ()

    @property
    def n_parameters(self) -> int:
        """Matrices and biases of the projections; a shared one counts once."""
        parts = (self.query, self.key, self.value, self.fused, self.output)
        unique = {id(part): part for part in parts if part is not None}
        return sum(part.n_parameters for part in unique.values())


def find_attention(model: nn.Module) -> list[AttentionModule]:
    """List every softmax attention layer of `model`, in the order of its modules.

    Args:
        model: any torch model, on the meta device or not.

    Returns:
        One `AttentionModule` for each module that holds query, key and value projections.
    """
    parents = dict(model.named_modules())
    found = []
    for path, module in parents.items():
        if _is_without_softmax(module):
            continue
        parent = parents.get(path.rpartition(".")[0]) if path else None
        attention = _read(path, module, parent)
        if attention is not None:
            found.append(attention)
    return found


def unread_attention(model: nn.Module, found: list[AttentionModule]) -> str | None:
    """The path of a module that calls itself attention but was not read, None if there is none."""
    read = [module.path for module in found]
    for path, module in model.named_modules():
        name = type(module).__name__.lower()
        if "attention" not in name or _is_without_softmax(module):
            continue
        around = any(f"{other}.".startswith(f"{path}.") or not path for other in read)
        inside = any(f"{path}.".startswith(f"{other}.") for other in read)
        if not around and not inside and any(True for _ in module.parameters()):
            return str(path)
    return None


def mixers_without_softmax(model: nn.Module) -> set[int]:
    """Numbers of the layers that mix tokens by a state or a convolution."""
    found = set()
    for path, module in model.named_modules():
        if _is_without_softmax(module):
            number = _layer_number(path)
            found |= set() if number is None else {number}
    return found


def _is_without_softmax(module: nn.Module) -> bool:
    """Whether a layer mixes by a state; a latent of keys and values is softmax by any name."""
    named = NOT_SOFTMAX.search(type(module).__name__.lower())
    return _is_recurrent(module) or (bool(named) and KEY_VALUE_CHAIN[1] not in module._modules)


def _is_recurrent(module: nn.Module) -> bool:
    return any(name in RECURRENT_PARTS for name in (*module._modules, *module._parameters))


def _read(path: str, module: nn.Module, parent: nn.Module | None) -> AttentionModule | None:
    if not module._modules and len(module._parameters) < 3:
        # A single map, a norm or an activation.
        return None
    parts = _projections(path, module)
    if parts is None:
        return None
    output = _output(module) or (None if parent is None else _output(parent))
    return AttentionModule(
        path=path,
        output=output,
        cross=bool(CROSS.search(path)) or bool(CROSS.search(type(module).__name__)),
        causal=_flag(module, "is_causal"),
        layer=_layer_number(path),
        attributes=_whole_numbers(module),
        extra=tuple(sorted(_beside(module))),
        kind=parts[0],
        **parts[1],
    )


def _projections(path: str, module: nn.Module) -> tuple[str, dict[str, Projection]] | None:
    for names in SEPARATE:
        query = _projection(module, names[0])
        key = _projection(module, names[1]) if query else None
        value = _projection(module, names[2]) if key else None
        if query and key and (value or _is_absent(module, names[2])):
            return "separate", {"query": query, "key": key, **({"value": value} if value else {})}
    query = _projection(module, "q_proj") or _chain(module, QUERY_CHAIN)
    latent = _chain(module, KEY_VALUE_CHAIN)
    if query and latent:
        return "latent", {"query": query, "key": latent}
    shared = _projection(module, KEY_VALUE_SHARED)
    if query and shared and len(query.chain) == 2:
        return "shared", {"query": query, "key": shared, "value": shared}
    if query and _reuses_keys(module):
        return "query", {"query": query}
    if not ATTENTION.search(path.rpartition(".")[2] + type(module).__name__):
        # An MLP or a convolution may call its first matrix in_proj as well.
        return None
    for name in FUSED:
        fused = _projection(module, name)
        if fused:
            return "fused", {"fused": fused}
    return None


def _reuses_keys(module: nn.Module) -> bool:
    """Whether a layer has queries and an output and reads keys that an earlier layer made."""
    holds = any(name.startswith(("k_", "kv_", "v_")) for name in module._modules)
    return not holds and bool(vars(module).get("is_kv_shared_layer")) and bool(_output(module))


def _is_absent(module: nn.Module, name: str) -> bool:
    """Whether the value projection is there by name but switched off (keys serve as values)."""
    return getattr(module, name, module) is None


def _output(module: nn.Module) -> Projection | None:
    for name in OUTPUT:
        projection = _projection(module, name)
        if projection:
            return projection
    return _chain(module, OUTPUT_CHAIN)


def _chain(module: nn.Module, names: tuple[str, str]) -> Projection | None:
    first, second = (_projection(module, name) for name in names)
    if not first or not second:
        return None
    return Projection(
        chain=first.chain + second.chain,
        bias=first.bias or second.bias,
        n_parameters=first.n_parameters + second.n_parameters,
    )


def _projection(module: nn.Module, name: str) -> Projection | None:
    """Read one projection by its dotted name: a linear module or a bare parameter."""
    first = name.partition(".")[0]
    if first not in module._modules and first not in module._parameters:
        # Asking a module for an attribute it has not is a hundred times as slow.
        return None
    part: object = module
    for step in name.split("."):
        part = getattr(part, step, None)
    if part is None:
        return None
    inner = getattr(part, "_modules", {})
    if len(inner) >= 1 and getattr(part, "weight", None) is None:
        # A linear layer in a wrapper, or first in a list of two with dropout after it.
        part = next((m for m in inner.values() if _weight(m) is not None), part)
    weight = _weight(part)
    if weight is None:
        return None
    bias: Any = getattr(part, "bias", None)
    bias = getattr(module, name.replace("weight", "bias"), None) if part is weight else bias
    n_bias = bias.numel() if hasattr(bias, "numel") else 0
    return Projection(
        chain=(_out_in(part, weight, name),),
        bias=n_bias > 0,
        n_parameters=weight.numel() + n_bias,
    )


def _weight(part: object) -> Tensor | None:
    """The matrix a linear-like part holds, or the part itself when it is a parameter."""
    import torch

    if isinstance(part, torch.nn.Parameter):
        return part if part.ndim in (2, 3) else None
    if isinstance(part, (torch.nn.Embedding, torch.nn.LayerNorm)):
        return None
    weight = getattr(part, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.ndim < 2:
        return None
    return weight if all(length == 1 for length in weight.shape[2:]) else None


def _out_in(part: object, weight: Tensor, name: str) -> Shape:
    """[out, in] of a weight: Conv1D keeps [in, out]; XLNet keeps [d_model, head, d_head]."""
    if part is weight and weight.ndim == 3:
        inside, outside = weight.shape[1] * weight.shape[2], weight.shape[0]
        return (outside, inside) if name in OUTPUT else (inside, outside)
    if type(part).__name__ == "Conv1D":
        return (weight.shape[1], weight.shape[0])
    return (weight.shape[0], weight.shape[1])


def _layer_number(path: str) -> int | None:
    numbers = [int(step) for step in path.split(".") if step.isdigit()]
    return numbers[0] if numbers else None


def _flag(module: nn.Module, name: str) -> bool | None:
    value = getattr(module, name, None)
    return value if isinstance(value, bool) else None


def _whole_numbers(module: nn.Module) -> dict[str, int]:
    plain = vars(module).items()
    return {name: value for name, value in plain if type(value) is int}


def _beside(module: nn.Module) -> Iterator[str]:
    """Names of learned vectors added to q, k or v outside the projection itself."""
    for name, parameter in module._parameters.items():
        if parameter is not None and name in {"q_bias", "k_bias", "v_bias"}:
            yield name
