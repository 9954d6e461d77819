"""The order of things: check, choose the source, describe, remark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mha_core.errors import DataError, Note
from mha_core.sizes.check import (
    MAIN_NAMES,
    NAMES,
    check,
    refuse_missing,
    refuse_uneven,
    stated,
)
from mha_core.sizes.closed_form import closed_form, is_config, main_part, require
from mha_core.sizes.plain import number
from mha_core.sizes.read import Json
from mha_core.sizes.report import Sizes
from mha_core.sizes.rope_waves import read_rope
from mha_core.sizes.spellings import respell
from mha_core.sizes.storage import BLOCKS, read_storage

MAX_PARTS = 4


def measure_config(config: Json, *, totals: bool, notes: list[Note]) -> Sizes:
    """Measure a config; see `mha_core.sizes.measure`."""
    config, found = check(config)
    notes = [*notes, *found]
    config = respell(config, notes)
    _require_some(config)
    notes += _remarks(config)
    if totals:
        sizes = _with_transformers(config, notes)
        notes = [*sizes.notes, *_null_remarks(config, sizes)]
    else:
        refuse_uneven(config)
        sizes = closed_form(config, notes, version=None)
        notes = list(sizes.notes)
    main = main_part(config)
    stored, note = read_storage(config, main, sizes.n_layers)
    notes += [] if note is None else [note]
    return replace(
        sizes,
        rope=read_rope(main, sizes.first.d_head),
        stored=stored,
        in_tables=_in_tables(main, sizes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _in_tables(main: Json, sizes: Sizes) -> int | None:
    """Numbers in the tables of words: one, or two where the head has its own."""
    n_words = number(main, "n_words")
    if n_words is None or sizes.d_model is None:
        return None
    tied = main.get("tie_word_embeddings") is not False
    return n_words * sizes.d_model * (1 if tied else 2)


def _require_some(config: Json) -> None:
    """An object without a model type and without a size is no config at all."""
    parts = any(is_config(value) for value in config.values())
    if not config.get("model_type") and not config.get("architectures") and not parts:
        refuse_missing(config)


def _with_transformers(config: Json, notes: list[Note], depth: int = 0) -> Sizes:
    from mha_core.sizes import build
    from mha_core.sizes.architectures import known_version
    from mha_core.sizes.from_model import sizes_of_built

    if config.get("use_mla") is False:
        require(config, config)
        note = Note("sizes.note.not_mla", model_type=config.get("model_type"))
        return closed_form({**config, "model_type": None}, [*notes, note], known_version())
    built = build.build(config)
    if built is not None:
        built.notes = [*notes, *built.notes]
        return sizes_of_built(built, config)
    refuse_uneven(config)
    sizes = closed_form(config, notes, version=known_version())
    return _with_parts(sizes, config, depth)


def _with_parts(sizes: Sizes, config: Json, depth: int) -> Sizes:
    """Describe each nested part of a file whose whole is not known."""
    entries: dict[str, Sizes] = {}
    for key, value in config.items():
        if depth < MAX_PARTS and is_config(value):
            entries[key] = _part(key, value, depth)  # type: ignore[arg-type]
    if not entries:
        return sizes
    main = next((name for name in MAIN_NAMES if name in entries), None)
    if main is None or stated(config, "n_heads") is not None:
        return replace(sizes, entries=entries)
    top = entries[main]
    notes = [*sizes.notes, *top.notes]
    parameters = replace(top.parameters, base=None, total=None, source=None)
    notes.append(Note("sizes.note.no_total", reason=Note("sizes.reason.parts_only")))
    return replace(
        top,
        model_type=sizes.model_type,
        parameters=parameters,
        entries=entries,
        notes=tuple(dict.fromkeys(notes)),
    )


def _part(key: str, part: Json, depth: int) -> Sizes:
    """Measure one part by its own type, or as the part of that name in a known composite."""
    from mha_core.sizes import build

    kind: Any = build.sub_config(part, key)
    if kind is not None and stated(part, "d_model") is not None:
        part = {**part, "model_type": kind.model_type}
    try:
        sizes = _with_transformers(part, [], depth + 1)
    except DataError as error:
        # A part may state its sizes in words of its own; the whole file is still readable.
        return Sizes(model_type=None, notes=(Note(error.key, **error.values),))
    return sizes


def _remarks(config: Json) -> list[Note]:
    """Remarks on keys that people ask about though no size depends on them."""
    notes = []
    for name in ("rope_scaling", "rope_parameters"):
        value = config.get(name)
        if isinstance(value, dict) and value:
            kind = value.get("rope_type") or value.get("type") or Note("sizes.word.by_layer_type")
            notes.append(Note("sizes.note.rope", name=name, kind=kind))
    places = (config, main_part(config))
    if any(isinstance(place.get(block), dict) for place in places for block in BLOCKS):
        notes.append(Note("sizes.note.quantized"))
    return notes


def _null_remarks(config: Json, sizes: Sizes) -> list[Note]:
    """What a null in the file was read as."""
    notes = []
    counted = sizes.parameters.source
    is_built = counted is not None and counted.key == "sizes.source.built"
    source = Note("sizes.word.built" if is_built else "sizes.word.closed")
    for name in NAMES["d_head"]:
        if name in config and config[name] is None and sizes.first.d_head:
            notes.append(Note("sizes.note.null_head", name=name, d_head=sizes.first.d_head))
    read = any(note.key == "sizes.note.null_kv" for note in sizes.notes)
    for name in NAMES["n_kv_heads"]:
        if name in config and config[name] is None and sizes.first.n_kv_heads and not read:
            notes.append(
                Note(
                    "sizes.note.null_kv",
                    name=name, n_kv_heads=sizes.first.n_kv_heads, source=source,
                )
            )  # fmt: skip
    return notes
