"""The table of a layer's steps, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from mha_core.palette import CHIP, INK, ROLE_OF

GAP = "  "


class Row(NamedTuple):
    """One step as it is printed."""

    symbol: str
    name: str
    article_shape: str
    torch_shape: str
    numbers: str


class Headings(NamedTuple):
    """What stands over each column of the table."""

    symbol: str = "symbol"
    name: str = "name"
    article_shape: str = "[features, tokens]"
    torch_shape: str = "PyTorch"
    numbers: str = "range, head {head}"


@dataclass(frozen=True, eq=False)
class StepTable:
    """The steps of one layer: symbol, name, shape in both orders, the chosen head's range.

    Args:
        title: what layer it is.
        head: whose range is given where a step has heads.
        rows: a row a step.
        headings: what stands over the columns.
    """

    title: str
    head: int
    rows: tuple[Row, ...]
    headings: Headings

    @property
    def _heads(self) -> Sequence[str]:
        """The headings, filled in."""
        return [text.format(head=self.head) for text in self.headings]

    def __str__(self) -> str:
        lines = [self._heads, *self.rows]
        widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
        table = [
            GAP.join(_fill(text, width) for text, width in zip(line, widths, strict=True))
            for line in lines
        ]
        return "\n".join(line.rstrip() for line in (self.title, *table))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for a notebook, each symbol in its role's colour."""
        heads = "".join(f'<th scope="col" style="{LEFT}">{escape(h)}</th>' for h in self._heads)
        body = "".join(
            f'<tr data-step="{row.name}">'
            f'<td style="{LEFT}"><code style="{_chip(row.name)}">{escape(row.symbol)}</code></td>'
            + "".join(f'<td style="{LEFT}">{escape(text)}</td>' for text in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return (
            f'<table class="twelve-heads"><caption style="{LEFT}">{escape(self.title)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        )


# A notebook keeps no stylesheet of ours, so each element carries its own style.
LEFT = "text-align:left"


def _chip(name: str) -> str:
    """The style of a step's symbol: ink on a light chip, so that it is read on a dark page too."""
    role = ROLE_OF.get(name)
    colour = INK[role][0] if role else "#1d2126"
    return f"color:{colour};background:{CHIP};padding:0 .3em;border-radius:.2em"


def _fill(text: str, width: int) -> str:
    """A text with blanks behind it, up to a width."""
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """How many cells of a terminal a text takes: none for a mark above, two for a Chinese letter.

    >>> _width("K̃"), _width("头")
    (1, 2)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
