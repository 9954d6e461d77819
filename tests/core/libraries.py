"""Attention layers of real libraries with small random weights, and our settings for each.

Every library runs its own code, masks and positions included; hooks take what enters and leaves
one attention layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mha_core.config import AttentionConfig
from mha_core.rope import Rope
from mha_core.weights import AttentionWeights, from_torch

N_TOKENS = 7
TURN = {"rope_type": "default", "rope_theta": 100.0}


@dataclass(frozen=True)
class Seen:
    """What a library's layer read, computed with, and gave."""

    x: Tensor
    pattern: Tensor
    out: Tensor
    weights: AttentionWeights[Tensor]
    config: AttentionConfig
    wrong: dict[str, Any]  # what replaces a right setting, of the config, the weights or the inputs
    inputs: dict[str, Tensor] = field(default_factory=dict)


def randomize(module: nn.Module, seed: int = 0) -> nn.Module:
    """Draw weights large enough for patterns that are far from flat."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in module.named_parameters():
            is_gain = value.ndim == 1 and name.endswith("weight")
            value.normal_(0, 0.25, generator=generator).add_(1.0 if is_gain else 0.0)
    return module.eval()


def watch(
    model: nn.Module, core: nn.Module, projection: nn.Module, **inputs: Tensor
) -> tuple[Tensor, tuple[Any, ...], Tensor]:
    """Run a model; give what the core read, what it returned, and what the projection gave."""
    seen: dict[str, Any] = {}

    def keep_core(_: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        seen["x"] = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        seen["result"] = result

    def keep_out(_: nn.Module, args: Any, result: Any) -> None:
        seen["out"] = result

    hooks = (
        core.register_forward_hook(keep_core, with_kwargs=True),
        projection.register_forward_hook(keep_out),
    )
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return seen["x"], seen["result"], seen["out"]


def words(n_vocabulary: int = 50) -> Tensor:
    """Draw two sentences."""
    return torch.randint(n_vocabulary, (2, N_TOKENS), generator=torch.Generator().manual_seed(1))


def linears(q: nn.Linear, k: nn.Linear, v: nn.Linear, o: nn.Linear) -> AttentionWeights[Tensor]:
    """Take four separate projections as they are."""
    return AttentionWeights(
        q.weight, k.weight, v.weight, o.weight, q.bias, k.bias, v.bias, o.bias
    ).convert(Tensor.detach)


def gpt2() -> Seen:
    """Fused thirds, stored [in, out]; learned positions; biases."""
    from transformers import GPT2Config, GPT2Model

    sizes = GPT2Config(
        vocab_size=50, n_positions=16, n_embd=24, n_head=4, n_layer=1, attn_implementation="eager"
    )
    model = randomize(GPT2Model(sizes))
    core = model.h[0].attn
    x, result, out = watch(model, core, core.c_proj, input_ids=words())
    packed = core.c_attn.weight.detach().mT.chunk(3)
    biases = core.c_attn.bias.detach().chunk(3)
    w_o, b_o = core.c_proj.weight.detach().mT, core.c_proj.bias.detach()
    weights = AttentionWeights(*packed, w_o, *biases, b_o)
    return Seen(x, result[1], out, weights, AttentionConfig(24, 4), {"causal": False})


def bert() -> Seen:
    """Two-way, with padding at the end of the second sentence."""
    from transformers import BertConfig, BertModel

    sizes = BertConfig(
        vocab_size=50, hidden_size=24, num_attention_heads=4, num_hidden_layers=1,
        intermediate_size=8, max_position_embeddings=16, attn_implementation="eager",
    )  # fmt: skip
    model = randomize(BertModel(sizes, add_pooling_layer=False))
    core, projection = model.encoder.layer[0].attention.self, model.encoder.layer[0].attention
    padding = torch.ones(2, N_TOKENS, dtype=torch.long)
    padding[1, 5:] = 0
    dense = projection.output.dense
    x, result, out = watch(model, core, dense, input_ids=words(), attention_mask=padding)
    weights = linears(core.query, core.key, core.value, dense)
    keep = padding.bool()[:, None, None]
    config = AttentionConfig(24, 4, causal=False)
    return Seen(x, result[1], out, weights, config, {"keep": None}, {"keep": keep})


def vit() -> Seen:
    """Two-way over image patches."""
    from transformers import ViTConfig, ViTModel

    sizes = ViTConfig(
        hidden_size=24, num_attention_heads=4, num_hidden_layers=1, intermediate_size=8,
        image_size=6, patch_size=2, attn_implementation="eager",
    )  # fmt: skip
    model = randomize(ViTModel(sizes, add_pooling_layer=False))
    core = next(module for module in model.modules() if type(module).__name__ == "ViTAttention")
    pixels = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(1))
    x, result, out = watch(model, core, core.o_proj, pixel_values=pixels)
    weights = linears(core.q_proj, core.k_proj, core.v_proj, core.o_proj)
    return Seen(x, result[1], out, weights, AttentionConfig(24, 4, causal=False), {"causal": True})


def llama_like(kind: str, config: AttentionConfig, wrong: dict[str, Any], **settings: Any) -> Seen:
    """One of the models that are built as Llama is: q_proj, k_proj, v_proj, o_proj."""
    import transformers

    sizes = getattr(transformers, f"{kind}Config")(
        vocab_size=50, hidden_size=24, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=16, pad_token_id=0,
        rope_parameters=TURN, attn_implementation="eager", **settings,
    )  # fmt: skip
    model = randomize(getattr(transformers, f"{kind}Model")(sizes))
    core = model.layers[0].self_attn
    x, result, out = watch(model, core, core.o_proj, input_ids=words())
    weights = linears(core.q_proj, core.k_proj, core.v_proj, core.o_proj)
    if config.qk_norm:
        gains = {"q_norm": core.q_norm.weight.detach(), "k_norm": core.k_norm.weight.detach()}
        weights = AttentionWeights(**dict(weights.items()), **gains)
    if hasattr(core, "sinks"):
        weights = AttentionWeights(**dict(weights.items()), sinks=core.sinks.detach())
    return Seen(x, result[1], out, weights, config, wrong)


def llama() -> Seen:
    """Grouped KV heads; RoPE by halves."""
    config = AttentionConfig(24, 4, 2, rope=Rope(base=100.0))
    return llama_like("Llama", config, {"rope": Rope(base=100.0, pairing="interleaved")})


def qwen3() -> Seen:
    """RMSNorm of every head's queries and keys; d_head is not d / h."""
    config = AttentionConfig(24, 4, 2, d_head=10, rope=Rope(base=100.0), qk_norm="head")
    return llama_like("Qwen3", config, {"qk_norm": None}, head_dim=10)


