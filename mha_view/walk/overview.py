"""What the first page and the last step share: the table of dimensions, the next tokens."""

from __future__ import annotations

from html import escape
from itertools import islice

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_core.palette import ROLE_OF
from mha_core.trace import AttentionTrace
from mha_view.indices import low
from mha_view.page import Page
from mha_view.panel import literal
from mha_view.real_walk import RealWalk, display, expected_of
from mha_view.table_files import draw_table

# The steps of the article's table: what the row is called, and which tensors it lists.
ROWS = (
    ("input", ("x",)),
    ("projection", ("q_full", "k_full", "v_full")),
    ("heads", ("q", "k", "v")),
    ("rope", ("q_rot", "k_rot")),
    ("scores", ("scores",)),
    ("attention", ("heads",)),
    ("concat", ("concat",)),
    ("output", ("out",)),
    ("residual", ("residual",)),
)


def dimensions(trace: AttentionTrace) -> list[tuple[str, str, str, str]]:
    """The table of dimensions: row's key, tensors, the article's shape, PyTorch's shape.

    Tensors of one shape share a line; with fewer KV heads, Q and K differ and get a line each.
    """
    lines = []
    for name, fields in ROWS:
        groups: dict[tuple[str, str], list[str]] = {}
        for field in fields:
            step = trace[field]
            groups.setdefault((step.article_words, step.torch_words), []).append(step.name)
        lines += [
            (name, ", ".join(names), article, torch) for (article, torch), names in groups.items()
        ]
    return lines


def draw_dimensions(page: Page) -> None:
    """The article's table of dimensions, live, both conventions side by side."""
    words, trace = page.words, page.trace
    body = []
    for name, fields, article, torch in dimensions(trace):
        symbols = ", ".join(
            f'<span class="{ROLE_OF.get(field, "plain")}">{low(escape(trace[field].symbol))}</span>'
            for field in fields.split(", ")
        )
        body.append(
            f'<tr data-row="{name}"><th scope="row">{escape(words(f"dimension.{name}"))}</th>'
            f'<td>{symbols}</td><td class="num">{article}</td><td class="num">{torch}</td></tr>'
        )
    heads = (words(f"dimension.{name}") for name in ("step", "tensor", "article", "torch"))
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    markup = (
        f'<table class="dimensions"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    columns = zip(*dimensions(trace), strict=True)
    table = dict(zip(("step", "tensors", "article", "pytorch"), columns, strict=True))
    draw_table("dimensions", markup, table, words, page.scene)


def chances_after(page: Page, place: int) -> NDArray[np.float64]:
    """The trained model's probability of every token of its vocabulary, after a token."""
    logits = page.walk.logits
    if logits is None:
        return np.zeros(0)
    row = logits[place].astype(np.float64)
    exponentials = np.exp(row - row.max())
    chances: NDArray[np.float64] = exponentials / exponentials.sum()
    return chances


def chance_of(page: Page, place: int, number: int) -> float:
    """How probable the trained model holds one token, after a token."""
    return float(chances_after(page, place)[number])


def next_tokens(page: Page, place: int, n: int = 5) -> list[tuple[str, float]]:
    """What whole words the trained model expects after a token: display form and probability."""
    from mha_core.language.known import whole_ids
    from mha_core.language.tokenizer import load_tokenizer

    chances = chances_after(page, place)
    entries, whole = load_tokenizer().entries, whole_ids()
    best = (int(number) for number in np.argsort(-chances, kind="stable") if int(number) in whole)
    return [(entries[number].display, float(chances[number])) for number in islice(best, n)]


def has_predictions(page: Page) -> bool:
    """Whether the model says what comes next."""
    if isinstance(page.walk, RealWalk):
        return expected_of(page.walk.name, page.walk.text) is not None
    return page.walk.logits is not None


def draw_predictions(page: Page) -> None:
    """What the trained model expects next after the focus token."""
    words, labels = page.words, page.labels
    if isinstance(page.walk, RealWalk):
        _draw_real_predictions(page, page.walk)
        return
    if page.walk.logits is None:
        return
    with st.container(border=True):
        st.markdown(f"##### {words('predict.title')}")
        place = page.focus
        st.markdown(words("predict.after", token=literal(labels[place])))
        expected = next_tokens(page, place)
        with st.container(horizontal=True):
            for token, chance in expected:
                st.markdown(f"**{literal(token)}** `{chance:.3f}`", width="content")
        if place + 1 < len(labels):
            real = chance_of(page, place, page.reading.tokens[place + 1].id)
            st.markdown(
                words("predict.real", token=literal(labels[place + 1]), chance=f"{real:.3f}")
            )
        is_live = page.scene.weights == "live"
        st.caption(words("predict.caption.live" if is_live else "predict.caption"))


def _draw_real_predictions(page: Page, walk: RealWalk) -> None:
    """What another people's model expects next after the focus token, where it says so."""
    words, place = page.words, page.focus
    found = expected_of(walk.name, walk.text)
    if found is None:
        return
    with st.container(border=True):
        st.markdown(f"##### {words('predict.title')}")
        st.markdown(words("predict.after", token=literal(page.labels[place])))
        with st.container(horizontal=True):
            best = zip(found.ids[place][:5], found.chances[place][:5], strict=True)
            for token, chance in best:
                told = literal(display(walk.name, int(token)))
                st.markdown(f"**{told}** `{chance:.3f}`", width="content")
        if place + 1 < len(page.labels):
            told = literal(page.labels[place + 1])
            actual = f"{found.actual[place]:.3f}"
            st.markdown(words("predict.real", token=told, chance=actual))
        st.caption(words("predict.caption.real"))
