"""The learned numbers of one layer: where they come from, and how they are shaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from mha_core.arrays import Floats as Floats
from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, ShapeError

if TYPE_CHECKING:  # torch is loaded by the functions that need it, not by this file
    import torch

KV_PARAMETERS = ("w_k", "w_v", "b_k", "b_v")  # those with rows for every KV head
KEY_NORM = ("k_norm", "k_norm_bias")
NORMS = ("q_norm", "q_norm_bias", *KEY_NORM)
ArrayT = TypeVar("ArrayT")
OtherT = TypeVar("OtherT")


@dataclass(frozen=True, eq=False)
class AttentionWeights(Generic[ArrayT]):
    """The learned parameters of one layer, as torch tensors or as NumPy arrays.

    Of a layer whose queries, keys and values are made in another way, w_q, w_k and w_v are None.

    Args:
        w_q: [n_heads · d_head, feature], rows are outputs, as torch's Linear has them.
        w_k: [n_kv_heads · d_head, feature].
        w_v: [n_kv_heads · d_value, feature].
        w_o: [d_model, n_heads · d_value].
        b_q: [n_heads · d_head], or None for no bias. So are b_k, b_v and b_o, one per output.
        q_norm: gain of the queries' norm: [d_head] when each head is normed on its own, [head,
            d_head] when each has a gain of its own, [n_heads · d_head] when the whole vector is
            normed.
        k_norm: the same for keys, with the KV heads.
        q_norm_bias: added after that norm, as q_norm, or None; only LayerNorm has one.
        k_norm_bias: the same for keys.
        sinks: [head], a score that takes part in each row's softmax and has no value
            (gpt-oss), so that a row may sum to less than 1.

    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> random_weights(config, seed=0).w_o.shape
    (6, 6)
    """

    w_q: ArrayT
    w_k: ArrayT
    w_v: ArrayT
    w_o: ArrayT
    b_q: ArrayT | None = None
    b_k: ArrayT | None = None
    b_v: ArrayT | None = None
    b_o: ArrayT | None = None
    q_norm: ArrayT | None = None
    k_norm: ArrayT | None = None
    q_norm_bias: ArrayT | None = None
    k_norm_bias: ArrayT | None = None
    sinks: ArrayT | None = None

    __repr__ = brief

    def items(self) -> Iterator[tuple[str, ArrayT]]:
        """Give name and array of every parameter there is."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                yield field.name, value

    def convert(self, change: Callable[[ArrayT], OtherT]) -> AttentionWeights[OtherT]:
        """Change every array.

        >>> config = AttentionConfig(d_model=6, n_heads=3)
        >>> random_weights(config, seed=0).convert(np.size).w_q
        36
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        changed: Any = {
            name: None if value is None else change(value) for name, value in values.items()
        }
        return AttentionWeights(**changed)

    def to_torch(
        self, device: torch.device | str = "cpu", dtype: torch.dtype | None = None
    ) -> AttentionWeights[torch.Tensor]:
        """Give the same numbers as tensors, in their own float type unless `dtype` is given."""
        import torch

        return self.convert(lambda value: torch.as_tensor(value, device=device, dtype=dtype))

    def to_numpy(self) -> AttentionWeights[Floats]:
        """Give the same numbers as NumPy arrays; bfloat16, which NumPy lacks, as float32."""
        return self.convert(_as_numpy)

    def check(self, config: AttentionConfig, n_features_kv: int | None = None) -> None:
        """Refuse weights whose shapes are not those that `config` asks for.

        Args:
            config: the layer's sizes.
            n_features_kv: features of the tokens that keys and values come from, when they are
                not the queries' own.

        Raises:
            ShapeError: an array has the wrong shape.
            ConfigError: a norm is asked for and its gain is missing, or the other way round.
        """
        expected = weight_shapes(config, n_features_kv)
        for name, value in self.items():
            if name not in expected and name.endswith("_bias") and config.qk_norm:
                raise ConfigError("weights.norm_bias", name=name, kind=config.qk_norm_kind)
            if name not in expected:
                raise ConfigError("weights.unused", name=name)
            shape = tuple(value.shape)  # type: ignore[attr-defined]
            if shape != expected[name]:
                raise ShapeError("weights.shape", name=name, shape=shape, expected=expected[name])
        if config.qk_norm and (self.q_norm is None or self.k_norm is None):
            raise ConfigError("weights.norm", qk_norm=config.qk_norm)


def weight_shapes(
    config: AttentionConfig, n_features_kv: int | None = None
) -> dict[str, tuple[int, ...]]:
    """Say what shape each parameter has.

    Returns:
        name → shape, [out, in]. The norms' gains are listed only when `config` has a norm, their
        biases only when it is LayerNorm.

    >>> weight_shapes(AttentionConfig(d_model=64, n_heads=8, n_kv_heads=2))["w_k"]
    (16, 64)
    """
    q_features = config.n_heads * config.d_head
    k_features = config.n_kv_heads * config.d_head
    v_features = config.n_kv_heads * config.d_value
    concat_features = config.n_heads * config.d_value
    source = n_features_kv or config.d_model
    shapes: dict[str, tuple[int, ...]] = {
        "w_q": (q_features, config.d_model),
        "w_k": (k_features, source),
        "w_v": (v_features, source),
        "w_o": (config.d_model, concat_features),
        "b_q": (q_features,),
        "b_k": (k_features,),
        "b_v": (v_features,),
        "b_o": (config.d_model,),
        "sinks": (config.n_heads,),
    }
    gains: dict[str, tuple[int, ...]] = {}
    if config.qk_norm == "head":
        gains = {"q_norm": (config.d_head,), "k_norm": (config.d_head,)}
    elif config.qk_norm == "each":
        gains["q_norm"] = (config.n_heads, config.d_head)
        gains["k_norm"] = (config.n_kv_heads, config.d_head)
    elif config.qk_norm == "whole":
        gains = {"q_norm": (q_features,), "k_norm": (k_features,)}
    if config.qk_norm_kind == "layer":
        gains |= {f"{name}_bias": shape for name, shape in gains.items()}
    return shapes | gains


def random_weights(config: AttentionConfig, seed: int) -> AttentionWeights[Floats]:
    """Draw weights, the same ones everywhere for the same seed.

    W_q, W_k and W_v have variance 1/d, so that inputs of unit variance give scores of about unit
    variance and patterns that are not flat; W_o has variance 1 / (n_heads · d_value), so that the
    output has the size of the heads. No biases; norm gains are 1.

    Returns:
        float32, from NumPy's PCG64, in the order w_q, w_k, w_v, w_o.

    >>> config = AttentionConfig(d_model=6, n_heads=3)
    >>> bool((random_weights(config, 7).w_q == random_weights(config, 7).w_q).all())
    True
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    shapes = weight_shapes(config)
    drawn = {
        name: _draw(generator, shapes[name], 1 / shapes[name][1])
        for name in ("w_q", "w_k", "w_v", "w_o")
    }
    gains = {name: np.ones(shapes[name], np.float32) for name in shapes if name.endswith("_norm")}
    return AttentionWeights(**drawn, **gains)


