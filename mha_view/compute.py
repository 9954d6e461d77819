"""From a scene to numbers: the sentence as tokens, the layer's sizes, the trace. Nothing is drawn.

Tokens and sizes need no torch, so the frame is on screen before torch is loaded. Traces are kept
in one cache for all readers, bounded by bytes; a trace is read-only, so sharing one is safe.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from mha_core.config import AttentionConfig
from mha_core.masks import named_mask
from mha_core.rope import Rope
from mha_view.scene import Scene

if TYPE_CHECKING:
    from mha_core.model import ToyModel
    from mha_core.tokenizer import Token
    from mha_core.trace import AttentionTrace

MOST_TOKENS = 1_024
CACHE_BYTES = 256 * 2**20
TRAINED_TOKENS = 48
# The shipped model's sizes, known here so that the frame can be drawn before torch is loaded.
TOY_FEATURES, TOY_HEADS, TOY_LAYERS = 96, 6, 3
# Above this many tokens the best device is worth the trip there and back.
DEVICE_TOKENS = 256


@dataclass(frozen=True)
class Reading:
    """A text as the layer sees it.

    Attributes:
        tokens: one a column of X, `<bos>` first where the model adds one.
        n_left_out: tokens of the text beyond `MOST_TOKENS`.
    """

    tokens: tuple[Token, ...]
    n_left_out: int

    @property
    def labels(self) -> tuple[str, ...]:
        """What is printed for each token."""
        return tuple(token.display for token in self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)


@lru_cache(maxsize=64)
def read_text(text: str, with_bos: bool) -> Reading:
    """Cut a text into tokens and keep the first `MOST_TOKENS` of them."""
    from mha_core.tokenizer import load_tokenizer

    tokenizer = load_tokenizer()
    tokens = tokenizer.encode(text).tokens
    if with_bos:
        tokens = (tokenizer.bos, *tokens)
    return Reading(tokens[:MOST_TOKENS], max(0, len(tokens) - MOST_TOKENS))


def reading_of(scene: Scene) -> Reading:
    """The scene's sentence; the trained model puts `<bos>` before it."""
    return read_text(scene.text, scene.weights == "toy")


def config_of(scene: Scene) -> AttentionConfig:
    """The sizes of the scene's layer; a ShapeError where they do not fit together.

    The mask is not in them: `keep_of` gives it, whichever it is.
    """
    rope = Rope(base=float(scene.base), pairing=scene.pairing)
    if scene.weights == "toy":
        return AttentionConfig(
            TOY_FEATURES, TOY_HEADS, rope=Rope() if scene.rope else None, causal=False
        )
    if scene.weights == "article":
        return AttentionConfig(
            d_model=768, n_heads=12, rope=Rope() if scene.rope else None, causal=False
        )
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
    return TOY_LAYERS if scene.weights == "toy" else 1


def keep_of(scene: Scene, n_tokens: int) -> NDArray[np.bool_]:
    """Who may look at whom under the scene's mask, [query, key]."""
    return named_mask(
        scene.mask, n_tokens, window=scene.window, prefix=scene.prefix, sinks=scene.sinks
    )


def outside_training(scene: Scene) -> list[str]:
    """In which ways the trained weights are used as they were not trained: words' keys."""
    if scene.weights != "toy":
        return []
    ways = {
        "mask": scene.mask != "causal",
        "rope": not scene.rope,
        "length": len(reading_of(scene)) > TRAINED_TOKENS,
    }
    return [way for way, so in ways.items() if so]


@lru_cache(maxsize=1)
def load_weights() -> ToyModel:
    """The trained model, read once; torch is loaded on the way and told to use one thread."""
    import torch

    from mha_core.model import load_toy_model

    torch.set_num_threads(1)
    return load_toy_model()


