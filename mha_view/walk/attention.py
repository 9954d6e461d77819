"""The attention page's parts: the chosen head divided by other roots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mha_core.whatif import look_again, score_variance
from mha_view.page import Page


def divide(page: Page) -> dict[str, NDArray[np.floating]]:
    """The chosen head's pattern for scores ÷ √d_head, ÷ √d and as they are, by their titles."""
    words, trace, head = page.words, page.trace, page.head
    return {
        words("attention.by_head", d=page.config.d_head): trace.pattern[head],
        words("attention.by_model", d=page.config.d_model): look_again(
            trace, head, scale=page.config.d_model**-0.5
        ),
        words("attention.by_none"): look_again(trace, head, scale=1.0),
    }


def say_variance(page: Page) -> str:
    """How the scores of the layer spread before and after they are divided."""
    before, after = score_variance(page.trace)
    return page.words(
        "attention.variance", before=f"{before:.2f}", after=f"{after:.2f}", d=page.config.d_head
    )
