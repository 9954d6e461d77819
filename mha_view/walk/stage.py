"""The stage on a page: the layer as one picture, large on the first page, small as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from mha_view import assets, compute, state, theme
from mha_view.about import about_sentence, said_of
from mha_view.link import link_of, settings_of
from mha_view.menu import ORDER, page_file
from mha_view.scene import N_STEPS, Scene
from mha_view.store import STORE
from mha_view.walk.layer import (
    LARGE,
    PLACES,
    SMALL,
    Size,
    blocks_of,
    strongest_looks,
    turning,
)
from mha_view.walk.sayings import STEP_NAMES, sayings, strongest_key
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.trace import AttentionTrace
    from mha_view.components.stage import Block, Told

# Of what a page is about, in the map.
LIT: dict[str, tuple[str, ...]] = {
    "tokens": ("x",),
    "projection": ("project", "q", "k", "v"),
    "heads": ("cut", "q_rot", "k_rot", "v_band"),
    "rope": ("q_rot", "k_rot"),
    "attention": ("pattern", "heads"),
    "concat": ("heads", "stack", "concat"),
    "output": ("output", "out", "residual", "bypass"),
    "why_heads": ("cut", "q_rot", "k_rot", "v_band", "pattern", "heads", "stack"),
}
# Words under "plot." and "stage." that the browser never says.
SERVERS_OWN = ("say.", "block.", "alt")
WISH = "stage_wish"
# Numbers of more bytes are to be had on the pages of the steps, one by one.
MOST_STAGE_BYTES = 16 * 2**20


def draw_stage(
    words: Words, scene: Scene, trace: AttentionTrace, labels: Sequence[str], head: int, focus: int
) -> None:
    """The whole layer, to be touched and played.

    Args:
        words: the reader's words.
        scene: what the reader chose.
        trace: the layer.
        labels: a label a token.
        head: the chosen head.
        focus: the token looked at.
    """
    learned = compute.is_trained(scene)
    scale = scene.scale if learned else "sqrt"
    key, weight = strongest_key(trace, head, focus)
    settings = _settings(words, scene, trace, head) | {
        "small": False,
        "scale": scale,
        "step": scene.play,
        "step_names": [words(f"step.{name}") for name in STEP_NAMES],
        "says": sayings(trace, labels, head, focus, words, learned=learned),
        "rope": turning(trace),
        "tokens": list(labels),
        "strange": sorted(compute.strange_places(scene)),
        "focus": focus,
    }
    blocks = _blocks(words, scene, trace, scale=scale, size=LARGE)
    if blocks["x"].step[1] > 1:
        settings["looks"] = STORE.get(("looks", *_key(scene), head), lambda: _looks(trace, head))
    else:
        settings["scores"] = trace.scores
    alt = words(
        "stage.alt",
        S=trace.n_tokens,
        d=trace.config.d_model,
        n=trace.config.n_heads,
        head=head,
        token=labels[focus],
        key=labels[key],
        weight=f"{weight:.3f}",
    )
    _mount(
        blocks, settings, words, key="stage", alt=alt, export=_export(words, scene, trace, labels)
    )


def _export(
    words: Words, scene: Scene, trace: AttentionTrace, labels: Sequence[str]
) -> dict[str, Any]:
    """What the stage's files hold: the numbers of every block, where they are not too many."""
    steps = [trace[name] for name in dict.fromkeys(field for field, *_ in PLACES.values())]
    fits = sum(step.value.nbytes for step in steps) <= MOST_STAGE_BYTES
    return {
        "name": "stage",
        "arrays": {step.name: step.value for step in steps} if fits else {},
        "axes": {step.name: step.axes for step in steps},
        "labels": {axis: list(labels) for axis in ("token", "query", "key")},
        "settings": settings_of(scene),
        "about": said_of("stage", words, about_sentence(scene, words)),
    }


