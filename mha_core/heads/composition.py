"""Composition from the weights alone: how much of what a head writes another one can read.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", the part on
composition. A score is ‖A B‖ / (‖A‖ ‖B‖) in Frobenius norms, B what the sender writes (W_o W_v),
A what the receiver reads with: W_qᵀW_k from its side of the query or of the key, or W_o W_v. The
gain of the norm before the receiver is in its weights; RoPE's turning is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import Floats
from mha_core.brief import brief
from mha_core.model.edits import Head, OpenModel
from mha_core.options import share
from mha_core.weights import AttentionWeights

DRAWS = 200  # pairs of random heads for the baseline


@dataclass(frozen=True, eq=False)
class Composition:
    """The scores of all pairs of heads.

    Attributes:
        scores: by part ("q", "k", "v"), [sender's layer, head, receiver's layer, head]; NaN where
            the receiver does not come after the sender.
        baseline: by part, the mean score of heads of random numbers of the same shapes.
        limit: by part, what one in a hundred of those exceeds.
    """

    scores: dict[str, Floats]
    baseline: dict[str, float]
    limit: dict[str, float]

    __repr__ = brief

    def of(self, sender: Head, receiver: Head, part: str) -> float:
        """One score."""
        return float(self.scores[part][*sender, *receiver])


@torch.no_grad()
def measure_composition(model: OpenModel, seed: int = 0) -> Composition:
    """The composition scores of a model, and of random heads of its shapes."""
    layers = [_split(model.folded(layer), model.n_heads) for layer in range(model.n_layers)]
    writes = [_write(layer) for layer in layers]
    n, h = model.n_layers, model.n_heads
    scores = {part: np.full((n, h, n, h), np.nan) for part in ("q", "k", "v")}
    for sender in range(n):
        for receiver in range(sender + 1, n):
            for part, reader in _readers(layers[receiver]).items():
                found = _scores(reader[None], writes[sender][:, None])
                scores[part][sender, :, receiver] = found.double().numpy()
    generator = torch.Generator().manual_seed(seed)
    drawn: dict[str, list[float]] = {part: [] for part in scores}
    shapes = [tuple(matrix.shape[1:]) for matrix in layers[0]]
    for _ in range(DRAWS):
        sender_like, receiver_like = (
            [torch.randn(1, *shape, generator=generator) for shape in shapes] for _ in range(2)
        )
        write = _write(sender_like)
        for part, reader in _readers(receiver_like).items():
            drawn[part].append(float(_scores(reader, write)))
    return Composition(
        scores,
        {part: float(np.mean(found)) for part, found in drawn.items()},
        {part: float(np.quantile(found, 0.99)) for part, found in drawn.items()},
    )


def _split(weights: AttentionWeights[Tensor], n_heads: int) -> list[Tensor]:
    """W_q, W_k, W_v [head, d_head, feature] and W_o [head, feature, d_value] of every head."""
    q_width = weights.w_q.shape[0] // n_heads
    v_width = weights.w_o.shape[1] // n_heads
    d = weights.w_q.shape[1]
    k = share(weights.w_k.view(-1, q_width, d), n_heads)
    v = share(weights.w_v.view(-1, v_width, d), n_heads)
    o = weights.w_o.view(-1, n_heads, v_width).transpose(0, 1)
    return [weights.w_q.view(n_heads, q_width, d), k, v, o]


def _write(head: list[Tensor]) -> Tensor:
    """W_o W_v, [head, feature, feature]."""
    _, _, v, o = head
    return o @ v


def _readers(head: list[Tensor]) -> dict[str, Tensor]:
    """What a receiver reads with, by part: [head, feature, feature] each."""
    q, k, _, _ = head
    reads = q.mT @ k
    return {"q": reads.mT, "k": reads, "v": _write(head)}


def _scores(reader: Tensor, write: Tensor) -> Tensor:
    """‖A B‖ / (‖A‖ ‖B‖) of all pairs."""
    sizes = torch.linalg.matrix_norm(reader) * torch.linalg.matrix_norm(write)
    together: Tensor = torch.linalg.matrix_norm(reader @ write) / sizes
    return together
