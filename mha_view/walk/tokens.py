"""The tokens page's parts: pieces as chips, the table of ids, one column of X_in."""

from __future__ import annotations

from html import escape

import streamlit as st

from mha_view import compute
from mha_view.compute import Reading
from mha_view.page import Page
from mha_view.panel import literal
from mha_view.words import Words

MOST_PIECES = 200
# Pixels of the table: a row, all of it at most, and each column, so that all five are seen.
TABLE_ROW = 39
MOST_TABLE = 560
TABLE_WIDTHS = (62, 72, 92, 52, 62)


def pieces(reading: Reading, words: Words) -> str:
    """The tokens as chips in reading order: the piece above, its id below."""
    chips = [
        f'<span class="piece {token.kind}" title="{escape(words(f"kind.{token.kind}"))}">'
        f"<bdi>{escape(label)}</bdi><small>{token.id}</small></span>"
        for token, label in list(zip(reading.tokens, reading.labels, strict=True))[:MOST_PIECES]
    ]
    rest = len(reading) - MOST_PIECES
    if rest > 0:
        chips.append(f'<span class="piece more">{escape(words("tokens.more", n=rest))}</span>')
    return f'<div class="pieces">{"".join(chips)}</div>'


def draw_table(reading: Reading, words: Words) -> None:
    """Place, piece, kind, id and where in the text each token stands."""
    tokens = reading.tokens
    columns = {
        words("tokens.place"): list(range(len(tokens))),
        words("tokens.piece"): list(reading.labels),
        words("tokens.kind"): [words(f"kind.{token.kind}") for token in tokens],
        words("tokens.id"): [token.id for token in tokens],
        words("tokens.span"): [f"{token.start}–{token.end}" for token in tokens],
    }
    st.dataframe(
        columns,
        hide_index=True,
        height=min(TABLE_ROW * (len(tokens) + 1) + 3, MOST_TABLE),
        column_config={
            name: st.column_config.Column(width=width)
            for name, width in zip(columns, TABLE_WIDTHS, strict=True)
        },
    )


def draw_column(page: Page) -> None:
    """One token's column of X_in, its first numbers as they are."""
    token = page.focus
    column = page.trace.stream[token]
    first = ", ".join(f"{value:.3f}" for value in column[:8])
    more = ", …" if len(column) > 8 else ""
    layer = min(page.scene.layer, compute.n_layers_of(page.scene) - 1)
    st.markdown(
        page.words(
            "tokens.deeper" if layer else "tokens.column",
            layer=layer,
            token=literal(page.labels[token]),
            id=page.reading.tokens[token].id,
            d=len(column),
        )
    )
    st.code(f"[{first}{more}]", wrap_lines=True)
