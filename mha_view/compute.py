"""From a scene to numbers: the sentence as tokens, the layer's sizes, the trace. Nothing is drawn.

Tokens and sizes need no torch, so the frame is on screen before torch is loaded. Traces are kept
in the process's store, for all readers; a trace is read-only, so sharing one is safe. What a model
trained in a session computes is kept under that model's name, which no other session knows.

A scene may name a model that its session does not hold; the shipped one then stands in for it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, TwelveHeadsError
from mha_core.masks import MaskName, named_mask
from mha_core.rope import Rope
from mha_view import limits, live, real, real_walk
from mha_view.scene import TOKENS_BEFORE, Scene
from mha_view.store import STORE, kept
from mha_view.walks import Reading as Reading
from mha_view.walks import Walk as Walk

if TYPE_CHECKING:
    from mha_core.language.known import Unlearned
    from mha_core.model.toy import ToyModel
    from mha_core.trace import AttentionTrace
    from mha_core.weights import AttentionWeights, Floats

MOST_TOKENS = limits.value("MOST_TOKENS")
TRAINED_TOKENS = 48
# The shipped model's sizes, known here so that the frame can be drawn before torch is loaded.
TOY_FEATURES, TOY_HEADS, TOY_LAYERS = 96, 6, 3
# Above this many tokens the best device is worth the trip there and back.
DEVICE_TOKENS = 256
# More cells of patterns than these (twelve heads of 256 tokens) take a part of a second and more.
HEAVY_CELLS = 12 * 256**2


@kept
def read_text(text: str, with_bos: bool) -> Reading:
    """Cut a text into tokens and keep the first `MOST_TOKENS` of them."""
    from mha_core.language.tokenizer import load_tokenizer

    tokenizer = load_tokenizer()
    tokens = tokenizer.encode(text).tokens
    if with_bos:
        tokens = (tokenizer.bos, *tokens)
    n_left_out, tokens = max(0, len(tokens) - MOST_TOKENS), tokens[:MOST_TOKENS]
    return Reading(tokens, tuple(token.display for token in tokens), n_left_out)


def unlearned_of(scene: Scene) -> tuple[Unlearned, ...]:
    """The sentence's words that the shipped model has not learned; none under other weights."""
    if scene.weights != "toy":
        return ()
    return _unlearned(scene.text)


@kept
def _unlearned(text: str) -> tuple[Unlearned, ...]:
    """The words of a text that the shipped model has not learned, places with `<bos>` counted."""
    from mha_core.language.known import unlearned_words

    return unlearned_words(read_text(text, True).tokens, text)


def strange_places(scene: Scene) -> frozenset[int]:
    """The places of the tokens of words that the shipped model has not learned."""
    return frozenset(place for one in unlearned_of(scene) for place in one.group.places)


def fragments_of(scene: Scene) -> frozenset[int]:
    """The places of tokens that are only a part of a word or of a character."""
    from mha_core.language.groups import fragments

    return fragments(reading_of(scene).tokens, scene.text)


def is_trained(scene: Scene) -> bool:
    """Whether the scene's weights have learned anything."""
    return scene.weights in ("toy", "live", "real")


def is_ours(scene: Scene) -> bool:
    """Whether the scene's weights are a model of this project's kind."""
    return scene.weights in ("toy", "live")


def resolve(scene: Scene) -> Scene:
    """The scene as it can be walked: the shipped model where its own is not in this session, or
    not on this server. Another people's model is read as it was made, whatever else was chosen."""
    if scene.weights == "real" and (card := real.card_of(scene)) is not None:
        mask: MaskName = "two_way" if card.causal is False else "causal"
        if (scene.real, scene.mask, scene.rope, scene.shift) == (card.name, mask, True, 0):
            return scene
        return scene.with_(real=card.name, mask=mask, rope=True, shift=0)
    lacks = scene.weights == "real" or (scene.weights == "live" and live.find(scene) is None)
    return scene.with_(weights="toy") if lacks else scene


def is_ready(scene: Scene) -> bool:
    """Whether a scene's tokens and sizes are there without loading a model first."""
    return resolve(scene).weights != "real" or real.find(scene) is not None


def model_of(scene: Scene) -> ToyModel:
    """The model of a scene with weights of this project's kind."""
    kept = live.find(scene)
    return load_weights() if kept is None else kept.model


def reading_of(scene: Scene) -> Reading:
    """The scene's sentence; a model of this project's puts `<bos>` before it.

    Raises:
        DataError: another people's model cannot read the text.
    """
    scene = resolve(scene)
    if scene.weights == "real":
        return real_walk.read_text(scene.real, scene.text)
    return read_text(scene.text, is_ours(scene))


def tokens_before(scene: Scene) -> int:
    """How many tokens stand before the text's first in what is shown of a scene, `<bos>` or
    another people's model's like; none of a model that is not loaded yet."""
    scene = resolve(scene)
    if scene.weights == "real":
        return real_walk.n_before(scene.real) if is_ready(scene) else 0
    return TOKENS_BEFORE[scene.weights]


