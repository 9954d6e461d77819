"""Build a model without weights through transformers, within bounds of time and size.

Models are built on torch's meta device: every tensor has a shape and no memory. Code shipped
beside a config (`auto_map`) is never run. What is built is the class that the file names in
`architectures`; where that class cannot be had, nothing is built in its place.
"""

from __future__ import annotations

import copy
import inspect
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mha_core.errors import DataError, Note
from mha_core.sizes.architectures import (
    activations_known,
    base_class,
    inner_class,
    is_from_elsewhere,
    named_class,
    part_of_class,
    reads_key,
    type_of,
)
from mha_core.sizes.check import MAIN_NAMES, NAMES, refuse_uneven, stated
from mha_core.sizes.quiet import one_at_a_time, reason_of
from mha_core.sizes.read import Json

if TYPE_CHECKING:
    from torch import nn
    from torch.overrides import TorchFunctionMode

MAX_SECONDS = 15.0
MAX_TENSORS = 250_000
# Keys that ask for code, kernels, packages or float types; none changes a shape.
DROPPED = {
    "auto_map", "quantization_config", "torch_dtype", "dtype", "attn_implementation",
    "_attn_implementation", "_attn_implementation_internal", "_attn_implementation_autoset",
    "_experts_implementation", "transformers_version", "compression_config",
}  # fmt: skip


@dataclass
class Built:
    """What transformers made of a config.

    Args:
        config: its configuration object, defaults filled in.
        model_type: the type it was read as.
        raw: the file's object that `config` was made from, by the names the class reads.
        base: the model without a head, on the meta device, where it was built by itself.
        full: the class the file names, on the meta device.
        n_base: learned numbers without the head.
        notes: why one of them is missing, and what was assumed.
        agrees: whether what the file states is what was built.
    """

    config: Any
    model_type: str
    raw: Json = field(default_factory=dict)
    base: nn.Module | None = None
    full: nn.Module | None = None
    n_base: int | None = None
    notes: list[Note] = field(default_factory=list)
    agrees: bool = True

    @property
    def model(self) -> nn.Module | None:
        """The module to describe: what is inside the class the file names, else the headless."""
        return self.base if self.full is None else backbone(self.full)


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
    with one_at_a_time():
        built = _read_config(config)
        if built is not None and built.agrees:
            _build_models(built, config)
        return built


def build_part(config: Any) -> nn.Module | None:
    """Build the headless model of a nested configuration object; None where there is none."""
    with one_at_a_time():
        model, _ = _attempt(base_class(config) or inner_class(config), config)
        return model


def sub_config(config: Json, key: str) -> type | None:
    """The configuration class that a composite `model_type` uses for its part `key`."""
    from transformers import CONFIG_MAPPING

    model_type = config.get("model_type")
    if model_type not in CONFIG_MAPPING:
        return None
    found: Any = CONFIG_MAPPING[model_type].sub_configs.get(key)
    return found if getattr(found, "model_type", "") else None


def count_parameters(model: nn.Module | None) -> int | None:
    """Learned numbers of a model, a tied tensor counted once; None for no model."""
    if model is None:
        return None
    # Faster than `parameters()`, which makes each one's name.
    held = (one for module in model.modules() for one in module._parameters.values())
    return sum({id(one): one.numel() for one in held if one is not None}.values())


def backbone(model: nn.Module) -> nn.Module:
    """The model inside a class with a head; the model itself where it holds its parts directly."""
    found = getattr(model, "base_model", None)
    return model if found is None else found


def _read_config(config: Json) -> Built | None:
    from transformers import CONFIG_MAPPING

    notes: list[Note] = []
    model_type = type_of(config, notes)
    if model_type is None:
        return None
    kind = CONFIG_MAPPING[model_type]
    if is_from_elsewhere(config, kind, notes):
        return Built(None, model_type, raw=config, notes=notes, agrees=False)
    config = _without_extras(part_of_class(config, model_type, notes))
    config = activations_known(config, kind, notes)
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
        return Built(None, model_type, raw=config, notes=notes, agrees=False)
    built = Built(made, model_type, raw=config, notes=notes)
    _compare(config, built)
    return built


def _configure(kind: Any, config: Json) -> tuple[Any, Note | None]:
    """Make the configuration object, or say why its class refuses the file."""
    try:
        return kind.from_dict(copy.deepcopy(config)), None
    except Exception as error:
        # transformers' validators raise many kinds; each means that the file is not theirs.
        return None, reason_of(error, config)


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
            and not any(n in config for n in names if n in fields)
            and not reads_key(kind, old)
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
    """Build the class the file names, or without one the headless model; note what is missing."""
    kind, name = named_class(config)
    base = base_class(built.config)
    if kind is not None:
        built.full, reason = _attempt(kind, built.config)
        if reason:
            built.notes.append(Note("sizes.note.no_build", part=kind.__name__, reason=reason))
        if built.full is not None:
            built.n_base = _count_base(built.full, base)
            return
    elif name is None:
        built.notes.append(Note("sizes.note.no_architecture"))
    built.base, reason = _attempt(base, built.config)
    built.n_base = count_parameters(built.base)
    if base is None:
        reason = Note("sizes.reason.no_headless")
    if reason:
        built.notes.append(Note("sizes.note.no_base", reason=reason))


