"""The comparison of one head with many: parameters, work, and what each sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_core.heads.measures import mean_entropy
from mha_core.heads.regroup import heads_apart
from mha_core.trace import AttentionTrace
from mha_core.whatif import as_one_head, count_parameters, count_products, score_variance
from mha_view import compute
from mha_view.figures.walk import head_patterns
from mha_view.page import Page, draw_check
from mha_view.table_files import draw_save
from mha_view.walk import derivations
from mha_view.walk.choose import clearest_key


def draw_row(page: Page, cell: tuple[int, int, int]) -> None:
    """Where the explained weight comes from, folded away until one is picked."""
    picked = page.scene.picked
    is_picked = picked is not None and picked.figure == "pattern"
    with st.expander(page.words("why.cell"), expanded=is_picked):
        derivations.draw_weight(page, *cell)


def draw_sums(page: Page, one: AttentionTrace) -> None:
    """The products for the scores and the four matrices, with their numbers, on both sides."""
    words, many = page.words, page.trace
    n_tokens = many.n_tokens
    products, sizes = [], []
    for trace in (many, one):
        config = trace.config
        factors = rf"{config.n_heads} \cdot {n_tokens}^2 \cdot {config.d_head}"
        products.append((factors, config.n_heads * n_tokens**2 * config.d_head))
        shapes = [np.shape(getattr(trace.weights, f"w_{name}")) for name in "qkvo"]
        terms = _say_sum([rf"{rows}\!\times\!{columns}" for rows, columns in shapes])
        sizes.append((terms, sum(rows * columns for rows, columns in shapes)))
    for name, ((of_many, n_many), (of_one, n_one)) in (("scores", products), ("matrices", sizes)):
        # One number on both sides is said once.
        between = "=" if n_many == n_one else rf"= {n_many} \ne"
        st.markdown(words(f"why.sums.{name}"))
        st.latex(
            rf"{{\underbrace{{{of_many}}}_{{h\,=\,{many.config.n_heads}}} {between} {n_one}}}"
            rf"\;\allowbreak {{= \underbrace{{{of_one}}}_{{h\,=\,1}}}}"
        )


def _say_sum(terms: list[str]) -> str:
    """A sum as LaTeX; the same term over and over is said once, for a phone is narrow.

    >>> _say_sum(["9", "9", "9"]), _say_sum(["9", "4", "4", "9"])
    ('3 \\\\cdot 9', '9 + 4 + 4 + 9')
    """
    if len(set(terms)) == 1:
        return rf"{len(terms)} \cdot {terms[0]}"
    return " + ".join(terms)


def draw_counts(page: Page, one: AttentionTrace) -> tuple[int, int]:
    """One head and many, side by side in numbers; returns both parameter counts."""
    words, many = page.words, page.trace
    counts = count_parameters(one.weights), count_parameters(many.weights)
    work = count_products(one), count_products(many)
    spreads = [float(mean_entropy(trace.pattern, trace.keep).mean()) for trace in (one, many)]
    aparts = [None if trace.config.n_heads == 1 else float(heads_apart(trace.pattern, trace.keep))
              for trace in (one, many)]  # fmt: skip
    spread = [_told(value) for value in spreads]
    apart = ["—" if value is None else _told(value) for value in aparts]
    before, after = zip(*(score_variance(trace) for trace in (one, many)), strict=True)
    st.table(
        {
            words("why.what"): [
                words("why.parameters"),
                words("why.products"),
                words("why.matrices"),
                words("why.variance.before"),
                words("why.variance.after"),
                words("why.entropy"),
                words("why.apart"),
            ],
            words("why.one.title"): [
                f"{counts[0]:,}", f"{work[0]:,}", "1",
                f"{before[0]:.2f}", f"{after[0]:.2f}", spread[0], apart[0],
            ],
            words("why.many.title", n=many.config.n_heads): [
                f"{counts[1]:,}", f"{work[1]:,}", str(many.config.n_heads),
                f"{before[1]:.2f}", f"{after[1]:.2f}", spread[1], apart[1],
            ],
        }
    )  # fmt: skip
    table = {
        "parameters": counts, "products": work, "matrices": (1, many.config.n_heads),
        "variance_before": before, "variance_after": after,
        "entropy": spreads, "divergence": aparts,
    }  # fmt: skip
    draw_save("one_and_many", {"heads": ("one", "many"), **table}, words, page.scene)
    st.caption(words("why.variance.caption"))
    if many.config.group > 1:
        st.caption(words("why.grouped"))
    return counts


def _told(value: float) -> str:
    """A mean over rows, or a dash where no row counts."""
    return "—" if np.isnan(value) else f"{value:.3f}"


def as_one(page: Page) -> AttentionTrace | None:
    """The same weights as one wide head; None where another people's layer cannot be that."""
    try:
        return as_one_head(page.trace)
    except TwelveHeadsError:
        if page.scene.weights != "real":
            raise
        return None


def draw_both(page: Page, one: AttentionTrace) -> None:
    """One wide head beside many: patterns, sums, counts."""
    words, trace, config = page.words, page.trace, page.config
    if compute.is_trained(page.scene):
        st.caption(f"⚠ {words('outside.one_head')}")
    first = clearest_key(trace.pattern[page.head], page.focus)
    cell = page.picked_in("pattern", trace.pattern.shape[1:], first)
    left, right = st.columns([2, 3])
    shown: dict[str, Any] = {"scale": page.scene.scale, "grouping": page.grouping}
    with left.container(border=True):
        st.markdown(f"##### {words('why.one', d=one.config.d_head)}")
        titles = [words("why.one.title")]
        page.show(head_patterns(one, page.labels, words, titles=titles, name="one", **shown))
    with right.container(border=True):
        st.markdown(f"##### {words('why.many', n=config.n_heads, d=config.d_head)}")
        page.show(head_patterns(trace, page.labels, words, **shown), cell)
    st.caption(page.text("picture"))
    draw_row(page, cell)
    st.subheader(words("why.sums"))
    draw_sums(page, one)
    st.subheader(words("why.count"))
    counts = draw_counts(page, one)
    page.draw_closing(
        page.options("same", "more", "fewer"),
        "same" if counts[0] == counts[1] else "more" if counts[1] > counts[0] else "fewer",
    )


def draw_many_alone(page: Page) -> None:
    """The heads of another people's layer, and why one wide head is not made of them."""
    words, trace = page.words, page.trace
    st.info(
        words("why.real", d=page.config.n_heads * page.config.d_head, d_head=page.config.d_head)
    )
    first = clearest_key(trace.pattern[page.head], page.focus)
    cell = page.picked_in("pattern", trace.pattern.shape[1:], first)
    with st.container(border=True):
        st.markdown(f"##### {words('why.many', n=page.config.n_heads, d=page.config.d_head)}")
        page.show(
            head_patterns(
                trace, page.labels, words, scale=page.scene.scale, grouping=page.grouping, across=6
            ),
            cell,
        )
    draw_row(page, cell)
    page.draw_lines()
    page.draw_foot()
    with page.check:
        draw_check(page)
