"""Sizes by formula, for architectures whose code ships beside their weights.

Each family below is written down once, from the modelling code named in `source`. A family says
how its projections are laid out; its parameters follow by counting matrices. Architectures that
are not here give what their file states and null for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mha_core.errors import Note
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.check import MAIN_NAMES, refuse_missing, stated
from mha_core.sizes.flops import projection_shapes
from mha_core.sizes.read import Json
from mha_core.sizes.report import Chain, Layer, Parameters, Sizes


@dataclass(frozen=True)
class Family:
    """A decoder of blocks with attention, a gated MLP of three matrices and two RMSNorms.

    Args:
        source: the modelling code the layout was read in.
        bias_in: whether q, k and v have a bias, given the config.
        bias_out: whether the output projection has one.
        fused: name of the one matrix that q, k and v are stored in; "" for three.
        kv_name: the key whose absence means as many KV heads as heads.
        halved_mlp: Qwen's first generation states the sum of two halves.
        bias_mlp: whether the MLP's matrices have a bias.
    """

    source: str
    bias_in: Callable[[Json], bool]
    bias_out: Callable[[Json], bool]
    fused: str = ""
    halved_mlp: bool = False
    bias_mlp: Callable[[Json], bool] = lambda config: False


def _never(config: Json) -> bool:
    return False


def _always(config: Json) -> bool:
    return True


def _flag(name: str, default: bool) -> Callable[[Json], bool]:
    return lambda config: bool(config.get(name, default))


LLAMA = Family("modeling_llama.py", _flag("attention_bias", False), _flag("attention_bias", False))
# What each family's code builds; the keys are model types.
FAMILIES: dict[str, Family] = {
    "baichuan": Family("modeling_baichuan.py", _never, _never, fused="W_pack"),
    "chatglm": Family(
        "modeling_chatglm.py",
        lambda config: bool(config.get("add_qkv_bias") or config.get("add_bias_linear")),
        _flag("add_bias_linear", False),
        fused="query_key_value",
        bias_mlp=_flag("add_bias_linear", False),
    ),
    "internlm": Family("modeling_internlm.py", _flag("bias", True), _flag("bias", True)),
    "internlm2": Family(
        "modeling_internlm2.py", _flag("bias", False), _flag("bias", False), "wqkv"
    ),
    "minicpm": Family(
        "modeling_minicpm.py", _flag("attention_bias", False), _flag("attention_bias", False)
    ),
    # no_bias speaks of all but the fused q, k, v matrix, which always has one.
    "qwen": Family(
        "modeling_qwen.py",
        _always,
        lambda config: not config.get("no_bias", True),
        fused="c_attn",
        halved_mlp=True,
        bias_mlp=lambda config: not config.get("no_bias", True),
    ),
}
# The same blocks in transformers' own code: the fast path when totals are not asked for.
KNOWN_HERE: dict[str, Family] = {
    "llama": LLAMA,
    "mistral": Family("modeling_mistral.py", _never, _never),
    "qwen2": Family("modeling_qwen2.py", _always, _never),
}
HEADED = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ChatGLMModel")


def family_of(config: Json) -> Family | None:
    """The family a config belongs to, by its model type."""
    return (FAMILIES | KNOWN_HERE).get(str(config.get("model_type")))


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
    main = _main_part(config)
    if main is not config:
        notes.append(Note("sizes.note.main", name=_key_of(config, main)))
    require(main, config)
    family = family_of(main) if "block_configs" not in main else None
    sizes = _stated(main)
    if family is None:
        unknown = _unknown_names(sizes)
        key = "sizes.note.unknown" if version else "sizes.note.not_asked"
        model_type = config.get("model_type") or Note("sizes.word.none")
        notes.append(Note(key, model_type=model_type, version=version, names=unknown))
    else:
        sizes = _with_family(sizes, main, family, notes)
    return replace(
        sizes, model_type=_text(config.get("model_type")), notes=tuple(dict.fromkeys(notes))
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def require(main: Json, config: Json) -> None:
    """Refuse an object that states no width, no heads or no depth, as none of a model does."""
    if not _stages_or_parts(config):
        refuse_missing(main)


def _stages_or_parts(config: Json) -> bool:
    """A staged or composite file, or a mixer without heads, states its sizes in another way."""
    staged = isinstance(config.get("depths"), list)
    mixer = "state_size" in config or "ssm_cfg" in config
    parts = any(is_config(value) for value in config.values())
    return staged or mixer or parts


def is_config(value: object) -> bool:
    """Whether a nested object describes a part of the model, by the sizes it states."""
    if not isinstance(value, dict):
        return False
    found = [stated(value, name) is not None for name in ("d_model", "n_heads", "n_layers")]
    return sum(found) >= 2 or ("model_type" in value and any(found))


def _main_part(config: Json) -> Json:
    """The object that states the language model's sizes: the file itself, or a part of it."""
    if stated(config, "n_heads") is not None:
        return config
    for name in MAIN_NAMES:
        part = config.get(name)
        if is_config(part) or (isinstance(part, dict) and _main_part(part) is not part):
            return _main_part(part)  # type: ignore[arg-type]
    return config


