"""What a text through all layers of some weights is, whoever's weights they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mha_core.arrays import Array
    from mha_core.language.tokenizer import Token
    from mha_core.trace import AttentionTrace


@dataclass(frozen=True)
class Reading:
    """A text as the layer sees it.

    Attributes:
        tokens: one a column of X, `<bos>` first where the model adds one.
        labels: what is printed for each token.
        n_left_out: tokens of the text beyond those that are read.
    """

    tokens: tuple[Token, ...]
    labels: tuple[str, ...]
    n_left_out: int

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, eq=False)
class Walk:
    """A sentence through all layers of the scene's weights.

    Attributes:
        layers: a trace a layer.
        logits: [token, vocabulary], what the trained model expects next, −inf for words that did
            not compete in its training; None for random weights.
    """

    layers: Sequence[AttentionTrace]
    logits: NDArray[np.float32] | None

    @property
    def patterns(self) -> tuple[Array, ...]:
        """A layer [head, query, key]."""
        return tuple(layer.pattern for layer in self.layers)

    @property
    def keep(self) -> Array:
        """[query, key], who may look at whom."""
        return self.layers[0].keep
