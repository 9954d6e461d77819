"""The scene: everything a link restores, as one frozen record, and its form in a URL.

A scene is what the reader chose. A link writes only what differs from the defaults, under stable
ASCII names, so a link made in one language opens in the other. Reading never fails: a name that
is not known or a value that cannot be is replaced by the default and reported.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

from mha_core.heads.ready_claims import READY
from mha_core.masks import MaskName as MaskName
from mha_core.rope import Pairing as Pairing
from mha_view.texts import DEFAULT_TEXT, TELLING, TEXTS

Lang = Literal["en", "zh"]
WeightsName = Literal["toy", "live", "article", "custom", "real"]
Axes = Literal["article", "torch"]
ColourScale = Literal["linear", "sqrt", "log"]
Sorting = Literal[
    "place", "entropy", "confidence", "distance", "previous", "current", "first",
    "punctuation", "duplicate", "induction",
]  # fmt: skip
View = Literal["heat", "links"]
FloatType = Literal["fp32", "fp16", "bf16", "fp8", "int8", "q8", "q6", "q5", "q4"]
WeightType = Literal["file", "fp32", "fp16", "bf16", "fp8", "int8", "q8", "q6", "q5", "q4"]
RoleName = Literal[
    "previous", "induction", "duplicate", "sink", "pronoun", "pronoun_zh", "subject",
    "reflexive", "receiver", "measure", "classifier_zh",
]  # fmt: skip
TaskName = Literal[
    "reference", "reference_same", "agreement_phrase", "agreement_clause", "predicate",
    "reflexive", "possessive", "receiver", "measure", "reference_zh", "reference_zh_same",
    "classifier_zh",
]  # fmt: skip
Tab = Literal["auto", "roles", "map", "damage", "bench"]
Ablation = Literal["mean", "zero", "look"]
CircuitName = Literal[
    "copying", "reference", "reference_same", "agreement_phrase", "agreement_clause", "predicate",
    "reflexive", "possessive", "receiver", "measure", "reference_zh", "reference_zh_same",
    "classifier_zh", "own",
]  # fmt: skip
CircuitPart = Literal["graph", "story", "weights", "lens"]
SizesPart = Literal["auto", "layer", "flops", "cache", "waves"]
Instead = Literal["corrupted", "mean"]
RouteName = Literal["none", "long", "short", "own"]
Against = Literal["head", "mask", "rope", "text", "weights", "checkpoint"]

VERSION = "1"
LONGEST_LINK = 2_000
ROOM_FOR_TEXTS = LONGEST_LINK - 1_000
MOST_UNPACKED = 400_000  # bytes
LONGEST_TEXT = 100_000
MOST_OTHERS = 5
MOST_HEADS = 128
MOST_EXERCISES, MOST_EXERCISE_SEED = 5, 999_999
MOST_SAID = 48  # new tokens that a link carries
N_STEPS = 8  # of the layer, as the stage plays them
N_CUTS = 5  # steps of the circuit's story
# The models a visitor can train, and for how many steps at most.
LIVE_WIDTHS, LIVE_HEADS, LIVE_LAYERS = (32, 48, 64, 96), (1, 2, 4, 8), (1, 2, 3)
LIVE_STEPS = 300
# The tokens that a model with these weights puts before the text's first: `<bos>`. Another people's
# model has its own; `compute.tokens_before` knows.
TOKENS_BEFORE = {"toy": 1, "live": 1, "article": 0, "custom": 0, "real": 0}
# What the new tokens go on from, and are tokens of.
WRITES = ("text", "weights", "real", "live_d", "live_h", "live_layers", "live_seed",
          "live_steps")  # fmt: skip
# The pictures of the walk whose cells are of one token: on which axis it stands.
TOKEN_AXIS = {
    "pattern": "row", "q": "column", "heads": "column", "concat": "column", "out": "column",
    "q_full": "column", "k_full": "column", "v_full": "column", "x": "column",
    "stream": "column", "residual": "column",
}  # fmt: skip
# Those among them with a tile a head.
HEADED = {"pattern", "q", "heads"}


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
        real: which model's, where they are another people's: its folder's name; "" for the first.
        digest: what that model's files were when a link to it was written, "" where nobody knows.
        layer: layer of the trained model, from 0.
        head: the head looked at, from 0.
        focus: the token that every page is about, counted from the text's first, so that it stays
            the same word under weights with and without `<bos>`, which is −1; None for the one
            that the numbers choose.
        mask: which keys a query may look at.
        window: how many tokens a query sees up to and with itself (window, sink + window).
        prefix: how many first tokens see each other both ways (prefix).
        sinks: how many first tokens everybody sees (sink + window).
        rope: whether queries and keys are rotated.
        shift: positions added to every token's position before rotating.
        pairing: which two numbers of a head make a pair (only for weights of the reader's own).
        d_model, n_heads, n_kv_heads, d_head, base, seed: the reader's own sizes; 0 KV heads is h,
            0 features a head is d / h.
        live_d, live_h, live_layers, live_seed: sizes and seed of the model trained in the session.
        live_steps: after how many steps of its training its weights were taken.
        axes: shapes in the article's order or in PyTorch's.
        scale: how weights from 0 to 1 become colours.
        present: for a projector: one picture a screen, large, its lines uncovered by a key.
        route: the way of a class through the pages: one of the app's, or the teacher's own.
        own_route: the teacher's own, as `classroom.route` writes it.
        station: where on the route the class is, from 0.
        sort: the order of the gallery's heads: by layer and head, or largest score first.
        only: the one layer whose heads a large model's gallery shows; -1 for all.
        view: whether the gallery's chosen head is a heatmap or lines between tokens.
        hide_special: whether the gallery leaves `<bos>` and its like out.
        whole_words: whether the gallery merges pieces of a word.
        tab: which part of the specialisation page is open; "auto" is the bench where the scene
            says anything about it, else the roles.
        role: the role whose evidence is shown.
        own: the evidence is the chosen head's instead of the role's best head's.
        by_score: heads stand in the order of their scores in the role, the best first.
        task: the task whose losses are shown head by head.
        off: (layer, head) pairs that the experiment switches off.
        ablation: what a head switched off gives: its mean output, or zeros; or it is not off, and
            may only not take one look.
        edge_query, edge_key: that look, from which token and at which; -1 for the token asked
            about, and for the one that the head looks at most from there.
        after: the token after which the experiment asks what comes next, -1 for the last word.
        token: the next token whose logit is taken apart, by number; -1 for the most probable.
        circuit: the task whose circuit is shown; "own" for the reader's two sentences.
        circuit_part: which part of the circuits page is open.
        instead: what a cut path reads: what its sender gives on the other sentence, or its mean.
        cuts: the steps of the story that are cut, counted from 1.
        twin: the second of the reader's own two sentences, "" for a suggested one.
        says: a hypothesis in the reader's words, "" for what a ready one says by itself.
        marked: its sentences or patterns, marked, a line each; "" before there are any.
        among: (layer, head) pairs that it is about, none for all of them.
        claim_count, claim_seed: how many sentences its patterns give, and what splits them.
        frozen: whether it is stated and tested, or still being written.
        step: the training step looked at; the first shipped checkpoint at or after.
        against: what the second reading of the comparison differs in.
        other_text, other_layer, other_head, other_mask, other_weights: the second reading's; a
            head of -1 is another one than the first reading's.
        other_real: which model's weights, where they are another people's; "" for the first that is
            not the scene's own.
        other_digest: as `digest`, of that model.
        other_step: the second reading's training step; the first shipped checkpoint at or after.
        model: whose sizes are shown: a bundled config's name, "file" or "hand".
        config_text: the config pasted or dropped, exactly as it is.
        part: which part of a config with several, "" for the whole.
        sizes_part: which part of the page of sizes is open; "auto" is the one whose numbers the
            scene sets.
        others: bundled configs it is compared with.
        cost_tokens: S of the costs, whatever the sentence is.
        float_type: how a cached number is stored.
        batch: how many sequences are kept at once.
        weight_type: how the weights are stored, "file" as the file says.
        memory: GiB for weights and cache together.
        hand_d, hand_h, hand_kv, hand_d_head, hand_layers: sizes set by hand; 0 as for the layer's.
        shared: KV heads after merging; 0 is about half.
        digit: which held-out digit; `drawn`: the reader's own instead.
        drawing: 32 × 32 pixels, a bit each, as `mha_view.relate.drawing` packs them.
        patch: the patch that looks.
        said: the new tokens that stand after the text, by number.
        look: before which of them the choice is looked at, counted from 0; -1 for the next one.
        temperature: by which the logits are divided, in hundredths; 0 takes the most probable.
        top_k: how many of the most probable tokens may be chosen, 0 for all.
        top_p: the share of the most probable ones that may be chosen, in hundredths.
        draw: the seed of the numbers that choose.
        play: the step at which the stage stands, 0 for none.
        exercise: which exercise of a page is open, counted from 1; 0 for none.
        exercise_seed: which of its kind.
        picked: the cell whose derivation is shown.
    """

    lang: Lang = "en"
    text: str = DEFAULT_TEXT["en"]
    weights: WeightsName = "toy"
    real: str = ""
    digest: str = ""
    layer: int = 0
    head: int = 0
    focus: int | None = None
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
    live_d: int = 64
    live_h: int = 4
    live_layers: int = 2
    live_seed: int = 0
    live_steps: int = LIVE_STEPS
    axes: Axes = "article"
    scale: ColourScale = "linear"
    present: bool = False
    route: RouteName = "none"
    own_route: str = ""
    station: int = 0
    sort: Sorting = "place"
    only: int = -1
    view: View = "heat"
    hide_special: bool = False
    whole_words: bool = False
    tab: Tab = "auto"
    role: RoleName = "pronoun"
    own: bool = False
    by_score: bool = False
    task: TaskName = "reference"
    off: tuple[tuple[int, int], ...] = ()
    ablation: Ablation = "mean"
    edge_query: int = -1
    edge_key: int = -1
    after: int = -1
    token: int = -1
    circuit: CircuitName = "copying"
    circuit_part: CircuitPart = "graph"
    instead: Instead = "corrupted"
    cuts: tuple[int, ...] = ()
    twin: str = ""
    says: str = ""
    marked: str = ""
    among: tuple[tuple[int, int], ...] = ()
    claim_count: int = 200
    claim_seed: int = 0
    frozen: bool = False
    step: int = 10_000_000
    against: Against = "head"
    other_text: str = TEXTS["queen"]
    other_layer: int = 0
    other_head: int = -1
    other_mask: MaskName = "two_way"
    other_weights: WeightsName = "article"
    other_real: str = ""
    other_digest: str = ""
    other_step: int = 0
    model: str = "llama3.1-8b"
    config_text: str = ""
    part: str = ""
    sizes_part: SizesPart = "auto"
    others: tuple[str, ...] = ("llama2-7b-chat", "mistral-7b-v0.1", "glm-4-9b-chat")
    cost_tokens: int = 4096
    float_type: FloatType = "fp16"
    batch: int = 1
    weight_type: WeightType = "file"
    memory: int = 24
    hand_d: int = 768
    hand_h: int = 12
    hand_kv: int = 0
    hand_d_head: int = 0
    hand_layers: int = 12
    shared: int = 0
    digit: int = 0
    drawn: bool = False
    drawing: str = ""
    patch: int = 5
    said: tuple[int, ...] = ()
    look: int = -1
    temperature: int = 100
    top_k: int = 0
    top_p: int = 100
    draw: int = 0
    play: int = 0
    exercise: int = 0
    exercise_seed: int = 1
    picked: Picked | None = None

    def __post_init__(self) -> None:
        """A cell alone, as in a link from before there was a focus token, says token and head."""
        if self.picked is not None and self.focus is None:
            for field, value in thread_of(self.picked, TOKENS_BEFORE[self.weights]).items():
                object.__setattr__(self, field, value)

    def with_(self, **changes: Any) -> Scene:
        """The same scene with some choices changed, and nothing else."""
        return replace(self, **changes)

    def turn_to(self, before: Callable[[Scene], int] | None = None, /, **changes: Any) -> Scene:
        """The scene after a reader's choice: head, token, cell and sentence stay one thread.

        A picked cell brings its token and head; another head or token takes the cell along, a
        weight's cell only to another head; another sentence brings what tells most in it.

        Args:
            before: how many tokens stand before a scene's text; by its weights unless given.
            changes: what is chosen.
        """
        before = before or (lambda scene: TOKENS_BEFORE[scene.weights])
        if changes.get("text", self.text) != self.text:
            changes = look_in(changes["text"]) | changes
        if any(changes.get(name, getattr(self, name)) != getattr(self, name) for name in WRITES):
            changes = {"said": (), "look": -1} | changes
        for name, files in (("real", "digest"), ("other_real", "other_digest")):
            if changes.get(name, getattr(self, name)) != getattr(self, name):
                changes = {files: ""} | changes
        after = self.with_(**changes)
        picked = after.picked
        if picked is None or picked.figure not in TOKEN_AXIS:
            return after
        if "picked" in changes:
            return after.with_(**thread_of(picked, before(after)) | changes)
        n_before = before(after)
        if n_before != before(self):
            return after.with_(picked=None)
        if "head" in changes and picked.figure in HEADED:
            picked = replace(picked, head=after.head)
        if "focus" in changes and after.focus != thread_of(picked, n_before)["focus"]:
            if picked.figure == "pattern" or after.focus is None:
                return after.with_(picked=None)
            picked = replace(picked, column=after.focus + n_before)
        return after.with_(picked=picked)


