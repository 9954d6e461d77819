"""What `attention` hands back: every step of one layer, as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from mha_core.brief import brief
from mha_core.cache import KVCache

if TYPE_CHECKING:
    from mha_core.layer import ScoreSteps


class Projected(NamedTuple):
    """Queries, keys and values at every stage; the shapes are those of `AttentionSteps`."""

    q_full: Tensor
    k_full: Tensor
    v_full: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    q_rot: Tensor
    k_rot: Tensor

    def __repr__(self) -> str:
        return brief(self)

    @property
    def cache(self) -> KVCache:
        """These tokens' keys and values, kept for the next ones."""
        return KVCache(self.k_rot, self.v)


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """One layer, step by step. The batch axes of x, if any, come first everywhere.

    Args:
        x: [..., token, feature], the input.
        q_full: [..., token, n_heads · d_head]; `k_full` and `v_full` alike, with the KV heads.
        q: [..., head, token, d_head], split into heads, and normed if the layer norms.
        k: [..., kv_head, token, d_head]; `v` [..., kv_head, token, d_value].
        q_rot: q after RoPE; `k_rot` alike. Without RoPE they are q and k.
        score_steps: raw, scores, masked, pattern and heads, also found here by their names.
        concat: [..., token, n_heads · d_value].
        out: [..., token, feature].
        cache: keys and values of all tokens so far.
    """

    x: Tensor
    q_full: Tensor
    k_full: Tensor
    v_full: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    q_rot: Tensor
    k_rot: Tensor
    score_steps: ScoreSteps
    concat: Tensor
    out: Tensor
    cache: KVCache

    __repr__ = brief

    @property
    def raw(self) -> Tensor:
        """[..., head, query, key], Qᵀ K."""
        return self.score_steps.raw

    @property
    def scores(self) -> Tensor:
        """[..., head, query, key], scaled and capped."""
        return self.score_steps.scores

    @property
    def masked(self) -> Tensor:
        """[..., head, query, key], -∞ where a query may not look."""
        return self.score_steps.masked

    @property
    def pattern(self) -> Tensor:
        """[..., head, query, key], after softmax."""
        return self.score_steps.pattern

    @property
    def heads(self) -> Tensor:
        """[..., head, query, d_value]."""
        return self.score_steps.heads

    @property
    def keep(self) -> Tensor | None:
        """The mask used, True where a query may look; None when it may look everywhere."""
        return self.score_steps.keep