@dataclass(frozen=True, eq=False)
class Walk:
    """A sentence through all layers of the scene's weights.

    Attributes:
        layers: a trace a layer.
        logits: [token, vocabulary], what the trained model expects next; None for random weights.
    """

    layers: tuple[AttentionTrace, ...]
    logits: NDArray[np.float32] | None

    @property
    def n_bytes(self) -> int:
        """Memory held, in bytes."""
        steps = (step.source for layer in self.layers for step in layer)
        return sum(source.nbytes for source in steps if isinstance(source, np.ndarray))


_lock = threading.RLock()


def walk_key(scene: Scene) -> tuple[object, ...]:
    """What the numbers of a scene depend on, and nothing else."""
    own_sizes = (
        scene.d_model, scene.n_heads, scene.n_kv_heads, scene.d_head, scene.base, scene.pairing,
    )  # fmt: skip
    own_mask = (scene.window, scene.prefix, scene.sinks)
    return (
        scene.text, scene.weights, scene.mask, scene.rope, scene.shift,
        scene.seed if scene.weights != "toy" else None,
        own_sizes if scene.weights == "custom" else None,
        own_mask if scene.mask in ("window", "prefix", "sink_window") else None,
    )  # fmt: skip


@cached(
    LRUCache(maxsize=CACHE_BYTES, getsizeof=lambda walk: walk.n_bytes), key=walk_key, lock=_lock
)
def walk_of(scene: Scene) -> Walk:
    """The walk of a scene, from the cache where it was walked before."""
    return _walk_scene(scene)


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


@cached(
    LRUCache(maxsize=128),
    key=lambda scene: (walk_key(scene), scene.layer),
    lock=threading.RLock(),
)
def differences_of(scene: Scene) -> Differences:
    """Compute the scene's layer in the article's own form and in the fused one, and compare."""
    from mha_core.walk import compare, compare_fused

    trace = layer_of(scene)
    absolute = compare(trace)
    relative = {}
    for name, difference in absolute.items():
        value = trace[name].value
        largest = float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
        relative[name] = difference / (largest or 1.0)
    return Differences(absolute, relative, compare_fused(trace))


def layer_of(scene: Scene) -> AttentionTrace:
    """The trace of the scene's layer, the last one where there are fewer."""
    layers = walk_of(scene).layers
    return layers[min(scene.layer, len(layers) - 1)]


def _walk_scene(scene: Scene) -> Walk:
    """Walk, with trained or with random weights."""
    reading = reading_of(scene)
    keep = keep_of(scene, len(reading))
    positions = np.arange(len(reading)) + scene.shift
    if scene.weights == "toy":
        return _walk_toy(scene, reading, keep, positions)
    return Walk((_walk_random(scene, reading, keep, positions),), None)


def _walk_toy(
    scene: Scene, reading: Reading, keep: NDArray[np.bool_], positions: NDArray[np.int64]
) -> Walk:
    """Walk through the trained model. Other positions change no layer's output, only what RoPE
    makes of queries and keys, so each layer is walked again from its own stream."""
    from mha_core.tokenizer import Encoding
    from mha_core.whatif import walk_again

    own = reading.tokens[1:]
    text = scene.text[: own[-1].end] if own else ""
    traced = load_weights().trace(Encoding(text, own), keep=keep, rope=scene.rope)
    layers = traced.layers
    if scene.shift:
        layers = tuple(walk_again(layer, positions=positions) for layer in layers)
    return Walk(layers, traced.logits)


def _walk_random(
    scene: Scene, reading: Reading, keep: NDArray[np.bool_], positions: NDArray[np.int64]
) -> AttentionTrace:
    """Walk with seeded random weights."""
    from mha_core.tokenizer import load_tokenizer
    from mha_core.walk import walk_layer
    from mha_core.weights import random_embedding, random_weights

    config = config_of(scene)
    seed = scene.seed
    embedding = random_embedding(len(load_tokenizer()), config.d_model, seed)
    return walk_layer(
        embedding[[token.id for token in reading.tokens]],
        random_weights(config, seed),
        config,
        norm="rms",
        keep=keep,
        positions=positions,
        device="cpu" if len(reading) < DEVICE_TOKENS else None,
    )
