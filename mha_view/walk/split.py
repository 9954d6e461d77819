"""What cutting the features into heads costs."""

from __future__ import annotations

import numpy as np

from mha_core.trace import AttentionTrace
from mha_core.whatif import count_parameters


def added_parameters(trace: AttentionTrace) -> int:
    """How many learned numbers the layer has beyond what the tensors before the cut and after the
    joining are made with: four matrices, and a bias a row where the layer has biases.

    A layer that norms each head's queries and keys, or has sinks, has numbers of its heads' own.
    """
    made = {
        "q": (trace.x, trace.q_full), "k": (trace.x, trace.k_full), "v": (trace.x, trace.v_full),
        "o": (trace.concat, trace.out),
    }  # fmt: skip
    whole = 0
    for name, (given, result) in made.items():
        rows, columns = result.shape[-1], given.shape[-1]
        bias = getattr(trace.weights, f"b_{name}")
        whole += rows * columns + (0 if bias is None else int(np.size(bias)))
    return count_parameters(trace.weights) - whole
