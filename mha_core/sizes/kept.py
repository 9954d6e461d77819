"""Which layers of a built model keep what: windows, latents, shared and missing caches."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mha_core.errors import Note
from mha_core.sizes.build import attribute, value_of
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.modules import AttentionModule, mixers_without_softmax, unread_attention
from mha_core.sizes.report import Layer

if TYPE_CHECKING:
    from torch import nn

DECODER = re.compile(r"(^|\.)decoder(\.|$)")
FULL = {
    "full_attention", "attention", "global", "full", "hybrid", "moe", "dense", "*",
    "indexed_attention", "causal",
}  # fmt: skip
WINDOWED = {
    "sliding_attention", "sliding_window_attention", "local", "sliding", "local_attention",
    "hybrid_sliding",
}  # fmt: skip
CHUNKED = {"chunked_attention"}


@dataclass(frozen=True)
class Kept:
    """What `cache_of` found.

    Args:
        groups: alike cached layers; None where nothing is cached or it cannot be known.
        windows: one per attention layer that is not cross-attention, tokens; None is unbounded.
        causal: whether the first layer is causal; None if not known.
    """

    groups: tuple[CacheLayers, ...] | None
    windows: list[int | None]
    causal: bool | None


def cache_of(
    config: Any,
    root: nn.Module,
    modules: list[AttentionModule],
    layers: list[Layer],
    notes: list[Note],
) -> Kept:
    """Work out what a decoder keeps for each token.

    Args:
        config: the part's configuration object.
        root: its model.
        modules: all attention modules, cross-attention included.
        layers: what was read of those that are not cross-attention, in the same order.
        notes: gets a line for whatever is special or cannot be known.
    """
    own = [module for module in modules if not module.cross]
    pairs = list(zip(own, layers, strict=True))
    two_sided = has_two_sides(config, own)
    has_cache = _has_cache(config, root)
    causal = _is_causal(own[0], has_cache, two_sided) if own else None
    nothing = Kept(None, [], causal)
    if two_sided:
        pairs = [(module, layer) for module, layer in pairs if DECODER.search(module.path)]
    cached = [pair for pair in pairs if _is_causal(pair[0], has_cache, two_sided)]
    if not own:
        return nothing
    if not cached:
        notes.append(Note("sizes.note.two_way"))
        return nothing
    if not has_cache:
        notes.append(Note("sizes.note.no_cache", reason=Note("sizes.reason.no_argument")))
        return nothing
    if attribute(config, "compress_ratios") is not None or any(
        m.kind == "shared" for m, _ in cached
    ):
        notes.append(Note("sizes.note.no_cache", reason=Note("sizes.reason.compressed")))
        return nothing
    missed = unread_attention(root, modules) if _fewer(config, cached, two_sided) else None
    if missed:
        reason = Note("sizes.reason.unread", path=missed)
        notes.append(Note("sizes.note.no_cache", reason=reason))
        return nothing
    return _cache_of_decoder(config, root, modules, cached, two_sided, causal, notes)


def has_two_sides(config: Any, own: list[AttentionModule]) -> bool:
    """Whether a model has an encoder and a decoder; a class may have only one of the two."""
    in_decoder = [bool(DECODER.search(module.path)) for module in own]
    return bool(attribute(config, "is_encoder_decoder")) and len(set(in_decoder)) == 2


def _fewer(config: Any, cached: list[tuple[AttentionModule, Layer]], two_sided: bool) -> bool:
    """Whether some layers were not found to have attention."""
    n_layers = value_of(config, "n_layers")
    return not two_sided and isinstance(n_layers, int) and len(cached) < n_layers


def _cache_of_decoder(
    config: Any,
    root: nn.Module,
    modules: list[AttentionModule],
    cached: list[tuple[AttentionModule, Layer]],
    two_sided: bool,
    causal: bool | None,
    notes: list[Note],
) -> Kept:
    windows = {module.path: _window(config, module.layer, notes) for module, _ in cached}
    if "unknown" in windows.values():
        reason = Note("sizes.reason.unknown_kinds", names=_unknown_kinds(config))
        notes.append(Note("sizes.note.no_cache", reason=reason))
        return Kept(None, [], causal)
    # A layer without keys of its own reads those that an earlier layer keeps.
    keeping = [(module, layer) for module, layer in cached if module.kind != "query"]
    if len(keeping) < len(cached):
        notes.append(Note("sizes.note.shared_cache", count=len(cached) - len(keeping)))
    elements = [_elements(module, layer) for module, layer in keeping]
    if None in elements:
        notes.append(Note("sizes.note.no_cache", reason=Note("sizes.reason.heads")))
        return Kept(None, [], causal)
    plain = {path: window if isinstance(window, int) else None for path, window in windows.items()}
    groups = _group(
        [
            (module, element, plain[module.path])
            for (module, _), element in zip(keeping, elements, strict=True)
        ],
        config,
    )
    _note_cache(config, root, groups, modules, cached, two_sided, notes)
    own = [module for module in modules if not module.cross]
    told = [] if two_sided else [plain.get(module.path) for module in own]
    return Kept(groups, told, causal)


def _note_cache(
    config: Any,
    root: nn.Module,
    groups: tuple[CacheLayers, ...],
    modules: list[AttentionModule],
    cached: list[tuple[AttentionModule, Layer]],
    two_sided: bool,
    notes: list[Note],
) -> None:
    total = sum(group.count for group in groups)
    for group in groups:
        if group.window is not None:
            notes.append(
                Note("sizes.note.window", count=group.count, n_layers=total, window=group.window)
            )
    if two_sided:
        first = cached[0][1]
        rows = (first.n_kv_heads or 0) * ((first.d_head or 0) + (first.d_value or 0))
        n_cross = sum(module.cross for module in modules)
        notes.append(Note("sizes.note.two_sides", elements=rows * n_cross))
    elif _fewer(config, cached, two_sided):
        _note_others(config, root, modules, cached, notes)
    if attribute(config, "index_head_dim") is not None:
        notes.append(Note("sizes.note.indexer", elements=config.index_head_dim))


def _note_others(
    config: Any,
    root: nn.Module,
    modules: list[AttentionModule],
    cached: list[tuple[AttentionModule, Layer]],
    notes: list[Note],
) -> None:
    """What the layers without self-attention are: crossing, mixing by a state, or not mixing."""
    n_layers = value_of(config, "n_layers")
    attending = {module.layer for module, _ in cached}
    others = {number for number in range(n_layers) if number not in attending}
    crossing = others & {module.layer for module in modules if module.cross}
    states = (others - crossing) & mixers_without_softmax(root)
    kinds = [
        ("sizes.note.cross_layers", crossing),
        ("sizes.note.constant_state", states),
        ("sizes.note.mlp_layers", others - crossing - states),
    ]
    notes += [Note(key, count=len(numbers), n_layers=n_layers) for key, numbers in kinds if numbers]


def _has_cache(config: Any, root: nn.Module) -> bool:
    """Whether the model's forward takes a cache and its configuration lets it."""
    return _takes_cache(root) and attribute(config, "use_cache") is not None