def _count_base(full: nn.Module, base: Any) -> int | None:
    """Learned numbers of the headless model, read off the class with a head.

    A headless model that is built by itself may hold a part that the one inside a class with a
    head lacks (BERT's pooler). How many numbers that is does not depend on depth, so two models
    of one layer tell.
    """
    inside = backbone(full)
    if inside is full:
        return count_parameters(full) if type(full) is base else _without_heads(full)
    n_inside = count_parameters(inside)
    if type(inside) is not base or n_inside is None or not has_options(base):
        return n_inside
    shallow = _shallow(full.config)
    alone, _ = _attempt(base, shallow)
    if alone is not None:
        own = {_any_layer(name) for name, _ in inside.named_parameters()}
        more = {name: one.numel() for name, one in alone.named_parameters()}
        if own <= {_any_layer(name) for name in more}:
            return n_inside + sum(n for name, n in more.items() if _any_layer(name) not in own)
    headed, _ = _attempt(type(full), shallow)
    if alone is None or headed is None:
        alone, _ = _attempt(base, full.config)
        return count_parameters(alone)
    n_alone, n_headed = count_parameters(alone), count_parameters(backbone(headed))
    assert n_alone is not None
    assert n_headed is not None
    return n_inside + n_alone - n_headed


def _any_layer(name: str) -> str:
    """A parameter's name without the number of its layer.

    >>> _any_layer("encoder.layer.11.output.dense.weight")
    'encoder.layer.#.output.dense.weight'
    """
    return ".".join("#" if part.isdecimal() else part for part in name.split("."))


def _without_heads(full: nn.Module) -> int | None:
    """Learned numbers of the parts that read tokens or mix them; a bare map at the end is a head.

    None where no part can be told from a head.
    """
    import torch

    parts = [child for child in full.children() if _reads_or_mixes(child)]
    if not parts:
        return None
    own = list(full.parameters(recurse=False))
    holder = torch.nn.ModuleList(parts)
    return sum(p.numel() for p in [*holder.parameters(), *own])


def _reads_or_mixes(part: nn.Module) -> bool:
    """Whether a part embeds tokens or is itself deep."""
    import torch

    deep = (torch.nn.Embedding, torch.nn.ModuleList)
    return any(isinstance(module, deep) for module in part.modules())


def has_options(kind: Any) -> bool:
    """Whether a headless class can be built with or without a part."""
    return len(inspect.signature(kind.__init__).parameters) > 2


def _shallow(config: Any) -> Any:
    """A copy of a configuration with one layer, as far as it can be had."""
    found = copy.deepcopy(config)
    for name in NAMES["n_layers"]:
        if isinstance(attribute(found, name), int):
            setattr(found, name, 1)
    return found


def _attempt(kind: Any, config: Any) -> tuple[nn.Module | None, Note | None]:
    """Build one class; a failure is a reason, never a traceback.

    Classes change the configuration they are given (an encoder switches its cache off), so each
    gets a copy.
    """
    import torch

    if kind is None:
        return None, None
    try:
        with budget(), torch.device("meta"), _without_numbers():
            return kind._from_config(copy.deepcopy(config)), None
    except BudgetError as error:
        return None, error.note
    except Exception as error:
        # Models raise anything for a config they do not like, or for a package that is not here.
        return None, reason_of(error, config.to_dict())


@lru_cache(maxsize=1)
def _filling() -> frozenset[Any]:
    """What gives a tensor its first numbers."""
    from torch import Tensor
    from torch.nn import init

    inits = (init.uniform_, init.normal_, init.trunc_normal_, init.constant_)
    shaped = (init.xavier_uniform_, init.kaiming_uniform_)
    methods = (Tensor.uniform_, Tensor.normal_, Tensor.fill_, Tensor.zero_)
    return frozenset({*inits, *shaped, *methods})


def _without_numbers() -> TorchFunctionMode:
    """Leave out, in this thread, the first numbers of tensors that hold none: half of the work."""
    from torch.overrides import TorchFunctionMode

    class WithoutNumbers(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if func in _filling():
                tensor = args[0] if args else kwargs["tensor"]
                if tensor.is_meta:
                    return tensor
            return func(*args, **kwargs)

    return WithoutNumbers()


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
