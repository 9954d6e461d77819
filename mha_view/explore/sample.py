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
    import torch

    from mha_core.heads.regroup import divergences
    from mha_core.language.mixture import make_documents

    model = compute.load_weights()
    total = np.zeros((model.n_layers * model.n_heads,) * 2)
    for document in make_documents(SAMPLE_SEED, SAMPLE_SIZE):
        with torch.no_grad():
            patterns = model.run(torch.tensor(model.ids_of(document.text))).patterns
        total += divergences(torch.cat(patterns).numpy())
    return total / SAMPLE_SIZE, SAMPLE_SIZE
