"""Pairs of sentences that ask for different words at one place: what circuits are found on.

A prompt is a sentence, its corrupted twin of as many tokens, and the word that each of them makes
right. What a head gives on the twin is what is put in its place on the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mha_core.errors import ConfigError
from mha_core.heads.probe import TASKS, Pair, pairs_for
from mha_core.heads.repeats import noun_ids
from mha_core.language.tokenizer import load_tokenizer

COPYING = "copying"
CIRCUIT_TASKS = (COPYING, *TASKS)
HALF = 8  # words of a half of a repeat


@dataclass(frozen=True)
class Prompt:
    """A sentence and its corrupted twin. Places count `<bos>`.

    Attributes:
        ids: the sentence's token numbers.
        corrupted: its twin's, as many.
        query: the place whose next word is asked for.
        right: that word's number after the sentence.
        wrong: and after the twin.
    """

    ids: tuple[int, ...]
    corrupted: tuple[int, ...]
    query: int
    right: int
    wrong: int

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.corrupted):
            raise ConfigError(
                "circuit.lengths", first=len(self.ids), second=len(self.corrupted)
            )  # fmt: skip
        if self.ids == self.corrupted or self.right == self.wrong:
            raise ConfigError("circuit.same")


def copying_prompts(seed: int, count: int, words: Sequence[int] | None = None) -> list[Prompt]:
    """Words said twice, and others in the twin; asked for is a word of the second half.

    Args:
        seed: the same seed gives the same prompts on every machine.
        count: how many.
        words: token numbers to draw from; the nouns of both languages if None.

    >>> [one] = copying_prompts(0, 1)
    >>> one.ids[1:9] == one.ids[9:], one.ids[one.query + 1] == one.right
    (True, True)
    >>> set(one.ids[1:]) & set(one.corrupted[1:])
    set()
    """
    generator, bos = np.random.Generator(np.random.PCG64(seed)), load_tokenizer().bos.id
    prompts = []
    for _ in range(count):
        drawn = generator.choice(noun_ids() if words is None else words, 2 * HALF, replace=False)
        said, other = drawn[:HALF].tolist(), drawn[HALF:].tolist()
        at = int(generator.integers(1, HALF))  # nothing tells a half's first word
        ids, twin = (bos, *said, *said), (bos, *other, *other)
        prompts.append(Prompt(ids, twin, HALF + at, said[at], other[at]))
    return prompts


def task_prompts(task: str, seed: int, count: int) -> list[Prompt]:
    """The sentences of a task, each with a twin whose target is that of another sentence.

    The other sentence is the next one whose right word is another; that word is the wrong one.
    """
    if task == COPYING:
        return copying_prompts(seed, count)
    pairs = pairs_for(task, seed, count)
    return [_twin(pair, pairs[number + 1 :] + pairs[:number]) for number, pair in enumerate(pairs)]


def _twin(pair: Pair, others: Sequence[Pair]) -> Prompt:
    """A pair as a prompt."""
    changed = list(pair.ids)
    for other in others:
        if other.right != pair.right and other.ids[other.target] != pair.ids[pair.target]:
            changed[pair.target] = other.ids[other.target]
            return Prompt(pair.ids, tuple(changed), pair.query, pair.right, other.right)
    raise ConfigError("circuit.same")


def cut_after(prompt: Prompt) -> Prompt:
    """The same without what comes after the place asked about, which no one sees from there."""
    end = prompt.query + 1
    return replace(prompt, ids=prompt.ids[:end], corrupted=prompt.corrupted[:end])
