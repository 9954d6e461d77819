"""Files that describe a known model in other words: params.json, inference configs, old names.

Each is rewritten with the keys of the Hugging Face class that computes the same. A key that is
not listed is carried over as it is, so that whatever it may change is judged by its own name.
"""

from __future__ import annotations

from mha_core.errors import Note
from mha_core.sizes.read import Json

META = {
    "dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads", "norm_eps": "rms_norm_eps", "vocab_size": "vocab_size",
    "rope_theta": "rope_theta", "max_seq_len": "max_position_embeddings",
}  # fmt: skip
MISTRAL = META | {
    "head_dim": "head_dim", "hidden_dim": "intermediate_size", "sliding_window": "sliding_window",
    "_sliding_window": "sliding_window",
    "max_position_embeddings": "max_position_embeddings", "tied_embeddings": "tie_word_embeddings",
}  # fmt: skip
DEEPSEEK = {
    "dim": "hidden_size", "inter_dim": "intermediate_size", "n_layers": "num_hidden_layers",
    "moe_inter_dim": "moe_intermediate_size", "n_dense_layers": "first_k_dense_replace",
    "n_heads": "num_attention_heads", "n_activated_experts": "num_experts_per_tok",
    "n_expert_groups": "n_group", "n_limited_groups": "topk_group",
    "route_scale": "routed_scaling_factor", "score_func": "scoring_func",
    "index_n_heads": "index_n_heads", "index_head_dim": "index_head_dim",
}  # fmt: skip
# Settings of the code that ran these files; none is a size.
RUNTIME = {
    "max_batch_size", "dtype", "scale_fmt", "original_seq_len", "rope_factor", "beta_fast",
    "beta_slow", "mscale", "use_scaled_rope", "use_biases", "causal",
}  # fmt: skip


def respell(config: Json, notes: list[Note]) -> Json:
    """Rewrite a file of another spelling; any other comes back as it is.

    Args:
        config: a checked config.
        notes: gets a line saying what it was read as.

    >>> respell({"dim": 8, "n_heads": 2, "n_layers": 1, "kv_lora_rank": 4, "inter_dim": 3}, [])[
    ...     "model_type"]
    'deepseek_v3'
    """
    for kind, is_it, rewrite in (
        ("deepseek", _is_deepseek, _from_deepseek),
        ("mistral", _is_mistral, _from_mistral),
        ("meta", _is_meta, _from_meta),
        ("falcon", _is_falcon, _from_falcon),
    ):
        if is_it(config):
            found = rewrite(config)
            name = Note(f"sizes.spelling.{kind}")
            model_type = found["model_type"]
            notes.append(Note("sizes.note.spelling", kind=name, model_type=model_type))
            return found
    return config


def _is_params(config: Json) -> bool:
    return {"dim", "n_layers", "n_heads"} <= config.keys() and not config.get("model_type")


def _is_deepseek(config: Json) -> bool:
    return _is_params(config) and {"kv_lora_rank", "inter_dim"} <= config.keys()


def _is_mistral(config: Json) -> bool:
    return _is_params(config) and {"head_dim", "hidden_dim"} <= config.keys()


def _is_meta(config: Json) -> bool:
    return _is_params(config) and "multiple_of" in config and "norm_eps" in config


def _is_falcon(config: Json) -> bool:
    return config.get("model_type") in ("RefinedWeb", "RefinedWebModel")


def _renamed(config: Json, names: dict[str, str]) -> Json:
    return {
        names.get(key, key): value
        for key, value in config.items()
        if value is not None and key not in RUNTIME
    }


def _from_meta(config: Json) -> Json:
    """Meta's code makes the MLP's width of the model's: two thirds of 4·d, rounded up."""
    found = _renamed(config, META)
    dim, multiple = config["dim"], found.pop("multiple_of")
    factor = found.pop("ffn_dim_multiplier", 1)
    if isinstance(dim, int) and isinstance(multiple, int) and isinstance(factor, int | float):
        width = int(factor * int(2 * 4 * dim / 3))
        found["intermediate_size"] = multiple * -(-width // multiple)
    kv_heads = found.get("num_key_value_heads", config["n_heads"])
    return found | {"model_type": "llama", "num_key_value_heads": kv_heads}


def _from_mistral(config: Json) -> Json:
    """Mixture files hold their experts in `moe`; without a window every layer keeps all."""
    found = _renamed(config, MISTRAL)
    found |= {"model_type": "mistral", "sliding_window": found.get("sliding_window")}
    found.setdefault("num_key_value_heads", config["n_heads"])
    experts = config.get("moe")
    if isinstance(experts, dict) and "num_experts" in experts:
        del found["moe"]
        found |= {
            "model_type": "mixtral",
            "num_local_experts": experts["num_experts"],
            "num_experts_per_tok": experts.get("num_experts_per_tok", 1),
        }
    return found


def _from_deepseek(config: Json) -> Json:
    """`q_lora_rank` 0 is no low rank for queries; the head is never tied."""
    found = _renamed(config, DEEPSEEK)
    found["q_lora_rank"] = found.get("q_lora_rank") or None
    found["num_key_value_heads"] = config["n_heads"]
    has_index = "index_head_dim" in config
    return found | {
        "model_type": "deepseek_v32" if has_index else "deepseek_v3",
        "architectures": ["DeepseekV32ForCausalLM" if has_index else "DeepseekV3ForCausalLM"],
        "tie_word_embeddings": False,
    }


def _from_falcon(config: Json) -> Json:
    """Falcon's 40B has KV heads of its own; the 7B one for all."""
    names = {
        "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_head_kv": "num_kv_heads"
    }  # fmt: skip
    found = _renamed(config, names)
    is_new = config["model_type"] == "RefinedWeb"
    found |= {"model_type": "falcon", "new_decoder_architecture": is_new}
    if is_new:
        found.setdefault("num_kv_heads", found.get("num_attention_heads"))
    return found
