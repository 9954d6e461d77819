"""Break a part of the model and see what is lost; say what each part adds to the logits.

A head is taken out *before* W_o, by zeros or by its mean, and everything after it is computed
again: that shows what it is needed for, directly and through later layers. A single look, one
edge from a query to a key, can be forbidden too. `direct_logits` recomputes nothing: it splits the
logits into what every part wrote into the stream itself, with the last norm's scale as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from mha_core.attention import attention, fused_attention
from mha_core.model import EditHeads, Head, ModelSteps, ToyModel
from mha_core.walk import NORM_EPS, rms_norm

Edge = tuple[int, int]  # query, key
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Minimal pairs of one task: the same text, a right and a wrong next token.

    Attributes:
        ids: [pair, token], `<bos>` first; what follows the query does not matter.
        query: [pair], the place whose next token is asked for.
        right, wrong: [pair], token numbers.
        target: [pair], the place that decides.
        distractor: [pair], the place that would decide for `wrong`, -1 where there is none.
    """

    ids: Tensor
    query: Tensor
    right: Tensor
    wrong: Tensor
    target: Tensor
    distractor: Tensor

    def __len__(self) -> int:
        return len(self.ids)


def mean_heads(model: ToyModel, texts: Sequence[Tensor]) -> Tensor:
    """Every head's mean output over all tokens of some texts.

    Args:
        model: whose heads.
        texts: token numbers [token] each, `<bos>` first.

    Returns:
        [layer, head, d_value].
    """
    count = 0
    with torch.no_grad():
        total = model.embedding.new_zeros(model.n_layers, model.n_heads, model.config.d_value)
        for ids in texts:
            layers = model.run(ids).layers
            total += torch.stack([steps.heads.sum(dim=-2) for steps in layers])
            count += len(ids)
    return total / max(count, 1)


def replace_heads(model: ToyModel, heads: Collection[Head], means: Tensor | None) -> EditHeads:
    """An edit for `ToyModel.run` that sets heads to their mean, or to zero if there are no means.

    Args:
        model: whose heads.
        heads: (layer, head) pairs.
        means: [layer, head, d_value], or None.

    Raises:
        ConfigError: a head that does not exist.
    """
    model.switch_off(heads)

    def edit(layer: int, outputs: Tensor) -> Tensor:
        off = torch.tensor([(layer, head) in heads for head in range(model.n_heads)])
        fill = torch.zeros_like(outputs) if means is None else means[layer, :, None, :]
        return torch.where(off[:, None, None], fill, outputs)

    return edit


def cut_edges(
    model: ToyModel, n_tokens: int, edges: Sequence[Edge], heads: Collection[Head]
) -> list[Tensor]:
    """Causal masks, one a layer, that forbid some looks in some heads.

    Args:
        model: whose heads.
        n_tokens: `<bos>` counted.
        edges: (query, key) places; a look at itself cannot be cut, so that no row is left empty.
        heads: the (layer, head) pairs that must not look there.

    Returns:
        `keep` for `ToyModel.run`: bool [head, query, key] a layer.

    Raises:
        ConfigError: a head that does not exist.
    """
    model.switch_off(heads)
    keep = torch.ones(model.n_layers, model.n_heads, n_tokens, n_tokens, dtype=torch.bool).tril()
    for layer, head in heads:
        for query, key in edges:
            keep[layer, head, query, key] = query == key
    return list(keep)


def pairs_right(
    model: ToyModel,
    pairs: Pairs,
    *,
    edit_heads: EditHeads | None = None,
    keep: Sequence[Tensor] | None = None,
) -> Tensor:
    """Whether the right token gets the larger logit, bool [pair]."""
    with torch.no_grad():
        steps = model.run(pairs.ids, edit_heads=edit_heads, keep=keep)
    return _compare(model, steps.streams[-1], pairs)


def cut_pairs(model: ToyModel, pairs: Pairs, heads: Collection[Head], where: str) -> Tensor:
    """Forbid one look of each pair in some heads and see which pairs stay right.

    Args:
        model: the model.
        pairs: the task.
        heads: the heads that must not look.
        where: "target", the place that decides, or "distractor".

    Returns:
        bool [pair].
    """
    model.switch_off(heads)
    n_pairs, n_tokens = pairs.ids.shape
    causal = torch.ones(n_tokens, n_tokens, dtype=torch.bool).tril()
    keys = pairs.target if where == "target" else pairs.distractor
    cut = torch.zeros(n_pairs, n_tokens, n_tokens, dtype=torch.bool)
    found = torch.nonzero((keys >= 0) & (keys != pairs.query)).flatten()
    cut[found, pairs.query[found], keys[found]] = True
    masks = []
    for layer in range(model.n_layers):
        chosen = torch.tensor([(layer, head) in heads for head in range(model.n_heads)])
        masks.append(causal & ~(cut[:, None] & chosen[:, None, None]))
    return pairs_right(model, pairs, keep=masks)


