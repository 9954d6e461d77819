"""Which of transformers' classes a file means, and whether that class is the one it names."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import lru_cache
from typing import Any

from mha_core.errors import Note
from mha_core.sizes.read import Json

# Old files without a model_type, told by keys that only one architecture writes.
SIGNATURES: list[tuple[str, set[str], set[str]]] = [
    # (model type, keys it has, keys it has not)
    ("albert", {"num_hidden_groups", "inner_group_num", "embedding_size"}, set()),
    ("distilbert", {"sinusoidal_pos_embds", "n_heads", "hidden_dim"}, set()),
    ("xlnet", {"d_inner", "d_head", "n_layer", "ff_activation"}, set()),
    ("t5", {"d_kv", "d_ff", "relative_attention_num_buckets"}, set()),
    ("openai-gpt", {"afn", "n_embd", "n_head"}, set()),
    ("gpt2", {"n_embd", "n_head", "n_layer", "n_positions"}, {"afn", "rotary_dim"}),
    (
        "bert",
        {"type_vocab_size", "attention_probs_dropout_prob", "hidden_size", "intermediate_size"},
        {"embedding_size", "relative_attention", "max_2d_position_embeddings", "attention_window"},
    ),
]
# Older names of classes that are here under another.
RENAMED = {
    "LlavaLlamaForCausalLM": "LlavaForConditionalGeneration",
    "T5WithLMHeadModel": "T5ForConditionalGeneration",
    "RWForCausalLM": "FalconForCausalLM",
    "RWModel": "FalconModel",
    "PhiMoEForCausalLM": "PhimoeForCausalLM",
    "MPTForCausalLM": "MptForCausalLM",
}
# The same class in another framework.
FRAMEWORKS = ("TF", "Flax")
ACTIVATIONS = {
    "hidden_act", "hidden_activation", "activation", "activation_function", "act_fn", "afn",
    "ff_activation", "mlp_hidden_act", "activation_type", "dense_act_fn", "encoder_hidden_act",
    "decoder_hidden_act", "ffn_act_fn", "projector_hidden_act",
}  # fmt: skip


def known_version() -> str:
    """The version of transformers, for notes."""
    import transformers

    return str(transformers.__version__)


def named_class(config: Json) -> tuple[Any, str | None]:
    """The class in `architectures` where it is one of transformers' models, and the name."""
    import transformers

    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else names
    if not isinstance(name, str):
        return None, None
    for spelling in _spellings(name):
        found = getattr(transformers, spelling, None)
        is_model = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
        # What others are made from (LlamaPreTrainedModel) holds no layers.
        if is_model and not spelling.endswith("PreTrainedModel"):
            return found, name
    return None, name


def _spellings(name: str) -> list[str]:
    """A class's name, and what it is called here."""
    if not name.isidentifier() or name.startswith("_"):
        return []
    plain = [name, RENAMED.get(name, name)]
    return plain + [name.removeprefix(framework) for framework in FRAMEWORKS]


def type_of(config: Json, notes: list[Note]) -> str | None:
    """The architecture a file is: its class's, else its model_type's, else by its keys."""
    from transformers import CONFIG_MAPPING

    named, (kind, name) = config.get("model_type"), named_class(config)
    own = str(kind.config_class.model_type) if kind is not None else None
    if named in CONFIG_MAPPING:
        if own in CONFIG_MAPPING and not _reads(kind, CONFIG_MAPPING[named]):
            if _part_key(config, CONFIG_MAPPING[named], kind) is None:
                notes.append(Note("sizes.note.class_wins", model_type=named, name=name, own=own))
            return own
        return str(named)
    if own in CONFIG_MAPPING:
        if named:
            version = known_version()
            notes.append(Note("sizes.note.by_class", model_type=named, version=version, name=name))
        return own
    if named:
        return None
    for model_type, present, absent in SIGNATURES:
        if present <= config.keys() and not absent & config.keys():
            notes.append(Note("sizes.note.inferred", model_type=model_type))
            return model_type
    return None


def _reads(model: Any, kind: Any) -> bool:
    """Whether a model class is built from this configuration class."""
    return issubclass(kind, model.config_class)


def _part_key(config: Json, kind: Any, model: Any) -> str | None:
    """The part of a composite that a model class is built from."""
    own = model.config_class
    for key, part in kind.sub_configs.items():
        raw = config.get(key)
        named = raw.get("model_type") if isinstance(raw, dict) else None
        if part is own or named == own.model_type:
            return str(key)
    return None


def part_of_class(config: Json, model_type: str, notes: list[Note]) -> Json:
    """The object of the file that the named class is built from: itself, or one part of it."""
    from transformers import CONFIG_MAPPING

    named, (kind, name) = config.get("model_type"), named_class(config)
    if kind is None or named not in CONFIG_MAPPING or named == model_type:
        return config
    key = _part_key(config, CONFIG_MAPPING[named], kind)
    part = config.get(key) if key else None
    if not isinstance(part, dict):
        return config
    notes.append(Note("sizes.note.one_part", name=name, part=key))
    return {**part, "architectures": config.get("architectures")}


