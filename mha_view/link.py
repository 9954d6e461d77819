"""The link of a scene as the app writes it, and what of a link there is no such thing as.

A scene may remember a layer or a head that its present weights lack, such as another model's. What
is written is what is shown, so that every link the app gives can be read.
"""

from __future__ import annotations

from collections.abc import Mapping

from mha_core.errors import TwelveHeadsError
from mha_view import compute, real
from mha_view.scene import DEFAULTS, FIELD_OF, HEADED, Scene, write_link

# Fields of a scene that count layers or heads: which of the two sizes bounds them.
COUNTED = {"layer": 0, "head": 1, "other_layer": 0, "other_head": 1}


def link_of(scene: Scene) -> dict[str, str]:
    """The query parameters of what is shown of a scene."""
    sizes = _sizes_by_field(scene)
    bounded = {field: min(getattr(scene, field), most - 1) for field, most in sizes.items()}
    picked, heads = scene.picked, sizes_of(scene)[1]
    if picked is not None and picked.figure in HEADED and picked.head >= heads:
        picked = None
    if stands_in(scene):  # the cell is of another model's tokens
        picked = None
    shown = scene.with_(**bounded, off=existing_off(scene), picked=picked)
    if scene.against == "weights" and scene.other_weights == "real":
        name = real.second_name(scene)
        known = real.SHELF.digest_of(name)
        shown = shown.with_(other_real=name, other_digest=scene.other_digest or known)
    if (card := real.card_of(scene)) is not None:
        known = real.SHELF.digest_of(card.name)
        shown = shown.with_(real=card.name, digest=scene.digest or known)
    return write_link(shown)


def settings_of(scene: Scene) -> dict[str, str]:
    """What a reader needs to make a picture again: the link without the picked cell, the text."""
    return {**link_of(scene.with_(picked=None)), "text": scene.text}


def refuse_missing(scene: Scene, link: Mapping[str, str]) -> tuple[Scene, list[str]]:
    """A scene that was read from a link, without the layers and heads that do not exist.

    Returns:
        The scene with the default in their place, and the offending parameters as `read_link`
        gives them. A cell of a model that is not here is left out.
    """
    sizes, picked = _sizes_by_field(scene), scene.picked
    n_heads = sizes_of(scene)[1]
    has_cell = picked is not None and picked.figure in HEADED and picked.head >= n_heads
    missing = ["cell"] if has_cell and "cell" in link else []
    missing += [
        name
        for name, field in FIELD_OF.items()
        if name in link and field in COUNTED and getattr(scene, field) >= sizes[field]
    ]
    if "off" in link and existing_off(scene) != scene.off:
        missing.append("off")
    fields = {FIELD_OF[name] for name in missing}
    if "picked" in fields and scene.head >= n_heads:  # which the cell had brought along
        fields.add("head")
    standing = {field: DEFAULTS[field] for field in fields}
    if stands_in(scene):
        standing["picked"] = None
    return scene.with_(**standing), [f"{name}={link[name]}"[:40] for name in missing]


def _sizes_by_field(scene: Scene) -> dict[str, int]:
    """How many layers or heads there are for each field that counts them."""
    own, other = sizes_of(scene), sizes_of(other_of(scene))
    return {
        field: (other if field.startswith("other_") else own)[which]
        for field, which in COUNTED.items()
    }


def has_own_head(scene: Scene) -> bool:
    """Whether a second reading by other weights chooses its own layer and head: where either side
    is another people's model, whose heads have nothing to do with the others'."""
    return scene.against == "weights" and "real" in (scene.weights, scene.other_weights)


def other_of(scene: Scene) -> Scene:
    """What the second reading's layer and head are of: the scene's weights, or the other ones."""
    if not has_own_head(scene):
        return scene
    name = real.second_name(scene)
    return scene.with_(weights=scene.other_weights, real=name, layer=scene.other_layer)


def stands_in(scene: Scene) -> bool:
    """Whether the shipped model stands in for another people's that is not on this server."""
    return scene.weights == "real" and real.card_of(scene) is None


def sizes_of(scene: Scene) -> tuple[int, int]:
    """How many layers and heads the scene's weights have, a session's model by its settings."""
    if scene.weights == "live":
        return scene.live_layers, scene.live_h
    if scene.weights == "real":
        return real.sizes_stated(scene) or (compute.TOY_LAYERS, compute.TOY_HEADS)
    try:
        return compute.n_layers_of(scene), compute.config_of(scene).n_heads
    except TwelveHeadsError:  # sizes that do not fit together, which the page says
        return 1, scene.n_heads


def existing_off(scene: Scene) -> tuple[tuple[int, int], ...]:
    """The heads to switch off that there are: the shipped model's, or those of another people's
    model."""
    sizes = real.sizes_stated(scene) if scene.weights == "real" else None
    layers, heads = sizes or (compute.TOY_LAYERS, compute.TOY_HEADS)
    return tuple((layer, head) for layer, head in scene.off if layer < layers and head < heads)
