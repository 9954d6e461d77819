"""Sentences that a role was measured on: the first ones, not the best ones."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from mha_view import compute
from mha_view.store import kept

COUNT = 6


@dataclass(frozen=True)
class Example:
    """One query of one sentence.

    Attributes:
        text: the sentence, to be typed into the box.
        labels: a label a token, `<bos>` first.
        query: the token that looks.
        target: the token it should look at.
        pattern: [key], where the head looks.
    """

    text: str
    labels: tuple[str, ...]
    query: int
    target: int
    pattern: np.ndarray[Any, Any]

    @property
    def weight(self) -> float:
        """The weight on the target."""
        return float(self.pattern[self.target])


@kept
def examples_of(role: str, layer: int, head: int) -> tuple[Example, ...]:
    """The first sentences the role is scored on, as one head reads them."""
    import torch

    model = compute.load_weights()
    found = []
    for ids, query, target in _places(role):
        with torch.no_grad():
            patterns = model.run(torch.tensor(ids)).patterns
        entries = [model.tokenizer.entries[number] for number in ids]
        found.append(
            Example(
                model.tokenizer.decode(list(ids[1:])),
                tuple(entry.display for entry in entries),
                query,
                target,
                patterns[layer][head, query].numpy(),
            )
        )
    return tuple(found)


def _places(role: str) -> list[tuple[tuple[int, ...], int, int]]:
    """Token numbers, query and target of the first sentences of a role."""
    from mha_core.heads.repeats import REPEAT_ROLES, draw_repeats, word_ids
    from mha_core.heads.roles import SCORE_SEED, relation_rows

    if role not in REPEAT_ROLES:
        rows = relation_rows(role, SCORE_SEED, COUNT)
        return [(row.ids, row.query, row.target) for row in rows]
    places = []
    for ids in draw_repeats(word_ids(), SCORE_SEED, COUNT):
        length = len(ids) // 2
        query = length + 1 + length // 2
        back = {"previous": 1, "induction": length - 1, "duplicate": length, "sink": query}[role]
        places.append((ids, query, query - back))
    return places


def example_html(example: Example, shown: str) -> str:
    """The sentence with its query underlined, its target framed, and every key tinted by weight."""
    parts = []
    for place, label in enumerate(example.labels):
        kinds = [name for name, at in (("looks", example.query), ("wanted", example.target))
                 if at == place]  # fmt: skip
        weight = float(example.pattern[place])
        number = f"<small>{weight:.2f}</small>" if weight >= 0.1 else ""
        parts.append(
            f'<span class="{" ".join(kinds)}" style="--weight:{min(weight, 1.0):.2f}">'
            f"<bdi>{escape(label)}</bdi>{number}</span>"
        )
    return f'<div class="example" title="{escape(shown)}">{"".join(parts)}</div>'
