"""An exercise in words and tables: the same on a page and on a worksheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from mha_core.exercises.exercise import Cell, Exercise, Matrix, Number, Part, Verdict, told
from mha_view.indices import low
from mha_view.words import Words

# `e^score`: what follows is set higher.
HIGHER = re.compile(r"\^([a-z]+)")
CODE = re.compile(r"`([^`]+)`")


def inline(text: str) -> str:
    """A text of the exercises as HTML: indices set lower, code as code.

    >>> inline("W_q X < 3, `view(h, S)`")
    'W<sub>q</sub> X &lt; 3, <code>view(h, S)</code>'
    """
    parts = CODE.split(escape(text, quote=False))
    return "".join(
        f"<code>{part}</code>" if place % 2 else HIGHER.sub(r"<sup>\1</sup>", low(part))
        for place, part in enumerate(parts)
    )


def question(exercise: Exercise, words: Words) -> str:
    """What is asked."""
    return words(f"exercise.{exercise.kind}", **exercise.values)


def hint(exercise: Exercise, words: Words) -> str:
    """The next line of the derivation."""
    return words(f"exercise.{exercise.kind}.hint", **exercise.values, **exercise.hint)


def say_tolerance(exercise: Exercise, words: Words) -> str:
    """How exact a number must be; nothing for an answer without numbers."""
    answer = exercise.answer
    if not isinstance(answer, Number | Matrix):
        return ""
    return words("exercise.rounded" if answer.tolerance > 1e-3 else "exercise.exact")


def say_answer(exercise: Exercise, given: Any, words: Words) -> str:
    """An answer as it is told in a sentence; nothing for a matrix, which is drawn."""
    answer = exercise.answer
    if isinstance(answer, Number):
        return told(float(given))
    if isinstance(answer, Cell):
        head, row, column = given
        kind = ".head" if exercise.parts[answer.part].value.ndim == 3 else ""
        return words(f"exercise.place{kind}", head=head, row=row, column=column)
    return "" if isinstance(answer, Matrix) else str(given)


def say_verdict(exercise: Exercise, verdict: Verdict, given: Any, words: Words) -> str:
    """What is said to an answer: that it is right, the mistake that gives it, or what to do."""
    kind = exercise.answer.kind
    told_given = say_answer(exercise, given, words)
    if verdict.is_right:
        key = f"exercise.right.{kind}" if kind in ("matrix", "cell") else "exercise.right"
        return words(key, answer=told_given)
    if verdict.miss is not None:
        return words(f"miss.{verdict.miss}", **exercise.values)
    return words(
        f"exercise.wrong.{kind}",
        given=told_given, n_right=verdict.n_right, n_asked=verdict.n_asked,
    )  # fmt: skip


def say_solution(exercise: Exercise, words: Words) -> str:
    """The right answer in a sentence; before a matrix, which is drawn after it."""
    kind = exercise.answer.kind
    key = f"exercise.answer.{kind}" if kind in ("matrix", "cell") else "exercise.answer"
    return words(key, answer=say_answer(exercise, exercise.answer.value, words))


def name(text: str, words: Words) -> str:
    """What a row or a column is called, in words where it has some."""
    key = f"exercise.name.{text}"
    return words(key) if words.has(key) else text


def axis(word: str, words: Words) -> str:
    """What rows or columns are; nothing where their names say it."""
    key = f"axis.{word}"
    return words(key) if words.has(key) else ""


def tables(part: Part, words: Words, *, empty: bool = False) -> str:
    """A part as a table, one for each head where there are heads.

    Args:
        part: what is given, or the matrix that is the answer.
        words: the reader's words.
        empty: whether the numbers are left out, to be written in by hand.
    """
    value = part.value
    if value.ndim == 2:
        return table(part.symbol, part, value, words, empty=empty)
    return "".join(
        table(f"{part.symbol}_{head}", part, matrix, words, empty=empty)
        for head, matrix in enumerate(value)
    )


def table(symbol: str, part: Part, value: Any, words: Words, *, empty: bool = False) -> str:
    """One matrix as a table: its symbol, what rows and columns are, its numbers."""
    down, across = (axis(word, words) for word in part.axes)
    columns = [name(text, words) for text in part.columns]
    heads = "".join(f'<th scope="col">{inline(text)}</th>' for text in columns)
    body = "".join(
        f'<tr><th scope="row">{inline(name(label, words))}</th>{_cells(row, empty)}</tr>'
        for label, row in zip(part.rows, value, strict=True)
    )
    corner = f"<td>{escape(down)}{' ↓' if down else ''}</td>"
    over = (
        f'<tr><td></td><td colspan="{len(columns)}">{escape(across)} →</td></tr>' if across else ""
    )
    caption = f"<caption>{inline(symbol)}</caption>" if symbol else ""
    return (
        f'<table class="given">{caption}<thead>{over}<tr>{corner}{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cells(row: Sequence[float], empty: bool) -> str:
    """A row's numbers, or room for them."""
    return "".join(f"<td>{'' if empty else told(float(value))}</td>" for value in row)


def given(exercise: Exercise, words: Words) -> str:
    """Everything that is given, but the matrix that is pointed at."""
    answer = exercise.answer
    pointed = answer.part if isinstance(answer, Cell) else -1
    drawn = [tables(part, words) for place, part in enumerate(exercise.parts) if place != pointed]
    return f'<div class="givens">{"".join(drawn)}</div>' if drawn else ""