def is_from_elsewhere(config: Json, kind: Any, notes: list[Note]) -> bool:
    """Whether the class a file names is not here, and its model_type's would be another model."""
    version = known_version()
    model, name = named_class(config)
    beside = _names_beside(config)
    if model is not None:
        if name != model.__name__:
            notes.append(Note("sizes.note.read_as_class", name=name, own=model.__name__))
        foreign = sorted(other for other in beside if not _is_here(other))
        if foreign:
            notes.append(Note("sizes.note.code_beside", names=", ".join(foreign), name=name))
        return False
    if name is not None:
        notes.append(Note("sizes.note.foreign_class", version=version, name=name))
        return True
    if beside and kind.__name__ not in beside and not any(map(_is_here, beside)):
        names = ", ".join(sorted(beside))
        notes.append(Note("sizes.note.foreign_code", version=version, names=names))
        return True
    return False


def _names_beside(config: Json) -> set[str]:
    """Classes that `auto_map` says are shipped beside the weights."""
    found: set[str] = set()
    shipped = config.get("auto_map")
    for value in shipped.values() if isinstance(shipped, dict) else ():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and "Tokenizer" not in path and "Processor" not in path:
                found.add(path.rpartition(".")[2])
    return found


def _is_here(name: str) -> bool:
    """Whether transformers has a class of this name."""
    import transformers

    return name.isidentifier() and isinstance(getattr(transformers, name, None), type)


def inner_class(config: Any) -> Any:
    """The one model built from a part that is in no list (the thinker's text), else None."""
    name = type(config).__module__.replace(".configuration_", ".modeling_")
    try:
        kinds = vars(importlib.import_module(name)).values()
    except ImportError:
        return None
    found = {
        kind
        for kind in kinds
        if getattr(kind, "config_class", None) is type(config)
        and kind.__module__ == name
        and kind.__name__.endswith("Model")
        and not kind.__name__.endswith("PreTrainedModel")
    }
    return found.pop() if len(found) == 1 else None


def base_class(config: Any) -> Any:
    """The headless class of a configuration object; None where there is none."""
    from transformers import MODEL_MAPPING

    try:
        found = MODEL_MAPPING.get(type(config), None)
    except ValueError:
        # Listed in the mapping, not in the code.
        return None
    if isinstance(found, list | tuple):
        # Which of several depends on the config; AutoModel's own rule is by class name.
        named = {kind.__name__: kind for kind in found}
        first = (getattr(config, "architectures", None) or [""])[0]
        return named.get(first, found[0])
    return found


@lru_cache(maxsize=64)
def source_of(kind: type) -> tuple[str, str]:
    """The code that makes a configuration, and the code that reads it; "" for what is not here."""
    texts = []
    for name in (kind.__module__, kind.__module__.replace(".configuration_", ".modeling_")):
        try:
            texts.append(inspect.getsource(importlib.import_module(name)))
        except Exception:
            # A class without a modelling file of that name, or one that needs a missing package.
            texts.append("")
    return texts[0], texts[1]


def knows_word(kind: type, word: str, *, where_read: bool = False) -> bool:
    """Whether a class's code holds a word as a string of its own.

    Args:
        kind: a configuration's class.
        word: a value of the file.
        where_read: only the code that reads the configuration counts. A configuration may take a
            word that its model then passes over (MPT's "multiquery_attention").
    """
    making, reading = source_of(kind)
    texts = (reading,) if where_read and reading else (making, reading)
    return any(f'"{word}"' in text or f"'{word}'" in text for text in texts)


def reads_key(kind: Any, key: str) -> bool:
    """Whether a class's code reads a key of the file: as a field, or from the configuration."""
    if key in getattr(kind, "__dataclass_fields__", ()) or key in kind.attribute_map:
        return True
    name = re.escape(key)
    making, reading = source_of(kind)
    quoted = rf"[\"']{name}[\"']"
    return bool(
        re.search(rf"self\.{name}\b|{quoted}", making)
        or re.search(rf"config\.{name}\b|{quoted}", reading)
    )


def activations_known(config: Json, kind: type, notes: list[Note]) -> Json:
    """A config whose unknown activations are left out: the function between two matrices.

    A gated one ("swiglu") asks for a third matrix, so what counts the MLP cannot be told.
    """
    from transformers.activations import ACT2CLS

    found: Json = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found[key] = activations_known(value, kind, notes)
            continue
        is_word = key in ACTIVATIONS and isinstance(value, str)
        if not is_word or value in ACT2CLS or knows_word(kind, str(value)):
            found[key] = value
            continue
        said = "sizes.note.gated" if "glu" in str(value).lower() else "sizes.note.activation"
        notes.append(Note(said, name=key, value=value))
    return found
