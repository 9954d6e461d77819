"""Sentences of the grammar, and what the trained heads do on them; computed once, for everyone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha_view import compute

SAMPLE_SEED = 20_000
SAMPLE_SIZE = 60


@cache
def sample_divergences() -> tuple[NDArray[Any], int]:
    """How far the trained model's heads are apart, [place, place] in bits, and over how many
    sentences of the grammar."""
    from mha_core.heads.probe import ids_of, patterns_of
    from mha_core.heads.regroup import divergences
    from mha_core.language.mixture import make_documents

    model = compute.load_weights()
    total = np.zeros((model.n_layers * model.n_heads,) * 2)
    documents = [ids_of(document) for document in make_documents(SAMPLE_SEED, SAMPLE_SIZE)]
    for patterns in patterns_of(model, documents):
        n_tokens = patterns.shape[-1]
        heads = patterns.reshape(-1, n_tokens, n_tokens)
        total += divergences(heads, np.tri(n_tokens, dtype=bool))
    return total / SAMPLE_SIZE, SAMPLE_SIZE
