"""From a built model to its `Sizes`: read off the modules, held against the configuration."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mha_core.errors import Note
from mha_core.sizes import build as builder
from mha_core.sizes.build import Built, attribute, main_config, value_of
from mha_core.sizes.check import MAIN_NAMES, NAMES, refuse_uneven, stated
from mha_core.sizes.kept import cache_of
from mha_core.sizes.modules import AttentionModule, find_attention
from mha_core.sizes.read import Json
from mha_core.sizes.report import Layer, Parameters, Sizes

if TYPE_CHECKING:
    from torch import nn

HEAD_COUNTS = (
    "num_attention_heads",
    "num_heads",
    "n_heads",
    "n_head",
    "num_q_heads",
    "n_local_heads",
)
HEAD_SIZES = (
    "qk_head_dim",
    "head_dim",
    "attention_head_size",
    "d_head",
    "key_value_proj_dim",
    "head_size",
)


def sizes_of_built(built: Built, config: Json) -> Sizes:
    """Describe a built model: its main part at the top, every nested part under `entries`.

    Args:
        built: what transformers made.
        config: the checked file it was made from.

    Raises:
        DataError: heads that do not divide the width, or KV heads that do not divide the heads.
    """
    if not built.agrees:
        return _stated_only(built, config)
    main = main_config(built.config)
    _refuse_uneven(main, config)
    model = built.base if built.base is not None else built.full
    root = _part(model, main) if main is not built.config else model
    name = _name_of(built.config, main)
    top = _describe(main, root, main_name=name)
    count = count_parameters
    notes = [*built.notes, *top.notes, *_defaults(config, name, main)]
    tied = attribute(built.config, "tie_word_embeddings")
    if config.get("tie_word_embeddings") is False and tied is True:
        notes.append(Note("sizes.note.tied_anyway", model_type=built.model_type))
    return replace(
        top,
        model_type=str(config.get("model_type") or built.model_type),
        parameters=replace(
            top.parameters,
            base=count(built.base),
            total=count(built.full),
            source=_built_by(),
        ),
        entries=dict(_entries(built.config, model, "")),
        notes=tuple(notes),
    )


def _built_by() -> Note:
    return Note("sizes.source.built", version=builder.known_version())


def count_parameters(model: nn.Module | None) -> int | None:
    """Learned numbers of a model, a tied tensor counted once; None for no model."""
    return None if model is None else sum(p.numel() for p in model.parameters())


def _refuse_uneven(main: Any, config: Json) -> None:
    """Refuse heads that do not fit, unless the class has a head size of its own (Gemma, Qwen3)."""
    own = _raw_of(config)
    d_model, n_heads = stated(own, "d_model"), stated(own, "n_heads")
    d_head = value_of(main, "d_head")
    if d_model and n_heads and type(d_model[1]) is int and type(n_heads[1]) is int:
        derived = d_head in (None, d_model[1] // n_heads[1])
        own = own if derived else {**own, "head_dim": d_head}
    refuse_uneven(own)


def _raw_of(config: Json) -> Json:
    """The object of the file that states the main part's sizes."""
    if stated(config, "n_heads"):
        return config
    for name in MAIN_NAMES:
        part = config.get(name)
        if isinstance(part, dict):
            return _raw_of(part)
    return config


def _defaults(config: Json, name: str | None, main: Any) -> list[Note]:
    """A part of a composite may leave out what its class has by default; say which sizes."""
    own: object = config
    for key in (name or "").split("."):
        own = own.get(key) if isinstance(own, dict) and key else own
    if not isinstance(own, dict):
        own = config
    wanted = ("d_model", "n_heads", "n_layers", "n_words")
    missing = [meaning for meaning in wanted if stated(own, meaning) is None]
    missing = [meaning for meaning in missing if value_of(main, meaning) is not None]
    if name is None or not missing:
        return []
    names = ", ".join(missing)
    return [Note("sizes.note.defaults", model_type=main.model_type, names=names)]


def _name_of(config: Any, main: Any) -> str | None:
    """The path of keys from a configuration to its main part, None if it is the part itself."""
    if config is main:
        return None
    return _path_to(config, main) or ""


