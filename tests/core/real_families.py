"""Small models of many families, made here from configurations, with random numbers.

Their heads have 20 features: 16 and 64 are powers of four, whose √d_head is exact, and with them
a scale put in the wrong place still gives the right numbers to the last bit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch

from mha_core.sizes.quiet import one_at_a_time

N_TOKENS = 24
BASE = {
    "vocab_size": 99, "hidden_size": 80, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GROUPED = BASE | {"num_key_value_heads": 2, "head_dim": 20}
OLD = {"vocab_size": 99, "n_embd": 80, "n_layer": 2, "n_head": 4}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 3.0}
MLA = {
    "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 12, "v_head_dim": 20,
}  # fmt: skip
DEEP = BASE | MLA | {
    "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2,
    "first_k_dense_replace": 2, "moe_intermediate_size": 32,
}  # fmt: skip
WINDOW = {"sliding_window": 8}
SCALED = {"residual_multiplier": 0.7}


@dataclass(frozen=True)
class Family:
    """One kind of model.

    Args:
        name: for reading.
        kind: transformers' `model_type`.
        settings: of its configuration.
    """

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)


FAMILIES = (
    Family("llama", "llama", GROUPED),
    Family("llama, biases", "llama", GROUPED | {"attention_bias": True}),
    Family("llama 3's RoPE", "llama", GROUPED | {"rope_parameters": LLAMA3}),
    Family("YaRN", "llama", GROUPED | {"rope_parameters": YARN}),
    Family("linear RoPE", "llama", GROUPED | {"rope_parameters": LINEAR}),
    Family("gpt2", "gpt2", OLD),
    Family("bert", "bert", BASE),
    Family("roberta", "roberta", BASE),
    Family("albert", "albert", BASE | {"embedding_size": 32}),
    Family(
        "distilbert", "distilbert",
        {"vocab_size": 99, "dim": 80, "hidden_dim": 96, "n_layers": 2, "n_heads": 4},
    ),
    Family("electra", "electra", BASE | {"embedding_size": 32}),
    Family(
        "modernbert", "modernbert",
        BASE | {"num_hidden_layers": 3, "local_attention": 8, "global_attn_every_n_layers": 2},
    ),
    Family("eurobert", "eurobert", GROUPED),
    Family("gemma", "gemma", GROUPED),
    Family("gemma2", "gemma2", GROUPED | WINDOW | {"query_pre_attn_scalar": 20}),
    Family("gemma3", "gemma3_text", GROUPED | WINDOW | {"query_pre_attn_scalar": 20}),
    Family(
        "gpt-oss", "gpt_oss",
        GROUPED | WINDOW | {"num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    Family("qwen2", "qwen2", GROUPED),
    Family(
        "qwen2, windows", "qwen2",
        GROUPED | WINDOW | {"use_sliding_window": True, "max_window_layers": 1},
    ),
    Family("qwen3", "qwen3", GROUPED),
    Family("mistral", "mistral", GROUPED | WINDOW),
    Family("mixtral", "mixtral", GROUPED | {"num_local_experts": 4}),
    Family("phi", "phi", BASE | {"partial_rotary_factor": 0.4}),
    Family("phi3", "phi3", GROUPED | WINDOW),
    Family("gpt-neox", "gpt_neox", BASE | {"rotary_pct": 0.4}),
    Family("gpt-j", "gptj", OLD | {"rotary_dim": 8}),
    Family("opt", "opt", BASE | {"ffn_dim": 96, "word_embed_proj_dim": 80}),
    Family("olmo", "olmo", GROUPED),
    Family("olmo2", "olmo2", GROUPED),
    Family("cohere", "cohere", GROUPED),
    Family("granite", "granite", GROUPED | {"attention_multiplier": 0.3} | SCALED),
    Family("glm4", "glm4", GROUPED),
    Family("smollm3", "smollm3", GROUPED),
    Family("starcoder2", "starcoder2", GROUPED),
    Family("stablelm", "stablelm", GROUPED | {"partial_rotary_factor": 0.4}),
    Family("deepseek-v3", "deepseek_v3", DEEP),
    Family(
        "llama4", "llama4_text",
        GROUPED
        | {
            "attention_chunk_size": 8, "num_local_experts": 2, "interleave_moe_layer_step": 2,
            "intermediate_size_mlp": 96,
        },
    ),
    Family("ernie4.5", "ernie4_5", GROUPED),
    Family("nemotron", "nemotron", GROUPED),
    Family("lfm2", "lfm2", GROUPED),
)  # fmt: skip
# Norms of queries and keys that are off unless a configuration asks for them.
NORMED = (
    Family("qk norms of Cohere", "cohere", GROUPED | {"use_qk_norm": True}),
    Family("qk norms of Phi", "phi", BASE | {"partial_rotary_factor": 0.4, "qk_layernorm": True}),
    Family(
        "qk norms of StableLM", "stablelm",
        GROUPED | {"partial_rotary_factor": 0.4, "qk_layernorm": True},
    ),
)  # fmt: skip
# A class whose eager attention gives its pattern as it was before the sinks took their share.
BEFORE_SINKS = Family("granite, sinks", "granite_swa", GROUPED | WINDOW | SCALED)
# One that reads beside the stream what the stream began as.
TWICE_AS_WIDE = Family(
    "zamba", "zamba",
    BASE
    | {
        "num_hidden_layers": 4, "num_key_value_heads": 2, "attention_head_dim": 20,
        "mamba_d_state": 8, "n_mamba_heads": 2,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
    },
)  # fmt: skip
# Classes of which more is seen than their layers' attention, and one that reads letters.
UNLIKE = (
    (Family("diffllama", "diffllama", GROUPED), "attention 4 times for 2 patterns"),
    (Family("canine", "canine", BASE), "has no vectors of tokens"),
)
# Classes that compute attention in a way of their own.
CLOSED = (
    Family("mpnet", "mpnet", BASE),
    Family("deberta", "deberta-v2", BASE),
    Family(
        "gpt-neo", "gpt_neo",
        {
            "vocab_size": 99, "hidden_size": 80, "num_layers": 2, "num_heads": 4,
            "attention_types": [[["global", "local"], 1]], "window_size": 8,
        },
    ),
    Family("bloom", "bloom", {"vocab_size": 99, "hidden_size": 80, "n_layer": 2, "n_head": 4}),
    Family("falcon", "falcon", BASE),
    Family("mpt", "mpt", {"vocab_size": 99, "d_model": 80, "n_layers": 2, "n_heads": 4}),
)  # fmt: skip


def build(family: Family, seed: int = 0) -> Any:
    """Make a model of a family: matrices of a size at which softmax is far from flat."""
    from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM

    with one_at_a_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        config = CONFIG_MAPPING[family.kind](**family.settings)
        try:
            model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        except ValueError:
            model = AutoModel.from_config(config, attn_implementation="eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            # Gains stay near what they are, so that no family's stream runs away.
            parameter.copy_(parameter + 0.15 * drawn if parameter.ndim == 1 else 0.15 * drawn)
    return model.eval().requires_grad_(False)