def random_embedding(n_vocabulary: int, d_model: int, seed: int) -> Floats:
    """Draw one vector of unit variance for every token of a vocabulary.

    Returns:
        float32 [vocabulary, feature], from NumPy's PCG64, on a stream of its own, so that it
        shares no number with `random_weights` of the same seed.

    >>> random_embedding(1000, 6, seed=0).shape
    (1000, 6)
    """
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    return _draw(generator, (n_vocabulary, d_model), 1.0)


def _draw(generator: np.random.Generator, shape: tuple[int, ...], variance: float) -> Floats:
    """Draw float32 numbers from a normal distribution."""
    drawn = generator.standard_normal(shape)
    drawn *= variance**0.5
    return drawn.astype(np.float32)


def from_torch(module: torch.nn.MultiheadAttention) -> AttentionWeights[torch.Tensor]:
    """Take the weights out of PyTorch's own attention module, sharing memory with it.

    Args:
        module: whatever its key and value sizes.

    Returns:
        w_k is [d_model, kdim] and w_v [d_model, vdim].

    Raises:
        ConfigError: the module appends learned or zero keys (`add_bias_kv`, `add_zero_attn`).

    Source: torch.nn.MultiheadAttention, whose `in_proj_weight` stacks W_q, W_k and W_v.

    >>> import torch
    >>> from_torch(torch.nn.MultiheadAttention(6, 3)).w_k.shape
    torch.Size([6, 6])
    """
    if module.bias_k is not None or module.add_zero_attn:
        raise ConfigError("weights.extra_keys")
    if module.in_proj_weight is None:
        w_q, w_k, w_v = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
    else:
        w_q, w_k, w_v = module.in_proj_weight.chunk(3)
    biases: dict[str, torch.Tensor] = {}
    if module.in_proj_bias is not None:
        b_q, b_k, b_v = module.in_proj_bias.chunk(3)
        biases = {"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": module.out_proj.bias}
    found: AttentionWeights[torch.Tensor] = AttentionWeights(
        w_q, w_k, w_v, module.out_proj.weight, **biases
    )
    return found.convert(lambda value: value.detach())


def _as_numpy(value: Any) -> Floats:
    """Turn a tensor, or an array, into an array."""
    if isinstance(value, np.ndarray):
        return value
    value = value.detach().cpu()
    return np.asarray(value.float() if value.dtype.itemsize < 4 else value)
