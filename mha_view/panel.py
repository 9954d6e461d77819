"""The panel beside a picture: where the picked number comes from, as a table that adds up."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from mha_core.derivation import Folded
from mha_view.indices import low
from mha_view.words import Words

DIGITS = 3


def number(value: float, digits: int = DIGITS) -> str:
    """A number as printed everywhere: a true minus sign, fixed decimals."""
    return f"{value:+.{digits}f}".replace("-", "−")


def plain(value: float, digits: int = DIGITS) -> str:
    """A number that cannot be negative, or whose plus sign would be noise."""
    return f"{value:.{digits}f}".replace("-", "−")


def sum_rows(folded: Folded, names: Sequence[str], words: Words) -> list[str]:
    """The rows of a folded sum: a row a term, then the rest in one.

    Args:
        folded: the sum.
        names: what each place on the summed axis is called.
        words: for the rest's label.
    """
    largest = max((abs(term.product) for term in folded.terms), default=0.0) or 1.0
    rows = [
        row(
            names[term.index],
            f"{number(term.left)} × {number(term.right)}",
            number(term.product),
            bar=term.product / largest,
        )
        for term in folded.terms
    ]
    if folded.n_rest or folded.rest:
        label = words("panel.rest", n=folded.n_rest) if folded.n_rest else words("panel.rounding")
        rows.append(row(label, "", number(folded.rest), kind="rest"))
    return rows


def row(name: str, middle: str, value: str, *, bar: float | None = None, kind: str = "") -> str:
    """One row: name, how it is made, a bar from −1 to 1, the number.

    Sums, biases and what is `named` are symbols; other names may be tokens, printed as they are.
    """
    shown = low(escape(name)) if kind in ("total", "bias", "named") else escape(name)
    if bar is None:
        drawn = ""
    else:
        side = "minus" if bar < 0 else "plus"
        drawn = f'<span class="bar {side}" style="width:{abs(bar) * 100:.0f}%"></span>'
    return (
        f'<tr class="{kind}"><th scope="row">{shown}</th><td>{escape(middle)}</td>'
        f'<td class="barcell">{drawn}</td><td class="num">{escape(value)}</td></tr>'
    )


def table(rows: Sequence[str], caption: str) -> str:
    """Rows as one table; the caption is read out before it."""
    return (
        f'<table class="derivation"><caption>{low(escape(caption))}</caption>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def folded_table(rows: Sequence[str], caption: str) -> str:
    """Rows as a table behind its caption, which a click opens."""
    summary = f"<summary>{escape(caption)}</summary>"
    return f'<details class="folded">{summary}{table(rows, caption)}</details>'


def draw(title: str, tables: Sequence[str]) -> None:
    """The panel's headline, as Markdown, and its tables."""
    st.markdown(title)
    st.html("".join(tables))


def literal(text: str) -> str:
    """Any text as Markdown that prints as it is.

    >>> literal("<b> *x* $y$")
    '\\\\<b\\\\> \\\\*x\\\\* \\\\$y\\\\$'
    """
    return "".join("\\" + c if c in r"\`*_{}[]<>()#+-.!|$~:" else c for c in text)
