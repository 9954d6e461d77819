"""The scene: everything a link restores, as one frozen record, and its form in a URL.

A scene is what the reader chose. A link writes only what differs from the defaults, under stable
ASCII names, so a link made in one language opens in the other. Reading never fails: a name that
is not known or a value that cannot be is replaced by the default and reported.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from mha_view.texts import DEFAULT_TEXT, TEXTS

Lang = Literal["en", "zh"]
WeightsName = Literal["toy", "article", "custom"]
MaskName = Literal["causal", "two_way", "window", "prefix", "sink_window"]
Axes = Literal["article", "torch"]
ColourScale = Literal["linear", "sqrt", "log"]
Pairing = Literal["half", "interleaved"]
Sorting = Literal[
    "place", "entropy", "confidence", "distance", "previous", "current", "first",
    "punctuation", "duplicate", "induction",
]  # fmt: skip
View = Literal["heat", "links"]

VERSION = "1"
LONGEST_LINK = 2_000
LONGEST_TEXT = 100_000


@dataclass(frozen=True)
class Picked:
    """A picked cell: in which figure, of which head (0 where there is none), row and column."""

    figure: str
    head: int
    row: int
    column: int


@dataclass(frozen=True)
class Scene:
    """What the reader chose. Sizes are checked where they are used, so a bad one can be shown.

    Attributes:
        lang: language of every word on screen.
        text: the sentence, exactly as typed.
        weights: whose learned parameters the sentence goes through.
        layer: layer of the trained model, from 0.
        head: the head looked at, from 0.
        mask: which keys a query may look at.
        window: how many tokens a query sees up to and with itself (window, sink + window).
        prefix: how many first tokens see each other both ways (prefix).
        sinks: how many first tokens everybody sees (sink + window).
        rope: whether queries and keys are rotated.
        shift: positions added to every token's position before rotating.
        pairing: which two numbers of a head make a pair (only for weights of the reader's own).
        d_model, n_heads, n_kv_heads, d_head, base, seed: the reader's own sizes; 0 KV heads is h,
            0 features a head is d / h.
        axes: shapes in the article's order or in PyTorch's.
        scale: how weights from 0 to 1 become colours.
        projector: larger type, fewer controls.
        sort: the order of the gallery's heads: by layer and head, or largest score first.
        view: whether the gallery's chosen head is a heatmap or lines between tokens.
        hide_special: whether the gallery leaves `<bos>` and its like out.
        whole_words: whether the gallery merges pieces of a word.
        picked: the cell whose derivation is shown.
    """

    lang: Lang = "en"
    text: str = DEFAULT_TEXT["en"]
    weights: WeightsName = "toy"
    layer: int = 1
    head: int = 0
    mask: MaskName = "causal"
    window: int = 4
    prefix: int = 4
    sinks: int = 1
    rope: bool = True
    shift: int = 0
    pairing: Pairing = "half"
    d_model: int = 48
    n_heads: int = 4
    n_kv_heads: int = 0
    d_head: int = 0
    base: int = 10_000
    seed: int = 0
    axes: Axes = "article"
    scale: ColourScale = "linear"
    projector: bool = False
    sort: Sorting = "place"
    view: View = "heat"
    hide_special: bool = False
    whole_words: bool = False
    picked: Picked | None = None

    def with_(self, **changes: Any) -> Scene:
        """The same scene with some choices changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Codec:
    """How one choice is written in a URL. `read` raises ValueError for what cannot be."""

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]


def one_of(name: str, choices: Any) -> Codec:
    """A choice from a fixed list of ASCII words."""
    allowed = get_args(choices)

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return Codec(name, read, str)


