"""What an exercise is, and how an answer to it is marked.

An exercise holds numbers and names and no sentence: the words are under its kind's name and under
the names of its near misses, in every language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mha_core.arrays import Array
from mha_core.brief import brief

AnswerKind = Literal["number", "choice", "cell", "matrix"]
Place = tuple[int, int, int]
EXACT = 1e-6


def told(value: float) -> str:
    """A number as it is printed: no more digits than it needs, a true minus sign.

    >>> told(-2.0), told(0.5), told(1 / 3)
    ('−2', '0.5', '0.333')
    """
    text = f"{value + 0.0:.3f}".rstrip("0").rstrip(".")
    return ("0" if text == "-0" else text).replace("-", "−")


@dataclass(frozen=True, eq=False)
class Part:
    """A matrix that an exercise gives.

    Attributes:
        symbol: what it is called.
        value: [row, column], or [head, row, column].
        axes: axis words of rows and columns.
        rows: what the rows are called; their numbers, from 0, unless given.
        columns: the same for the columns.
    """

    symbol: str
    value: Array
    axes: tuple[str, str]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    __repr__ = brief

    def __post_init__(self) -> None:
        high, wide = self.value.shape[-2:]
        object.__setattr__(self, "rows", self.rows or tuple(map(str, range(high))))
        object.__setattr__(self, "columns", self.columns or tuple(map(str, range(wide))))
        self.value.flags.writeable = False


@dataclass(frozen=True)
class Number:
    """An answer that is a number, right within a tolerance."""

    value: float
    tolerance: float = EXACT
    kind: AnswerKind = "number"

    def meets(self, given: Any, value: Any) -> bool:
        """Whether what was given is this value."""
        return abs(float(given) - float(value)) <= self.tolerance

    def count_right(self, given: Any) -> int:
        """How much of what was given is right."""
        return int(self.meets(given, self.value))


@dataclass(frozen=True)
class Choice:
    """An answer that is one of a few texts, which need no words."""

    value: str
    options: tuple[str, ...]
    kind: AnswerKind = "choice"

    def meets(self, given: Any, value: Any) -> bool:
        """Whether what was given is this value."""
        return bool(given == value)

    def count_right(self, given: Any) -> int:
        """How much of what was given is right."""
        return int(self.meets(given, self.value))


@dataclass(frozen=True)
class Cell:
    """An answer that is a cell of one of the parts: head (0 where there is none), row, column."""

    value: Place
    part: int = 0
    kind: AnswerKind = "cell"

    def meets(self, given: Any, value: Any) -> bool:
        """Whether what was given is this value."""
        return tuple(given) == tuple(value)

    def count_right(self, given: Any) -> int:
        """How much of what was given is right."""
        return int(self.meets(given, self.value))


@dataclass(frozen=True, eq=False)
class Matrix:
    """An answer that is a matrix to fill, [row, column]: a `Part` without its numbers."""

    part: Part
    tolerance: float = EXACT
    kind: AnswerKind = "matrix"

    @property
    def value(self) -> Array:
        """The right numbers."""
        return self.part.value

    def meets(self, given: Any, value: Any) -> bool:
        """Whether what was given is this value, every number of it."""
        same = np.shape(given) == np.shape(value)
        return same and bool((np.abs(np.subtract(given, value)) <= self.tolerance).all())

    def count_right(self, given: Any) -> int:
        """How many of the numbers are right."""
        return int((np.abs(np.subtract(given, self.value)) <= self.tolerance).sum())


Answer = Number | Choice | Cell | Matrix


@dataclass(frozen=True, eq=False)
class Miss:
    """An answer that comes of one mistake: the mistake's name, and what it gives."""

    name: str
    value: Any


@dataclass(frozen=True, eq=False)
class Exercise:
    """An exercise as it is set.

    Attributes:
        kind: `page.name`, which its words go by.
        seed: which of its kind.
        answer: what is right, and of which kind answers are.
        misses: what one mistake each would give; none of them is right, no two are the same.
        parts: the matrices that are given.
        values: what the question names.
        hint: what the next line of the derivation names beside that.
    """

    kind: str
    seed: int
    answer: Answer
    misses: tuple[Miss, ...]
    parts: tuple[Part, ...] = ()
    values: Mapping[str, int | float | str] = field(default_factory=dict)
    hint: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The page it belongs to."""
        return self.kind.split(".")[0]


@dataclass(frozen=True)
class Verdict:
    """What is thought of an answer.

    Attributes:
        is_right: whether it is right.
        miss: the name of the mistake that gives it; None for an answer nothing is known about.
        n_right: how many of its numbers are right.
        n_asked: of how many.
    """

    is_right: bool
    miss: str | None = None
    n_right: int = 0
    n_asked: int = 1


def mark(exercise: Exercise, given: Any) -> Verdict:
    """Mark an answer.

    Args:
        exercise: what was asked.
        given: a number, an option's text, (head, row, column), or a matrix as the answer's.

    Returns:
        Whether it is right, and if not, which mistake gives it.
    """
    answer = exercise.answer
    n_asked = answer.value.size if isinstance(answer, Matrix) else 1
    if answer.meets(given, answer.value):
        return Verdict(True, None, n_asked, n_asked)
    for miss in exercise.misses:
        if answer.meets(given, miss.value):
            return Verdict(False, miss.name, answer.count_right(given), n_asked)
    return Verdict(False, None, answer.count_right(given), n_asked)


def is_sound(exercise: Exercise) -> bool:
    """Whether two mistakes or more each give something of their own, which is not right, and can
    be given."""
    answer = exercise.answer
    values = [answer.value, *(miss.value for miss in exercise.misses)]
    if len(values) < 3:
        return False
    if isinstance(answer, Choice):
        return len(set(values)) == len(values) and set(values) == set(answer.options)
    if isinstance(answer, Cell):
        shape = exercise.parts[answer.part].value.shape
        shape = shape if len(shape) == 3 else (1, *shape)
        inside = all(0 <= at < n for value in values for at, n in zip(value, shape, strict=True))
        return inside and len(set(values)) == len(values)
    # No answer within the tolerance of one may be within that of another.
    room = 2.5 * answer.tolerance
    return all(
        np.abs(np.subtract(one, other)).max() > room
        for place, one in enumerate(values)
        for other in values[:place]
    )
