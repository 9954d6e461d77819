"""From a built model to its `Sizes`: read off the modules, held against the configuration."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mha_core.errors import Note
from mha_core.sizes import build as builder
from mha_core.sizes.architectures import base_class, known_version
from mha_core.sizes.build import (
    Built,
    attribute,
    count_parameters,
    has_options,
    main_config,
    value_of,
)
from mha_core.sizes.check import MAIN_NAMES, NAMES, refuse_uneven, stated
from mha_core.sizes.filled_in import filled_in
from mha_core.sizes.kept import DECODER, cache_of, layer_kinds
from mha_core.sizes.modules import AttentionModule, Projection, find_attention
from mha_core.sizes.plain import DECODER_SIDE, plain_sizes
from mha_core.sizes.read import Json
from mha_core.sizes.report import Layer, Parameters, Sizes
from mha_core.sizes.unread import unread_keys

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
# Notes that leave the totals null.
UNCOUNTED = {"sizes.note.unread_total", "sizes.note.no_vocabulary", "sizes.note.gated"}
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
    model_type = str(config.get("model_type") or built.model_type)
    if not built.agrees:
        return _stated_only(built.notes, config, model_type)
    model = built.model
    whole = built.config if model is None else getattr(model, "config", built.config)
    main = main_config(whole)
    _refuse_uneven(main, config)
    name = _name_of(whole, main)
    forbidding, notes = _judge_unread(built.raw, whole, name)
    if forbidding:
        return _stated_only([*built.notes, *notes], config, model_type)
    if model is None:
        root = builder.build_part(main)
    else:
        root = _part(model, main) if main is not whole else model
    top = _describe(main, root, main_name=name)
    notes = [*built.notes, *top.notes, *notes, *_filled_in(built.raw, whole, model)]
    notes += _overruled(config, main, top)
    absent = _absent_parts(built.raw, whole)
    notes += [Note("sizes.note.absent_part", name=part) for part in absent]
    is_counted = not any(note.key in UNCOUNTED for note in notes)
    tied = attribute(whole, "tie_word_embeddings")
    if config.get("tie_word_embeddings") is False and tied is True and _has_head(built.full):
        notes.append(Note("sizes.note.tied_anyway", model_type=built.model_type))
    return replace(
        top,
        model_type=model_type,
        parameters=replace(
            top.parameters,
            base=built.n_base if is_counted else None,
            total=count_parameters(built.full) if is_counted and not absent else None,
            source=_built_by(),
        ),
        entries=dict(_entries(whole, model, "", absent)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _has_head(full: nn.Module | None) -> bool:
    """Whether a class predicts words at all; an encoder has no head to tie."""
    find = getattr(full, "get_output_embeddings", None)
    return find is not None and find() is not None


def _built_by() -> Note:
    return Note("sizes.source.built", version=known_version())


def _objects(raw: Json, config: Any, prefix: str = "") -> Iterator[tuple[str, Json, Any]]:
    """Every object of a file with the configuration object made from it, by its path of keys."""
    yield prefix, raw, config
    for key in getattr(type(config), "sub_configs", {}):
        part, own = attribute(config, key), raw.get(key)
        if not hasattr(part, "to_dict"):
            continue
        if isinstance(own, dict):
            yield from _objects(own, part, f"{prefix}{key}.")
        elif own is None and _is_flat(raw, part):
            yield prefix, raw, part


def _is_flat(raw: Json, part: Any) -> bool:
    """Whether a class reads this part from the top of the file (Qwen2-VL's language model)."""
    found = [stated(raw, meaning) for meaning in ("d_model", "n_heads", "n_layers")]
    return all(
        pair is not None and pair[1] == value_of(part, meaning)
        for pair, meaning in zip(found, ("d_model", "n_heads", "n_layers"), strict=True)
    )


def _judge_unread(raw: Json, whole: Any, main: str | None) -> tuple[bool, list[Note]]:
    """Whether keys that a class passes over may change the main part's attention, and all of them.

    A part that states no key the class knows is judged by its own class.
    """
    forbidding, notes = False, []
    for prefix, own, config in _objects(raw, whole):
        unread = list(unread_keys(own, config))
        # A section without a width of its own (MPT's attn_config) speaks of the whole.
        is_section = value_of(config, "d_model") is None
        is_main = prefix.removesuffix(".") in ("", main) or is_section
        of_attention = [prefix + found.path for found in unread if found.changes_attention]
        ahead = [prefix + found.path for found in unread if found.is_ahead]
        others = [
            prefix + found.path
            for found in unread
            if not found.changes_attention and not found.is_ahead
        ]
        if ahead:
            notes.append(Note("sizes.note.ahead", names=", ".join(ahead)))
        if of_attention and is_main:
            forbidding = True
            names = ", ".join(of_attention)
            notes.append(Note("sizes.note.unread_attention", names=names, model_type=_type(config)))
        elif of_attention or others:
            names = ", ".join(of_attention + others)
            notes.append(Note("sizes.note.unread_total", names=names, model_type=_type(config)))
    return forbidding, notes


def _type(config: Any) -> str:
    return getattr(config, "model_type", None) or type(config).__name__


def _overruled(config: Json, main: Any, top: Sizes) -> Iterator[Note]:
    """Sizes in the file that the class passes over while it makes its own of the others."""
    own = _raw_of(config)
    for meaning in ("n_kv_heads", "d_head"):
        found = stated(own, meaning)
        held = {getattr(layer, meaning) for layer in top.layers}
        if found is None or not held - {None} or attribute(main, "kv_lora_rank") is not None:
            continue
        name, value = found
        declared = name in type(main).__dataclass_fields__ or name in type(main).attribute_map
        if type(value) is int and value not in held and not declared:
            built = min(held - {None})
            yield Note("sizes.note.shapes_win", name=name, stated=value, built=built)


def _filled_in(raw: Json, whole: Any, model: nn.Module | None) -> list[Note]:
    """A note for every part that its class filled sizes into."""
    found = (filled_in(own, config, model, prefix) for prefix, own, config in _objects(raw, whole))
    return [note for note in found if note is not None]


def _absent_parts(raw: Json, whole: Any, prefix: str = "") -> list[str]:
    """Parts that a class has and the file does not, which are then made up whole."""
    found = []
    for key in sorted(getattr(type(whole), "sub_configs", {})):
        part, own = attribute(whole, key), raw.get(key)
        if not hasattr(part, "to_dict"):
            continue
        if isinstance(own, dict):
            found += _absent_parts(own, part, f"{prefix}{key}.")
        elif own is None and not _is_flat(raw, part):
            found.append(prefix + key)
    return found


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


def _stated_only(notes: list[Note], config: Json, model_type: str) -> Sizes:
    """What the file states and what follows, when the built model would be another one."""
    found = plain_sizes(_raw_of(config))
    return replace(found, model_type=model_type, notes=(*notes, *found.notes))


def _entries(
    config: Any, model: nn.Module | None, prefix: str, absent: list[str]
) -> Iterator[tuple[str, Sizes]]:
    """Every nested configuration with its own description, by its path of keys."""
    for key in sorted(getattr(type(config), "sub_configs", {})):
        part = attribute(config, key)
        if not hasattr(part, "to_dict"):
            continue
        root = _part(model, part)
        base = base_class(part)
        if root is None or type(root) is not base or has_options(base):
            alone = builder.build_part(part)
            root = alone if alone is not None else root
        described = _describe(part, root, main_name=None)
        notes = list(described.notes)
        if root is None:
            notes.append(Note("sizes.note.no_base", reason=Note("sizes.reason.part_unbuilt")))
        if prefix + key in absent:
            notes.append(Note("sizes.note.absent_part", name=prefix + key))
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
        yield from _entries(part, root, f"{prefix}{key}.", absent)


def _describe(config: Any, root: nn.Module | None, main_name: str | None) -> Sizes:
    """The sizes of one part: its configuration, and the attention modules of its model."""
    notes: list[Note] = []
    if main_name is not None:
        name = main_name or Note("sizes.word.text_part")
        notes.append(Note("sizes.note.main", name=name))
    modules = [] if root is None else find_attention(root)
    own = [module for module in modules if not module.cross]
    side = DECODER_SIDE if _is_decoder_alone(own) else {}
    n_heads = _on_side(config, "n_heads", side)
    layers = [read_layer(module, config, notes) for module in own]
    model_type = attribute(config, "model_type") or None
    if not own and root is not None:
        notes.append(_why_none(root, model_type))
    first = layers[0] if layers else _from_config(config)
    stages = _stages(own, layers)
    d_model = _width(config, own, bool(stages), notes)
    n_layers = _depth(root, own, _on_side(config, "n_layers", side), notes)
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


def _is_decoder_alone(own: list[AttentionModule]) -> bool:
    """Whether a class holds the decoder of an encoder-decoder and no encoder."""
    return bool(own) and all(DECODER.search(module.path) for module in own)


def _on_side(config: Any, meaning: str, side: Mapping[str, tuple[str, ...]]) -> Any:
    """A size of the configuration; the decoder's own where the decoder is alone."""
    for name in side.get(meaning, ()):
        value = attribute(config, name)
        if isinstance(value, int) and value > 0:
            return value
    return value_of(config, meaning)


def _depth(root: nn.Module | None, own: list[AttentionModule], told: Any, notes: list[Note]) -> Any:
    """Layers as stated, or as built where a pattern in the file makes more or fewer of them."""
    match = re.match(r"(.*?)\.\d+(\.|$)", own[0].path) if own else None
    if root is None or match is None or not isinstance(told, int):
        return told
    has_pattern = layer_kinds(getattr(root, "config", None)) is not None
    if not has_pattern:
        return told
    built = len(list(root.get_submodule(match[1]).children()))
    if built == told:
        return told
    notes.append(Note("sizes.note.shapes_win", name="n_layers", stated=told, built=built))
    return built


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
    if module.kind == "query":
        return _read_query(module, config, query)
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


def _read_query(module: AttentionModule, config: Any, query: Projection) -> Layer:
    """A layer that reads another's keys and values: w_q and w_o are its own."""
    n_heads, output = _head_count(module, config, query.rows), module.output
    d_head = _head_size(module, config, query.rows, n_heads)
    shapes = {
        "w_q": query.chain, "w_k": None, "w_v": None, "w_o": output.chain if output else None
    }  # fmt: skip
    return Layer(
        n_heads=n_heads,
        n_kv_heads=_each(n_heads, module.attributes.get("num_key_value_groups")),
        d_head=d_head,
        d_value=d_head,
        shapes=shapes,
        bias={"q": query.bias, "k": None, "v": None, "o": output.bias if output else None},
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