def _path_to(config: Any, main: Any) -> str | None:
    for name, value in vars(config).items():
        if value is main:
            return str(name)
        if hasattr(value, "sub_configs") and (inner := _path_to(value, main)):
            return f"{name}.{inner}"
    return None


def _part(model: nn.Module | None, config: Any) -> nn.Module | None:
    """The outermost module built from this very configuration object."""
    if model is None:
        return None
    for module in model.modules():
        if getattr(module, "config", None) is config:
            return module
    return None


def _stated_only(built: Built, config: Json) -> Sizes:
    """What the file states, when the built model would be another one."""
    own = _raw_of(config)
    found = {name: stated(own, name) for name in ("d_model", "n_heads", "n_layers")}
    plain = {name: value[1] if value else None for name, value in found.items()}
    n_kv_heads, d_head = (stated(own, name) for name in ("n_kv_heads", "d_head"))
    first = Layer(
        n_heads=plain["n_heads"],  # type: ignore[arg-type]
        n_kv_heads=n_kv_heads[1] if n_kv_heads else None,  # type: ignore[arg-type]
        d_head=d_head[1] if d_head else None,  # type: ignore[arg-type]
    )
    model_type = config.get("model_type") or built.model_type
    return Sizes(model_type=model_type, first=first, notes=tuple(built.notes), **plain)  # type: ignore[arg-type]


def _entries(config: Any, model: nn.Module | None, prefix: str) -> Any:
    """Every nested configuration with its own description, by its path of keys."""
    for key in sorted(getattr(type(config), "sub_configs", {})):
        part = attribute(config, key)
        if not hasattr(part, "to_dict"):
            continue
        alone = builder.build_part(part)
        inside = _part(model, part)
        root = alone if alone is not None else inside
        described = _describe(part, root, main_name=None)
        notes = list(described.notes)
        if root is None:
            notes.append(Note("sizes.note.no_base", reason=Note("sizes.reason.part_unbuilt")))
        parameters = replace(
            described.parameters,
            base=count_parameters(root),
            source=_built_by(),
        )
        notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.part_headless")))
        model_type = getattr(part, "model_type", None) or None
        yield (
            prefix + key,
            replace(described, model_type=model_type, parameters=parameters, notes=tuple(notes)),
        )
        yield from _entries(part, root, f"{prefix}{key}.")


