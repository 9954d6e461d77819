"""Random layers of every kind, and how far `attention` is from the article on one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies

from mha_core import reference
from mha_core.config import AttentionConfig
from mha_core.layer import AttentionSteps, attention
from mha_core.rope import Rope
from mha_core.weights import NORMS, AttentionWeights, weight_shapes

Attend = Callable[..., AttentionSteps]


@dataclass(frozen=True)
class Layer:
    """A layer in float64 with one sentence to read."""

    config: AttentionConfig
    weights: AttentionWeights[Any]
    x: np.ndarray
    keep: np.ndarray | None = None
    bias: np.ndarray | None = None
    positions: np.ndarray | None = None

    def inputs(self) -> dict[str, Any]:
        """Give the options of `attention` and `fused_attention` as tensors."""
        given = {"keep": self.keep, "bias": self.bias, "positions": self.positions}
        return {name: torch.tensor(value) for name, value in given.items() if value is not None}


def layer_of(config: AttentionConfig, n_tokens: int, seed: int, **chosen: bool) -> Layer:
    """Draw a layer's numbers; `chosen` says which of the optional ones there are."""
    generator = np.random.default_rng(seed)
    shapes = weight_shapes(config)
    names = ["w_q", "w_k", "w_v", "w_o"]
    names += ["b_q", "b_k", "b_v", "b_o"] if chosen.get("biases") else []
    names += ["sinks"] if chosen.get("sinks") else []
    norms = [name for name in NORMS if name in shapes]
    names += [name for name in norms if chosen.get("biases") or not name.endswith("_bias")]
    # Variance 1 / inputs, so that scores stay near 1 and 1e-12 is far above rounding.
    weights = {
        name: generator.standard_normal(shapes[name]) / np.sqrt(shapes[name][-1]) for name in names
    }
    square = (n_tokens, n_tokens)
    keep = generator.random(square) < 0.6 if chosen.get("keep") else None
    bias = generator.standard_normal((config.n_heads, *square)) if chosen.get("bias") else None
    positions = generator.integers(0, 50, n_tokens) if chosen.get("positions") else None
    x = generator.standard_normal((n_tokens, config.d_model))
    return Layer(config, AttentionWeights(**weights), x, keep, bias, positions)


@strategies.composite
def layers(draw: strategies.DrawFn) -> Layer:
    """Any sizes, heads, KV heads, masks and options, with and without RoPE."""
    small = strategies.integers(1, 3)
    n_kv_heads, pairs = draw(small), draw(small)
    width = 2 * draw(strategies.integers(1, pairs))
    rope = draw(
        strategies.none()
        | strategies.builds(
            Rope,
            base=strategies.sampled_from([10.0, 10_000.0, 500_000.0]),
            dim=strategies.sampled_from([None, width]),
            pairing=strategies.sampled_from(["half", "interleaved"]),
            attention_factor=strategies.sampled_from([1.0, 1.25]),
            angle_dtype=strategies.sampled_from(["float32", "float64"]),
        )
    )
    reach = strategies.none() | strategies.integers(0, 4)
    config = AttentionConfig(
        d_model=draw(strategies.integers(1, 9)),
        n_heads=n_kv_heads * draw(small),
        n_kv_heads=n_kv_heads,
        d_head=2 * pairs,
        d_value=draw(strategies.integers(1, 5)),
        rope=rope,
        causal=draw(strategies.booleans()),
        window=draw(strategies.tuples(reach, reach)),
        scale=draw(strategies.none() | strategies.floats(0.1, 1.5)),
        softcap=draw(strategies.none() | strategies.floats(0.5, 30.0)),
        qk_norm=draw(strategies.sampled_from([None, "head", "each", "whole"])),
        qk_norm_kind=draw(strategies.sampled_from(["rms", "layer", "l2"])),
    )
    options = ("biases", "sinks", "keep", "bias", "positions")
    chosen = {name: draw(strategies.booleans()) for name in options}
    n_tokens, seed = draw(strategies.integers(1, 9)), draw(strategies.integers(0, 2**32 - 1))
    return layer_of(config, n_tokens, seed, **chosen)


def distances(layer: Layer, attend: Attend = attention) -> dict[str, float]:
    """Give max |attention − reference| of every step, in float64, relative where above 1."""
    steps = attend(torch.tensor(layer.x), layer.weights.to_torch(), layer.config, **layer.inputs())
    heads, concat, out = reference.multi_head(
        layer.x.T,
        layer.weights,
        layer.config,
        keep=layer.keep,
        positions=layer.positions,
        bias=layer.bias,
    )
    group = layer.config.group
    per_head = {
        name: np.stack([getattr(head, name) for head in heads])
        for name in ("raw", "scores", "masked", "pattern")
    }
    columns = {
        name: np.stack([getattr(head, symbol).T for head in heads])
        for name, symbol in (("q", "Q"), ("q_rot", "Q_rot"), ("heads", "head"))
    } | {
        name: np.stack([getattr(head, symbol).T for head in heads[::group]])
        for name, symbol in (("k", "K"), ("v", "V"), ("k_rot", "K_rot"))
    }
    expected = per_head | columns | {"concat": concat.T, "out": out.T}
    return {name: distance(getattr(steps, name), value) for name, value in expected.items()}


def distance(value: torch.Tensor, expected: np.ndarray) -> float:
    """Give the largest distance, relative where above 1; -∞ must meet -∞."""
    found = value.detach().numpy()
    if found.shape != expected.shape or np.isnan(found).any():
        return float("inf")
    if not np.array_equal(np.isinf(found), np.isinf(expected)):
        return float("inf")
    finite = np.isfinite(expected)
    apart = np.abs(found[finite] - expected[finite])
    return float((apart / np.maximum(1, np.abs(expected[finite]))).max(initial=0))
