"""What is kept and what fits: caches compared, contexts beside the weights, RoPE's waves."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from mha_core.errors import DataError
from mha_core.sizes import CacheLayers, Sizes, cache_bytes, elements_per_token
from mha_view import state
from mha_view.about import About
from mha_view.figures import relate_kept as figures
from mha_view.figures.relate_sizes import binary, decimal
from mha_view.panel import literal
from mha_view.relate import subject as subjects
from mha_view.relate.sizes import as_html, known
from mha_view.relate.subject import Subject
from mha_view.scene import MOST_OTHERS, FloatType, WeightType
from mha_view.show import show
from mha_view.table_files import draw_table
from mha_view.words import Words


def draw_compared(subject: Subject, words: Words) -> dict[str, Sizes]:
    """Up to five models beside the chosen one, and how their numbers are stored."""
    now, titles = state.scene(), subjects.titles()
    st.multiselect(
        words("cache.others"), list(titles), format_func=titles.__getitem__,
        max_selections=MOST_OTHERS, placeholder=words("cache.choose"), **_bind_others(),
    )  # fmt: skip
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    left.segmented_control(
        words("cache.float"), get_args(FloatType), required=True,
        format_func=lambda name: words(f"stored.{name}"), **state.bind("float_type"),
    )  # fmt: skip
    right.number_input(words("cache.batch"), 1, 4096, step=1, **state.bind("batch"))
    others = {titles[name]: subjects.known_sizes(name, words) for name in now.others
              if name != now.model}  # fmt: skip
    return {subject.name: subject.sizes} | others


def draw_cache(compared: Mapping[str, Sizes], words: Words) -> None:
    """The cache against the context, and all models in one table."""
    now = state.scene()
    caches: dict[str, Sequence[CacheLayers]] = {
        title: sizes.cache for title, sizes in compared.items() if sizes.cache
    }
    for title, sizes in compared.items():
        if not sizes.cache:
            told = "cache.none" if sizes.causal is False else "cache.unknown"
            st.caption(words(told, title=literal(title)))
    if caches:
        drawn = figures.cache_curves(caches, now.cost_tokens, now.float_type, now.batch, words)
        show(drawn, words, about=About(words("list.and").join(caches)))
    rows = [_compared_row(title, sizes, words) for title, sizes in compared.items()]
    label = html.escape(words("sizes.table"), quote=True)
    wide = (
        f'<div class="wide" role="region" tabindex="0" aria-label="{label}">{as_html(rows)}</div>'
    )
    draw_table("compared", wide, table_of(compared), words, now)


def _bind_others() -> dict[str, Any]:
    """The other models as a list for the widget, a tuple in the scene."""
    st.session_state["cache_others"] = list(state.scene().others)
    return {
        "key": "cache_others",
        "on_change": lambda: state.change(others=tuple(st.session_state["cache_others"])),
    }


def _compared_row(title: str, sizes: Sizes, words: Words) -> dict[str, str]:
    """A model in numbers."""
    now, first = state.scene(), sizes.first
    weights = sizes.weight_bytes(now.weight_type)
    row = {
        words("cache.model"): title,
        "d": known(sizes.d_model, words),
        "h": known(sizes.n_heads, words),
        "h_kv": known(first.n_kv_heads, words),
        "d_head": known(first.d_head, words),
        words("sizes.layers"): known(sizes.n_layers, words),
        words("compare.parameters"): _short(sizes.parameters.total or sizes.parameters.base, words),
        words("kept.weights"): _binary(weights, words),
    }
    layers = sizes.cache or ()
    token = cache_bytes(layers, 1, now.float_type) if layers else None
    whole = cache_bytes(layers, now.cost_tokens, now.float_type, now.batch) if layers else None
    return row | {
        words("cache.numbers"): f"{elements_per_token(layers):,}" if layers else known(None, words),
        words("cache.token"): _binary(token, words),
        words("cache.bytes", n=f"{now.cost_tokens:,}", batch=now.batch): _binary(whole, words),
        words("compare.fits", memory=now.memory): _fits(sizes, words),
    }


def table_of(compared: Mapping[str, Sizes]) -> dict[str, list[Any]]:
    """The table of all models as numbers: None where something is not known."""
    now, table = state.scene(), dict[str, list[Any]]()
    for title, sizes in compared.items():
        layers = sizes.cache or ()
        row = {
            "model": title,
            "d_model": sizes.d_model,
            "n_heads": _plain(sizes.n_heads),
            "n_kv_heads": _plain(sizes.first.n_kv_heads),
            "d_head": _plain(sizes.first.d_head),
            "n_layers": _plain(sizes.n_layers),
            "parameters": sizes.parameters.total or sizes.parameters.base,
            "weight_bytes": sizes.weight_bytes(now.weight_type),
            "cache_numbers_per_token": elements_per_token(layers) if layers else None,
            "cache_bytes_per_token": cache_bytes(layers, 1, now.float_type) if layers else None,
            "cache_bytes": cache_bytes(layers, now.cost_tokens, now.float_type, now.batch)
            if layers else None,
            "context_that_fits": _context(sizes),
        }  # fmt: skip
        for name, cell in row.items():
            table.setdefault(name, []).append(cell)
    return table


def _plain(value: object) -> object:
    """A number, or several as text."""
    return value if value is None or isinstance(value, int) else str(value)


def _short(number: int | None, words: Words) -> str:
    return words("sizes.unknown") if number is None else decimal(number)


def _binary(n_bytes: int | None, words: Words) -> str:
    return words("sizes.unknown") if n_bytes is None else binary(n_bytes)


def _context(sizes: Sizes) -> float | None:
    """The context that fits beside the weights, infinite for any; None where it is not known."""
    now = state.scene()
    try:
        tokens = sizes.context_that_fits(
            now.memory * figures.GIB, now.weight_type, now.float_type, now.batch
        )
    except DataError:
        return None
    return math.inf if tokens is None else tokens


def _fits(sizes: Sizes, words: Words) -> str:
    """The context that fits beside the weights, in words where it is no number."""
    tokens = _context(sizes)
    if tokens is None:
        return words("sizes.unknown")
    if math.isinf(tokens):
        return words("fits.any")
    return f"{tokens:,}" if tokens else words("fits.none")


def draw_fits(compared: Mapping[str, Sizes], words: Words) -> None:
    """How long a context fits beside the weights, against the memory."""
    left, right = st.columns([1, 5], vertical_alignment="bottom")
    left.number_input(words("fits.memory"), 1, 100_000, step=8, **state.bind("memory"))
    right.segmented_control(
        words("fits.weights"), get_args(WeightType), required=True,
        format_func=lambda name: words(f"stored.{name}"), **state.bind("weight_type"),
    )  # fmt: skip
    now = state.scene()
    shown = {
        title: sizes for title, sizes in compared.items()
        if sizes.cache and sizes.weight_bytes(now.weight_type) is not None
    }  # fmt: skip
    for title in compared.keys() - shown.keys():
        st.caption(words("fits.unknown", title=literal(title)))
    if not shown:
        return
    show(
        figures.fits_curves(
            shown, now.memory, now.weight_type, now.float_type, now.batch, now.cost_tokens, words
        ),
        words,
        about=About(words("list.and").join(shown)),
    )
    for title, sizes in shown.items():
        st.caption(
            words(
                "fits.told", title=literal(title), context=_fits(sizes, words), memory=now.memory,
                weights=_binary(sizes.weight_bytes(now.weight_type), words), batch=now.batch,
            )
        )  # fmt: skip


def draw_waves(subject: Subject, words: Words) -> None:
    """RoPE as the file sets it: how far apart each pair repeats, scaled and as it was."""
    now = state.scene()
    rope = subject.sizes.rope
    if not rope:
        st.info(words("waves.none"))
        return
    told = words("picture.sizes", n=f"{now.cost_tokens:,}")
    drawn = figures.wavelengths(rope, now.cost_tokens, words)
    show(drawn, words, about=About(subject.name, told))
    for waves in rope:
        is_known = waves.scaled(now.cost_tokens) is not None
        factor = waves.factor
        told = "waves.plain" if is_known and not waves.is_scaled else "waves.scaled"
        st.caption(
            words(
                told if is_known else "waves.unknown",
                layers=words("waves.all") if not waves.layers else literal(waves.layers),
                kind=literal(waves.kind), base=f"{waves.base:,.0f}", width=waves.width,
                factor=words("sizes.unknown") if factor is None else f"{factor:g}",
                original=known(waves.original or waves.trained, words),
                trained=known(waves.trained, words),
            )
        )  # fmt: skip