def draw_map(
    page: str, words: Words, scene: Scene, trace: AttentionTrace, head: int, focus: int
) -> None:
    """The same picture, small: what the page is about is lit, every part leads to its page."""
    scale = scene.scale if compute.is_trained(scene) else "sqrt"
    settings = _settings(words, scene, trace, head) | {
        "small": True,
        "scale": "linear",
        "lit": list(LIT[page]),
        "step": 0,
        "tokens": [""] * trace.n_tokens,
        "focus": focus,
    }
    blocks = _blocks(words, scene, trace, scale=scale, size=SMALL)
    _mount(blocks, settings, words, key="map", alt=words("stage.alt.map"))


def _key(scene: Scene) -> tuple[object, ...]:
    """What the numbers of a scene's layer depend on."""
    return *compute.walk_key(compute.resolve(scene)), scene.layer


def _blocks(
    words: Words, scene: Scene, trace: AttentionTrace, *, scale: str, size: Size
) -> dict[str, Block]:
    """The layer's tensors cut down, from the store where they were before."""
    learned = compute.is_trained(scene)
    return STORE.get(
        ("stage", *_key(scene), words.lang, scene.axes, scale, size),
        lambda: blocks_of(trace, words, axes=scene.axes, scale=scale, learned=learned, size=size),
    )


def _looks(trace: AttentionTrace, head: int) -> dict[str, Any]:
    """What each query of a head looks at most."""
    keep = np.broadcast_to(trace.keep, trace.pattern.shape)[head]
    return strongest_looks(trace.pattern[head], keep, LARGE.looks)


def _settings(words: Words, scene: Scene, trace: AttentionTrace, head: int) -> dict[str, Any]:
    """What both forms need."""
    config = trace.config
    heads = range(config.n_heads)
    return {
        "head": head,
        "heads": [words("head.chip", head=number) for number in heads],
        "colours": [theme.head_colour(number) for number in heads],
        "sizes": {
            "tokens": trace.n_tokens,
            "heads": config.n_heads,
            "kvHeads": config.n_kv_heads,
            "group": config.group,
            "dModel": config.d_model,
            "dHead": config.d_head,
            "dValue": config.d_value,
        },
        "ramps": {"signed": [theme.SIGNED_LIGHT, theme.SIGNED_DARK], "weights": theme.CIVIDIS},
        "base": assets.base_path(),
        "query": urlencode(link_of(scene.with_(play=0))),
    }


def _mount(
    blocks: Any,
    settings: dict[str, Any],
    words: Words,
    *,
    key: str,
    alt: str,
    export: dict[str, Any] | None = None,
) -> None:
    """Mount the component; what the reader does in it goes into the scene."""
    from mha_view.components.stage import stage

    spoken = {
        name: text
        for name, text in (words.group("plot") | words.group("stage")).items()
        if not name.startswith(SERVERS_OWN)
    }
    stage(blocks, key=key, alt=alt, words=spoken, settings=settings, on_tell=_hear, export=export)


def _hear(told: Told) -> None:
    """Put what the reader did into the scene, as far as it can be; note the page wished for."""
    now = state.scene()
    changes: dict[str, Any] = {}
    is_ready = compute.is_ready(now)  # a model may have gone since the stage was drawn
    if is_ready and told.head is not None and told.head < compute.config_of(now).n_heads:
        changes["head"] = told.head
    if is_ready and told.token is not None and told.token < len(compute.reading_of(now)):
        changes["focus"] = told.token - compute.tokens_before(now)
    if told.step is not None and told.step <= N_STEPS:
        changes["play"] = told.step
    changes = {name: value for name, value in changes.items() if getattr(now, name) != value}
    if changes:
        state.change(**changes)
    if told.page in ORDER:
        st.session_state[WISH] = told.page


def follow_wish() -> None:
    """Open the page whose part of the stage was clicked."""
    wish = st.session_state.pop(WISH, None)
    if wish is not None:
        st.switch_page(page_file(wish), query_params=link_of(state.scene()))
