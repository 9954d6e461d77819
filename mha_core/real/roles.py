"""What the heads of a real model do, on random tokens said twice: the same numbers for everyone.

A score moves by a tenth with the tokens that are drawn, so the draws lie in a file and a score
comes with its interval over them; heads are ranked by it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.heads.measures import Seen
from mha_core.heads.repeats import REPEAT_ROLES
from mha_core.heads.sample import Interval, bootstrap
from mha_core.model.edits import Head
from mha_core.real.capture import Call, watching
from mha_core.real.load import RealModel
from mha_core.values import check_choice

DRAWN = Path(__file__).parents[1] / "data" / "random_ids.json"
LENGTH = 50


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Scores of every head in every role.

    Attributes:
        values: by role [draw, layer, head]; NaN where a layer has fewer heads than others.
        chance: by role [draw], the score of a head that looks everywhere alike.
        texts: the token numbers of each draw.
    """

    values: dict[str, Array]
    chance: dict[str, Array]
    texts: tuple[tuple[int, ...], ...]

    __repr__ = brief

    def interval(self, role: str, layer: int, head: int) -> Interval:
        """One head's score with its 95 % interval over the draws."""
        check_choice("role", role, self.values)
        return bootstrap(self.values[role][:, layer, head])

    def ranked(self, role: str) -> list[tuple[Head, Interval]]:
        """All heads, the best first: by the lower end of the interval, then by the mean."""
        check_choice("role", role, self.values)
        _, n_layers, n_heads = self.values[role].shape
        found = [
            ((layer, head), self.interval(role, layer, head))
            for layer in range(n_layers)
            for head in range(n_heads)
            if np.isfinite(self.values[role][:, layer, head]).all()
        ]
        return sorted(found, key=lambda each: (-each[1].low, -each[1].mean, each[0]))


@cache
def drawn_numbers() -> tuple[tuple[int, ...], ...]:
    """The numbers that ship: draws of numbers below 2^31."""
    told = json.loads(DRAWN.read_text("utf-8"))
    return tuple(tuple(draw) for draw in told["draws"])


def draw_repeats(model: RealModel, length: int = LENGTH) -> tuple[tuple[int, ...], ...]:
    """Random tokens of a model's own, said twice, with what the tokenizer puts round a text.

    Args:
        model: see `load_model`.
        length: tokens in a half, all different; fewer where the model reads fewer or knows fewer.

    Returns:
        One sequence a draw: begin, s, s, end. A tokenizer that puts nothing before a text gets its
        token for the beginning, where it has one.
    """
    tokenizer = model.tokenizer
    control = {int(each) for each in tokenizer.all_special_ids}
    ordinary = [each for each in range(min(len(tokenizer), model.n_rows)) if each not in control]
    before, after = _round_a_text(model)
    room = (model.limit - len(before) - len(after)) // 2
    length = max(1, min(length, room, len(ordinary) // 2, len(drawn_numbers()[0])))
    texts = []
    for numbers in drawn_numbers():
        said = list(dict.fromkeys(ordinary[number % len(ordinary)] for number in numbers))[:length]
        texts.append((*before, *said, *said, *after))
    return tuple(texts)


def _round_a_text(model: RealModel) -> tuple[list[int], list[int]]:
    """The tokens that the tokenizer puts before and after a text."""
    tokenizer = model.tokenizer
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next((n for n in range(len(whole)) if whole[n : n + len(plain)] == plain), 0)
    before, after = whole[:start], whole[start + len(plain) :]
    if not before and tokenizer.bos_token_id is not None:
        before = [int(tokenizer.bos_token_id)]
    return before, after


def score_heads(model: RealModel, texts: Sequence[tuple[int, ...]] | None = None) -> HeadScores:
    """Score every head in the roles that random tokens said twice can tell.

    Previous, induction and duplicate count the rows of the second half; the sink counts every row
    from the third on. The definitions are those of `heads.measures`.

    Args:
        model: see `load_model`.
        texts: see `draw_repeats`; those that ship unless given.

    Source: Olsson et al. 2022.
    """
    texts = draw_repeats(model) if texts is None else tuple(texts)
    before, after = _round_a_text(model)
    widest = max(model.n_heads)
    shape = (len(texts), model.n_layers, widest)
    values = {role: np.full(shape, np.nan) for role in REPEAT_ROLES}
    chance = {role: np.full(len(texts), np.nan) for role in REPEAT_ROLES}
    for draw, ids in enumerate(texts):
        half = (len(ids) - len(before) - len(after)) // 2
        places = np.arange(len(ids))
        second = (places >= len(before) + half) & (places < len(before) + 2 * half)

        def score(call: Call, draw: int = draw, second: Array = second) -> torch.Tensor:
            rows = call.rows()
            pattern = rows[0].cpu().numpy()
            keep = call.keep()
            cells = np.ones(pattern.shape[1:], bool) if keep is None else keep[0, 0].cpu().numpy()
            seen = Seen(cells, np.array(texts[draw]))
            for role, measure in REPEAT_ROLES.items():
                only = None if role == "sink" else second
                values[role][draw, call.number, : call.n_heads] = measure.score(pattern, seen, only)
                if call.number == 0:
                    chance[role][draw] = measure.chance(seen, only)
            return call.collect(rows)

        given = torch.tensor([ids], device=next(model.network.parameters()).device)
        with model.lock, torch.no_grad(), watching(score):
            model.network(input_ids=given)
    return HeadScores(values, chance, tuple(texts))