@dataclass(frozen=True, eq=False)
class Damage:
    """What taking out each head alone costs each task.

    Attributes:
        tasks: names.
        intact: [task], the share of pairs that is right with every head; chance is 0.5.
        broken: [task, layer, head], the same without that head.
    """

    tasks: tuple[str, ...]
    intact: Tensor
    broken: Tensor

    @property
    def lost(self) -> Tensor:
        """[task, layer, head], the share of pairs that is no longer right; negative is a gain."""
        return self.intact[:, None, None] - self.broken


def damage_matrix(
    model: ToyModel,
    tasks: Mapping[str, Pairs],
    means: Tensor | None = None,
    on_progress: Progress | None = None,
) -> Damage:
    """Take out one head after the other and count the pairs that are still right.

    Each layer's attention is computed once; without a head, its own contribution is taken off the
    layer's output, its mean's put in, and only the layers after it are computed again.

    Args:
        model: the model.
        tasks: minimal pairs by name.
        means: [layer, head, d_value] for mean ablation; zero ablation if None.
        on_progress: called with the share done, up to 1.
    """
    intact, broken = [], []
    with torch.no_grad():
        for done, pairs in enumerate(tasks.values()):
            whole, without = _break_each(model, pairs, means)
            intact.append(whole)
            broken.append(without)
            if on_progress is not None:
                on_progress((done + 1) / len(tasks))
    return Damage(tuple(tasks), torch.stack(intact), torch.stack(broken))


def _break_each(model: ToyModel, pairs: Pairs, means: Tensor | None) -> tuple[Tensor, Tensor]:
    """The share of pairs right with every head, and without each [layer, head]."""
    stream = model.embedding[pairs.ids]
    broken = torch.zeros(model.n_layers, model.n_heads)
    for index, layer in enumerate(model.each_layer()):
        steps = attention(rms_norm(stream, layer.norm), layer.weights, model.config)
        for head in range(model.n_heads):
            columns = slice(head * model.config.d_value, (head + 1) * model.config.d_value)
            change = -steps.heads[:, head]
            if means is not None:
                change = change + means[index, head]
            out = steps.out + linear(change, layer.w_o[:, columns])
            end = _finish(model, stream + out, index)
            broken[index, head] = _compare(model, end, pairs).float().mean()
        stream = stream + steps.out
        stream = stream + layer.mlp(stream) if layer.d_mlp else stream
    return _compare(model, stream, pairs).float().mean(), broken


def _finish(model: ToyModel, stream: Tensor, after: int) -> Tensor:
    """The stream after the last layer, from the stream after the attention of layer `after`."""
    for index, layer in enumerate(model.each_layer()):
        if index < after:
            continue
        if index > after:
            x = rms_norm(stream, layer.norm)
            stream = stream + fused_attention(x, layer.weights, model.config)
        if layer.d_mlp:
            stream = stream + layer.mlp(stream)
    return stream


def _compare(model: ToyModel, stream: Tensor, pairs: Pairs) -> Tensor:
    """Whether the right token's logit is above the wrong one's, from the last stream."""
    here = rms_norm(stream[torch.arange(len(pairs)), pairs.query], model.norm)
    apart = model.unembedding[pairs.right] - model.unembedding[pairs.wrong]
    return (here * apart).sum(dim=-1) > 0


@dataclass(frozen=True, eq=False)
class DirectLogits:
    """The logits of one place as a sum over the parts that wrote into the stream.

    The last norm divides by the stream's own size; that scale is taken as it was, so the parts
    add up. What a part did *through* later layers is counted with those layers: only ablation
    shows it.

    Attributes:
        embedding: [vocabulary], what the token's own vector adds.
        heads: [layer, head, vocabulary].
        mlps: [layer, vocabulary], with the MLP's biases; zeros where there is none.
        logits: [vocabulary], their sum as the model computed it.
    """

    embedding: Tensor
    heads: Tensor
    mlps: Tensor
    logits: Tensor


def direct_logits(model: ToyModel, steps: ModelSteps, query: int) -> DirectLogits:
    """Split the logits at one place into the parts of the model.

    Args:
        model: the model.
        steps: what it computed for one sentence, without a batch axis.
        query: the place.

    Source: Elhage et al. 2021, "direct path"; nostalgebraist 2020, the logit lens.
    """
    stream = steps.streams[-1][query]
    scale = (stream.square().mean() + NORM_EPS["rms"]).rsqrt()

    def read(part: Tensor) -> Tensor:
        return linear(part * scale * model.norm, model.unembedding)

    with torch.no_grad():
        heads = torch.stack(
            [
                torch.einsum(
                    "hv,fhv->hf",
                    layer_steps.heads[:, query],
                    layer.w_o.view(model.sizes.d_model, model.n_heads, -1),
                )
                for layer, layer_steps in zip(model.each_layer(), steps.layers, strict=True)
            ]
        )
        mlps = torch.stack(
            [torch.zeros_like(stream) if added is None else added[query] for added in steps.mlps]
        )
        return DirectLogits(
            embedding=read(steps.streams[0][query]),
            heads=read(heads),
            mlps=read(mlps),
            logits=steps.logits[query],
        )
