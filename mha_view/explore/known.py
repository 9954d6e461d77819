"""What another people's model knows of a few tasks, with all its heads and with some changed.

Scoring is heavy work: it is waited for in line, task by task, and what it finds is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mha_view import heavy
from mha_view.real import SHELF
from mha_view.store import STORE
from mha_view.words import Words

if TYPE_CHECKING:
    from torch import Tensor

    from mha_core.model.edits import Edits
    from mha_core.real.pairs import Scored

Heads = tuple[tuple[int, int], ...]


def key_of(name: str, heads: Heads = (), how: str = "") -> tuple[object, ...]:
    """Under what a model's scores are kept.

    Args:
        name: the model's.
        heads: the heads that are off.
        how: what they give then.
    """
    return "pairs", ("real", name), heads, how if heads else ""


def scored_of(name: str, heads: Heads = (), how: str = "") -> Scored:
    """A model's scores, from the store where they are there."""
    return STORE.get(key_of(name, heads, how), lambda: list(_score(name, heads, how))[-1])


def bring(words: Words, name: str, heads: Heads = (), how: str = "") -> Scored:
    """Wait until a model is scored, and give the scores."""
    if heads and how == "mean":
        bring(words, name)  # the means come with it
    key = key_of(name, heads, how)
    if key in STORE:
        return scored_of(name, heads, how)

    def tell(found: Scored) -> tuple[float, str]:
        done, n_tasks = len(found.tasks), found.n_tasks
        return done / n_tasks, words("known.measuring", done=done, n=n_tasks)

    found: Scored = heavy.wait_for(words, "pairs", key, lambda: _score(name, heads, how), tell)
    return found


def _score(name: str, heads: Heads, how: str) -> Iterator[Scored]:
    """Score a model task by task, as a job, and keep the last of it."""
    from mha_core.real.pairs import score_pairs

    for found in score_pairs(SHELF.load(name), edits_for(name, heads, how)):
        if len(found.tasks) == found.n_tasks:
            STORE.get(key_of(name, heads, how), lambda found=found: found)  # type: ignore[misc]
        yield found


def edits_for(name: str, heads: Heads, how: str) -> Edits:
    """Heads of a model that give zeros, or their mean over the sentences of the tasks."""
    from mha_core.model.edits import Edits, zeros_for

    if how == "zero" or not heads:
        return zeros_for(heads)
    means = means_of(name)
    return Edits(heads={(layer, head): means[layer][head] for layer, head in heads})


def means_of(name: str) -> tuple[Tensor, ...]:
    """By layer [head, d_value], what each head of a model gives on average over the sentences of
    the tasks."""
    means = scored_of(name).means
    assert means is not None
    return means
