"""Walks with every setting there is, drawn together.

The settings are found by the dataclasses' own fields: one that is added and not described here
fails every test that draws a walk, and one that is described is drawn from then on.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np
import torch
from hypothesis import assume
from hypothesis import strategies as st

from mha_core.after import After
from mha_core.config import AttentionConfig
from mha_core.norms import Norm
from mha_core.rope import Rope
from mha_core.trace import AttentionTrace
from mha_core.walk import walk_layer
from mha_core.weights import NORMS, AttentionWeights, weight_shapes

Strategies = dict[str, st.SearchStrategy[Any]]
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
reach = st.none() | st.integers(0, 3)


def draw_fields(draw: st.DrawFn, kind: type, strategies: Strategies) -> dict[str, Any]:
    """Draw a value for every field of a dataclass.

    Raises:
        LookupError: a field is not described, or what is described is no field.
    """
    names = {each.name for each in fields(kind)}
    for name in sorted(names ^ strategies.keys()):
        raise LookupError(f"{kind.__name__}.{name}: say in {__name__} what it can be")
    return {name: draw(strategies[name]) for name in sorted(names)}


@st.composite
def configs(draw: st.DrawFn) -> AttentionConfig:
    """Any sizes that fit together, any settings."""
    n_kv_heads, group, pairs = (draw(st.integers(1, 3)) for _ in range(3))
    return AttentionConfig(
        **draw_fields(
            draw,
            AttentionConfig,
            {
                "d_model": st.integers(1, 9),
                "n_heads": st.just(n_kv_heads * group),
                "n_kv_heads": st.just(n_kv_heads),
                "d_head": st.just(2 * pairs),
                "d_value": st.integers(1, 5),
                "rope": st.none() | ropes(2 * pairs),
                "causal": st.booleans(),
                "window": st.tuples(reach, reach),
                "scale": st.none() | st.floats(0.1, 1.5),
                "softcap": st.none() | st.floats(0.5, 30.0),
                "qk_norm": st.sampled_from([None, "head", "each", "whole"]),
                "qk_norm_kind": st.sampled_from(["rms", "layer", "l2"]),
                "qk_norm_eps": st.sampled_from([0.0, 1e-6, 0.1]),
                "softmax_dtype": st.sampled_from([None, "float32", "float64"]),
            },
        )
    )


@st.composite
def ropes(draw: st.DrawFn, d_head: int) -> Rope:
    """Any rotation of a head so wide, by a base or by frequencies."""
    dim = draw(st.none() | st.integers(1, d_head // 2).map(lambda pairs: 2 * pairs))
    pairs = (d_head if dim is None else dim) // 2
    speeds = st.lists(st.floats(0.001, 2.0), min_size=pairs, max_size=pairs).map(tuple)
    return Rope(
        **draw_fields(
            draw,
            Rope,
            {
                "base": st.sampled_from([10.0, 10_000.0]),
                "dim": st.just(dim),
                "pairing": st.sampled_from(["half", "interleaved"]),
                "frequencies": st.none() | speeds,
                "attention_factor": st.sampled_from([1.0, 1.25]),
                "angle_dtype": st.sampled_from(["float32", "float64"]),
            },
        )
    )


@st.composite
def norms(draw: st.DrawFn, n_features: int, generator: np.random.Generator) -> Norm:
    """Either norm, with and without gain and bias."""
    kind = draw(st.sampled_from(["rms", "layer"]))
    vector = st.none() | st.just(generator.standard_normal(n_features))
    return Norm(
        **draw_fields(
            draw,
            Norm,
            {
                "kind": st.just(kind),
                "weight": vector,
                "bias": vector if kind == "layer" else st.none(),
                "eps": st.sampled_from([None, 1e-8, 1e-3, 1.0]),
            },
        )
    )


@st.composite
def afters(draw: st.DrawFn, shape: tuple[int, int], generator: np.random.Generator) -> After:
    """Whatever may follow the output, alone and together."""
    norm = st.none() | norms(shape[1], generator)
    return After(
        **draw_fields(
            draw,
            After,
            {
                "factor": st.sampled_from([1.0, 0.22, -1.5]),
                "norm_out": norm,
                "norm_sum": norm,
                "beside": st.none() | st.just(generator.standard_normal(shape)),
            },
        )
    )


def weights_of(
    draw: st.DrawFn, config: AttentionConfig, generator: np.random.Generator
) -> AttentionWeights[Any]:
    """Every parameter that the config allows, the optional ones now and then."""
    shapes = weight_shapes(config)
    norms_missing = set(NORMS) if config.qk_norm is None else set(NORMS) - shapes.keys()
    for name in sorted({each.name for each in fields(AttentionWeights)} ^ shapes.keys()):
        if name not in norms_missing:
            raise LookupError(f"AttentionWeights.{name} has no shape in weight_shapes")
    given = {
        each.name: generator.standard_normal(shapes[each.name]) / np.sqrt(shapes[each.name][-1])
        for each in fields(AttentionWeights)
        if each.name in shapes and (_is_needed(each, config) or draw(st.booleans()))
    }
    return AttentionWeights(**given)


def _is_needed(parameter: Field[Any], config: AttentionConfig) -> bool:
    """Whether a layer of this config cannot do without the parameter."""
    return parameter.default is MISSING or parameter.name.endswith("_norm")


@st.composite
def walks(draw: st.DrawFn) -> AttentionTrace:
    """One sentence through one layer, whatever can be set about it."""
    config = draw(configs())
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_tokens = draw(st.integers(1, 6))
    square, per_head = (n_tokens, n_tokens), (config.n_heads, n_tokens, n_tokens)
    shape = draw(st.sampled_from([square, per_head]))
    # What a record holds besides its steps is what a walk is given.
    given = {
        "config": st.just(config),
        "weights": st.just(weights_of(draw, config, generator)),
        "keep": st.none() | st.just(generator.random(shape) < 0.7),
        "norm": st.none() | norms(config.d_model, generator),
        "after": st.none() | afters((n_tokens, config.d_model), generator),
        "positions": st.none() | st.just(generator.integers(0, 50, n_tokens)),
        "bias": st.none() | st.just(generator.standard_normal(shape)),
        "device": st.just("cpu"),
        "dtype": st.sampled_from(DTYPES),
    }
    held = {each.name for each in fields(AttentionTrace)} - set(AttentionTrace.names())
    for name in sorted(held ^ given.keys()):
        raise LookupError(f"AttentionTrace.{name}: say in {__name__} what it can be")
    chosen = {name: draw(given[name]) for name in sorted(held)}
    # In a small stream a norm's eps tells; float16 has no digits left there.
    sizes = [1.0, 5.0] if chosen["dtype"] == torch.float16 else [1.0, 1e-3, 5.0]
    stream = draw(st.sampled_from(sizes)) * generator.standard_normal((n_tokens, config.d_model))
    walk = walk_layer(stream, **chosen)
    # A norm without eps of a vector of zeros is 0 / 0: there is no such layer to hold to anything.
    assume(config.qk_norm is None or config.qk_norm_eps > 0 or _has_length(walk))
    return walk


def _has_length(walk: AttentionTrace) -> bool:
    """Whether every query and key that is normed could be."""
    return not any(np.isnan(each).any() for each in (walk.q, walk.k))