def config_of(scene: Scene) -> AttentionConfig:
    """The sizes of the scene's layer; a ShapeError where they do not fit together.

    The mask is not in them: `keep_of` gives it, whichever it is.
    """
    scene = resolve(scene)
    if scene.weights == "real":
        return real_walk.config_of(scene.real, scene.layer)
    rope = Rope(base=float(scene.base), pairing=scene.pairing)
    if is_ours(scene):
        d_model, n_heads, _ = _trained_sizes(scene)
        return AttentionConfig(d_model, n_heads, rope=Rope() if scene.rope else None, causal=False)
    if scene.weights == "article":
        return AttentionConfig(
            d_model=768, n_heads=12, rope=Rope() if scene.rope else None, causal=False
        )
    most = limits.value("MOST_FEATURES")
    asked = max(scene.d_model, scene.n_heads * scene.d_head)
    if asked > most:
        raise ConfigError("limit.features", asked=f"{asked:,}", most=f"{most:,}")
    return AttentionConfig(
        d_model=scene.d_model,
        n_heads=scene.n_heads,
        n_kv_heads=scene.n_kv_heads or None,  # type: ignore[arg-type]
        d_head=scene.d_head or None,  # type: ignore[arg-type]
        rope=rope if scene.rope else None,
        causal=False,
    )


def n_layers_of(scene: Scene) -> int:
    """How many layers the scene's weights have."""
    if scene.weights == "real":
        model, card = real.find(scene), real.card_of(scene)
        stated = TOY_LAYERS if card is None else card.n_layers or 1
        return stated if model is None else model.n_layers
    return _trained_sizes(scene)[2] if is_ours(scene) else 1


def _trained_sizes(scene: Scene) -> tuple[int, int, int]:
    """Features, heads and layers of the scene's trained model."""
    kept = live.find(scene)
    if kept is None:
        return TOY_FEATURES, TOY_HEADS, TOY_LAYERS
    return kept.settings.d_model, kept.settings.n_heads, kept.settings.n_layers


def keep_of(scene: Scene, n_tokens: int) -> NDArray[np.bool_]:
    """Who may look at whom under the scene's mask, [query, key]."""
    return named_mask(
        scene.mask, n_tokens, window=scene.window, prefix=scene.prefix, sinks=scene.sinks
    )


def outside_training(scene: Scene) -> list[str]:
    """In which ways the trained weights are used as they were not trained: words' keys.

    A model trained in the session only ever saw repeats of nouns, so that is always said.
    """
    if not is_ours(scene):
        return []
    is_live = live.find(scene) is not None
    ways = {
        "live": is_live,
        "mask": scene.mask != "causal",
        "rope": not scene.rope,
        "length": not is_live and len(reading_of(scene)) > TRAINED_TOKENS,
    }
    return [way for way, so in ways.items() if so]


@lru_cache(maxsize=1)
def load_weights() -> ToyModel:
    """The trained model, read once; torch is loaded on the way and told to use one thread."""
    import torch

    from mha_core.model.checkpoint import load_toy_model

    torch.set_num_threads(1)
    return load_toy_model()


def walk_key(scene: Scene) -> tuple[object, ...]:
    """What the numbers of a scene depend on, and nothing else."""
    own_sizes = (
        scene.d_model, scene.n_heads, scene.n_kv_heads, scene.d_head, scene.base, scene.pairing,
    )  # fmt: skip
    own_mask = (scene.window, scene.prefix, scene.sinks)
    kept = live.find(scene)
    return (
        scene.text, scene.weights, scene.mask, scene.rope, scene.shift,
        None if kept is None else kept.name,
        ("real", scene.real) if scene.weights == "real" else None,
        None if is_trained(scene) else scene.seed,
        own_sizes if scene.weights == "custom" else None,
        own_mask if scene.mask in ("window", "prefix", "sink_window") else None,
    )  # fmt: skip


def walk_of(scene: Scene) -> Walk:
    """The walk of a scene, from the store where it was walked before."""
    scene = resolve(scene)
    if scene.weights == "real":
        return real_walk.walk_of(scene.real, scene.text)
    uses = () if is_trained(scene) else (_weights_key(scene), _embedding_key(scene))
    return STORE.get(("walk", walk_key(scene)), lambda: _walk_scene(scene), uses)


def is_heavy(scene: Scene) -> bool:
    """Whether walking a scene takes long enough to wait in line for, and it has not been walked."""
    scene = resolve(scene)
    if scene.weights == "real":
        layer = min(scene.layer, n_layers_of(scene) - 1)
        key = real_walk.layer_key(scene.real, scene.text, layer)
        return real.find(scene) is None or key not in STORE
    try:
        n_heads = config_of(scene).n_heads
    except TwelveHeadsError:
        return False
    cells = n_layers_of(scene) * n_heads * len(reading_of(scene)) ** 2
    return cells > HEAVY_CELLS and ("walk", walk_key(scene)) not in STORE


