"""A head's passport: its scores as bars, with what chance gives, in one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from mha_core.heads.measures import Measure
from mha_view.indices import low
from mha_view.scene import Scene
from mha_view.table_files import draw_table
from mha_view.words import Words


@dataclass(frozen=True)
class Line:
    """One line of a passport.

    Attributes:
        label: what is measured.
        value: the score; NaN where nothing counts.
        unit: nats, keys, tokens or share.
        chance: what a head gets that looks at every visible key alike; NaN for none.
        low, high: the interval's ends; NaN for none.
        note: which rows count, where it must be said, under the label.
        title: more about it, shown on hover and read aloud.
        most: the largest value there could be, where the bar ends.
    """

    label: str
    value: float
    unit: str
    chance: float = math.nan
    low: float = math.nan
    high: float = math.nan
    note: str = ""
    title: str = ""
    most: float = 1.0


def counted_note(measure: Measure, words: Words) -> str:
    """Which rows a measure counts, for those that count fewer than the caption says."""
    return "" if measure.counted == "choice" else words(f"counted.{measure.counted}")


def draw_lines(
    name: str,
    lines: Sequence[Line],
    words: Words,
    scene: Scene,
    *,
    caption: str,
    rows: Sequence[str],
    chance: str | None = None,
    score: str | None = None,
) -> None:
    """The lines as a table, and as a file.

    Args:
        name: stable ASCII name of the table.
        lines: a row each.
        words: the reader's words.
        scene: what it belongs to.
        caption: what the table is about.
        rows: what each row is called in the file.
        chance, score: see `passport`.
    """
    markup = passport(lines, words, caption, chance, score)
    draw_table(name, markup, columns_of(lines, rows), words, scene)


def columns_of(lines: Sequence[Line], rows: Sequence[str]) -> dict[str, list[Any]]:
    """The numbers of the lines by column; a column that no line has is left out.

    >>> columns_of([Line("Entropy", 0.5, "nats", chance=1.2)], ["entropy"])
    {'row': ['entropy'], 'score': [0.5], 'chance': [1.2], 'unit': ['nats']}
    """
    numbers = {
        "score": [line.value for line in lines],
        "low": [line.low for line in lines],
        "high": [line.high for line in lines],
        "chance": [line.chance for line in lines],
    }
    told = {
        name: each
        for name, each in numbers.items()
        if name == "score" or not all(map(math.isnan, each))
    }
    return {"row": list(rows), **told, "unit": [line.unit for line in lines]}


def passport(
    lines: Sequence[Line],
    words: Words,
    caption: str,
    chance: str | None = None,
    score: str | None = None,
) -> str:
    """The lines as an HTML table: name, bar with chance tick and interval, number, chance.

    Args:
        lines: a row each.
        words: the reader's words.
        caption: what the table is about.
        chance: what the tick and the last column are; chance if None.
        score: what the number is, where the tick is named; a probability if None.
    """
    named = {name: words(f"passport.{name}") for name in ("measure", "bar", "score", "chance")}
    if chance is not None:
        named |= {"measure": "", "bar": "", "chance": chance}
        named["score"] = score or words("passport.probability")
    if all(math.isnan(line.chance) for line in lines):
        named |= {"bar": "", "chance": ""}
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in named.values())
    rows = "".join(_row(line, words) for line in lines)
    return (
        f'<table class="passport"><caption>{low(escape(caption))}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(line: Line, words: Words) -> str:
    """One line."""
    if math.isnan(line.value):
        drawn, number = "", words("passport.none")
    else:
        drawn, number = _bar(line), f"{line.value:.2f}"
    interval = ""
    if not math.isnan(line.low):
        interval = f'<small class="interval">{line.low:.2f}–{line.high:.2f}</small>'
    chance = "" if math.isnan(line.chance) else f"{line.chance:.2f}"
    unit = "" if line.unit == "share" else f"<small>{escape(words(f'unit.{line.unit}'))}</small>"
    note = f'<small class="note">{escape(line.note)}</small>' if line.note else ""
    return (
        f'<tr title="{escape(line.title)}"><th scope="row">{escape(line.label)} {unit}{note}</th>'
        f'<td class="barcell">{drawn}</td><td class="num">{escape(number)}{interval}</td>'
        f'<td class="num chance">{escape(chance)}</td></tr>'
    )


def _bar(line: Line) -> str:
    """The bar from 0 to the most there could be, a tick at chance, a line over the interval."""

    def place(value: float) -> str:
        return f"{min(max(value / line.most, 0.0), 1.0) * 100:.1f}%"

    parts = [f'<span class="fill" style="width:{place(line.value)}"></span>']
    if not math.isnan(line.low):
        wide = max(line.high - line.low, 0.0)
        parts.append(
            f'<span class="range" style="left:{place(line.low)};width:{place(wide)}"></span>'
        )
    if not math.isnan(line.chance):
        parts.append(f'<span class="tick" style="left:{place(line.chance)}"></span>')
    return f'<span class="track">{"".join(parts)}</span>'


def plain_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Texts as an HTML table: the first column names the row, the others are numbers."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f'<td class="num">{escape(text)}</td>' for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<table class="passport plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
