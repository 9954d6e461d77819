"""A layer's attention whose queries, keys or values are made of something else than x."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.nn.functional import linear

from mha_core.config import AttentionConfig
from mha_core.layer import attend, join_heads, project
from mha_core.model.edits import Part
from mha_core.options import mask_for, share, softmax_type
from mha_core.steps import AttentionSteps, Projected
from mha_core.weights import AttentionWeights


def attention_reading(
    x: Tensor,
    instead: Mapping[tuple[Part, int | None], Tensor],
    weights: AttentionWeights[Tensor],
    config: AttentionConfig,
    *,
    keep: Tensor | None = None,
    before: AttentionSteps | None = None,
) -> AttentionSteps:
    """Take tokens through a layer some of whose parts read something else.

    Args:
        x: [..., token, feature], what all the rest reads.
        instead: by part ("q", "k" or "v") and head, what that reads: [..., token, feature]. With
            None for the head it goes for all heads that are not named by themselves.
        weights: tensors, see `AttentionWeights`.
        config: the layer's sizes and settings.
        keep: bool, True where a query may look, besides what `config` forbids.
        before: the layer's steps without any of this, for the same x, where they are known.

    Returns:
        Every step. Keys and values are listed once per head, not per KV head; `q_full`, `k_full`
        and `v_full` are those of x.
    """
    made = project(x, x, weights, config) if before is None else _projected(before)
    n_heads = config.n_heads
    parts: dict[Part, Tensor] = {
        "q": made.q_rot,
        "k": share(made.k_rot, n_heads),
        "v": share(made.v, n_heads),
    }
    for part, head in sorted(instead, key=lambda one: one[1] is not None):  # all heads first
        other = instead[part, head]
        changed = project(other, other, weights, config)
        made_of_it = {"q": changed.q_rot, "k": changed.k_rot, "v": changed.v}[part]
        found = share(made_of_it, n_heads)
        if head is None:
            parts[part] = found
            continue
        parts[part] = parts[part].clone()
        parts[part][..., head, :, :] = found[..., head, :, :]
    q, k, v = parts.values()
    steps = attend(
        q, k, v,
        keep=mask_for(config, x.shape[-2], x.shape[-2], 0, keep, x),
        bias=None, scale=config.scale, softcap=config.softcap, sinks=weights.sinks,
        softmax_dtype=softmax_type(config),
    )  # fmt: skip
    concat = join_heads(steps.heads)
    made = made._replace(q_rot=q, k_rot=k, v=v)
    return AttentionSteps(
        x, *made, steps, concat, linear(concat, weights.w_o, weights.b_o), made.cache
    )


def _projected(steps: AttentionSteps) -> Projected:
    """The first part of a layer's steps."""
    return Projected(
        steps.q_full, steps.k_full, steps.v_full, steps.q, steps.k, steps.v, steps.q_rot,
        steps.k_rot,
    )  # fmt: skip
