"""Keys of a file that its class does not read, though they would change a size.

A file may carry a known `model_type` and keys of someone else's model: one KV head by
`attention_head_type`, a gated MLP, ALiBi in place of a table of positions. The class would build
its own model past them without a word. What such a key may change is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mha_core.sizes.check import MEANING, NAMES, stated
from mha_core.sizes.read import Json

# What a name is about: the projections and the cache, or other parameters.
ATTENTION = re.compile(
    r"(^|_)(multi_query|mqa|gqa|kv_heads?|head_kv|n_kv|kv_n_heads|kv_groups?|query_groups?"
    r"|multi_query_group_num|head_type|attn_type|attention_type|head_dim|d_kv|kv_channels"
    r"|lora_rank|kv_lora|q_lora|qk_(nope|rope)|v_head|value_dim|mla|layer_types?|block_types?"
    r"|block_pattern|override_pattern|layers_block|attention_layers|attn_layers?|attn_layer_\w+"
    r"|full_attn|local_attention|linear_attn|ssm|mamba|state_size|state_dim|kv_shared?|shared_kv"
    r"|kv_reuse|cla|cross_layer|heads_per_layer|block_configs|dense_attention|blocksparse"
    r"|sliding_window(_\w+)?|attention_window|window_size|attention_chunk_size|compress_ratios?"
    r"|num_mem_blocks|recurrent|conv_kernel|lfa|index_\w+)(_|$)"
)
TOTAL = re.compile(
    r"(^|_)(alibi|position_embedding_type|glu|swiglu|geglu|gated|gate_type|experts?|moe"
    r"|mlp_type|mlp_bias|ffn_type|feed_forward_type|feed_forward_proj|bias|adapter\w*"
    r"|embedding_size|embedding_dim|ffn_\w+|mlp_ratio|mlp_hidden\w*|n_inner|d_ff|intermediate\w*"
    r"|medusa|eagle|extra_layers|per_layer)(_|$)"
)
# A part of a model, where its value is an object.
PART = re.compile(r"^(visual|vision|audio|speech|image|multimodal|lora(_args)?$)")
# Layers beside the model that guess further tokens: no class here holds them.
AHEAD = re.compile(r"(^|_)(nextn|mtp)(_|$)")
# Names with such words in them that are no sizes: float types, token ids, routing, selection.
NO_SIZE = re.compile(
    r"dtype|token|_ids?$|offset_alibi|dropout|select|routing_bias|sink_bias|_gate_type$|router|aux_loss|^_"
)
# Values that say "as usual".
PLAIN = {"", "none", "default", "absolute", "mha", "multihead", "multihead_attention", "learned"}
# Settings whose value, not whose name, has to be known to the class.
BY_VALUE = {
    "position_embedding_type", "attention_head_type", "attn_type", "attention_type",
    "feed_forward_type", "mlp_type", "ffn_type", "block_type",
}  # fmt: skip
# Those that decide how many heads keys and values have: a word nobody reads has no effect there.
HEADS_BY_VALUE = {"attention_head_type", "attn_type"}
# Objects that hold no sizes of layers.
ASIDE = {
    "rope_scaling", "rope_parameters", "quantization_config", "quantization", "compression_config",
    "id2label", "label2id", "task_specific_params", "generation_config", "auto_map", "pruned_heads",
    "tokenizer_config", "vision_processor", "init_config", "text_processor",
}  # fmt: skip


@dataclass(frozen=True)
class Unread:
    """One key the class does not read: its path in the file, and what it may change."""

    path: str
    value: object
    changes_attention: bool = False
    is_ahead: bool = False


def unread_keys(raw: Json, config: Any) -> Iterator[Unread]:
    """Find the keys of `raw` that would change a size and that `config`'s class passes over.

    Args:
        raw: the file's object, by the names the class reads.
        config: the configuration object made from it.
    """
    for key, value in raw.items():
        if key not in ASIDE and key not in type(config).sub_configs:
            yield from _judge(key, value, key, raw, config)


def suspicious_keys(raw: Json, declared: frozenset[str]) -> Iterator[Unread]:
    """The same where there is no class: every such key but the declared ones."""
    for key, value in raw.items():
        if key not in ASIDE and key not in declared:
            yield from _judge(key, value, key, raw, None)


def _judge(key: str, value: object, path: str, raw: Json, config: Any) -> Iterator[Unread]:
    if _says_nothing(key, value, raw) or _is_read(key, value, config):
        return
    if isinstance(value, Mapping):
        if PART.search(key):
            yield Unread(path, value)
            return
        for inner, item in value.items():
            if inner not in ASIDE:
                yield from _judge(str(inner), item, f"{path}.{inner}", raw, config)
    elif AHEAD.search(key):
        yield Unread(path, value, is_ahead=True)
    elif ATTENTION.search(key) or key in NAMES["n_kv_heads"] + NAMES["d_head"]:
        yield Unread(path, value, changes_attention=True)
    elif TOTAL.search(key) or (isinstance(value, str) and "glu" in value.lower()):
        yield Unread(path, value)


def _says_nothing(key: str, value: object, raw: Json) -> bool:
    """Whether a value changes nothing: off, empty, or what the other sizes say anyway."""
    if NO_SIZE.search(key) or value is None or value is False or value in (0, [], {}):
        return True
    if isinstance(value, str) and value.lower() in PLAIN:
        return True
    if isinstance(value, list) and set(map(str, value)) == {"1"}:
        return True
    n_heads, d_model = stated(raw, "n_heads"), stated(raw, "d_model")
    if MEANING.get(key) == "n_kv_heads":
        return n_heads is not None and value == n_heads[1]
    if MEANING.get(key) == "d_head" and n_heads and d_model:
        width, heads = d_model[1], n_heads[1]
        return isinstance(width, int) and isinstance(heads, int) and value == width // heads
    return value == 1 and ("expert" in key or "freq" in key)


def _is_read(key: str, value: object, config: Any) -> bool:
    """Whether the class's own code names the key, and knows the value where that decides."""
    if config is None:
        return False
    # Where there is no class, nothing of transformers' kind is loaded.
    from mha_core.sizes.architectures import knows_word, reads_key

    if key in BY_VALUE and isinstance(value, str):
        return knows_word(type(config), value, where_read=key in HEADS_BY_VALUE)
    if type(value) is int and _has_same(key, value, config):
        return True
    return reads_key(type(config), key)


def _has_same(key: str, value: int, config: Any) -> bool:
    """Whether the class has the number under a name within this one (`attention_head_dim`)."""
    for name in type(config).__dataclass_fields__:
        same = name in key or ("window" in name and "chunk" in key)
        if len(name) > 5 and same and vars(config).get(name) == value:
            return True
    return False