def _describe(config: Any, root: nn.Module | None, main_name: str | None) -> Sizes:
    """The sizes of one part: its configuration, and the attention modules of its model."""
    notes: list[Note] = []
    if main_name is not None:
        name = main_name or Note("sizes.word.text_part")
        notes.append(Note("sizes.note.main", name=name))
    modules = [] if root is None else find_attention(root)
    own = [module for module in modules if not module.cross]
    n_heads = value_of(config, "n_heads")
    layers = [read_layer(module, config, notes) for module in own]
    model_type = attribute(config, "model_type") or None
    if not own and root is not None:
        notes.append(_why_none(root, model_type))
    first = layers[0] if layers else _from_config(config)
    stages = _stages(own, layers)
    d_model = _width(config, own, bool(stages), notes)
    n_layers = value_of(config, "n_layers")
    if any(note.key == "sizes.note.no_attention" for note in notes):
        # A mixer without softmax may call its groups heads; they are not these.
        n_heads, first = None, Layer()
    if stages:
        n_heads = [stage["n_heads"] for stage in stages]
        depths = [stage["n_layers"] for stage in stages]
        notes.append(Note("sizes.note.stages", depths=depths, count=len(stages)))
    elif own and isinstance(n_layers, int) and len(own) < n_layers and _repeats(config):
        notes.append(Note("sizes.note.repeated", n_layers=n_layers, n_built=len(own)))
    without_value = sum(module.kind == "separate" and module.value is None for module in own)
    if without_value:
        notes.append(Note("sizes.note.keys_are_values", count=without_value))
    cache = cache_of(config, root, modules, layers, notes) if root is not None else None
    layers = [
        replace(layer, window=window)
        for layer, window in itertools.zip_longest(layers, cache.windows if cache else [])
    ][: len(layers)]
    kinds = _grouped(layers)
    if len(kinds) > 1 and not stages:
        notes.append(Note("sizes.note.kinds", kinds=_listed(kinds)))
    per_layer = first.n_parameters
    return Sizes(
        model_type=model_type,
        d_model=d_model,
        n_heads=n_heads if n_heads is not None else first.n_heads,
        n_layers=n_layers if isinstance(n_layers, int) else None,
        first=replace(layers[0], count=1) if layers else first,
        layers=tuple(kinds),
        stages=tuple(stages),
        parameters=Parameters(
            attention_per_layer=per_layer,
            attention=sum(module.n_parameters for module in modules) if own else None,
        ),
        cache=cache.groups if cache else None,
        causal=cache.causal if cache else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def _why_none(root: nn.Module, model_type: str | None) -> Note:
    for path, module in root.named_modules():
        name = type(module).__name__.lower()
        if path and "attention" in name and list(module.parameters()):
            return Note("sizes.note.unread", path=path)
    named = model_type or Note("sizes.word.this_part")
    return Note("sizes.note.no_attention", model_type=named)


def _repeats(config: Any) -> bool:
    return attribute(config, "num_hidden_groups") is not None


def _from_config(config: Any) -> Layer:
    """Heads as the configuration states them, when no module could be read."""
    n_heads, n_kv_heads, d_head = (
        value_of(config, name) for name in ("n_heads", "n_kv_heads", "d_head")
    )
    is_latent = attribute(config, "kv_lora_rank") is not None
    return Layer(
        n_heads=n_heads if isinstance(n_heads, int) else None,
        n_kv_heads=n_kv_heads if isinstance(n_kv_heads, int) else None,
        # MLA's head sizes are three, and head_dim is one of them or none.
        d_head=d_head if isinstance(d_head, int) and not is_latent else None,
    )


def _width(config: Any, own: list[AttentionModule], staged: bool, notes: list[Note]) -> int | None:
    """d_model: the configuration's, or another of its widths when the layers read that one."""
    width = value_of(config, "d_model")
    width = width if isinstance(width, int) else None
    if not own or staged:
        return width
    query = own[0].query or own[0].fused
    reads = query.columns if query else None
    if reads == width or reads is None:
        return width
    if width is None or reads in (attribute(config, name) for name in NAMES["d_model"]):
        notes.append(Note("sizes.note.shapes_win", name="d_model", stated=width, built=reads))
        return reads
    notes.append(Note("sizes.note.other_width", width=width, reads=reads))
    return width


def read_layer(module: AttentionModule, config: Any, notes: list[Note]) -> Layer:
    """Heads and shapes of one attention module.

    The module's own matrices decide; the configuration says how many heads they hold.
    """
    if module.extra:
        notes.append(Note("sizes.note.extra_bias", names=", ".join(module.extra)))
    if module.output is None:
        notes.append(Note("sizes.note.no_output", path=module.path))
    if module.kind == "fused":
        return _read_fused(module, config, notes)
    query, key, value, output = module.query, module.key, module.value, module.output
    assert query is not None
    assert key is not None
    n_heads = _head_count(module, config, query.rows)
    d_value = _each(output.columns, n_heads) if output and len(output.chain) == 1 else None
    d_head = _head_size(module, config, query.rows, n_heads)
    if n_heads and d_head and query.rows == 2 * n_heads * d_head:
        notes.append(Note("sizes.note.gate"))
    shapes = {"w_q": query.chain, "w_k": key.chain, "w_v": value.chain if value else None}
    bias = {"q": query.bias, "k": key.bias, "v": value.bias if value else None}
    if module.kind == "latent":
        stated_kv = value_of(config, "n_kv_heads")
        n_kv_heads = stated_kv if isinstance(stated_kv, int) else n_heads
        notes.append(Note("sizes.note.latent", elements=key.chain[0][0]))
    else:
        n_kv_heads = _each(key.rows, d_head)
        if value is not None and n_kv_heads:
            d_value = _each(value.rows, n_kv_heads) or d_value
    if module.kind == "shared":
        notes.append(Note("sizes.note.shared"))
        d_value = d_head
    return Layer(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=d_value or d_head,
        shapes=shapes | {"w_o": output.chain if output else None},
        bias=bias | {"o": output.bias if output else None},
        n_parameters=module.n_parameters,
    )


def _read_fused(module: AttentionModule, config: Any, notes: list[Note]) -> Layer:
    """Cut one stored matrix into q, k and v: (h + 2·h_kv)·d_head rows."""
    fused, output = module.fused, module.output
    assert fused is not None
    inside = output.columns if output and len(output.chain) == 1 else None
    n_heads = _head_count(module, config, inside or fused.rows)
    d_head = _each(inside, n_heads) or _head_size(module, config, fused.rows, n_heads)
    rest = fused.rows - (n_heads or 0) * (d_head or 0)
    n_kv_heads = _each(rest, 2 * d_head) if d_head else None
    bias = dict.fromkeys("qkv", fused.bias) | {"o": output.bias if output else None}
    known = n_heads and n_kv_heads and d_head
    shapes: dict[str, Any] = dict.fromkeys(("w_q", "w_k", "w_v"))
    if known:
        rows = n_kv_heads * d_head  # type: ignore[operator]
        shapes = {
            "w_q": ((n_heads * d_head, fused.columns),),  # type: ignore[operator]
            "w_k": ((rows, fused.columns),),
            # A chain of its own: equal shapes here are not one shared matrix.
            "w_v": ((rows, fused.columns),),
        }
        notes.append(
            Note(
                "sizes.note.fused",
                shape=[*fused.chain[0]],
                name=module.path.rpartition(".")[2] or Note("sizes.word.it"),
            )
        )
    else:
        notes.append(Note("sizes.note.unread", path=module.path))
    return Layer(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=d_head,
        shapes=shapes | {"w_o": output.chain if output else None},
        bias=bias,
        n_parameters=module.n_parameters,
    )


def _each(total: int | None, parts: int | None) -> int | None:
    """total / parts when it comes out even."""
    if not total or not parts or total % parts:
        return None
    return total // parts


def _head_count(module: AttentionModule, config: Any, rows: int) -> int | None:
    """Query heads: the module's own count, else the configuration's."""
    for name in HEAD_COUNTS:
        count = module.attributes.get(name)
        if count and rows % count == 0:
            return count
    count = value_of(config, "n_heads")
    return count if isinstance(count, int) and rows % count == 0 else None


def _head_size(module: AttentionModule, config: Any, rows: int, n_heads: int | None) -> int | None:
    """Features of one query: stated and consistent with the rows, else rows / heads."""
    stated_sizes = [module.attributes.get(name) for name in HEAD_SIZES]
    stated_sizes.append(value_of(config, "d_head"))
    for size in stated_sizes:
        if isinstance(size, int) and n_heads and rows in (n_heads * size, 2 * n_heads * size):
            return size
    return _each(rows, n_heads)


def _grouped(layers: list[Layer]) -> list[Layer]:
    """Alike layers counted together, in order of first appearance."""
    found: dict[str, list[Layer]] = {}
    for layer in layers:
        found.setdefault(repr(layer), []).append(layer)
    return [replace(alike[0], count=len(alike)) for alike in found.values()]


def _listed(kinds: list[Layer]) -> Note:
    """The kinds one after another."""
    told = (
        Note(
            "sizes.word.kind",
            count=kind.count, n_heads=kind.n_heads, n_kv_heads=kind.n_kv_heads,
            d_head=kind.d_head, window=kind.window or Note("sizes.word.no_window"),
        )
        for kind in kinds
    )  # fmt: skip
    return functools.reduce(lambda listed, kind: Note("sizes.list", listed=listed, next=kind), told)


def _stages(own: list[AttentionModule], layers: list[Layer]) -> list[dict[str, object]]:
    """Runs of layers of one width, where the width changes along the model."""
    runs: list[dict[str, Any]] = []
    for module, layer in zip(own, layers, strict=True):
        projection = module.query or module.fused
        width = projection.columns if projection else 0
        if not runs or runs[-1]["d_model"] != width or runs[-1]["n_heads"] != layer.n_heads:
            shapes = layer.as_json()["shapes"]
            runs.append(
                {"d_model": width, "n_heads": layer.n_heads, "n_layers": 0, "shapes": shapes}
            )
        runs[-1]["n_layers"] += 1
    widths = [run["d_model"] for run in runs]
    grows = len(widths) > 1 and len(set(widths)) == len(widths)
    return runs if grows and all(isinstance(run["n_heads"], int) for run in runs) else []