def is_awaited(scene: Scene) -> bool:
    """Whether which head and token a scene is about is known only after a wait in line."""
    return not is_ready(scene) or (scene.focus is None and is_heavy(scene) and not is_read(scene))


@dataclass(frozen=True)
class Differences:
    """How far the layer is from the two other ways of computing it.

    Attributes:
        absolute: max |torch − reference| by step.
        relative: the same over max |reference|, by step.
        fused: max |torch − fused| of the output.
    """

    absolute: dict[str, float]
    relative: dict[str, float]
    fused: float


def differences_of(scene: Scene) -> Differences:
    """Compute the scene's layer in the article's own form and in the fused one, and compare."""
    scene = resolve(scene)
    key = ("differences", walk_key(scene), scene.layer)
    return STORE.get(key, lambda: _differ(layer_of(scene)))


def _differ(trace: AttentionTrace) -> Differences:
    """Compare a record with the two other ways of computing it."""
    from mha_core.walk import compare, compare_fused

    absolute = compare(trace)
    relative = {}
    for name, difference in absolute.items():
        value = trace[name].value
        largest = float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
        relative[name] = difference / (largest or 1.0)
    return Differences(absolute, relative, compare_fused(trace))


def layer_of(scene: Scene, walk: Walk | None = None) -> AttentionTrace:
    """The trace of the scene's layer, the last one where there are fewer.

    Args:
        scene: names the layer.
        walk: the scene's walk, where the caller has it.
    """
    layers = (walk or walk_of(scene)).layers
    return layers[min(scene.layer, len(layers) - 1)]


def pattern_of(scene: Scene) -> NDArray[np.float32]:
    """The pattern of the scene's layer, [head, query, key]: from its steps, or where only the
    patterns of another people's model were read, from these."""
    scene = resolve(scene)
    number = min(scene.layer, n_layers_of(scene) - 1)
    if is_heavy(scene) and is_read(scene):
        return real_walk.patterns_of(scene.real, scene.text)[number]
    return layer_of(scene).pattern


def is_read(scene: Scene) -> bool:
    """Whether every pattern of a scene's text through another people's model is there."""
    scene = resolve(scene)
    return scene.weights == "real" and real_walk.patterns_key(scene.real, scene.text) in STORE


def _walk_scene(scene: Scene) -> Walk:
    """Walk, with trained or with random weights."""
    reading = reading_of(scene)
    keep = keep_of(scene, len(reading))
    positions = np.arange(len(reading)) + scene.shift
    if is_trained(scene):
        return _walk_toy(scene, reading, keep, positions)
    return Walk((_walk_random(scene, reading, keep, positions),), None)


def _walk_toy(
    scene: Scene, reading: Reading, keep: NDArray[np.bool_], positions: NDArray[np.int64]
) -> Walk:
    """Walk through a trained model. Other positions change no layer's output, only what RoPE
    makes of queries and keys, so each layer is walked again from its own stream."""
    from mha_core.language.tokenizer import Encoding
    from mha_core.whatif import walk_again

    own = reading.tokens[1:]
    text = scene.text[: own[-1].end] if own else ""
    traced = model_of(scene).trace(Encoding(text, own), keep=keep, rope=scene.rope)
    layers, logits = traced.layers, traced.logits
    if live.find(scene) is not None:
        logits = live.among_known(logits)
    if scene.shift:
        layers = tuple(walk_again(layer, positions=positions) for layer in layers)
    return Walk(layers, logits)


def _weights_key(scene: Scene) -> Hashable:
    """What the scene's random weights depend on: the shapes that are drawn, and the seed."""
    from mha_core.weights import weight_shapes

    return "weights", tuple(weight_shapes(config_of(scene)).items()), scene.seed


def _embedding_key(scene: Scene) -> Hashable:
    """What the scene's random vectors of the vocabulary depend on."""
    return "embedding", config_of(scene).d_model, scene.seed


def random_weights_of(scene: Scene) -> AttentionWeights[Floats]:
    """The scene's random weights, drawn once for all that goes through them."""
    from mha_core.weights import random_weights

    return STORE.get(_weights_key(scene), lambda: random_weights(config_of(scene), scene.seed))


def _random_vectors_of(scene: Scene) -> Floats:
    """A random vector for every token of the vocabulary."""
    from mha_core.language.tokenizer import load_tokenizer
    from mha_core.weights import random_embedding

    width = config_of(scene).d_model
    return STORE.get(
        _embedding_key(scene),
        lambda: random_embedding(len(load_tokenizer()), width, scene.seed),
    )


def _walk_random(
    scene: Scene, reading: Reading, keep: NDArray[np.bool_], positions: NDArray[np.int64]
) -> AttentionTrace:
    """Walk with seeded random weights."""
    from mha_core.walk import walk_layer

    return walk_layer(
        _random_vectors_of(scene)[[token.id for token in reading.tokens]],
        random_weights_of(scene),
        config_of(scene),
        norm="rms",
        keep=keep,
        positions=positions,
        device="cpu" if len(reading) < DEVICE_TOKENS else None,
    )
