"""What `attention` hands back: every step of one layer, as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torch import Tensor

from mha_core.brief import brief
from mha_core.cache import KVCache
from mha_core.scores import block, score


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
class ScoreSteps:
    """From queries, keys and values to the heads' outputs. [..., head, query, key] unless said.

    `raw`, `scores` and `masked` are worked out when first read: each is as large as the pattern,
    and making room for it costs more than computing it again.

    Args:
        pattern: after softmax; rows sum to 1, to less with sinks, to 0 with nothing to look at.
        heads: [..., head, query, d_value].
        q_rot: [..., head, query, d_head], what the scores come from.
        k_shared: [..., head, key, d_head], the key head each query head reads.
        scale: what Qᵀ K is multiplied by.
        softcap: see `AttentionConfig`.
        keep: the mask, True where a query may look, or None.
        bias: what was added to the scores, or None.
    """

    pattern: Tensor
    heads: Tensor
    q_rot: Tensor
    k_shared: Tensor
    scale: float
    softcap: float | None
    keep: Tensor | None
    bias: Tensor | None

    __repr__ = brief

    @cached_property
    def raw(self) -> Tensor:
        """Qᵀ K, before the scale."""
        return self.make_raw().to(self.pattern.dtype)

    @cached_property
    def scores(self) -> Tensor:
        """Qᵀ K times the scale, capped."""
        return self.make_scores().to(self.pattern.dtype)

    @cached_property
    def masked(self) -> Tensor:
        """Scores with the bias added, -∞ where a query may not look."""
        return self.make_masked().to(self.pattern.dtype)

    def make_raw(self) -> Tensor:
        """Work `raw` out without keeping it, in the float type that the pattern came from."""
        return score(self.q_rot, self.k_shared, 1.0)

    def make_scores(self) -> Tensor:
        """Work `scores` out without keeping them, likewise."""
        return score(self.q_rot, self.k_shared, self.scale, self.softcap)

    def make_masked(self) -> Tensor:
        """Work `masked` out without keeping it, likewise."""
        return block(self.make_scores(), self.keep, self.bias)


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
        x_kv: what keys and values were made of, where it is not x.
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
    x_kv: Tensor | None = None

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

    @property
    def bias(self) -> Tensor | None:
        """What was added to the scores, or None."""
        return self.score_steps.bias
