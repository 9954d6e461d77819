"""The tokens page's parts: pieces as chips, the table of ids, one column of X_in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from mha_core.language.groups import Group, group_tokens
from mha_view import compute
from mha_view.compute import Reading
from mha_view.page import Page
from mha_view.panel import literal
from mha_view.table_files import draw_save
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.language.tokenizer import Token

MOST_PIECES = 200
MOST_KINDS = 4
# Pixels of the table: a row, all of it at most, and each column, so that all five are seen.
TABLE_ROW = 39
MOST_TABLE = 560
TABLE_WIDTHS = (62, 72, 92, 52, 62)


def pieces(reading: Reading, text: str, strange: Collection[int], words: Words) -> str:
    """The tokens as chips in reading order, those of one word together: the piece above, its id
    below.

    Args:
        reading: the sentence's tokens.
        text: the sentence.
        strange: the places of tokens whose word the model has not learned.
        words: the reader's language.
    """
    chips, tokens = [], reading.tokens
    for group in group_tokens(tokens[:MOST_PIECES], text):
        made = "".join(_chip(tokens[place], place in strange, words) for place in group.places)
        whole = f'<span class="whole" title="{escape(group.text)}">{made}</span>'
        chips.append(made if group.is_single else whole)
    rest = len(tokens) - MOST_PIECES
    if rest > 0:
        chips.append(f'<span class="piece more">{escape(words("tokens.more", n=rest))}</span>')
    return f'<div class="pieces">{"".join(chips)}</div>'


def _chip(token: Token, is_strange: bool, words: Words) -> str:
    """One token's chip."""
    title = words(f"kind.{token.kind}")
    if is_strange:
        title = f"{title} · {words('tokens.strange')}"
    strange = " strange" if is_strange else ""
    return (
        f'<span class="piece {token.kind}{strange}" title="{escape(title)}">'
        f"<bdi>{escape(token.display)}</bdi><small>{token.id}</small></span>"
    )


def stretches(tokens: Sequence[Token], text: str) -> list[Group]:
    """The groups of tokens, and Chinese characters that are no word and touch as one of them.

    >>> from mha_core import load_tokenizer
    >>> encoding = load_tokenizer().encode("小明喜欢量子纠缠。")
    >>> [group.text for group in stretches(encoding.tokens, encoding.text)]
    ['小明', '喜欢', '量子纠缠', '。']
    """
    found: list[Group] = []
    for group in group_tokens(tokens, text):
        before = found[-1] if found else None
        both = (before, group) if before else ()
        if before and all(tokens[one.first].kind == "character" for one in both):
            whole = text[tokens[before.first].start : tokens[group.last].end]
            found[-1] = Group(before.first, group.last, whole)
        else:
            found.append(group)
    return found


def draw_falls(page: Page) -> None:
    """How the sentence's words fall: the first in pieces, in bytes and in characters, if any."""
    words, tokens = page.words, page.reading.tokens
    ways: dict[str, Group] = {}
    for group in stretches(tokens, page.scene.text):
        kinds = {tokens[place].kind for place in group.places}
        if not group.is_single:
            way = "pieces" if "piece" in kinds else "bytes" if "byte" in kinds else "characters"
            ways.setdefault(way, group)
    whose = "tokens.falls.real" if page.scene.weights == "real" else "tokens.falls"
    if page.scene.weights == "real":
        ways = {"bytes" if way == "bytes" else "pieces": group for way, group in ways.items()}
    lines = [
        words(
            f"{whose}.{way}",
            word=literal(group.text),
            n=len(group.places),
            pieces=" ".join(f"`{tokens[place].display}`" for place in group.places),
        )
        for way, group in ways.items()
    ]
    st.markdown("  \n".join(lines or [words(f"{whose}.whole")]))


def draw_table(page: Page) -> None:
    """Place, piece, kind, id and where in the text each token stands."""
    words, tokens = page.words, page.reading.tokens
    if len(tokens) <= MOST_PIECES:
        markup = write_table(page.reading, words)
        st.html(f'<div class="wide scrolled" tabindex="0">{markup}</div>')
    else:
        _draw_long_table(page.reading, words)
    table = {
        "place": range(len(tokens)), "token": page.labels,
        "kind": [token.kind for token in tokens], "id": [token.id for token in tokens],
        "start": [token.start for token in tokens], "end": [token.end for token in tokens],
    }  # fmt: skip
    draw_save("tokens", table, words, page.scene)


def _draw_long_table(reading: Reading, words: Words) -> None:
    """The table of many tokens, of which the browser draws what is in sight."""
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


def write_table(reading: Reading, words: Words) -> str:
    """The same table as HTML, which can be uncovered line by line and printed."""
    names = [words(f"tokens.{name}") for name in ("place", "piece", "kind", "id", "span")]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr><td class="num">{place}</td><th scope="row"><bdi>{escape(label)}</bdi></th>'
        f"<td>{escape(words(f'kind.{token.kind}'))}</td>"
        f'<td class="num">{token.id}</td><td class="num">{token.start}–{token.end}</td></tr>'
        for place, (token, label) in enumerate(zip(reading.tokens, reading.labels, strict=True))
    )
    return f'<table class="dimensions"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def draw_column(page: Page) -> None:
    """One token's column of X_in, its first numbers as they are."""
    token = page.focus
    column = page.trace.stream[token]
    first = ", ".join(f"{value:.3f}" for value in column[:8])
    more = ", …" if len(column) > 8 else ""
    layer = min(page.scene.layer, compute.n_layers_of(page.scene) - 1)
    told = "tokens.real" if page.scene.weights == "real" else "tokens.column"
    st.markdown(
        page.words(
            "tokens.deeper" if layer else told,
            layer=layer,
            token=literal(page.labels[token]),
            id=page.reading.tokens[token].id,
            d=len(column),
        )
    )
    st.code(f"[{first}{more}]", wrap_lines=True)
    is_learned = page.scene.weights == "toy" and not layer
    if is_learned and (said := say_parts(page.reading.tokens[token], page.words)):
        st.caption(said)


def say_parts(token: Token, words: Words) -> str:
    """The kinds, the largest first, and the ending that a token's embedding was trained with; ""
    where it had neither."""
    from mha_core.language.kinds import load_kinds
    from mha_core.language.tokenizer import load_tokenizer

    known = load_kinds()
    shares = sorted(known.shares[token.id].items(), key=lambda kind: -kind[1])[:MOST_KINDS]
    told = []
    for kind, share in shares:
        name = words(f"sort.{kind.split()[0]}")
        whole = share == 1
        told.append(name if whole else words("tokens.parts.share", name=name, share=f"{share:.0%}"))
    ending = known.endings[token.id]
    kinds = words("list.next").join(told)
    shown = "" if ending is None else literal(load_tokenizer().entries[ending].display)
    if not kinds and not shown:
        return ""
    with_what = "" if kinds and shown else ".kinds" if kinds else ".ending"
    return words(f"tokens.parts{with_what}", kinds=kinds, ending=shown)
