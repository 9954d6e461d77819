"""What comes after a text, and after each token chosen since: from a scene to a model's answer.

What a model keeps of the tokens it has read is kept for a reader, so that the next token is read
alone; an answer without it is kept for all readers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from mha_core.continuing import Sampling
from mha_view import compute, live, real, real_walk
from mha_view.heavy import session_name
from mha_view.real import SHELF
from mha_view.scene import MOST_SAID, Scene
from mha_view.store import STORE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mha_core.continuing import Next, Writer


def sampling_of(scene: Scene) -> Sampling:
    """How a scene chooses the next token."""
    return Sampling(scene.temperature / 100, scene.top_k, scene.top_p / 100, scene.draw)


def writer_of(scene: Scene) -> Writer:
    """The model that writes on under a scene with trained weights."""
    from mha_core.model.writer import ToyWriter

    if scene.weights == "real":
        from mha_core.real.writer import RealWriter

        return RealWriter(SHELF.load(real.name_of(scene)))
    own = live.find(scene)
    if own is None:
        return ToyWriter(compute.load_weights())
    # After a model trained in the session only those words may follow that it was asked about.
    from mha_core.training.live import pool_ids

    return ToyWriter(own.model, may_follow=pool_ids())


def said_of(scene: Scene) -> tuple[int, ...]:
    """The new tokens of a scene, as many as there is room for, up to the first that its model does
    not know."""
    most = writer_of(scene).n_vocabulary
    known = [token < most for token in scene.said]
    n_known = known.index(False) if False in known else len(known)
    return scene.said[: min(n_known, room_of(scene))]


def room_of(scene: Scene) -> int:
    """How many new tokens may stand after a scene's text: as many as a link carries, and its model
    reads."""
    most = compute.MOST_TOKENS
    if scene.weights == "real":
        most = min(most, SHELF.load(real.name_of(scene)).limit)
    return max(0, min(MOST_SAID, most - len(prompt_of(scene))))


def look_of(scene: Scene) -> int:
    """The place whose choice is looked at: how many new tokens stand before it."""
    n = len(said_of(scene))
    return n if scene.look < 0 else min(scene.look, n)


def prompt_of(scene: Scene) -> tuple[int, ...]:
    """The text's own tokens, as many as are read."""
    if scene.weights == "real":
        return real_walk.encode(real.name_of(scene), scene.text)[0].ids
    return writer_of(scene).encode(scene.text)[: compute.MOST_TOKENS]


def next_after(scene: Scene, n: int) -> Next:
    """What the scene's model says after the text and its first n new tokens.

    Args:
        scene: with trained weights.
        n: how many of its new tokens are there.

    Returns:
        The answer, without what the model keeps for the next one.
    """
    ids = (*prompt_of(scene), *said_of(scene)[:n])
    model = _model_key(scene)
    return STORE.get(("next", model, ids), lambda: _read(scene, model, ids))


def without(scene: Scene, n: int, heads: tuple[tuple[int, int], ...]) -> NDArray[np.float32]:
    """The logits that `next_after` has, if some heads gave nothing.

    Args:
        scene: with trained weights.
        n: how many of its new tokens are there.
        heads: (layer, head) pairs.
    """
    ids = (*prompt_of(scene), *said_of(scene)[:n])
    key = ("without", _model_key(scene), ids, heads)
    return STORE.get(key, lambda: writer_of(scene).read_without(ids, heads))


def _read(scene: Scene, model: Hashable, ids: tuple[int, ...]) -> Next:
    """Read on from what this reader's session has read with the model before."""
    key = ("past", session_name(), model)
    before = STORE.get(key, lambda: None)
    found = writer_of(scene).read(ids, before)
    STORE.forget(lambda other: other == key)
    STORE.get(key, lambda: found.past)
    return replace(found, past=None)


def _model_key(scene: Scene) -> Hashable:
    """Which model a scene with trained weights names."""
    if scene.weights == "real":
        return ("real", real.name_of(scene))
    own = live.find(scene)
    return "toy" if own is None else own.name
