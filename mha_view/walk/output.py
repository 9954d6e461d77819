"""The output page's parts: what W_o does with the heads, in words that its numbers decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mha_view.figures.output import writing_heads
from mha_view.page import Page


def say_mixing(page: Page, w_o: NDArray[np.floating]) -> str:
    """Whether the features of O belong to single heads or to all of them.

    A feature's strongest head has a share of its row of W_o from 1/h, all alike, to 1, alone.
    """
    n_heads = page.config.n_heads
    if n_heads == 1:
        return page.words("output.w_o.one")
    strongest = float(writing_heads(w_o, n_heads).max(axis=0).mean())
    way = "sorts" if strongest > 0.5 else "mixes"
    return page.words(
        f"output.w_o.{way}", share=f"{100 * strongest:.0f}", equal=f"{100 / n_heads:.0f}"
    )
