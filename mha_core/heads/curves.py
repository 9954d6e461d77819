"""How heads form: the scores of every head at every report of a training run."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from mha_core.brief import brief
from mha_core.heads.measures import mass_on
from mha_core.heads.probe import Floats, Pair, Row, attention_rows, choose, pairs_for, rows_for
from mha_core.heads.repeats import Repeat, copying, draw_repeats, repeat_scores, word_ids
from mha_core.language.documents import Kind
from mha_core.model.toy import ToyModel

CURVE_SEED, CURVE_COUNT, CURVE_LENGTH = 9_300_000, 40, 12
CURVE_KINDS: tuple[Kind, ...] = ("pronoun", "subject", "reflexive", "pronoun_zh", "classifier_zh")
CURVE_TASKS = ("reference", "agreement_phrase", "predicate", "receiver", "reference_zh")


@dataclass(frozen=True)
class Scores:
    """What one model scores.

    Attributes:
        heads: score → [layer][head], mean attention on that role's target.
        tasks: task → accuracy on minimal pairs, chance .5.
    """

    heads: dict[str, list[list[float]]]
    tasks: dict[str, float]

    __repr__ = brief

    def best(self) -> dict[str, float]:
        """The best head of each score, and every task."""
        top = {name: max(map(max, layers)) for name, layers in self.heads.items()}
        return top | {f"task {name}": value for name, value in self.tasks.items()}


@cache
def _rows(kind: Kind) -> tuple[Row, ...]:
    return tuple(rows_for(kind, CURVE_SEED, CURVE_COUNT))


@cache
def _pairs(task: str) -> tuple[Pair, ...]:
    return tuple(pairs_for(task, CURVE_SEED, CURVE_COUNT))


@cache
def _repeats(words: tuple[int, ...]) -> tuple[Repeat, ...]:
    return tuple(draw_repeats(words, CURVE_SEED, CURVE_COUNT, length=CURVE_LENGTH))


def measure_repeats(model: ToyModel, words: tuple[int, ...]) -> Scores:
    """The roles on random repeats of some words, and how much of these the model copies."""
    repeats = _repeats(words)
    means = {name: found.mean(0) for name, found in repeat_scores(model, repeats).items()}
    return Scores(_rounded(means), {"copying": copying(model, repeats)})


def measure_scores(model: ToyModel) -> Scores:
    """Every score of every head, on documents that are the same each time."""
    heads = measure_repeats(model, word_ids()).heads
    for kind in CURVE_KINDS:
        rows = _rows(kind)
        seen = attention_rows(model, rows)
        heads |= _rounded({kind: mass_on(seen, [row.target for row in rows]).mean(0)})
    tasks = {task: float(choose(model, _pairs(task)).mean()) for task in CURVE_TASKS}
    return Scores(heads, tasks)


def _rounded(scores: dict[str, Floats]) -> dict[str, list[list[float]]]:
    """Scores [layer, head] as they are kept."""
    return {name: np.round(values, 4).tolist() for name, values in scores.items()}


@dataclass
class Curves:
    """The scores of a run, report by report.

    Attributes:
        steps, losses: the step and the mean loss, in nats a token, of each report.
        scores: each report's scores.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    scores: list[Scores] = field(default_factory=list)

    __repr__ = brief

    def add(self, step: int, loss: float, scores: Scores) -> None:
        """Append a report; one of a step already there replaces it."""
        if self.steps and self.steps[-1] == step:
            return
        self.steps.append(step)
        self.losses.append(None if math.isnan(loss) else round(loss, 4))
        self.scores.append(scores)

    def half_way(self, name: str) -> int:
        """The first step at which the best head's score is half way from the first to the last."""
        best = np.array([scores.best()[name] for scores in self.scores])
        middle = (best[0] + best[-1]) / 2
        return self.steps[int(np.argmax(best >= middle))]

    def write(self, path: Path) -> None:
        """Write as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "steps": self.steps,
            "losses": self.losses,
            "heads": [scores.heads for scores in self.scores],
            "tasks": [scores.tasks for scores in self.scores],
        }
        path.write_text(json.dumps(content), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Curves:
        """Read what `write` wrote."""
        content = json.loads(path.read_text("utf-8"))
        scores = [Scores(*both) for both in zip(content["heads"], content["tasks"], strict=True)]
        return cls(content["steps"], content["losses"], scores)
