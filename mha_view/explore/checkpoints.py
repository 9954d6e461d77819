"""The shipped steps of one training run, and what a sentence looks like at each."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mha_view import compute
from mha_view.scene import Scene
from mha_view.store import kept

if TYPE_CHECKING:
    from mha_core.model.toy import ToyModel


def final_step() -> int:
    """How many steps the shipped weights were trained."""
    step: int = json.loads(compute.load_weights().metadata["step"])
    return step


def pool_steps() -> int:
    """For how many first steps they were trained on repeats over a small pool only."""
    recipe = json.loads(compute.load_weights().metadata["recipe"])
    return int(recipe["pool_steps"])


@lru_cache(maxsize=1)
def list_steps() -> tuple[int, ...]:
    """The training steps of the shipped checkpoints and of the final weights; none where there
    are no checkpoints."""
    from mha_core.model.checkpoint import list_checkpoints

    steps = {int(path.stem.partition("-")[2]) for path in list_checkpoints()}
    return tuple(sorted(steps | {final_step()})) if steps else ()


def nearest_step(step: int) -> int:
    """The first shipped step at or after this one, the last where there is none."""
    steps = list_steps()
    return next((known for known in steps if known >= step), steps[-1])


@kept
def load_step(step: int) -> ToyModel:
    """The model as it was after so many steps."""
    from mha_core.model.checkpoint import list_checkpoints, load_model

    if step == final_step():
        return compute.load_weights()
    paths = {int(path.stem.partition("-")[2]): path for path in list_checkpoints()}
    return load_model(paths[step])


def patterns_at(scene: Scene, step: int) -> NDArray[Any]:
    """Every head's pattern of the scene's sentence at a step, [layer, head, query, key]."""
    from mha_core.language.tokenizer import Encoding

    reading = compute.reading_of(scene)
    own = reading.tokens[1:]
    text = scene.text[: own[-1].end] if own else ""
    keep = compute.keep_of(scene, len(reading))
    trace = load_step(step).trace(Encoding(text, own), keep=keep, rope=scene.rope)
    return np.stack([layer.pattern for layer in trace.layers])
