"""Breaking heads and taking sums apart: which head does what to the output.

Two kinds of evidence, kept apart. *Direct*: what a head adds to `out` and to the logits, with
everything after it held as it is. *Indirect*, through later layers: switch the head off before
W_o, or forbid an edge, and compute the rest of the model anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.errors import ConfigError
from mha_core.heads.probe import Pair, pad_ids
from mha_core.model.edits import Edits, Head, OpenModel, Run, zeros_for

Mode = Literal["zero", "mean", "exact"]


@dataclass(frozen=True, eq=False)
class LogitParts:
    """Direct contributions to the logits; they sum to the logits.

    Attributes:
        embedding: [query, vocabulary], what the token itself says.
        heads: [layer, head, query, vocabulary].
        mlps: [layer, query, vocabulary], zero where a layer has no MLP (its biases are in it).
    """

    embedding: Tensor
    heads: Tensor
    mlps: Tensor

    __repr__ = brief

    @property
    def total(self) -> Tensor:
        """Their sum, the logits [query, vocabulary]."""
        return self.embedding + self.heads.sum((0, 1)) + self.mlps.sum(0)


@torch.no_grad()
def logit_parts(model: OpenModel, steps: Run, *, query: int | None = None) -> LogitParts:
    """Take the logits of one sentence apart, the final norm's scale frozen at its value there.

    Only direct effects: a head that works through later layers shows nothing here.

    Args:
        model: the model `steps` came from.
        steps: of a single sentence, without a batch axis.
        query: only at this place, which leaves one query; at all of them if None.
    """
    at = slice(None) if query is None else slice(query, query + 1)
    last = steps.streams[-1][at]
    heads = torch.stack([
        model.direct(model.contributions(layer, heads[:, at]), last)
        for layer, heads in enumerate(steps.heads)
    ])  # fmt: skip
    nothing = torch.zeros_like(last)
    mlps = torch.stack([
        model.direct(nothing if added is None else added[at], last) for added in steps.mlps
    ])  # fmt: skip
    return LogitParts(model.direct(steps.streams[0][at], last), heads, mlps)


@torch.no_grad()
def mean_heads(model: OpenModel, documents: Sequence[tuple[int, ...]]) -> Tensor:
    """The mean output of each head over all tokens: [layer, head, d_value]."""
    total, count = None, 0
    for ids in documents:
        summed = torch.stack([heads.sum(-2) for heads in model.run(torch.tensor(ids)).heads])
        total = summed if total is None else total + summed
        count += len(ids)
    if total is None:
        raise ConfigError("ablation.documents")
    return total / count


def ablate(
    model: OpenModel,
    heads: Collection[Head],
    *,
    mode: Mode = "zero",
    means: Tensor | None = None,
    other: Run | None = None,
) -> Edits:
    """An edit that takes heads out before W_o, in one of three ways.

    Args:
        model: the model.
        heads: (layer, head) pairs.
        mode: "zero": they give zeros, which no head ever gives and which may break what stands on
            its mean. "mean": they give their mean, the same for every token; needs `means`.
            "exact": they give exactly what they gave in another run, place by place; needs `other`.
        means: [layer, head, d_value], see `mean_heads`.
        other: a run of as many tokens.

    Raises:
        ConfigError: a head that does not exist, "mean" without means or "exact" without a run.
    """
    if mode == "mean" and means is None:
        raise ConfigError("ablation.means")
    if mode == "exact" and other is None:
        raise ConfigError("ablation.other")
    if mode == "mean" and means is not None:
        edits = Edits(heads={head: means[head] for head in heads})
    elif mode == "exact" and other is not None:
        edits = Edits(heads={(at, head): other.heads[at][..., head, :, :] for at, head in heads})
    else:
        edits = zeros_for(heads)
    edits.check(model.n_layers, model.n_heads)
    return edits


@torch.no_grad()
def each_head_off(
    model: OpenModel, pairs: Sequence[Pair], means: Tensor | None
) -> Iterator[Tensor]:
    """The logits [pair, vocabulary] at each pair's query without one head after the other.

    What lies below a head is computed once.

    Args:
        model: the model.
        pairs: the places.
        means: [layer, head, d_value], what a head gives that is off; zeros if None.

    Yields:
        Without head 0 of layer 0, and so on; the last are those with every head.
    """
    ids = pad_ids([pair.ids for pair in pairs])
    at = torch.tensor([pair.query for pair in pairs])
    known = model.run(ids, at=at)
    mode: Mode = "zero" if means is None else "mean"
    for head in product(range(model.n_layers), range(model.n_heads)):
        edits = ablate(model, [head], mode=mode, means=means)
        yield model.run(ids, edits=edits, known=known, at=at).logits
    yield known.logits
