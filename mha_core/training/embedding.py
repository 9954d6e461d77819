"""The embedding while it is trained: own + kinds + ending, folded into one matrix to ship.

    embedding[token] = own[token] + Σ_kind share[token, kind] · kind + ending[token's ending]

The three are trained together. In training, the own vector of a word that is not one of the
grammar's is left out now and then, so that kinds and ending alone must do: that is all a word
never read will have.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mha_core.language.kinds import load_kinds
from mha_core.language.repeats import held_words, other_words
from mha_core.language.tokenizer import load_tokenizer

OWN_STD, SHARED_STD = 0.24, 0.05  # of the starting values


class SplitEmbedding(nn.Module):
    """The parts of the toy vocabulary's embedding.

    Args:
        d_model: features of one token.
        seed: which random numbers it starts from.

    Attributes:
        own: [vocabulary, feature].
        kinds: [kind, feature].
        endings: [ending, feature], one for each token that words end in.
        shares: [vocabulary, kind], how much of each kind a token is.
        ending_of: [vocabulary], rows of `endings`, -1 where a token has none.
        is_free: bool [vocabulary], True for words of the longer lists, pieces and characters,
            whose own vector may be left out.
    """

    shares: Tensor
    ending_of: Tensor
    is_free: Tensor

    def __init__(self, d_model: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        tokenizer, known = load_tokenizer(), load_kinds()
        size, columns = len(tokenizer), {name: at for at, name in enumerate(known.names)}

        def draw(rows: int, std: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, d_model, generator=generator) * std)

        self.own, self.kinds = draw(size, OWN_STD), draw(len(columns), SHARED_STD)
        rows = {
            end: row
            for row, end in enumerate(sorted({end for end in known.endings if end is not None}))
        }
        self.endings = draw(len(rows), SHARED_STD)
        shares = torch.zeros(size, len(columns))
        for token, kinds in enumerate(known.shares):
            for name, share in kinds.items():
                shares[token, columns[name]] = share
        ends = [-1 if end is None else rows[end] for end in known.endings]
        free = set(other_words()).union(held_words())
        is_free = [e.kind in ("piece", "character") or e.piece in free for e in tokenizer.entries]
        self.register_buffer("shares", shares, persistent=False)
        self.register_buffer("ending_of", torch.tensor(ends), persistent=False)
        self.register_buffer("is_free", torch.tensor(is_free), persistent=False)

    def forward(self, ids: Tensor, generator: torch.Generator, drop: float) -> Tensor:
        """Embedded tokens [batch, token, feature], own vectors left out with probability `drop`."""
        keep = ~self.is_free[ids] | (torch.rand(ids.shape, generator=generator) >= drop)
        return self.own[ids] * keep[..., None] + self._shared(ids)

    def fold(self) -> Tensor:
        """The one matrix that ships: [vocabulary, feature]."""
        with torch.no_grad():
            return self.own + self._shared(torch.arange(len(self.own)))

    def _shared(self, ids: Tensor) -> Tensor:
        """What kinds and ending give: [..., feature]."""
        ends = self.ending_of[ids]
        ending = self.endings[ends] * (ends >= 0)[..., None]
        return self.shares[ids] @ self.kinds + ending