def thread_of(picked: Picked, n_before: int) -> dict[str, Any]:
    """The head and the token that a cell of the walk is about, as changes of the scene.

    Args:
        picked: the cell.
        n_before: tokens before the text's first.
    """
    if picked.figure not in TOKEN_AXIS:
        return {}
    has_head = picked.figure in HEADED and picked.head < MOST_HEADS
    head = {"head": picked.head} if has_head else {}
    return head | {"focus": getattr(picked, TOKEN_AXIS[picked.figure]) - n_before}


def look_in(text: str) -> dict[str, Any]:
    """What a sentence brings along: a bundled one the layer, head and token that tell most."""
    for name, look in TELLING.items():
        if TEXTS[name] == text:
            return {"layer": look.layer, "head": look.head, "focus": look.focus, "picked": None}
    return {"focus": None, "picked": None}


@dataclass(frozen=True)
class Codec:
    """How one choice is written in a URL. `read` raises ValueError for what cannot be.

    Attributes:
        name: the parameter.
        read, write: from the URL and back.
        choices: the words it may be, where they are few.
        bounds: the least and the largest number it may be.
    """

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None

    @property
    def is_switch(self) -> bool:
        """Whether it is only on or off."""
        return self.choices == ("0", "1")


def one_of(name: str, choices: Any) -> Codec:
    """A choice from a fixed list of ASCII words."""
    allowed = get_args(choices)

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return Codec(name, read, str, choices=allowed)


