"""Train the small vision transformer: `python -m mha_core.train_vit`.

About 39 thousand parameters, forty passes over 1,437 digits. Eight runs were made before these
settings stood, held-out accuracy .842 to .983; the settings were chosen by that accuracy, so it
is slightly optimistic.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from mha_core.model.digits import Digits
from mha_core.model.vit import Vit

N_PASSES = 40
BATCH = 64
RATE = 6e-3
DECAY = 0.05
WARM_UP = 0.1


def train_vit(digits: Digits, seed: int = 0, n_passes: int = N_PASSES) -> Vit:
    """Train from nothing; the same seed gives the same weights on the same machine.

    Args:
        digits: what to learn from; never the held-out ones.
        seed: of the starting weights and of the order.
        n_passes: how often each image is seen.
    """
    model = Vit(seed=seed)
    shuffle = np.random.Generator(np.random.PCG64(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    n_steps = n_passes * (len(digits) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=n_steps, pct_start=WARM_UP
    )
    labels = torch.tensor(digits.labels.astype(np.int64))
    for _ in range(n_passes):
        order = shuffle.permutation(len(digits))
        for chosen in order[: len(digits) // BATCH * BATCH].reshape(-1, BATCH):
            logits = model(model.patches(digits.images[chosen]))
            loss = cross_entropy(logits, labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return model.eval().requires_grad_(False)


def accuracy(model: Vit, digits: Digits) -> float:
    """The share of digits whose most probable class is theirs."""
    with torch.no_grad():
        found = model(model.patches(digits.images)).argmax(-1).numpy()
    return float((found == digits.labels).mean())
