"""Every kind of exercise by page, and an exercise of a kind made by its seed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mha_core.exercises import (
    attention,
    concat,
    heads,
    output,
    overview,
    projection,
    rope,
    tokens,
    why_heads,
)
from mha_core.exercises.exercise import Exercise, is_sound
from mha_core.values import check_choice, check_count

Maker = Callable[[np.random.Generator, int], Exercise]
MAKERS: dict[str, dict[str, Maker]] = {
    "overview": dict(overview.MAKERS),
    "tokens": dict(tokens.MAKERS),
    "projection": dict(projection.MAKERS),
    "heads": dict(heads.MAKERS),
    "rope": dict(rope.MAKERS),
    "attention": dict(attention.MAKERS),
    "concat": dict(concat.MAKERS),
    "output": dict(output.MAKERS),
    "why_heads": dict(why_heads.MAKERS),
}
KINDS = {page: tuple(f"{page}.{name}" for name in makers) for page, makers in MAKERS.items()}
ALL_KINDS = tuple(kind for kinds in KINDS.values() for kind in kinds)


@lru_cache(maxsize=256)
def make_exercise(kind: str, seed: int) -> Exercise:
    """Make an exercise, the same one everywhere for the same seed.

    Args:
        kind: one of `ALL_KINDS`.
        seed: which; a whole number of 0 or more.

    Returns:
        An exercise with one right answer, whose near misses are all wrong and all different.

    Raises:
        ConfigError: an unknown kind, or no such seed.

    >>> exercise = make_exercise("overview.numbers", seed=1)
    >>> exercise.answer.value == exercise.values["h"] * exercise.values["n"] ** 2
    True
    """
    check_choice("kind", kind, ALL_KINDS)
    check_count("seed", seed)
    page, name = kind.split(".")
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    # Numbers drawn at random may let a mistake give the right answer, or two the same: draw again.
    while not is_sound(exercise := MAKERS[page][name](rng, seed)):
        pass
    return exercise
