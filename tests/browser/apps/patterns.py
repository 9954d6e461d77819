"""What the fixture app draws, so that a test can compute it again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TOKENS = ["<bos>", "the", "cat", "saw", "the", "12", "<b>", "&", "dog", "猫", "on", "."]
HEADS = 6


def make_pattern(seed: int, n_tokens: int) -> NDArray[np.float32]:
    """A causal pattern [head, query, key] of random scores; masked cells are NaN."""
    scores = 3 * np.random.default_rng(seed).standard_normal((HEADS, n_tokens, n_tokens))
    scores = np.where(np.tri(n_tokens, dtype=bool), scores, -np.inf)
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    pattern = (exponents / exponents.sum(-1, keepdims=True)).astype(np.float32)
    pattern[:, ~np.tri(n_tokens, dtype=bool)] = np.nan
    return pattern
