"""What a real model knows, by minimal pairs: sentences that differ in their ending.

A pair is a beginning with a right and a wrong ending, written by hand. The model is right where it
finds the right sentence more probable. On tasks where that is chance, nothing can be learned from
switching heads off, and that is said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.errors import DataError
from mha_core.heads.sample import Interval, bootstrap, wilson
from mha_core.model.edits import Edits
from mha_core.real.edited import RealRun, run_edited
from mha_core.real.load import RealModel

FILE = "pairs.toml"
CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """A beginning with two endings.

    Attributes:
        beginning: without a blank at its end.
        right, wrong: the endings, with the blank before them where the language has one.

    >>> MinimalPair("The keys", " are", " is").sentences
    ('The keys are', 'The keys is')
    """

    beginning: str
    right: str
    wrong: str

    @property
    def sentences(self) -> tuple[str, str]:
        """The right sentence and the wrong one."""
        return self.beginning + self.right, self.beginning + self.wrong


@cache
def load_pairs() -> dict[str, tuple[MinimalPair, ...]]:
    """Every task's pairs, by the task's name.

    >>> {task: len(pairs) for task, pairs in load_pairs().items()}["agreement"]
    20
    """
    told = tomllib.loads(files("mha_core").joinpath("data", FILE).read_text("utf-8"))
    return {
        task: tuple(_read(line, each["between"]) for line in each["pairs"].strip().splitlines())
        for task, each in told.items()
    }


def _read(line: str, between: str) -> MinimalPair:
    """One line of the file."""
    beginning, right, wrong = (part.strip() for part in line.split("|"))
    return MinimalPair(beginning, between + right, between + wrong)


@dataclass(frozen=True, eq=False)
class PairScores:
    """How a model does on a task.

    Attributes:
        task: its name.
        margins: [pair], how much more probable the right sentence is than the wrong one, as the
            logarithm of their ratio, in nats.
    """

    task: str
    margins: Array

    __repr__ = brief

    @property
    def right(self) -> Interval:
        """The share of pairs whose right sentence is the more probable one."""
        return wilson(int((self.margins > 0).sum()), len(self.margins))

    @property
    def is_known(self) -> bool:
        """Whether the model does better than chance: its interval lies above one half.

        >>> PairScores("x", np.ones(20)).is_known, PairScores("x", np.zeros(20)).is_known
        (True, False)
        """
        return self.right.low > CHANCE

    @property
    def margin(self) -> Interval:
        """The mean margin, in nats."""
        return bootstrap(self.margins)


@dataclass(frozen=True, eq=False)
class Scored:
    """What was found so far.

    Attributes:
        tasks: the tasks that are done, in order.
        n_tasks: how many there will be.
        means: by layer [head, d_value], what each head gave on average over all tokens that were
            read; None before the last task is done.
    """

    tasks: tuple[PairScores, ...]
    n_tasks: int
    means: tuple[Tensor, ...] | None = None

    __repr__ = brief


def score_pairs(
    model: RealModel,
    edits: Edits | None = None,
    tasks: dict[str, tuple[MinimalPair, ...]] | None = None,
) -> Iterator[Scored]:
    """Score a model on every task, one after the other.

    Args:
        model: see `load_model`.
        edits: what is changed, see `run_edited`; a vector each, for the sentences have any length.
        tasks: those that ship unless given.

    Yields:
        What was found so far, after each task.

    Raises:
        DataError: the model says nothing of what comes next.
    """
    if not model.speaks:
        raise DataError("real.silent", name=model.name)
    tasks = load_pairs() if tasks is None else tasks
    done: list[PairScores] = []
    summed: list[Tensor] = []
    n_tokens = 0
    for task, pairs in tasks.items():
        margins = []
        for pair in pairs:
            margin, runs = _score(model, pair, edits)
            margins.append(margin)
            found = [heads[0].double().sum(1) for heads in runs[0].heads]
            summed = [a + b for a, b in zip(summed, found, strict=True)] if summed else found
            n_tokens += runs[0].logits.shape[1]
        done.append(PairScores(task, np.array(margins)))
        means = None
        if len(done) == len(tasks):
            means = tuple((total / n_tokens).float() for total in summed)
        yield Scored(tuple(done), len(tasks), means)


def _score(model: RealModel, pair: MinimalPair, edits: Edits | None) -> tuple[float, list[RealRun]]:
    """How much more probable the right sentence is, and the runs it took.

    Only tokens after the ones that both share can make a difference. Where one token is what they
    differ in, one run tells of both; sentences that are the same tokens are equally probable.
    """
    right, wrong = (_ids(model, sentence) for sentence in pair.sentences)
    shared = 0
    while shared < min(len(right), len(wrong)) and right[shared] == wrong[shared]:
        shared += 1
    first = max(shared, 1)  # nothing tells of the first token
    begun = dict.fromkeys((right[:-1], wrong[:-1]))
    runs = {ids: run_edited(model, torch.tensor([ids]), edits) for ids in begun}
    said = []
    for ids in (right, wrong):
        logs = runs[ids[:-1]].logits[0, first - 1 :].double().log_softmax(-1)
        said.append(float(logs.gather(1, torch.tensor(ids[first:])[:, None]).sum()))
    return said[0] - said[1], list(runs.values())


def _ids(model: RealModel, sentence: str) -> tuple[int, ...]:
    """A sentence's tokens, without those that the tokenizer puts after a text."""
    read = model.encode(sentence)
    n = read.n_tokens
    while n and read.special[n - 1]:
        n -= 1
    return read.ids[:n]
