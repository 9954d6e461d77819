"""Breaking heads and taking sums apart: which head does what to the output.

Two kinds of evidence, kept apart. *Direct*: what a head adds to `out` and to the logits, with
everything after it held as it is. *Indirect*, through later layers: switch the head off before
W_o, or forbid an edge, and compute the rest of the model anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from mha_core.brief import brief
from mha_core.errors import ConfigError
from mha_core.heads.probe import Pair, pad_ids
from mha_core.layer import attention, fused_attention
from mha_core.model.toy import EditHeads, Head, ModelSteps, ToyModel
from mha_core.norms import NORM_EPS, rms_norm

Mode = Literal["zero", "mean"]
Floats = NDArray[np.float64]


def head_contributions(heads: Tensor, w_o: Tensor) -> Tensor:
    """What each head adds to `out`: W_o[:, its columns] · head.

    Args:
        heads: [..., head, query, d_value].
        w_o: [d_model, head · d_value].

    Returns:
        [..., head, query, feature]; with `b_o`, where there is one, they sum to `out`.
    """
    n_heads, d_value = heads.shape[-3], heads.shape[-1]
    columns = w_o.view(w_o.shape[0], n_heads, d_value)
    return torch.einsum("...hqv,dhv->...hqd", heads, columns)


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
def logit_parts(model: ToyModel, steps: ModelSteps, *, query: int | None = None) -> LogitParts:
    """Take the logits of one sentence apart, the final norm's scale frozen at its value there.

    Only direct effects: a head that works through later layers shows nothing here.

    Args:
        model: the model `steps` came from.
        steps: of a single sentence, without a batch axis.
        query: only at this place, which leaves one query; at all of them if None.
    """
    at = slice(None) if query is None else slice(query, query + 1)
    last = steps.streams[-1][at]
    scale = (last.pow(2).mean(-1, keepdim=True) + NORM_EPS["rms"]).rsqrt()

    def direct(vectors: Tensor) -> Tensor:
        return linear(vectors * scale * model.norm, model.unembedding)

    heads = torch.stack([
        direct(head_contributions(done.heads[:, at], layer.w_o))
        for layer, done in zip(model.each_layer(), steps.layers, strict=True)
    ])  # fmt: skip
    nothing = torch.zeros_like(last)
    mlps = torch.stack([direct(nothing if added is None else added[at]) for added in steps.mlps])
    return LogitParts(direct(steps.streams[0][at]), heads, mlps)


@torch.no_grad()
def mean_heads(model: ToyModel, documents: Sequence[tuple[int, ...]]) -> Tensor:
    """The mean output of each head over all tokens: [layer, head, d_value]."""
    total, count = None, 0
    for ids in documents:
        steps = model.run(torch.tensor(ids))
        summed = torch.stack([layer.heads.sum(-2) for layer in steps.layers])
        total = summed if total is None else total + summed
        count += len(ids)
    if total is None:
        raise ConfigError("ablation.documents")
    return total / count


def ablate(
    model: ToyModel, heads: Collection[Head], *, mode: Mode = "zero", means: Tensor | None = None
) -> EditHeads | None:
    """An edit that sets heads to zero or to their mean before W_o, for `ToyModel.run`.

    Args:
        model: the model.
        heads: (layer, head) pairs.
        mode: "zero", or "mean", which needs `means`.
        means: [layer, head, d_value], see `mean_heads`.

    Raises:
        ConfigError: a head that does not exist, or "mean" without means.
    """
    zero = model.switch_off(heads)
    if mode == "zero" or zero is None:
        return zero
    if means is None:
        raise ConfigError("ablation.means")

    def edit(layer: int, outputs: Tensor) -> Tensor:
        changed = outputs.clone()
        for at, head in heads:
            if at == layer:
                changed[..., head, :, :] = means[layer, head].to(outputs)
        return changed

    return edit


@torch.no_grad()
def each_head_off(model: ToyModel, pairs: Sequence[Pair], means: Tensor | None) -> Iterator[Tensor]:
    """The logits [pair, vocabulary] at each pair's query without one head after the other.

    What lies below a head is computed once: without the head, its part is taken off its layer's
    output, and only what follows is computed again.

    Args:
        model: the model.
        pairs: the places.
        means: [layer, head, d_value], what a head gives that is off; zeros if None.

    Yields:
        Without head 0 of layer 0, and so on; the last are those with every head.
    """
    stream = model.embedding[pad_ids([pair.ids for pair in pairs])]
    for index, layer in enumerate(model.each_layer()):
        steps = attention(rms_norm(stream, layer.norm), layer.weights, model.config)
        after = stream + steps.out
        columns = layer.w_o.chunk(model.n_heads, dim=1)
        for head in range(model.n_heads):
            change = -steps.heads[:, head]
            if means is not None:
                change = change + means[index, head].to(change)
            changed = after + linear(change, columns[head])
            yield _logits_from(model, changed, index, pairs)
        stream = after + layer.mlp(after) if layer.d_mlp else after
    yield _logits_at(model, stream, pairs)


def _logits_from(model: ToyModel, stream: Tensor, index: int, pairs: Sequence[Pair]) -> Tensor:
    """The logits from the stream [pair, token, feature] after the attention of a layer on."""
    for number, layer in enumerate(model.each_layer()):
        if number > index:
            x = rms_norm(stream, layer.norm)
            stream = stream + fused_attention(x, layer.weights, model.config)
        if number >= index and layer.d_mlp:
            stream = stream + layer.mlp(stream)
    return _logits_at(model, stream, pairs)


def _logits_at(model: ToyModel, stream: Tensor, pairs: Sequence[Pair]) -> Tensor:
    """The logits [pair, vocabulary] at each pair's query, from the last stream."""
    here = stream[torch.arange(len(pairs)), [pair.query for pair in pairs]]
    return linear(rms_norm(here, model.norm), model.unembedding)
