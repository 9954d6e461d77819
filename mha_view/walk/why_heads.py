"""The comparison of one head with many: parameters, work, and what each sees."""

from __future__ import annotations

import numpy as np
import streamlit as st

from mha_core.heads.measures import mean_entropy
from mha_core.heads.regroup import heads_apart
from mha_core.trace import AttentionTrace
from mha_core.whatif import count_parameters, count_products
from mha_view.page import Page


def draw_counts(page: Page, one: AttentionTrace) -> tuple[int, int]:
    """One head and many, side by side in numbers; returns both parameter counts."""
    words, many = page.words, page.trace
    counts = count_parameters(one.weights), count_parameters(many.weights)
    work = count_products(one), count_products(many)
    spread = [_told(mean_entropy(trace.pattern, trace.keep).mean()) for trace in (one, many)]
    apart = ["—" if trace.config.n_heads == 1 else _told(heads_apart(trace.pattern, trace.keep))
             for trace in (one, many)]  # fmt: skip
    st.table(
        {
            words("why.what"): [
                words("why.parameters"),
                words("why.products"),
                words("why.matrices"),
                words("why.entropy"),
                words("why.apart"),
            ],
            words("why.one.title"): [
                f"{counts[0]:,}", f"{work[0]:,}", "1", spread[0], apart[0],
            ],
            words("why.many.title", n=many.config.n_heads): [
                f"{counts[1]:,}", f"{work[1]:,}", str(many.config.n_heads), spread[1], apart[1],
            ],
        }
    )  # fmt: skip
    if many.config.group > 1:
        st.caption(words("why.grouped"))
    return counts


def _told(value: float) -> str:
    """A mean over rows, or a dash where no row counts."""
    return "—" if np.isnan(value) else f"{value:.3f}"
