"""Build a model without weights through transformers, within bounds of time and size.

The only module that imports transformers. Models are built on torch's meta device: every tensor
has a shape and no memory. Code shipped beside a config (`auto_map`) is never run.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mha_core.errors import DataError, Note
from mha_core.sizes.check import MAIN_NAMES, NAMES, refuse_uneven, stated
from mha_core.sizes.read import Json

if TYPE_CHECKING:
    from torch import nn

MAX_SECONDS = 15.0
MAX_TENSORS = 250_000
# Keys that ask for code, kernels, packages or float types; none changes a shape.
DROPPED = {
    "auto_map", "quantization_config", "torch_dtype", "dtype", "attn_implementation",
    "_attn_implementation", "_attn_implementation_internal", "_attn_implementation_autoset",
    "_experts_implementation", "transformers_version", "compression_config",
}  # fmt: skip
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
]  # fmt: skip


@dataclass
class Built:
    """What transformers made of a config.

    Args:
        config: its configuration object, defaults filled in.
        model_type: the type it was read as.
        base: the model without a head, on the meta device.
        full: the class the file names, on the meta device.
        notes: why one of them is missing, and what was assumed.
        agrees: whether what the file states is what was built.
    """

    config: Any
    model_type: str
    base: nn.Module | None = None
    full: nn.Module | None = None
    notes: list[Note] = field(default_factory=list)
    agrees: bool = True


class BudgetError(RuntimeError):
    """Building took too long or made too many tensors; `note` says which."""

    def __init__(self, note: Note) -> None:
        self.note = note
        super().__init__(str(note))


def build(config: Json) -> Built | None:
    """Build the model a config describes, or return None where transformers does not know it.

    Args:
        config: a checked config, see `mha_core.sizes.check.check`.

    Raises:
        DataError: a key without which nothing is known is missing.
    """
    with _quiet():
        read = _read_config(config)
        if read is None:
            return None
        built = read
        if built.agrees:
            _build_models(built, config)
    return built


def build_part(config: Any) -> nn.Module | None:
    """Build the headless model of a nested configuration object; None where there is none."""
    with _quiet():
        model, _ = _attempt(_base_class(config), config)
        return model


def known_version() -> str:
    """The version of transformers, for notes."""
    import transformers

    return str(transformers.__version__)


def is_known(model_type: object) -> bool:
    """Whether transformers has this architecture in its own code."""
    from transformers import CONFIG_MAPPING

    return model_type in CONFIG_MAPPING


def sub_config(config: Json, key: str) -> type | None:
    """The configuration class that a composite `model_type` uses for its part `key`."""
    from transformers import CONFIG_MAPPING

    model_type = config.get("model_type")
    if model_type not in CONFIG_MAPPING:
        return None
    found: Any = CONFIG_MAPPING[model_type].sub_configs.get(key)
    return found if getattr(found, "model_type", "") else None


def _read_config(config: Json) -> Built | None:
    from transformers import CONFIG_MAPPING

    notes: list[Note] = []
    model_type = _model_type(config, notes)
    if model_type is None:
        return None
    kind = CONFIG_MAPPING[model_type]
    config = _without_extras(config)
    config["model_type"] = model_type
    config = _with_present_names(config, kind, notes)
    _require_core(config, kind)
    made, reason = _configure(kind, config)
    if made is None:
        config = _without_nulls(config, notes)
        refuse_uneven(config)
        made, reason = _configure(kind, config)
    if made is None:
        notes.append(Note("sizes.note.no_config", reason=reason))
        return Built(None, model_type, notes=notes, agrees=False)
    built = Built(made, model_type, notes=notes)
    _compare(config, built)
    return built


def _configure(kind: Any, config: Json) -> tuple[Any, Note | None]:
    """Make the configuration object, or say why its class refuses the file."""
    try:
        return kind.from_dict(config), None
    except Exception as error:
        # transformers' validators raise many kinds; each means that the file is not theirs.
        return None, _raised(error)


def _without_nulls(config: Json, notes: list[Note]) -> Json:
    """Give null KV heads and a null head size their usual meaning, where the class has none."""
    n_heads = stated(config, "n_heads")
    found = dict(config)
    for name in NAMES["n_kv_heads"]:
        if name in found and found[name] is None and n_heads:
            found[name] = n_heads[1]
            notes.append(
                Note(
                    "sizes.note.null_kv",
                    name=name, n_kv_heads=n_heads[1], source=Note("sizes.word.as_queries"),
                )
            )  # fmt: skip
    for name in NAMES["d_head"]:
        if name in found and found[name] is None:
            del found[name]
    return found


def _model_type(config: Json, notes: list[Note]) -> str | None:
    """The architecture a file is, by its type, else its class, else its keys."""
    import transformers
    from transformers import CONFIG_MAPPING

    named = config.get("model_type")
    if named in CONFIG_MAPPING:
        return str(named)
    kind: Any = getattr(_class_named(config), "config_class", None)
    if kind is not None and kind.model_type in CONFIG_MAPPING:
        if named:
            name = (config.get("architectures") or [""])[0]  # type: ignore[index]
            version = transformers.__version__
            notes.append(Note("sizes.note.by_class", model_type=named, version=version, name=name))
        return str(kind.model_type)
    if named:
        return None
    for model_type, present, absent in SIGNATURES:
        if present <= config.keys() and not absent & config.keys():
            notes.append(Note("sizes.note.inferred", model_type=model_type))
            return model_type
    return None


def _class_named(config: Json) -> Any:
    """The class in `architectures`, when it is one of transformers' models."""
    import transformers

    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else names
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        return None
    found = getattr(transformers, name, None)
    is_model = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
    return found if is_model else None