def whole(name: str, least: int, most: int) -> Codec:
    """A whole number within bounds."""

    def read(text: str) -> int:
        if len(text) > 12 or not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
            raise ValueError(text)
        value = int(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Codec(name, read, str)


def yes_no(name: str) -> Codec:
    """A switch, 1 or 0."""
    return Codec(name, lambda text: {"1": True, "0": False}[text], lambda value: str(int(value)))


def read_picked(text: str) -> Picked:
    """`pattern.5.8.2`: figure, head, row, column."""
    figure, head, row, column = text.split(".")
    if not figure.isidentifier() or not figure.isascii() or len(figure) > 30:
        raise ValueError(text)
    numbers = [whole("cell", 0, 100_000).read(number) for number in (head, row, column)]
    return Picked(figure, *numbers)


def write_picked(picked: Picked) -> str:
    """The reverse of `read_picked`."""
    return f"{picked.figure}.{picked.head}.{picked.row}.{picked.column}"


def pack_text(text: str) -> str:
    """Any text as URL-safe characters, compressed."""
    packed = zlib.compress(text.encode("utf-8"), 9)
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def unpack_text(packed: str) -> str:
    """The reverse of `pack_text`; refuses what would unpack to more than `LONGEST_TEXT`."""
    raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(raw, 4 * LONGEST_TEXT)
    if not unpacker.eof:
        raise ValueError("text too long or cut off")
    return data.decode("utf-8")


# By field of Scene. The text has two names of its own: `s` for a bundled one, `t` for any other.
CODECS: dict[str, Codec] = {
    "lang": one_of("lang", Lang),
    "weights": one_of("weights", WeightsName),
    "layer": whole("layer", 0, 99),
    "head": whole("head", 0, 127),
    "mask": one_of("mask", MaskName),
    "window": whole("window", 1, 1024),
    "prefix": whole("prefix", 0, 1024),
    "sinks": whole("sinks", 0, 64),
    "rope": yes_no("rope"),
    "shift": whole("shift", 0, 4096),
    "pairing": one_of("pairing", Pairing),
    "d_model": whole("d", 1, 1024),
    "n_heads": whole("h", 1, 64),
    "n_kv_heads": whole("kv", 0, 64),
    "d_head": whole("d_head", 0, 256),
    "base": whole("base", 1, 10_000_000),
    "seed": whole("seed", 0, 2**31 - 1),
    "axes": one_of("axes", Axes),
    "scale": one_of("scale", ColourScale),
    "projector": yes_no("projector"),
    "sort": one_of("sort", Sorting),
    "view": one_of("view", View),
    "hide_special": yes_no("hide"),
    "whole_words": yes_no("merge"),
    "picked": Codec("cell", read_picked, write_picked),
}
FIELD_OF = {codec.name: field for field, codec in CODECS.items()}
DEFAULTS = {field.name: field.default for field in fields(Scene)}


def write_link(scene: Scene) -> dict[str, str]:
    """The query parameters of a scene: `v` and `lang` always, the rest where it differs.

    A text too long for a link is left out; `link_holds_text` tells.
    """
    link = {"v": VERSION, "lang": scene.lang}
    link |= {
        codec.name: codec.write(getattr(scene, field))
        for field, codec in CODECS.items()
        if field != "lang" and getattr(scene, field) != DEFAULTS[field]
    }
    bundled = {text: name for name, text in TEXTS.items()}
    if scene.text in bundled:
        link["s"] = bundled[scene.text]
    elif link_holds_text(scene):
        link["t"] = pack_text(scene.text)
    return link


def link_holds_text(scene: Scene) -> bool:
    """Whether a link can carry this scene's text within `LONGEST_LINK` characters."""
    return scene.text in TEXTS.values() or len(pack_text(scene.text)) <= LONGEST_LINK - 200


def read_link(link: Mapping[str, str], start: Scene | None = None) -> tuple[Scene, list[str]]:
    """A scene from query parameters, and the names of those that could not be used.

    Args:
        link: query parameters; any keys, any values.
        start: what holds where the link says nothing; a plain `Scene` if None.

    Returns:
        The scene, and the offending parameters as `name=value`, each cut to 40 characters.
    """
    scene = start or Scene()
    if start is None and link.get("lang") in DEFAULT_TEXT:
        scene = scene.with_(text=DEFAULT_TEXT[link["lang"]])
    refused: list[str] = []
    for name, value in link.items():
        try:
            scene = scene.with_(**read_one(name, value))
        except (ValueError, KeyError, zlib.error, binascii.Error):
            refused.append(f"{name}={value}"[:40])
    return scene, refused


def read_one(name: str, value: str) -> dict[str, Any]:
    """One parameter as a change of the scene; raises for what cannot be used."""
    if name == "v":
        if value != VERSION:
            raise ValueError(value)
        return {}
    if name == "s":
        return {"text": TEXTS[value]}
    if name == "t":
        return {"text": unpack_text(value)}
    field = FIELD_OF[name]
    return {field: CODECS[field].read(value)}
