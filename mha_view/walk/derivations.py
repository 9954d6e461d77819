"""The derivation of a picked cell, page by page: numbers from the core, drawn by the panel."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import streamlit as st

from mha_core.derivation import (
    Projection,
    ResidualDerivation,
    derive_head_output,
    derive_output,
    derive_projection,
    derive_residual,
    derive_rotation,
    derive_weight,
)
from mha_core.rope import pair_frequencies
from mha_view import compute
from mha_view.figures.rope import MOST_PAIRS
from mha_view.page import Page
from mha_view.panel import draw, folded_table, literal, number, plain, row, sum_rows, table
from mha_view.table_files import draw_save


def feature_names(page: Page, n: int) -> list[str]:
    """What the places of a summed feature axis are called."""
    return [page.words("panel.feature", feature=feature) for feature in range(n)]


def draw_weight(page: Page, head: int, query: int, key: int) -> None:
    """A cell of the attention matrix: products, scale, mask, softmax; and its whole row."""
    words, trace = page.words, page.trace
    derived = derive_weight(trace, head, query, key)
    # Random weights do not look at anything.
    kind = "" if compute.is_trained(page.scene) else ".random"
    title = words(
        f"panel.weight.title{kind}",
        head=head,
        query=literal(page.labels[query]),
        key=literal(page.labels[key]),
        weight=plain(derived.weight),
    )
    rows = sum_rows(derived.products, feature_names(page, trace.config.d_head), words)
    rows.append(row("q · k", "", number(derived.products.total), kind="total"))
    rows.append(row(words("panel.scaled", d=trace.config.d_head), "", number(derived.score)))
    if derived.may_look:
        rows.append(
            row(
                words("panel.exp"),
                f"exp({plain(derived.score - derived.row_maximum)})",
                plain(derived.exponential),
            )
        )
        rows.append(row(words("panel.row_sum"), "", plain(derived.row_sum)))
        rows.append(
            row(
                words("panel.weight"),
                f"{plain(derived.exponential)} ÷ {plain(derived.row_sum)}",
                plain(derived.weight),
                kind="total",
            )
        )
    else:
        rows.append(row(words("panel.masked"), "−∞", plain(0.0), kind="total"))
    draw(title, [table(rows, words("panel.weight.caption")), _whole_row(page, head, query)])


def _whole_row(page: Page, head: int, query: int) -> str:
    """All keys of one query, the strongest first where there are many, and their sum."""
    words, most = page.words, 14
    weights = page.trace.pattern[head, query]
    keys = list(range(len(weights)))
    if len(keys) > most:
        keys = sorted(sorted(keys, key=lambda key: -weights[key])[:most])
    keep = np.broadcast_to(page.trace.keep, page.trace.pattern.shape)[head, query]
    rows = [
        row(page.labels[key], "", plain(float(weights[key])), bar=float(weights[key]))
        if keep[key]
        else row(page.labels[key], words("plot.empty"), "—")
        for key in keys
    ]
    rest = len(weights) - len(keys)
    printed = sum(round(float(weights[key]), 3) for key in keys)
    total = round(float(weights.sum()), 3)
    if rest or round(total - printed, 3):
        label = words("panel.rest", n=rest) if rest else words("panel.rounding")
        rows.append(row(label, "", plain(total - printed), kind="rest"))
    rows.append(row(words("panel.row_total"), "", plain(total), kind="total"))
    caption = words("panel.row.caption", query=page.labels[query])
    return folded_table(rows, caption)


def draw_projection(page: Page, projection: Projection, feature: int, token: int) -> None:
    """A cell of Q, K or V: row of W times column of X."""
    words = page.words
    folded, bias = derive_projection(page.trace, projection, feature, token)
    symbol = projection.upper()
    rows = sum_rows(folded, feature_names(page, page.config.d_model), words)
    if bias:
        rows.append(row(f"b_{projection}", "", number(bias), kind="bias"))
    rows.append(row(f"{symbol}[{feature}, {token}]", "", number(folded.total), kind="total"))
    draw(
        words(
            "panel.projection.title",
            symbol=symbol,
            projection=projection,
            feature=feature,
            token=literal(page.labels[token]),
            value=number(folded.total),
        ),
        [table(rows, words("panel.projection.caption", projection=projection))],
    )


def draw_split(page: Page, head: int, feature: int, token: int) -> None:
    """A cell of Q_k: which row of Q it is, and the sum behind it."""
    d_head = page.config.d_head
    place = head * d_head + feature
    value = number(float(page.trace.q[head, token, feature]))
    rows = [
        row(page.words("panel.split.row"), f"{head} × {d_head} + {feature}", str(place)),
        row(f"Q_{head}[{feature}, {token}]", f"Q[{place}, {token}]", value, kind="total"),
    ]
    draw(
        page.words(
            "panel.split.title",
            head=head,
            feature=feature,
            token=literal(page.labels[token]),
            value=value,
        ),
        [table(rows, page.words("panel.split.caption"))],
    )
    draw_projection(page, "q", place, token)


def draw_rotation(page: Page, which: Literal["q", "k"], head: int, token: int) -> None:
    """Every pair of one token: the angle, and the two numbers before and after."""
    words, rope = page.words, page.config.rope
    if rope is None:
        return
    position = token + page.scene.shift
    lines, numbers = [], list[tuple[float, ...]]()
    for pair, frequency in enumerate(pair_frequencies(rope, page.config.d_head)[:MOST_PAIRS]):
        before, after, places = derive_rotation(page.trace, which, head, pair, token)
        angle = position * float(frequency)
        lines.append(
            {
                words("rotation.pair"): f"{places[0]}, {places[1]}",
                words("rotation.angle"): f"{position} × {frequency:.4g} = {angle:.3f}",
                words("rotation.before"): f"{number(before[0])}, {number(before[1])}",
                "cos, sin": f"{number(math.cos(angle))}, {number(math.sin(angle))}",
                words("rotation.after"): f"{number(after[0])}, {number(after[1])}",
            }
        )
        numbers.append((*places, angle, *before, *after))
    st.dataframe(lines, hide_index=True)
    names = ("first", "second", "angle", "first_before", "second_before", "first_after",
             "second_after")  # fmt: skip
    columns = dict(zip(names, map(list, zip(*numbers, strict=True)), strict=True))
    draw_save(f"rotation_{which}", columns, words, page.scene)
    st.caption(words("rotation.caption"))


def draw_head_output(page: Page, head: int, feature: int, query: int) -> None:
    """A cell of head_k: the row of weights times one feature of the values."""
    words = page.words
    folded = derive_head_output(page.trace, head, feature, query)
    rows = sum_rows(folded, page.labels, words)
    rows.append(row(f"head_{head}[{feature}, {query}]", "", number(folded.total), kind="total"))
    draw(
        words(
            "panel.head.title",
            head=head,
            feature=feature,
            query=literal(page.labels[query]),
            value=number(folded.total),
        ),
        [table(rows, words("panel.head.caption"))],
    )


def draw_output(page: Page, feature: int, token: int) -> None:
    """A cell of O: row of W_o times column of Concat, by feature and by head."""
    words = page.words
    folded, bias, by_head = derive_output(page.trace, feature, token)
    rows = sum_rows(folded, _concat_names(page), words)
    if bias:
        rows.append(row("b_o", "", number(bias), kind="bias"))
    rows.append(row(f"O[{feature}, {token}]", "", number(folded.total), kind="total"))
    largest = float(abs(by_head).max()) or 1.0
    heads = [
        row(words("head.chip", head=head), "", number(float(part)), bar=float(part) / largest)
        for head, part in enumerate(by_head)
    ]
    printed = sum(round(float(part), 3) for part in by_head)
    rest = round(folded.total - round(bias, 3) - printed, 3)
    if bias:
        heads.append(row("b_o", "", number(bias), kind="bias"))
    if rest:
        heads.append(row(words("panel.rounding"), "", number(rest), kind="rest"))
    heads.append(row(words("panel.sum"), "", number(folded.total), kind="total"))
    sums = _sum_rows(page, derive_residual(page.trace, feature, token))
    draw(
        words(
            "panel.output.title",
            feature=feature,
            token=literal(page.labels[token]),
            value=number(folded.total),
        ),
        [
            table(rows, words("panel.output.caption")),
            table(heads, words("panel.heads.caption")),
            table(sums, words("panel.residual.caption")),
        ],
    )


def _sum_rows(page: Page, found: ResidualDerivation) -> list[str]:
    """What is added to the stream, one part a row, and what is read next."""
    words = page.words
    named = "O"
    if found.factor != 1:
        named = words("panel.residual.scaled", factor=f"{found.factor:.4g}")
    if found.is_normed:
        named = words("panel.residual.normed")
    parts = [(words("panel.stream"), found.stream), (named, found.added)]
    if found.beside is not None:
        parts.append((words("panel.residual.beside"), found.beside))
    rows = [row(name, "", number(value)) for name, value in parts]
    printed = sum(round(value, 3) for _, value in parts)
    total = words("panel.residual.sum" if found.sum_is_normed else "panel.residual")
    rows.append(row(total, "", number(printed), kind="total"))
    if found.sum_is_normed:
        name = words("panel.residual.sum_normed")
        rows.append(row(name, "", number(found.residual), kind="total"))
    return rows


def _concat_names(page: Page) -> list[str]:
    """Each row of Concat: which head, which of its features."""
    d_value = page.config.d_value
    return [
        page.words("panel.concat.name", head=place // d_value, feature=place % d_value)
        for place in range(page.config.n_heads * d_value)
    ]


def draw_concat(page: Page, place: int, token: int) -> None:
    """A cell of Concat: which head and which of its rows it is."""
    d_value = page.config.d_value
    head, feature = divmod(place, d_value)
    value = float(page.trace.concat[token, place])
    rows = [
        row(
            page.words("panel.concat.row"),
            f"{place} ÷ {d_value}",
            page.words("panel.concat.name", head=head, feature=feature),
        ),
        row(f"head_{head}[{feature}, {token}]", "", number(value), kind="named"),
        row(f"Concat[{place}, {token}]", "", number(value), kind="total"),
    ]
    draw(
        page.words(
            "panel.concat.title",
            row=place,
            head=head,
            feature=feature,
            token=literal(page.labels[token]),
            value=number(value),
        ),
        [table(rows, page.words("panel.concat.caption"))],
    )
