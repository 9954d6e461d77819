"""Sizes by formula: at once, and for architectures whose code ships beside their weights.

Each family below is written down once, from the modelling code named in `source`, and declares the
keys it models. A file with any other key that can change a size is not its: the formula stands
back, and says at which key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mha_core.errors import Note
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.check import MAIN_NAMES, NAMES, refuse_missing, stated
from mha_core.sizes.flops import projection_shapes
from mha_core.sizes.plain import number, plain_sizes, stated_sizes
from mha_core.sizes.read import Json
from mha_core.sizes.report import Chain, Layer, Parameters, Sizes


@dataclass(frozen=True)
class Family:
    """A decoder of blocks with attention, a gated MLP of three matrices and two RMSNorms.

    Args:
        source: the modelling code the layout was read in.
        bias_in: whether q, k and v have a bias, given the config.
        bias_out: whether the output projection has one.
        prefix: what its classes' names begin with.
        fused: name of the one matrix that q, k and v are stored in; "" for three.
        halved_mlp: Qwen's first generation states the sum of two halves.
        bias_mlp: whether the MLP's matrices have a bias.
        models: keys beyond the common ones that the formulas take into account, or that this
            family's code is known not to make a size of.
        needs: keys whose absence the code fills with a number of its own.
    """

    source: str
    bias_in: Callable[[Json], bool]
    bias_out: Callable[[Json], bool]
    prefix: str
    fused: str = ""
    halved_mlp: bool = False
    bias_mlp: Callable[[Json], bool] = lambda config: False
    models: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


def _never(config: Json) -> bool:
    return False


def _always(config: Json) -> bool:
    return True


def _flag(name: str, default: bool) -> Callable[[Json], bool]:
    return lambda config: bool(config.get(name, default))


# What each family's code builds; the keys are model types. Their code ships beside the weights.
FAMILIES: dict[str, Family] = {
    "baichuan": Family(
        "modeling_baichuan.py",
        _never,
        _never,
        "Baichuan",
        fused="W_pack",
        models=frozenset({"z_loss_weight", "model_max_length", "position_embedding"}),
    ),
    "chatglm": Family(
        "modeling_chatglm.py",
        lambda config: bool(config.get("add_qkv_bias") or config.get("add_bias_linear")),
        _flag("add_bias_linear", False),
        "ChatGLM",
        fused="query_key_value",
        bias_mlp=_flag("add_bias_linear", False),
        models=frozenset(
            {
                "add_bias_linear",
                "add_qkv_bias",
                "multi_query_attention",
                "seq_length",
                "apply_query_key_layer_scaling",
                "apply_residual_connection_post_layernorm",
                "attention_softmax_in_fp32",
                "bias_dropout_fusion",
                "fp32_residual_connection",
                "original_rope",
                "post_layer_norm",
                "rmsnorm",
                "rope_ratio",
                "layernorm_epsilon",
                "quantization_bit",
                "interleaved_qkv",
            }
        ),
    ),
    "internlm": Family(
        "modeling_internlm.py",
        _flag("bias", True),
        _flag("bias", True),
        "InternLM",
        models=frozenset({"bias", "rotary"}),
    ),
    "internlm2": Family(
        "modeling_internlm2.py",
        _flag("bias", False),
        _flag("bias", False),
        "InternLM2",
        fused="wqkv",
        models=frozenset({"bias", "attn_implementation"}),
    ),
    "minicpm": Family(
        "modeling_minicpm.py",
        _flag("attention_bias", False),
        _flag("attention_bias", False),
        "MiniCPM",
        models=frozenset(
            {
                "attention_bias",
                "scale_emb",
                "dim_model_base",
                "scale_depth",
                "mup_denominator",
                "rope_dim",
                "sparse_config",
            }
        ),
    ),
    # no_bias speaks of all but the fused q, k, v matrix, which always has one.
    "qwen": Family(
        "modeling_qwen.py",
        _always,
        lambda config: not config.get("no_bias", True),
        "QWen",
        fused="c_attn",
        halved_mlp=True,
        bias_mlp=lambda config: not config.get("no_bias", True),
        models=frozenset(
            {
                "no_bias",
                "seq_length",
                "use_dynamic_ntk",
                "use_flash_attn",
                "use_logn_attn",
                "scale_attn_weights",
                "rotary_emb_base",
                "rotary_pct",
                "attn_dropout_prob",
                "emb_dropout_prob",
                "onnx_safe",
                "softmax_in_fp32",
                "use_cache_quantization",
                "use_cache_kernel",
                "bf16",
                "fp16",
                "fp32",
                "tokenizer_type",
            }
        ),
    ),
}
# The same blocks in transformers' own code: the fast path when totals are not asked for.
KNOWN_HERE: dict[str, Family] = {
    "llama": Family(
        "modeling_llama.py",
        _flag("attention_bias", False),
        _flag("attention_bias", False),
        "Llama",
        bias_mlp=_flag("mlp_bias", False),
        models=frozenset({"attention_bias", "mlp_bias"}),
    ),
    "mistral": Family(
        "modeling_mistral.py",
        _never,
        _never,
        "Mistral",
        models=frozenset({"sliding_window"}),
        needs=frozenset({"num_key_value_heads", "sliding_window"}),
    ),
    "qwen2": Family(
        "modeling_qwen2.py",
        _always,
        _never,
        "Qwen2",
        models=frozenset({"sliding_window", "max_window_layers", "use_sliding_window"}),
        needs=frozenset({"num_key_value_heads"}),
    ),
}
LABELS_NOT = re.compile(r"type$|pattern|attention|attn|glu|mlp|ffn|head|layer|norm$|window|bias")
# Lists with an entry a stage or a layer, which then need not be counted.
PATTERNS = ("depths", "block_sizes", "layers_block_type", "hybrid_override_pattern")
HEADED = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ChatGLMModel")
SUFFIXES = ("ForCausalLM", "Model")
OWN_NAMES = {"QWenLMHeadModel", "ChatGLMForConditionalGeneration"}
# What every family's formulas take into account.
MODELLED = frozenset(
    name
    for meaning in ("d_model", "n_heads", "n_kv_heads", "d_head", "n_layers", "d_mlp", "n_words")
    for name in NAMES[meaning]
)
# Keys that change no size, whatever their value: names, training, decoding, rotation, storage.
NEUTRAL = frozenset({
    "architectures", "model_type", "auto_map", "torch_dtype", "dtype", "transformers_version",
    "_name_or_path", "name_or_path", "tie_word_embeddings", "use_cache", "initializer_range",
    "initializer_factor", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps",
    "attention_dropout", "hidden_dropout", "hidden_dropout_prob", "resid_pdrop", "embd_pdrop",
    "attn_pdrop", "attention_probs_dropout_prob", "max_position_embeddings", "rope_theta",
    "rope_scaling", "rope_parameters", "partial_rotary_factor", "pretraining_tp",
    "quantization_config", "quantization", "quantization_bit", "pad_token_id", "bos_token_id",
    "eos_token_id", "unk_token_id", "sep_token_id", "image_token_id", "hidden_act", "id2label",
    "label2id", "num_labels",
    "max_sequence_length", "max_length", "min_length", "temperature", "top_p", "top_k",
    "do_sample", "repetition_penalty", "num_beams", "return_dict", "output_attentions",
    "output_hidden_states", "use_return_dict", "torchscript", "gradient_checkpointing",
    "tokenizer_class", "attention_probs_dropout", "attn_implementation", "task_specific_params",
    "unsloth_version", "unsloth_fixed", "use_bfloat16", "max_new_tokens", "is_encoder_decoder",
    "original_max_position_embeddings", "compression_config", "tokenizer_config",
    "generation_config", "attention_softmax_in_fp32", "model_max_length", "neftune_noise_alpha",
    "router_aux_loss_coef", "output_router_logits",
})  # fmt: skip


def family_of(config: Json) -> Family | None:
    """The family a config belongs to, by its model type, where the class it names is the family's.

    >>> family_of({"model_type": "llama"}).source
    'modeling_llama.py'
    >>> family_of({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"]}) is None
    True
    """
    family = (FAMILIES | KNOWN_HERE).get(str(config.get("model_type")))
    name = _class_name(config)
    if family is None or "block_configs" in config:
        return None
    is_own = not name or name in OWN_NAMES | {family.prefix + suffix for suffix in SUFFIXES}
    return family if is_own else None


def _class_name(config: Json) -> str:
    """The first name in `architectures`, "" for none."""
    names = config.get("architectures")
    first = names[0] if isinstance(names, list) and names else names
    return first if isinstance(first, str) else ""


def not_modelled(config: Json, family: Family) -> Iterator[str]:
    """Keys of a file for which a family's formulas do not hold: present, or wanting."""
    for key, value in config.items():
        is_modelled = (key in MODELLED or key in family.models) and not _is_odd(key, value)
        known = is_modelled or key in NEUTRAL or key.startswith("_")
        is_off = value is None or value is False or value in ("", 0, [], {})
        # A word is a label unless it names a way to attend or to mix, or is a number.
        is_label = isinstance(value, str) and not (LABELS_NOT.search(key) or value.isdecimal())
        if not (known or is_off or is_label):
            yield key
    yield from (key for key in sorted(family.needs) if key not in config)
    if "glu" in str(config.get("hidden_act")).lower():
        yield "hidden_act"
    if config.get("use_sliding_window") and config.get("sliding_window", True):
        # Without a window in the file the class has one of its own.
        yield "use_sliding_window"
    if family.fused and number(config, "d_head") and _uneven_head(config):
        yield stated(config, "d_head")[0]  # type: ignore[index]


def _is_odd(key: str, value: object) -> bool:
    """Whether a value is of another kind than the formulas take: a number a layer, a word."""
    if "window" in key:
        return value is not None and type(value) is not int
    return isinstance(value, list) or ("bias" in key and not isinstance(value, bool | None))


def _uneven_head(config: Json) -> bool:
    """Whether a head size is stated that is not width / heads."""
    d_model, n_heads = number(config, "d_model"), number(config, "n_heads")
    return None not in (d_model, n_heads) and d_model != n_heads * number(config, "d_head")  # type: ignore[operator]


def closed_form(config: Json, notes: list[Note], version: str | None) -> Sizes:
    """Describe a config without building anything.

    Args:
        config: a checked config.
        notes: notes so far; copied into the result.
        version: the version of transformers that does not know the architecture; None when it
            was not asked.

    Raises:
        DataError: sizes are missing or do not fit together.
    """
    notes = list(notes)
    main = main_part(config)
    if main is not config:
        notes.append(Note("sizes.note.main", name=_key_of(config, main)))
    require(main, config)
    family = family_of(main)
    odd = list(not_modelled(main, family)) if family else []
    in_library = str(main.get("model_type")) in KNOWN_HERE
    if family and not odd:
        sizes = _with_family(stated_sizes(main), main, family, notes)
    elif version is None and (family is None or in_library):
        # KV heads and a head's size may differ by layer, or be read otherwise than written.
        sizes = stated_sizes(main)
        sizes = replace(sizes, first=Layer(n_heads=sizes.first.n_heads))
        notes.append(_stands_back(config, sizes, odd))
    else:
        sizes = _from_elsewhere(main, family, odd, notes)
        if version and family is None:
            names = _unknown_names(sizes)
            model_type = config.get("model_type") or Note("sizes.word.none")
            note = Note("sizes.note.unknown", model_type=model_type, version=version, names=names)
            notes.append(note)
    if main is not config and (sizes.parameters.base or sizes.parameters.total):
        # The whole is more than its language model.
        sizes = replace(
            sizes, parameters=replace(sizes.parameters, base=None, total=None, source=None)
        )
        notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.parts_only")))
    return replace(
        sizes, model_type=_text(config.get("model_type")), notes=tuple(dict.fromkeys(notes))
    )


def _stands_back(config: Json, sizes: Sizes, odd: list[str]) -> Note:
    """Why the quick reading tells no more than the file."""
    if odd:
        return Note("sizes.note.stands_back", keys=", ".join(odd), names=_unknown_names(sizes))
    model_type = config.get("model_type") or Note("sizes.word.none")
    return Note("sizes.note.not_asked", model_type=model_type, names=_unknown_names(sizes))


def _from_elsewhere(
    config: Json, family: Family | None, odd: list[str], notes: list[Note]
) -> Sizes:
    """What can be told of a model whose code ships beside its weights and is not written here.

    A key of a known family that adds a part beside the layers leaves the layers as they are.
    """
    found = plain_sizes(config)
    if family is None:
        notes += found.notes
        return found
    beside = [key for key in odd if isinstance(config.get(key), dict)]
    if len(beside) < len(odd):
        notes.append(
            Note("sizes.note.stands_back", keys=", ".join(odd), names=_unknown_names(found))
        )
        return stated_sizes(config)
    sizes = _with_family(stated_sizes(config), config, family, notes)
    notes.append(
        Note("sizes.note.unread_total", names=", ".join(beside), model_type=config["model_type"])
    )
    return replace(sizes, parameters=replace(sizes.parameters, base=None, total=None, source=None))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def require(main: Json, config: Json) -> None:
    """Refuse an object that states no width, no heads or no depth, as none of a model does."""
    if not _stages_or_parts(config):
        refuse_missing(main)


def _stages_or_parts(config: Json) -> bool:
    """A staged or composite file, or a mixer without heads, states its sizes in another way."""
    staged = any(isinstance(config.get(name), list | str) for name in PATTERNS)
    mixer = "state_size" in config or "ssm_cfg" in config
    parts = any(is_config(value) for value in config.values())
    return staged or mixer or parts


def is_config(value: object) -> bool:
    """Whether a nested object describes a part of the model, by the sizes it states."""
    if not isinstance(value, dict):
        return False
    found = [stated(value, name) is not None for name in ("d_model", "n_heads", "n_layers")]
    return sum(found) >= 2 or ("model_type" in value and any(found))


def main_part(config: Json) -> Json:
    """The object that states the language model's sizes: the file itself, or a part of it."""
    if stated(config, "n_heads") is not None:
        return config
    for name in MAIN_NAMES:
        part = config.get(name)
        if is_config(part) or (isinstance(part, dict) and main_part(part) is not part):
            return main_part(part)  # type: ignore[arg-type]
    return config


def _key_of(config: Json, main: Json) -> str | None:
    """The path of keys to the main part."""
    for key, value in config.items():
        if value is main:
            return key
        if isinstance(value, dict) and key in MAIN_NAMES and (inner := _key_of(value, main)):
            return f"{key}.{inner}"
    return None


def _unknown_names(sizes: Sizes) -> str:
    known = {"n_kv_heads": sizes.first.n_kv_heads, "d_head": sizes.first.d_head}
    unknown = [name for name, value in known.items() if value is None]
    unknown += [] if sizes.has_shapes else ["shapes", "bias"]
    unknown += ["parameters"]
    return ", ".join(unknown if sizes.cache else [*unknown, "kv_cache"])


def _with_family(sizes: Sizes, config: Json, family: Family, notes: list[Note]) -> Sizes:
    d_model, n_heads, n_layers = sizes.d_model, sizes.first.n_heads, sizes.n_layers
    if d_model is None or n_heads is None or n_layers is None:
        return sizes
    n_kv_heads = _kv_heads(config, n_heads)
    if stated(config, "n_kv_heads") is None and not any(n in config for n in NAMES["n_kv_heads"]):
        notes.append(Note("sizes.note.all_heads", n_kv_heads=n_kv_heads))
    d_head = sizes.first.d_head or d_model // n_heads
    layer = _layer(d_model, n_heads, n_kv_heads, d_head, family, config)
    if family.fused:
        rows = (n_heads + 2 * n_kv_heads) * d_head
        notes.append(Note("sizes.note.fused", shape=[rows, d_model], name=family.fused))
    window = _window(config)
    elements = 2 * n_kv_heads * d_head
    kind = "full" if window is None else "window"
    cache = (CacheLayers(count=n_layers, elements=elements, window=window, kind=kind),)
    return replace(
        sizes,
        first=replace(layer, window=window),
        layers=(replace(layer, window=window, count=n_layers),),
        parameters=_parameters(sizes, layer, config, family, notes),
        cache=cache,
        causal=True,
    )


def _kv_heads(config: Json, n_heads: int) -> int:
    """KV heads as stated; these families have as many as heads when none are."""
    if config.get("multi_query_attention") is False:
        return n_heads
    found = number(config, "n_kv_heads")
    if found is None:
        return n_heads
    return int(found)


def _layer(
    d_model: int, n_heads: int, n_kv_heads: int, d_head: int, family: Family, config: Json
) -> Layer:
    chains = projection_shapes(d_model, n_heads, n_kv_heads, d_head)
    shapes: dict[str, Chain | None] = {name: tuple(chain) for name, chain in chains.items()}
    bias_in, bias_out = family.bias_in(config), family.bias_out(config)
    n_matrices = sum(rows * columns for ((rows, columns),) in chains.values())
    n_bias = bias_in * (n_heads + 2 * n_kv_heads) * d_head + bias_out * d_model
    return Layer(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=d_head,
        shapes=shapes,
        bias={"q": bias_in, "k": bias_in, "v": bias_in, "o": bias_out},
        n_parameters=n_matrices + n_bias,
    )


def _window(config: Json) -> int | None:
    window = config.get("sliding_window")
    if not isinstance(window, int) or config.get("model_type") != "mistral" or window <= 0:
        # Qwen2 has one only where it is switched on, and then this formula stands back.
        return None
    return window


def _parameters(
    sizes: Sizes, layer: Layer, config: Json, family: Family, notes: list[Note]
) -> Parameters:
    """Embedding + layers · (attention + MLP + two norms) + last norm, + head unless tied."""
    n_words, width = number(config, "n_words"), number(config, "d_mlp")
    d_model, n_layers, per_layer = sizes.d_model, sizes.n_layers, layer.n_parameters
    if n_words is None or width is None or d_model is None or n_layers is None or per_layer is None:
        notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.no_sizes")))
        return Parameters(attention_per_layer=per_layer, attention=_times(per_layer, n_layers))
    width = width // 2 if family.halved_mlp else width
    mlp = 3 * d_model * width + family.bias_mlp(config) * (2 * width + d_model)
    base = n_words * d_model + n_layers * (per_layer + mlp + 2 * d_model) + d_model
    total = _total(base, n_words * d_model, config, notes)
    notes.append(Note("sizes.note.closed", model_type=config.get("model_type")))
    return Parameters(
        attention_per_layer=per_layer,
        attention=_times(per_layer, n_layers),
        base=base,
        total=total,
        source=Note("sizes.source.closed", name=family.source),
    )


def _times(each: int | None, count: int | None) -> int | None:
    return None if each is None or count is None else each * count


def _total(base: int, head: int, config: Json, notes: list[Note]) -> int | None:
    name = _class_name(config)
    if not name:
        notes.append(Note("sizes.note.no_architecture"))
        return None
    if not name.endswith(HEADED):
        return base
    tied = config.get("tie_word_embeddings")
    if not isinstance(tied, bool):
        notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.tie_unstated")))
        return None
    return base if tied else base + head