def _key_of(config: Json, main: Json) -> str | None:
    """The path of keys to the main part."""
    for key, value in config.items():
        if value is main:
            return key
        if isinstance(value, dict) and key in MAIN_NAMES and (inner := _key_of(value, main)):
            return f"{key}.{inner}"
    return None


def _number(config: Json, meaning: str) -> Any:
    found = stated(config, meaning)
    return found[1] if found and type(found[1]) is int else None


def _stated(config: Json) -> Sizes:
    """What the file says in so many words, and nothing else."""
    heads = stated(config, "n_heads")
    listed = heads[1] if heads and isinstance(heads[1], list) else None
    first = Layer(
        n_heads=_number(config, "n_heads"),
        n_kv_heads=_number(config, "n_kv_heads"),
        d_head=_number(config, "d_head"),
    )
    return Sizes(
        d_model=_number(config, "d_model"),
        n_heads=listed or first.n_heads,
        n_layers=_number(config, "n_layers"),
        first=first,
    )


def _unknown_names(sizes: Sizes) -> str:
    known = {"n_kv_heads": sizes.first.n_kv_heads, "d_head": sizes.first.d_head}
    unknown = [name for name, value in known.items() if value is None]
    return ", ".join([*unknown, "shapes", "bias", "parameters", "kv_cache"])


def _with_family(sizes: Sizes, config: Json, family: Family, notes: list[Note]) -> Sizes:
    d_model, n_heads, n_layers = sizes.d_model, sizes.first.n_heads, sizes.n_layers
    if d_model is None or n_heads is None or n_layers is None:
        return sizes
    n_kv_heads = _kv_heads(config, n_heads, notes)
    d_head = sizes.first.d_head or d_model // n_heads
    layer = _layer(d_model, n_heads, n_kv_heads, d_head, family, config)
    if family.fused:
        rows = (n_heads + 2 * n_kv_heads) * d_head
        notes.append(Note("sizes.note.fused", shape=[rows, d_model], name=family.fused))
    window = _window(config, notes)
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


def _kv_heads(config: Json, n_heads: int, notes: list[Note]) -> int:
    """KV heads as stated; these families have as many as heads when none are."""
    if config.get("multi_query_attention") is False:
        return n_heads
    found = _number(config, "n_kv_heads")
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


def _window(config: Json, notes: list[Note]) -> int | None:
    window = config.get("sliding_window")
    if not isinstance(window, int) or config.get("use_sliding_window") is False or window <= 0:
        return None
    return window


def _parameters(
    sizes: Sizes, layer: Layer, config: Json, family: Family, notes: list[Note]
) -> Parameters:
    """Embedding + layers · (attention + MLP + two norms) + last norm, + head unless tied."""
    n_words, width = _number(config, "n_words"), _number(config, "d_mlp")
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
    names = config.get("architectures")
    first = str(names[0]) if isinstance(names, list) and names else ""
    if not first.endswith(HEADED):
        notes.append(Note("sizes.note.no_architecture"))
        return None
    tied = config.get("tie_word_embeddings")
    if not isinstance(tied, bool):
        notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.tie_unstated")))
        return None
    return base if tied else base + head