def _takes_cache(root: nn.Module) -> bool:
    """Whether a forward names a cache; one that passes everything on is asked further in."""
    parameters = inspect.signature(root.forward).parameters
    if {"past_key_values", "cache", "layer_past"} & parameters.keys():
        return True
    passes_on = all(
        one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values()
    )
    return passes_on and any(_takes_cache(child) for child in root.children())


def _is_causal(module: AttentionModule, has_cache: bool, two_sided: bool) -> bool:
    """Whether a layer reads backwards only; a decoder that keeps a cache does, whatever it says."""
    if has_cache and DECODER.search(module.path):
        return True
    return has_cache and not two_sided if module.causal is None else module.causal


def _elements(module: AttentionModule, layer: Layer) -> int | None:
    if module.kind == "latent" and module.key is not None:
        # The latent and the shared rotary key are the rows of the first matrix of the chain.
        return module.key.chain[0][0]
    if not layer.n_kv_heads or not layer.d_head or not layer.d_value:
        return None
    return layer.n_kv_heads * (layer.d_head + layer.d_value)


def _window(config: Any, layer: int | None, notes: list[Note]) -> int | str | None:
    """Tokens layer number `layer` keeps at most: a number, None for all, or "unknown"."""
    kinds = layer_kinds(config)
    window = _stated_window(config, notes)
    if kinds and layer is not None and layer < len(kinds):
        kind = kinds[layer]
        if kind in WINDOWED:
            return window
        if kind in CHUNKED:
            return int(attribute(config, "attention_chunk_size"))
        return None if kind in FULL else "unknown"
    if attribute(config, "attention_chunk_size"):
        return int(config.attention_chunk_size)
    return window


def layer_kinds(config: Any) -> list[str] | None:
    """What each layer is, where a configuration lists it."""
    for name in ("layer_types", "layers_block_type", "attention_layers"):
        kinds = attribute(config, name)
        if isinstance(kinds, list | tuple) and all(isinstance(kind, str) for kind in kinds):
            return list(kinds)
    return None


def _unknown_kinds(config: Any) -> str:
    known = FULL | WINDOWED | CHUNKED
    return ", ".join(sorted(set(layer_kinds(config) or []) - known))


def _stated_window(config: Any, notes: list[Note]) -> int | None:
    """The window a configuration states, None where it states none or switches it off."""
    for name in ("sliding_window", "attention_window_size", "window_size", "sliding_window_size"):
        value = attribute(config, name)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        if attribute(config, "use_sliding_window") is False:
            reason = Note("sizes.reason.window_off")
        elif value <= 0:
            reason = Note("sizes.reason.window_empty")
        else:
            return value
        notes.append(Note("sizes.note.no_window", name=name, value=value, reason=reason))
        return None
    return None


def _group(
    kept: list[tuple[AttentionModule, int | None, int | None]], config: Any
) -> tuple[CacheLayers, ...]:
    kinds = layer_kinds(config) or []
    counts: dict[tuple[int, int | None, str], int] = {}
    for module, elements, window in kept:
        if module.kind == "latent":
            kind = "latent"
        elif window is None:
            kind = "full"
        else:
            named = kinds[module.layer] if module.layer is not None and kinds else ""
            kind = "chunk" if named in CHUNKED else "window"
        key = (elements or 0, window, kind)
        counts[key] = counts.get(key, 0) + 1
    return tuple(
        CacheLayers(count=count, elements=elements, window=window, kind=kind)
        for (elements, window, kind), count in counts.items()
    )