def gemma2() -> Seen:
    """A softcap, a scale of its own, and a window of four tokens."""
    config = AttentionConfig(
        24, 4, 2, d_head=10, rope=Rope(base=100.0), scale=5**-0.5, softcap=2.0, window=(3, None)
    )
    settings = {
        "head_dim": 10,
        "query_pre_attn_scalar": 5,
        "attn_logit_softcapping": 2.0,
        "sliding_window": 4,
        "layer_types": ["sliding_attention"],
    }
    return llama_like("Gemma2", config, {"softcap": None}, **settings)


def mistral() -> Seen:
    """A window of three tokens, the query counted, which is a reach of two."""
    config = AttentionConfig(24, 4, 2, rope=Rope(base=100.0), window=(2, None))
    return llama_like("Mistral", config, {"window": (3, None)}, sliding_window=3)


def olmo2() -> Seen:
    """RMSNorm of the whole query and key vectors, before the split."""
    config = AttentionConfig(24, 4, 2, rope=Rope(base=100.0), qk_norm="whole", qk_norm_eps=1e-5)
    return llama_like("Olmo2", config, {"qk_norm": None})


def gpt_oss() -> Seen:
    """A learned sink for every head, biases, and a window."""
    config = AttentionConfig(24, 4, 2, d_head=10, rope=Rope(base=100.0), window=(3, None))
    settings = {
        "head_dim": 10,
        "attention_bias": True,
        "sliding_window": 4,
        "layer_types": ["sliding_attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
    }
    return llama_like("GptOss", config, {"sinks": None}, **settings)


def gpt_neox() -> Seen:
    """Only a part of each head is turned; q, k and v are fused head by head."""
    from transformers import GPTNeoXConfig, GPTNeoXModel

    sizes = GPTNeoXConfig(
        vocab_size=50, hidden_size=32, num_attention_heads=4, num_hidden_layers=1,
        intermediate_size=8, max_position_embeddings=16, attn_implementation="eager",
        rope_parameters=TURN | {"partial_rotary_factor": 0.5},
    )  # fmt: skip
    model = randomize(GPTNeoXModel(sizes))
    core = model.layers[0].attention
    x, result, out = watch(model, core, core.dense, input_ids=words())
    fused = core.query_key_value
    packed = fused.weight.detach().unflatten(0, (4, 3, 8)).unbind(1)
    biases = fused.bias.detach().unflatten(0, (4, 3, 8)).unbind(1)
    weights = AttentionWeights(
        *(part.flatten(0, 1) for part in packed),
        core.dense.weight.detach(),
        *(part.flatten() for part in biases),
        core.dense.bias.detach(),
    )
    config = AttentionConfig(32, 4, rope=Rope(base=100.0, dim=4))
    return Seen(x, result[1], out, weights, config, {"rope": Rope(base=100.0)})


def gptj() -> Seen:
    """Neighbouring features make the pairs; a part of each head is turned."""
    from transformers import GPTJConfig, GPTJModel

    sizes = GPTJConfig(
        vocab_size=50, n_positions=16, n_embd=24, n_head=4, n_layer=1, rotary_dim=4,
        attn_implementation="eager",
    )  # fmt: skip
    model = randomize(GPTJModel(sizes))
    core = model.h[0].attn
    x, result, out = watch(model, core, core.out_proj, input_ids=words())
    weights = linears(core.q_proj, core.k_proj, core.v_proj, core.out_proj)
    config = AttentionConfig(24, 4, rope=Rope(dim=4, pairing="interleaved"))
    return Seen(x, result[1], out, weights, config, {"rope": Rope(dim=4)})


def t5() -> Seen:
    """No scale; a bias for every head and distance; h · d_head is not d."""
    from transformers import T5Config, T5EncoderModel

    sizes = T5Config(
        vocab_size=50, d_model=24, d_kv=5, num_heads=4, num_layers=1, d_ff=8,
        attn_implementation="eager",
    )  # fmt: skip
    model = randomize(T5EncoderModel(sizes))
    core = model.encoder.block[0].layer[0].SelfAttention
    x, result, out = watch(model, core, core.o, input_ids=words())
    bias = next(part for part in result[1:] if part.shape[0] == 1)
    config = AttentionConfig(24, 4, d_head=5, causal=False, scale=1.0)
    weights = linears(core.q, core.k, core.v, core.o)
    return Seen(x, result[-1], out, weights, config, {"scale": None}, {"bias": bias.detach()})


def torch_module() -> Seen:
    """PyTorch's own; its boolean mask says what is blocked."""
    module = randomize(nn.MultiheadAttention(24, 4, batch_first=True))
    x = torch.randn(2, N_TOKENS, 24, generator=torch.Generator().manual_seed(1))
    keep = torch.rand(N_TOKENS, N_TOKENS, generator=torch.Generator().manual_seed(2)) < 0.6
    keep |= torch.eye(N_TOKENS, dtype=torch.bool)
    with torch.no_grad():
        out, pattern = module(x, x, x, attn_mask=~keep, average_attn_weights=False)
    config = AttentionConfig(24, 4, causal=False)
    wrong = {"keep": ~keep}
    return Seen(x, pattern, out, from_torch(module), config, wrong, {"keep": keep})


def keras_style() -> Seen:
    """Kernels [feature, head, d_head], values wider than keys, computed here with einsum."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, N_TOKENS, 11))
    kernels = [rng.standard_normal((11, 3, size)) / 2 for size in (5, 5, 7)]
    shifts = [rng.standard_normal((3, size)) / 4 for size in (5, 5, 7)]
    w_o, b_o = rng.standard_normal((3, 7, 11)) / 4, rng.standard_normal(11)
    q, k, v = (
        np.einsum("btf,fhd->bhtd", x, kernel) + shift[:, None]
        for kernel, shift in zip(kernels, shifts, strict=True)
    )
    powers = np.exp(np.einsum("bhqd,bhkd->bhqk", q / np.sqrt(5), k))
    pattern = powers / powers.sum(axis=-1, keepdims=True)
    out = np.einsum("bhqk,bhkd,hdf->bqf", pattern, v, w_o) + b_o
    matrices = [kernel.reshape(11, -1).T for kernel in kernels]
    weights = AttentionWeights(
        *matrices, w_o.reshape(-1, 11).T, *(shift.reshape(-1) for shift in shifts), b_o
    ).convert(lambda value: torch.tensor(value, dtype=torch.float32))
    config = AttentionConfig(11, 3, d_head=5, d_value=7, causal=False)
    tensors = (torch.tensor(value, dtype=torch.float32) for value in (x, pattern, out))
    return Seen(*tensors, weights, config, {"scale": 7**-0.5})


LIBRARIES: tuple[Callable[[], Seen], ...] = (
    gpt2, bert, vit, llama, qwen3, gemma2, gpt_neox, gptj, mistral, t5, torch_module, keras_style,
    olmo2, gpt_oss,
)  # fmt: skip
