"""What follows from width, heads, KV heads and layers alone, whatever else is unknown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from mha_core.errors import Note
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.check import MEANING, NAMES, stated
from mha_core.sizes.flops import projection_shapes
from mha_core.sizes.read import Json
from mha_core.sizes.report import Chain, Layer, Parameters, Sizes
from mha_core.sizes.unread import suspicious_keys

# Names under which a file states what is used here; a window is judged apart.
USED = frozenset({name for names in NAMES.values() for name in names} | MEANING.keys())
NO_DECODER = re.compile(
    r"Encoder|Embed|Classif|Vision|Masked|Retriev|Rerank|Audio|Bidirectional|BiModel|Bert|ColPali"
    r"|ColQwen"
)
DECODER_ALONE = re.compile(r"ForCausalLM\b|Decoder\b")
# What a decoder states where an encoder of other sizes stands beside it.
DECODER_SIDE = {
    "n_layers": ("decoder_layers", "num_decoder_layers"),
    "n_heads": ("decoder_attention_heads",),
}
NO_DECODER_TYPE = re.compile(r"vision|audio|encoder|embed|bert|clip|siglip|(^|_)vit(_|$)")
WINDOWS = re.compile(r"window|chunk")


def number(config: Json, meaning: str) -> int | None:
    """A size the file states as one number, None where it does not."""
    found = stated(config, meaning)
    return found[1] if found and type(found[1]) is int else None


def _on_side(config: Json, meaning: str) -> int | None:
    """A size of the side that the named class is: a decoder alone has the decoder's."""
    if not DECODER_ALONE.search(str(config.get("architectures") or "")):
        return number(config, meaning)
    found = (config.get(name) for name in DECODER_SIDE[meaning])
    return next((one for one in found if type(one) is int and one), number(config, meaning))


def stated_sizes(config: Json) -> Sizes:
    """What the file says in so many words, and nothing else."""
    heads = stated(config, "n_heads")
    listed: Any = heads[1] if heads and isinstance(heads[1], list) else None
    first = Layer(
        n_heads=_on_side(config, "n_heads"),
        n_kv_heads=number(config, "n_kv_heads"),
        d_head=number(config, "d_head"),
    )
    return Sizes(
        d_model=number(config, "d_model"),
        n_heads=listed or first.n_heads,
        n_layers=_on_side(config, "n_layers"),
        first=first,
    )


def plain_sizes(config: Json) -> Sizes:
    """Read plain attention where the file states all it needs and nothing speaks against it.

    Args:
        config: a checked object whose class cannot be had.

    Returns:
        What is stated; with shapes and a cache where width, heads, KV heads and layers are all
        there. Its notes say what was read, or which keys forbid it.
    """
    sizes = stated_sizes(config)
    d_model, n_layers, first = sizes.d_model, sizes.n_layers, sizes.first
    odd = [found for found in suspicious_keys(config, USED) if found.changes_attention]
    windows = [found for found in odd if WINDOWS.search(found.path)]
    others = [found for found in odd if found not in windows]
    if others:
        names = ", ".join(found.path for found in others)
        return replace(sizes, notes=(Note("sizes.note.not_plain", names=names),))
    if None in (d_model, n_layers, first.n_heads, first.n_kv_heads) or isinstance(
        sizes.n_heads, list
    ):
        return sizes
    assert d_model is not None
    assert n_layers is not None
    assert first.n_heads is not None
    assert first.n_kv_heads is not None
    if first.n_heads % first.n_kv_heads or (not first.d_head and d_model % first.n_heads):
        return sizes
    d_head = first.d_head or d_model // first.n_heads
    layer = _layer(config, d_model, first.n_heads, first.n_kv_heads, d_head)
    notes = [Note("sizes.note.plain")]
    cache = None
    if windows:
        reason = Note("sizes.reason.windows", names=", ".join(found.path for found in windows))
        notes.append(Note("sizes.note.no_cache", reason=reason))
    elif _may_be_encoder(config):
        notes.append(Note("sizes.note.no_cache", reason=Note("sizes.reason.maybe_encoder")))
    else:
        cache = (CacheLayers(n_layers, 2 * first.n_kv_heads * d_head),)
    each = layer.n_parameters
    return replace(
        sizes,
        first=layer,
        layers=(replace(layer, count=n_layers),),
        parameters=Parameters(
            attention_per_layer=each, attention=None if each is None else each * n_layers
        ),
        cache=cache,
        causal=True if cache else None,
        notes=tuple(notes),
    )


def _may_be_encoder(config: Json) -> bool:
    """Whether a class or a type is called after reading both ways, or after no text."""
    named = NO_DECODER.search(str(config.get("architectures") or ""))
    return bool(named or NO_DECODER_TYPE.search(str(config.get("model_type") or "").lower()))


def _layer(config: Json, d_model: int, n_heads: int, n_kv_heads: int, d_head: int) -> Layer:
    """One layer; its parameters only where the file says whether its projections have a bias."""
    chains = projection_shapes(d_model, n_heads, n_kv_heads, d_head)
    shapes: dict[str, Chain | None] = {name: tuple(chain) for name, chain in chains.items()}
    bias = config.get("attention_bias")
    n_matrices = sum(rows * columns for ((rows, columns),) in chains.values())
    n_bias = (n_heads + 2 * n_kv_heads) * d_head + d_model
    return Layer(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=d_head,
        shapes=shapes,
        bias=dict.fromkeys("qkvo", bias if isinstance(bias, bool) else None),
        n_parameters=n_matrices + n_bias * bias if isinstance(bias, bool) else None,
    )