def _without_extras(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_extras(item) for key, item in value.items() if key not in DROPPED}
    return value


def _with_present_names(config: Json, kind: Any, notes: list[Note]) -> Json:
    """Rename keys of an older form (n_layer) that this class reads by a newer one."""
    fields = set(getattr(kind, "__dataclass_fields__", ())) | set(kind.attribute_map)
    for names in NAMES.values():
        new = next((name for name in names if name in fields), None)
        old = next((name for name in names if config.get(name) is not None), None)
        if (
            new
            and old
            and old not in fields
            and not any(config.get(n) for n in names if n in fields)
        ):
            config = {**config, new: config[old]}
            notes.append(Note("sizes.note.renamed", old=old, new=new))
    return config


def _require_core(config: Json, kind: Any) -> None:
    """A flat file must state width, heads and depth; a default would describe another model."""
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    listed = isinstance(config.get("depths") or config.get("block_sizes"), list)
    if kind.sub_configs and any(isinstance(config.get(name), dict) for name in kind.sub_configs):
        return
    for meaning in ("d_model", "n_heads", "n_layers"):
        if meaning == "n_layers" and listed:
            continue
        names = [name for name in NAMES[meaning] if name in fields]
        names += [kind.attribute_map[n] for n in NAMES[meaning] if n in kind.attribute_map]
        if names and stated(config, meaning) is None and not any(config.get(n) for n in names):
            raise DataError("sizes.keys.missing", name=names[0], names=", ".join(NAMES[meaning]))


def _compare(config: Json, built: Built) -> None:
    """Hold what the file states at its top against what the configuration object says."""
    main = main_config(built.config)
    fields = set(getattr(type(built.config), "__dataclass_fields__", ()))
    for meaning in ("d_model", "n_heads", "n_layers", "n_words", "d_mlp"):
        found = stated(config, meaning)
        if found is None:
            continue
        name, value = found
        # A composite keeps keys it does not know as attributes nobody reads.
        own = main is built.config or name in fields
        seen = value_of(built.config if own else main, meaning)
        seen = value_of(main, meaning) if seen is None else seen
        if isinstance(seen, int) and isinstance(value, int) and seen != value:
            built.agrees = False
            built.notes.append(
                Note(
                    "sizes.note.contradiction",
                    name=name, stated=value, built=seen, model_type=built.model_type,
                )
            )  # fmt: skip