def whole(name: str, least: int, most: int) -> Codec:
    """A whole number within bounds."""

    def read(text: str) -> int:
        if len(text) > 12 or not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
            raise ValueError(text)
        value = int(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Codec(name, read, str, bounds=(least, most))


def number_of(name: str, choices: tuple[int, ...]) -> Codec:
    """One of a few numbers."""

    def read(text: str) -> int:
        return choices[[str(choice) for choice in choices].index(text)]

    return Codec(name, read, str)


def yes_no(name: str) -> Codec:
    """A switch, 1 or 0."""
    known = {"0": False, "1": True}
    return Codec(name, known.__getitem__, lambda value: str(int(value)), choices=tuple(known))


def read_model(text: str) -> str:
    """The name of a bundled config, or "file" or "hand"."""
    from mha_core.sizes import list_bundled

    if text not in {"file", "hand", *(config.name for config in list_bundled())}:
        raise ValueError(text)
    return text


def read_others(text: str) -> tuple[str, ...]:
    """Up to five different bundled configs, joined by `~`."""
    names = tuple(read_model(name) for name in text.split("~") if name)
    if len(names) > MOST_OTHERS or len(set(names)) < len(names) or {"file", "hand"} & set(names):
        raise ValueError(text)
    return names


def read_real(text: str) -> str:
    """The name of a folder with a model's files, whatever letters it is written in."""
    name = unquote(text, errors="strict")
    if not name or len(text) > 120 or name[0] in "._" or not name.isprintable() or "/" in name:
        raise ValueError(text)
    return name


def read_digest(text: str) -> str:
    """Sixteen letters of a SHA-256."""
    if not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError(text)
    return text


def read_drawing(text: str) -> str:
    """A drawing as it is kept, once it is seen to be one."""
    if text and len(base64.b64decode(text + "=", altchars=b"-_", validate=True)) != 128:
        raise ValueError(text)
    return text


def read_part(text: str) -> str:
    """The path of keys to a part of a config (`thinker_config.text_config`)."""
    if not text.isascii() or len(text) > 80 or not all(map(str.isidentifier, text.split("."))):
        raise ValueError(text)
    return text


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


def read_heads(text: str) -> tuple[tuple[int, int], ...]:
    """`1.0_2.5`: pairs of layer and head, each once, in order."""
    pairs = [
        tuple(whole("head", 0, 127).read(n) for n in pair.split(".")) for pair in text.split("_")
    ]
    if len(pairs) > 500 or any(len(pair) != 2 for pair in pairs):
        raise ValueError(text)
    return tuple(sorted({(layer, head) for layer, head in pairs}))


def write_heads(heads: tuple[tuple[int, int], ...]) -> str:
    """The reverse of `read_heads`."""
    return "_".join(f"{layer}.{head}" for layer, head in heads)


def read_said(text: str) -> tuple[int, ...]:
    """`4f.a2`: token numbers in hexadecimal, as many as a link carries."""
    digits = text.split(".")
    if len(digits) > MOST_SAID or not all(re.fullmatch("[0-9a-f]{1,6}", each) for each in digits):
        raise ValueError(text)
    return tuple(int(each, 16) for each in digits)


def write_said(said: tuple[int, ...]) -> str:
    """The reverse of `read_said`; tokens beyond what a link carries are left out."""
    return ".".join(f"{token:x}" for token in said[:MOST_SAID])


def read_cuts(text: str) -> tuple[int, ...]:
    """`1_3`: steps of the story, each once, in order."""
    return tuple(sorted({whole("cut", 1, N_CUTS).read(number) for number in text.split("_")}))


def pack_text(text: str) -> str:
    """Any text as URL-safe characters, compressed."""
    packed = zlib.compress(text.encode("utf-8"), 9)
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def unpack_text(packed: str) -> str:
    """The reverse of `pack_text`; refuses what would unpack to more than `LONGEST_TEXT`."""
    raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(raw, MOST_UNPACKED)
    if not unpacker.eof:
        raise ValueError("text too long or cut off")
    return data.decode("utf-8")


# A text has two names: `s` for a bundled one, `t` for any other; the other reading's with a 2.
# By hand it stands as it is.
TEXT_FIELDS = {
    "text": "text", "s": "text", "t": "text", "s2": "other_text", "t2": "other_text",
    "c": "config_text", "r": "own_route", "t3": "twin",
    "says": "says", "m": "marked",
}  # fmt: skip
# The patterns of the ready hypotheses by name and language: `antecedent.en`.
READY_BY_NAME = {
    f"{name}.{lang}": text for name, each in READY.items() for lang, text in each.items()
}
# By field of Scene.
CODECS: dict[str, Codec] = {
    "lang": one_of("lang", Lang),
    "weights": one_of("weights", WeightsName),
    "real": Codec("real", read_real, lambda name: quote(name, safe="")),
    "digest": Codec("digest", read_digest, str),
    "layer": whole("layer", 0, 99),
    "head": whole("head", 0, MOST_HEADS - 1),
    "focus": whole("focus", -1, 100_000),
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
    "live_d": number_of("live_d", LIVE_WIDTHS),
    "live_h": number_of("live_h", LIVE_HEADS),
    "live_layers": number_of("live_n", LIVE_LAYERS),
    "live_seed": whole("live_seed", 0, 2**31 - 1),
    "live_steps": whole("live_steps", 0, LIVE_STEPS),
    "axes": one_of("axes", Axes),
    "scale": one_of("scale", ColourScale),
    "present": yes_no("present"),
    "route": one_of("route", RouteName),
    "station": whole("station", 0, 99),
    "sort": one_of("sort", Sorting),
    "only": whole("only", -1, 99),
    "view": one_of("view", View),
    "hide_special": yes_no("hide"),
    "whole_words": yes_no("merge"),
    "tab": one_of("tab", Tab),
    "role": one_of("role", RoleName),
    "own": yes_no("own"),
    "by_score": yes_no("best"),
    "task": one_of("task", TaskName),
    "off": Codec("off", read_heads, write_heads),
    "ablation": one_of("ablation", Ablation),
    "edge_query": whole("edge_q", -1, 100_000),
    "edge_key": whole("edge_k", -1, 100_000),
    "after": whole("after", -1, 100_000),
    "token": whole("next", -1, 100_000),
    "circuit": one_of("circuit", CircuitName),
    "circuit_part": one_of("show", CircuitPart),
    "instead": one_of("instead", Instead),
    "cuts": Codec("cut", read_cuts, lambda cuts: "_".join(map(str, cuts))),
    "among": Codec("among", read_heads, write_heads),
    "claim_count": whole("n", 10, 500),
    "claim_seed": whole("split", 0, 10_000),
    "frozen": yes_no("frozen"),
    "step": whole("step", 0, 10_000_000),
    "against": one_of("against", Against),
    "other_layer": whole("layer2", 0, 99),
    "other_head": whole("head2", -1, 127),
    "other_mask": one_of("mask2", MaskName),
    "other_weights": one_of("weights2", WeightsName),
    "other_real": Codec("real2", read_real, lambda name: quote(name, safe="")),
    "other_digest": Codec("digest2", read_digest, str),
    "other_step": whole("step2", 0, 10_000_000),
    "model": Codec("model", read_model, str),
    "part": Codec("part", read_part, str),
    "sizes_part": one_of("sizes", SizesPart),
    "others": Codec("with", read_others, "~".join),
    "cost_tokens": whole("S", 1, 1 << 20),
    "float_type": one_of("float", FloatType),
    "batch": whole("batch", 1, 4096),
    "weight_type": one_of("weights_as", WeightType),
    "memory": whole("gib", 1, 100_000),
    "hand_d": whole("hand_d", 1, 1 << 16),
    "hand_h": whole("hand_h", 1, 1024),
    "hand_kv": whole("hand_kv", 0, 1024),
    "hand_d_head": whole("hand_dh", 0, 4096),
    "hand_layers": whole("hand_n", 1, 1000),
    "shared": whole("share", 0, 64),
    "digit": whole("digit", 0, 359),
    "drawn": yes_no("drawn"),
    "drawing": Codec("ink", read_drawing, str),
    "patch": whole("patch", 0, 15),
    "said": Codec("said", read_said, write_said),
    "look": whole("look", -1, MOST_SAID),
    "temperature": whole("heat", 0, 300),
    "top_k": whole("topk", 0, 1000),
    "top_p": whole("topp", 1, 100),
    "draw": whole("draw", 0, 2**31 - 1),
    "play": whole("play", 0, N_STEPS),
    "exercise": whole("exercise", 0, MOST_EXERCISES),
    "exercise_seed": whole("exercise_seed", 0, MOST_EXERCISE_SEED),
    "picked": Codec("cell", read_picked, write_picked),
}
# What mail, advertisements and other people's sites hang on a link; it says nothing to this app.
FOREIGN = re.compile(
    r"utm_\w+|[a-z]{0,2}clid|fbclid|msclkid|twclid|ttclid|igshid|gbraid|wbraid|mc_[ce]id|_g[al]"
    r"|_hs\w+|spm|scm|from|isappinstalled|nsukey|share_\w+|vd_source|ref|source|embed\w*",
)
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
    return link | write_texts(scene)


def write_texts(scene: Scene) -> dict[str, str]:
    """Both sentences, a bundled one by its name, another compressed, the pasted config and the
    teacher's route; none that would not fit."""
    bundled = {text: name for name, text in TEXTS.items()}
    link: dict[str, str] = {}
    room = ROOM_FOR_TEXTS
    for text, number in ((scene.text, ""), (scene.other_text, "2")):
        if number and text == DEFAULTS["other_text"]:
            continue
        if text in bundled:
            link[f"s{number}"] = bundled[text]
        elif (packed := _pack_into(text, room)) is not None:
            link[f"t{number}"] = packed
            room -= len(packed)
    for name, text in (("t3", scene.twin), ("c", scene.config_text), ("r", scene.own_route)):
        if text and (packed := _pack_into(text, room)) is not None:
            link[name] = packed
            room -= len(packed)
    return link | _write_claim(scene, room)


def _write_claim(scene: Scene, room: int) -> dict[str, str]:
    """A hypothesis and its sentences, ready ones by their name; none that would not fit."""
    link: dict[str, str] = {}
    if (name := ready_name(scene.marked)) is not None:
        link["ready"] = name
    elif scene.marked and (packed := _pack_into(scene.marked, room)) is not None:
        link["m"] = packed
        room -= len(packed)
    if scene.says and (packed := _pack_into(scene.says, room)) is not None:
        link["says"] = packed
    return link


def ready_name(marked: str) -> str | None:
    """The name and language of a ready hypothesis, `antecedent.en`, by its patterns."""
    return next((name for name, text in READY_BY_NAME.items() if text == marked), None)


def marked_in(marked: str, lang: str) -> str:
    """A ready hypothesis' patterns in a language; others as they are."""
    name = ready_name(marked)
    return marked if name is None else READY_BY_NAME[f"{name.partition('.')[0]}.{lang}"]


def link_holds_marked(scene: Scene) -> bool:
    """Whether the scene's link carries its marked sentences."""
    return not scene.marked or bool({"m", "ready"} & write_texts(scene).keys())


def _pack_into(text: str, room: int) -> str | None:
    """A text packed, where it fits and can be read again."""
    packed = pack_text(text)
    fits = len(packed) <= room and len(text.encode("utf-8")) <= MOST_UNPACKED
    return packed if fits else None


def link_holds_text(scene: Scene) -> bool:
    """Whether a link can carry this scene's text within `LONGEST_LINK` characters."""
    return scene.text in TEXTS.values() or len(pack_text(scene.text)) <= ROOM_FOR_TEXTS


def start_in(lang: str) -> dict[str, Any]:
    """A language's first sentence, and the layer, head and token that tell most in it."""
    return {"text": DEFAULT_TEXT[lang], **look_in(DEFAULT_TEXT[lang])}


def read_link(link: Mapping[str, str], start: Scene | None = None) -> tuple[Scene, list[str]]:
    """A scene from query parameters, and the names of those that could not be used.

    Args:
        link: query parameters; any keys, any values.
        start: what holds where the link says nothing; a plain `Scene` if None.

    Returns:
        The scene, and the offending parameters as `name=value`, each cut to 40 characters.
    """
    scene = start or Scene()
    if start is None and link.get("lang") in DEFAULT_TEXT and not {"s", "t", "text"} & link.keys():
        scene = scene.with_(**start_in(link["lang"]))
    changes: dict[str, Any] = {}
    refused: list[str] = []
    for name, value in link.items():
        if FOREIGN.fullmatch(name):
            continue
        try:
            changes |= read_one(name, value)
        except (ValueError, KeyError, zlib.error, binascii.Error):
            refused.append(f"{name}={value}"[:40])
    if "picked" in changes and "focus" not in changes:
        changes["focus"] = None  # from before there was a focus token: the cell says which
    return scene.with_(**changes), refused


def read_one(name: str, value: str) -> dict[str, Any]:
    """One parameter as a change of the scene; raises for what cannot be used."""
    if name == "v":
        if value != VERSION:
            raise ValueError(value)
        return {}
    if name == "text":
        return {"text": value}
    if name == "ready":
        return {"marked": READY_BY_NAME[value]}
    if name in TEXT_FIELDS:
        return {TEXT_FIELDS[name]: TEXTS[value] if name in ("s", "s2") else unpack_text(value)}
    field = FIELD_OF[name]
    return {field: CODECS[field].read(value)}
