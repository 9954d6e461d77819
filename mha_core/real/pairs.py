"""What a real model knows, by minimal pairs: sentences that differ in their ending.

A pair is a beginning with a right and a wrong ending, written by hand. The model is right where it
finds the right sentence more probable. On tasks where that is chance, nothing can be learned from
switching heads off, and that is said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
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
        margins, found, n = _score(model, pairs, edits)
        summed = [a + b for a, b in zip(summed, found, strict=True)] if summed else found
        n_tokens += n
        done.append(PairScores(task, margins))
        means = None
        if len(done) == len(tasks):
            means = tuple((total / n_tokens).float() for total in summed)
        yield Scored(tuple(done), len(tasks), means)


def _score(
    model: RealModel, pairs: Sequence[MinimalPair], edits: Edits | None
) -> tuple[Array, list[Tensor], int]:
    """How much more probable each right sentence is; by layer the sum of what the heads gave over
    the tokens of the right ones, and how many tokens these are.

    Only tokens after the ones that both share can make a difference. Where one token is what they
    differ in, one reading tells of both; sentences that are the same tokens are equally probable.
    All are read at once, short ones filled up behind, where no earlier token can look.
    """
    cut = [[_ids(model, sentence) for sentence in pair.sentences] for pair in pairs]
    begun = list(dict.fromkeys(ids[:-1] for pair in cut for ids in pair))
    longest = max(map(len, begun))
    filled = torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in begun])
    run = run_edited(model, filled, edits)
    margins = [_lead(run, begun, *pair) for pair in cut]
    rows = [begun.index(right[:-1]) for right, _ in cut]
    lengths = torch.tensor([len(begun[row]) for row in rows])
    is_read = torch.arange(longest) < lengths[:, None]
    summed = [
        (heads[rows].double().cpu() * is_read[:, None, :, None]).sum((0, 2)) for heads in run.heads
    ]
    return np.array(margins), summed, int(lengths.sum())


def _lead(
    run: RealRun, begun: list[tuple[int, ...]], right: tuple[int, ...], wrong: tuple[int, ...]
) -> float:
    """How much more probable one sentence is than another, in nats."""
    shared = 0
    while shared < min(len(right), len(wrong)) and right[shared] == wrong[shared]:
        shared += 1
    first = max(shared, 1)  # nothing tells of the first token
    said = []
    for ids in (right, wrong):
        logits = run.logits[begun.index(ids[:-1]), first - 1 : len(ids) - 1].cpu().double()
        chosen = torch.tensor(ids[first:])[:, None]
        said.append(float(logits.log_softmax(-1).gather(1, chosen).sum()))
    return said[0] - said[1]


def _ids(model: RealModel, sentence: str) -> tuple[int, ...]:
    """A sentence's tokens, without those that the tokenizer puts after a text."""
    read = model.encode(sentence)
    n = read.n_tokens
    while n and read.special[n - 1]:
        n -= 1
    return read.ids[:n]
