"""What is measured: one attention layer, as this project and as others compute it."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from mha_core.config import AttentionConfig
from mha_core.layer import attention, fused_attention
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights, from_torch

D_MODEL, N_HEADS = 768, 12
D_HEAD = D_MODEL // N_HEADS
Run = Callable[[], object]


def make_runs(n_tokens: int, device: str, dtype: torch.dtype) -> dict[str, Run]:
    """Set every contender up: batch 1, causal, the same tokens and, biases included, weights.

    Returns:
        name → what computes one layer once.
    """
    torch.manual_seed(0)
    module = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True, device=device, dtype=dtype)
    module.eval()
    weights, config = from_torch(module), AttentionConfig(D_MODEL, N_HEADS)
    turned = AttentionConfig(D_MODEL, N_HEADS, rope=Rope())
    x = torch.randn(1, n_tokens, D_MODEL, device=device, dtype=dtype)
    blocked = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=device).triu(1)

    def plain() -> object:
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return run_module(module, x, blocked)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    return {
        "attention": lambda: attention(x, weights, config),
        "nn.MultiheadAttention": lambda: run_module(module, x, blocked),
        "nn.MultiheadAttention, no fast path": plain,
        "fused_attention": lambda: fused_attention(x, weights, config),
        "F.scaled_dot_product_attention": lambda: by_hand(x, weights),
        "attention, RoPE": lambda: attention(x, weights, turned),
        "Llama eager, RoPE": llama(x, weights),
    }


def run_module(module: nn.MultiheadAttention, x: Tensor, blocked: Tensor) -> object:
    """Run PyTorch's own layer, asking for every head's pattern."""
    return module(x, x, x, attn_mask=blocked, need_weights=True, average_attn_weights=False)


def takes_fast_path(n_tokens: int, device: str, dtype: torch.dtype) -> bool:
    """Say whether PyTorch's own layer goes its fast way here."""
    run = make_runs(n_tokens, device, dtype)["nn.MultiheadAttention"]
    name = "_native_multi_head_attention"
    with mock.patch.object(torch, name, wraps=getattr(torch, name)) as fast:
        run()
    return fast.called


def by_hand(x: Tensor, weights: AttentionWeights[Tensor]) -> Tensor:
    """Four projections around PyTorch's fused function, as one writes them in a hurry."""
    q, k, v = (
        linear(x, w, b).view(1, -1, N_HEADS, D_HEAD).transpose(1, 2)
        for w, b in (
            (weights.w_q, weights.b_q),
            (weights.w_k, weights.b_k),
            (weights.w_v, weights.b_v),
        )
    )
    heads = scaled_dot_product_attention(q, k, v, is_causal=True)
    return linear(heads.transpose(1, 2).flatten(2), weights.w_o, weights.b_o)


def llama(x: Tensor, weights: AttentionWeights[Tensor]) -> Run:
    """transformers' Llama attention, eager; its angles and its mask are made beforehand."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

    sizes = LlamaConfig(
        hidden_size=D_MODEL, num_attention_heads=N_HEADS, attention_bias=True,
        attn_implementation="eager",
    )  # fmt: skip
    core = LlamaAttention(sizes, layer_idx=0).to(x).eval()
    for ours, theirs in zip(
        "qkvo", (core.q_proj, core.k_proj, core.v_proj, core.o_proj), strict=True
    ):
        theirs.weight.data.copy_(getattr(weights, f"w_{ours}"))
        theirs.bias.data.copy_(getattr(weights, f"b_{ours}"))
    n_tokens = x.shape[1]
    angles = LlamaRotaryEmbedding(sizes).to(x.device)(x, torch.arange(n_tokens)[None].to(x.device))
    wall = x.new_full((n_tokens, n_tokens), torch.finfo(x.dtype).min).triu(1)[None, None]
    return lambda: core(x, position_embeddings=angles, attention_mask=wall)
