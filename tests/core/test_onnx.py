"""ONNX's Attention and RotaryEmbedding, node by node, through the steps of this project."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core.cache import KVCache
from mha_core.layer import ScoreSteps, join_heads, scaled_dot_product, split_heads
from mha_core.masks import keep_mask
from mha_core.rope import rotate_with
from tests.core.onnx_nodes import Case, load_cases

ATTENTION = load_cases("Attention")
ROTARY = load_cases("RotaryEmbedding")
FLOATS = {1: torch.float32, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}


def test_every_case_of_the_package_is_here():
    assert len(ATTENTION) == 93
    assert len(ROTARY) == 8


@pytest.mark.parametrize("case", ATTENTION, ids=lambda case: case.name)
def test_attention_node(case: Case):
    q, k, v, cache = heads_of(case)
    keep, bias = masks_of(case, q.shape[-2], k.shape[-2])
    scale = case.attributes.get("scale", 1 / math.sqrt(q.shape[-1]))
    steps = scaled_dot_product(
        q,
        k,
        v,
        keep=keep,
        bias=bias,
        scale=scale,
        softcap=case.attributes.get("softcap") or None,
        softmax_dtype=FLOATS.get(case.attributes.get("softmax_precision")),
    )
    outputs = {
        "Y": steps.heads if case.inputs["Q"].ndim == 4 else join_heads(steps.heads),
        "present_key": cache.k_rot,
        "present_value": cache.v,
        "qk_matmul_output": product_of(case, steps, scale),
    }
    for name in case.expected:
        case.assert_close(name, outputs[name])


@pytest.mark.parametrize("case", ROTARY, ids=lambda case: case.name)
def test_rotary_node(case: Case):
    x = case.inputs["X"]
    flat = x.ndim == 3
    turned = rotate_with(
        split_heads(x, case.attributes["num_heads"]) if flat else x,
        case.inputs["cos_cache"],
        case.inputs["sin_cache"],
        pairing="interleaved" if case.attributes.get("interleaved") else "half",
        dim=case.attributes.get("rotary_embedding_dim") or None,
        positions=case.inputs.get("position_ids"),
    )
    case.assert_close("Y", join_heads(turned) if flat else turned)


def heads_of(case: Case) -> tuple[Tensor, Tensor, Tensor, KVCache]:
    """Give q, k and v with a head axis, after the keys and values of the past."""
    q, k, v = (case.inputs[name] for name in "QKV")
    if q.ndim == 3:
        q = split_heads(q, case.attributes["q_num_heads"])
        k, v = (split_heads(x, case.attributes["kv_num_heads"]) for x in (k, v))
    cache = KVCache(k, v)
    if "past_key" in case.inputs:
        cache = KVCache(case.inputs["past_key"], case.inputs["past_value"]).extend(k, v)
    return q, cache.k_rot, cache.v, cache


def masks_of(case: Case, n_query: int, n_key: int) -> tuple[Tensor, Tensor | None]:
    """Put causality, window, padding and the given mask together: what to keep, what to add."""
    inputs, attributes = case.inputs, case.attributes
    used = inputs.get("nonpad_kv_seqlen")
    offset = inputs["past_key"].shape[-2] if "past_key" in inputs else 0
    left, right = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    keep = keep_mask(
        n_query,
        n_key,
        causal=bool(attributes.get("is_causal")),
        offset=offset if used is None else used - n_query,
        left=None if left < 0 else left,
        right=None if right < 0 else right,
    )
    if used is not None:  # one mask per sentence, the same for every head
        filled = torch.arange(n_key) < used[:, None]
        keep = keep & filled[:, None, None]
    mask = inputs.get("attn_mask")
    if mask is None:
        return keep, None
    missing = (0, n_key - mask.shape[-1])
    if mask.dtype == torch.bool:
        return keep & torch.nn.functional.pad(mask, missing, value=False), None
    return keep, torch.nn.functional.pad(mask, missing, value=-torch.inf)


def product_of(case: Case, steps: ScoreSteps, scale: float) -> Tensor:
    """Give the step that ONNX's fourth output shows in this mode."""
    mode = case.attributes.get("qk_matmul_output_mode", 0)
    return (steps.raw * scale, steps.scores, steps.masked, steps.pattern)[mode]
