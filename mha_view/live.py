"""Models trained in this session: kept with it, used as weights on every page, gone with it.

A model is named by its settings, which a link carries; the model itself never leaves the session.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_view.scene import Scene
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.model.toy import ToyModel

MOST_KEPT = 3


@dataclass(frozen=True)
class LiveSettings:
    """What decides a model trained in front of a visitor: its sizes, its seed, and the step whose
    weights are taken."""

    d_model: int
    n_heads: int
    n_layers: int
    seed: int
    steps: int


@dataclass(frozen=True, eq=False)
class Kept:
    """A model that a session keeps.

    Attributes:
        settings: what it was trained with.
        model: the model.
        name: told apart from every other model of this server; what it computed is kept under it.
    """

    settings: LiveSettings
    model: ToyModel
    name: str = field(default_factory=lambda: uuid.uuid4().hex)


def settings_of(scene: Scene) -> LiveSettings:
    """The settings of the model that a scene names."""
    return LiveSettings(
        scene.live_d, scene.live_h, scene.live_layers, scene.live_seed, scene.live_steps
    )


def changes_for(settings: LiveSettings) -> dict[str, int]:
    """The same settings as a change of the scene."""
    return {
        "live_d": settings.d_model,
        "live_h": settings.n_heads,
        "live_layers": settings.n_layers,
        "live_seed": settings.seed,
        "live_steps": settings.steps,
    }


def describe(settings: LiveSettings, words: Words) -> str:
    """A model in words: its sizes, its seed, its steps."""
    return words(
        "live.model", d=settings.d_model, h=settings.n_heads, layers=settings.n_layers,
        seed=settings.seed, steps=settings.steps,
    )  # fmt: skip


def find(scene: Scene) -> Kept | None:
    """The session's own model that a scene names as its weights, or None."""
    if scene.weights != "live":
        return None
    wanted = settings_of(scene)
    return next((kept for kept in _kept() if kept.settings == wanted), None)


def keep(settings: LiveSettings, model: ToyModel) -> None:
    """Keep a model for this session; the oldest goes beyond `MOST_KEPT`."""
    others = [kept for kept in _kept() if kept.settings != settings]
    st.session_state["live_kept"] = [*others, Kept(settings, model)][-MOST_KEPT:]


def _kept() -> list[Kept]:
    """This session's models, the newest last."""
    kept: list[Kept] = st.session_state.get("live_kept", [])
    return kept


def among_known(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits [..., vocabulary] with −inf for every word but the nouns that competed in training;
    the others' were never asked about and mean nothing."""
    from mha_core.training.live import pool_ids

    known = pool_ids()
    found = np.full_like(logits, -np.inf)
    found[..., known] = logits[..., known]
    return found
