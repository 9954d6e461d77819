"""A sentence through a model some of whose heads are changed: what is expected next.

The shipped model and other people's answer alike; what another people's model computes is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mha_view import compute, real, real_walk
from mha_view.explore import known
from mha_view.explore.evidence import head_means
from mha_view.real import SHELF
from mha_view.scene import Scene
from mha_view.store import STORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mha_core.model.edits import Edits

Heads = tuple[tuple[int, int], ...]
Edge = tuple[int, int]  # the query that may not look, and at which key


def every_head(scene: Scene) -> list[tuple[int, int]]:
    """All heads of the model, (layer, head) each."""
    if scene.weights == "real":
        n_heads = SHELF.load(real.name_of(scene)).n_heads
    else:
        n_heads = (compute.TOY_HEADS,) * compute.TOY_LAYERS
    return [(layer, head) for layer, n in enumerate(n_heads) for head in range(n)]


def display(scene: Scene, token: int) -> str:
    """A token of the model in a form a person can read."""
    if scene.weights == "real":
        return real_walk.display(real.name_of(scene), token)
    return compute.load_weights().tokenizer.entries[token].display


def edge_of(scene: Scene, patterns: tuple[NDArray[np.float32], ...], query: int) -> Edge:
    """The look that is forbidden: the chosen one; where none is chosen, from the token asked
    about, at what the first head that is changed looks at most there.

    Args:
        scene: what is chosen.
        patterns: a layer [head, query, key].
        query: the token after which is asked.
    """
    query = scene.edge_query if 0 <= scene.edge_query < patterns[0].shape[1] else query
    if 0 <= scene.edge_key < patterns[0].shape[2]:
        return query, scene.edge_key
    layer, head = scene.off[0] if scene.off else (scene.layer, scene.head)
    layer = min(layer, len(patterns) - 1)
    return query, int(patterns[layer][min(head, len(patterns[layer]) - 1), query].argmax())


def key_of(scene: Scene, after: int, heads: Heads, edge: Edge | None) -> tuple[object, ...]:
    """Under what an answer of another people's model is kept."""
    how = (scene.ablation, edge if scene.ablation == "look" else None) if heads else None
    return "changed", ("real", real.name_of(scene)), scene.text, after, heads, how


def chances(
    scene: Scene, after: int, heads: Heads, edge: Edge | None = None
) -> NDArray[np.float64]:
    """The probability of every token after a place, with some heads changed.

    Args:
        scene: the sentence, the model, and how heads are changed.
        after: the place.
        heads: which heads.
        edge: the look that they may not take, where one is forbidden.
    """
    if scene.weights == "real":
        key = key_of(scene, after, heads, edge)
        logits = STORE.get(key, lambda: _real_logits(scene, after, heads, edge))
    else:
        logits = _toy_logits(scene, after, heads, edge)
    powers = np.exp(logits.astype(np.float64) - logits.max())
    share: NDArray[np.float64] = powers / powers.sum()
    return share


def _toy_logits(scene: Scene, after: int, heads: Heads, edge: Edge | None) -> NDArray[np.float32]:
    """The logits of the shipped model after a place, [vocabulary]."""
    import torch

    reading = compute.reading_of(scene)
    ids = torch.tensor([token.id for token in reading.tokens])
    keep = torch.from_numpy(compute.keep_of(scene, len(reading)))
    edits = edits_of(scene, heads, edge)
    with torch.no_grad():
        run = compute.load_weights().run(ids, keep=keep, rope=scene.rope, edits=edits)
    logits: NDArray[np.float32] = run.logits[after].numpy()
    return logits


def _real_logits(scene: Scene, after: int, heads: Heads, edge: Edge | None) -> NDArray[np.float32]:
    """The logits of another people's model after a place, [vocabulary]."""
    import torch

    from mha_core.real.edited import run_edited

    name = real.name_of(scene)
    ids = torch.tensor([real_walk.encode(name, scene.text)[0].ids])
    found = run_edited(SHELF.load(name), ids, edits_of(scene, heads, edge))
    logits: NDArray[np.float32] = found.logits[0, after].float().numpy().copy()
    return logits


def edits_of(scene: Scene, heads: Heads, edge: Edge | None = None) -> Edits:
    """What is changed: heads that give zeros or their mean, or may not take one look."""
    from mha_core.model.edits import Edits, forbid_edges, zeros_for

    if not heads:
        return Edits()
    if scene.ablation != "look" and scene.weights == "real":
        return known.edits_for(real.name_of(scene), heads, scene.ablation)
    if scene.ablation == "zero":
        return zeros_for(heads)
    if scene.ablation == "mean":
        return Edits(heads={(layer, head): head_means()[layer, head] for layer, head in heads})
    assert edge is not None, "a look that is forbidden is named"
    n_tokens, edits = len(compute.reading_of(scene)), Edits()
    every = every_head(scene)
    for layer, head in heads:
        n_heads = sum(each == layer for each, _ in every)
        edits |= forbid_edges([(layer, head, *edge)], n_heads, n_tokens)
    return edits