def main_config(config: Any) -> Any:
    """The part of a configuration that the top of a report describes: text, else itself."""
    for name in MAIN_NAMES:
        part = getattr(config, name, None)
        if hasattr(part, "to_dict"):
            return main_config(part)
    try:
        found = config.get_text_config()
    except ValueError:
        # Two text parts (RAG, speech pairs): the decoder's.
        found = config.get_text_config(decoder=True)
    return found


def attribute(config: Any, name: str) -> Any:
    """One attribute of a configuration object, None if it has none or not one for all layers."""
    try:
        return getattr(config, name, None)
    except Exception:
        # A configuration that differs by layer (Gemma 4) refuses to name one value for all.
        return None


def value_of(config: Any, meaning: str) -> Any:
    """One size of a configuration object, by the first name it has; None if it has none."""
    for name in NAMES[meaning]:
        value = attribute(config, name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(v, int) for v in value):
            return list(value)
    return None


def _build_models(built: Built, config: Json) -> None:
    """Build the class the file names and the headless model, noting why one is missing."""
    named = _class_named(config)
    names = config.get("architectures")
    base_class = _base_class(built.config)
    if named is not None and isinstance(built.config, named.config_class):
        built.full, reason = _attempt(named, built.config)
        if reason:
            built.notes.append(Note("sizes.note.no_build", part=named.__name__, reason=reason))
    elif names:
        first = names[0] if isinstance(names, list) else names
        version = known_version()
        built.notes.append(
            Note(
                "sizes.note.foreign_class",
                version=version, name=first, model_type=built.model_type,
            )
        )  # fmt: skip
    else:
        built.notes.append(Note("sizes.note.no_architecture"))
    if base_class is not None and type(built.full) is base_class:
        built.base = built.full
        return
    built.base, reason = _attempt(base_class, built.config)
    if base_class is None:
        reason = Note("sizes.reason.no_headless")
    if reason:
        built.notes.append(Note("sizes.note.no_base", reason=reason))


def _base_class(config: Any) -> Any:
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


def _attempt(kind: Any, config: Any) -> tuple[nn.Module | None, Note | None]:
    """Build one class; a failure is a reason, never a traceback."""
    import torch

    if kind is None:
        return None, None
    try:
        with budget(), torch.device("meta"):
            return kind._from_config(config), None
    except BudgetError as error:
        return None, error.note
    except Exception as error:
        # Models raise anything for a config they do not like, or for a package that is not here.
        return None, _raised(error)


def _raised(error: BaseException) -> Note:
    """What was raised, in the words of whoever raised it."""
    text = " ".join(str(error).split())[:160]
    return Note("sizes.reason.raised", kind=type(error).__name__, text=text)


@contextmanager
def budget(seconds: float = MAX_SECONDS, tensors: int = MAX_TENSORS) -> Iterator[None]:
    """Stop this thread's model building after so many seconds or tensors.

    Args:
        seconds: wall-clock limit.
        tensors: modules and parameters registered at most.

    Raises:
        BudgetError: from inside the block, when a limit is passed.
    """
    from torch.nn.modules import module as registry

    owner = threading.get_ident()
    deadline = time.monotonic() + seconds
    count = 0

    def watch(*_: object) -> None:
        nonlocal count
        if threading.get_ident() != owner:
            return
        count += 1
        if count > tensors:
            raise BudgetError(Note("sizes.reason.tensors", most=tensors))
        if time.monotonic() > deadline:
            raise BudgetError(Note("sizes.reason.seconds", most=f"{seconds:g}"))

    with ExitStack() as stack:
        for register in (
            registry.register_module_parameter_registration_hook,
            registry.register_module_module_registration_hook,
        ):
            stack.callback(register(watch).remove)
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' advice about tokens and float types out of the output."""
    import transformers

    logger = logging.getLogger("transformers")
    level = logger.level
    transformers.logging.set_verbosity(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
