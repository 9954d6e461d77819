"""What may be changed in a model's run, and what a model offers to whom that asks.

Four kinds of change, all of them data: what a head gives (before or after W_o), which edges are
forbidden, and what a single receiver reads from a single sender. `OpenModel` is the small protocol
that every tool for circuits stands on; a model that offers it gets them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, get_args

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.errors import ConfigError, ShapeError
from mha_core.values import check_choice
from mha_core.weights import AttentionWeights

Head = tuple[int, int]  # layer, head
EMBEDDING: Head = (-1, 0)  # the sender of what a token is before the first layer
Part = Literal["q", "k", "v", "mlp", "out"]  # what of a receiver reads the residual stream
ATTENTION_PARTS: tuple[Part, ...] = ("q", "k", "v")


class Path(NamedTuple):
    """From a sender, straight through the residual stream, to one receiver.

    Attributes:
        sender: (layer, head), or `EMBEDDING`.
        layer: the receiver's; the number of layers for "out".
        part: what reads there: queries, keys or values of a layer's heads, its MLP, or, after the
            last layer, the unembedding ("out").
        head: the receiver among the layer's heads; every one of them if None.
    """

    sender: Head
    layer: int
    part: Part
    head: int | None = None


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of one run. Values are spread to the axes named, so one vector serves all tokens.

    Attributes:
        heads: what a head gives instead, before W_o: [..., token, d_value].
        outputs: what a head adds to the stream instead, after W_o: [..., token, feature].
        forbidden: by layer, True where a query may not look: [..., head, query, key].
        paths: what a receiver reads from a sender instead of what that adds to the stream:
            [..., token, feature]. All other receivers read it as it is.

    >>> one = Edits(heads={(0, 1): torch.zeros(4)}) | Edits(heads={(1, 0): torch.zeros(4)})
    >>> sorted(one.heads), one.first_layer
    ([(0, 1), (1, 0)], 0)
    """

    heads: Mapping[Head, Tensor] = field(default_factory=dict)
    outputs: Mapping[Head, Tensor] = field(default_factory=dict)
    forbidden: Mapping[int, Tensor] = field(default_factory=dict)
    paths: Mapping[Path, Tensor] = field(default_factory=dict)

    __repr__ = brief

    def __or__(self, other: Edits) -> Edits:
        """Both; where both change one thing the second counts, and what either forbids is."""
        forbidden = dict(self.forbidden)
        for layer, mask in other.forbidden.items():
            forbidden[layer] = forbidden[layer] | mask if layer in forbidden else mask
        return Edits(
            {**self.heads, **other.heads},
            {**self.outputs, **other.outputs},
            forbidden,
            {**self.paths, **other.paths},
        )

    @property
    def senders(self) -> frozenset[Head]:
        """The senders whose paths are changed."""
        return frozenset(path.sender for path in self.paths)

    @property
    def first_layer(self) -> int | None:
        """The first layer where anything differs; None without a change."""
        layers = [layer for layer, _ in (*self.heads, *self.outputs)]
        layers += [*self.forbidden, *(path.layer for path in self.paths)]
        return min(layers, default=None)

    def changes_at(
        self, layer: int, parts: Collection[Part], sent: Mapping[Head, Tensor]
    ) -> dict[tuple[Part, int | None], Tensor]:
        """What is added to the stream as a layer's receivers read it.

        Args:
            layer: the receivers'; the number of layers for the unembedding.
            parts: the receivers asked for.
            sent: what each sender adds to the stream, [..., token, feature].

        Returns:
            By part and receiving head, [..., token, feature]; under None what all heads of that
            part read that are not listed by themselves.

        Raises:
            ShapeError: a value does not fit what it stands for.
        """
        changes: dict[tuple[Part, int | None], Tensor] = {}
        for path, value in self.paths.items():
            if path.layer == layer and path.part in parts:
                change = fit(value, sent[path.sender]) - sent[path.sender]
                before = changes.get((path.part, path.head))
                changes[path.part, path.head] = change if before is None else before + change
        return {
            (part, head): change if head is None or (part, None) not in changes
            else change + changes[part, None]
            for (part, head), change in changes.items()
        }  # fmt: skip

    def check(self, n_layers: int, n_heads: int) -> None:
        """Refuse what the model has not.

        Raises:
            ConfigError: a head or a layer that does not exist, or a path that leads back.
        """
        for layer, head in (*self.heads, *self.outputs, *(self.senders - {EMBEDDING})):
            check_head(layer, head, n_layers, n_heads)
        for layer in self.forbidden:
            check_head(layer, 0, n_layers, n_heads)
        for path in self.paths:
            check_choice("part", path.part, get_args(Part))
            check_path(path, n_layers, n_heads)


def check_head(layer: int, head: int, n_layers: int, n_heads: int) -> None:
    """Refuse a head that the model has not.

    Raises:
        ConfigError: as said.
    """
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ConfigError(
            "model.head", layer=layer, head=head, n_layers=n_layers, n_heads=n_heads
        )  # fmt: skip


def check_path(path: Path, n_layers: int, n_heads: int) -> None:
    """Refuse a path that does not lead forward to something that is there.

    Raises:
        ConfigError: as said.
    """
    own_layer_too = path.part in ("mlp", "out")
    first = path.sender[0] if own_layer_too else path.sender[0] + 1
    last = n_layers if path.part == "out" else n_layers - 1
    first = n_layers if path.part == "out" else first
    if not first <= path.layer <= last:
        raise ConfigError(
            "model.path", layer=path.sender[0], head=path.sender[1], part=path.part,
            receiver=path.layer, first=first, last=last,
        )  # fmt: skip
    if path.head is not None:
        check_head(min(path.layer, n_layers - 1), path.head, n_layers, n_heads)


def forbid_edges(edges: Iterable[tuple[int, int, int, int]], n_heads: int, n_tokens: int) -> Edits:
    """Forbid single looks.

    Args:
        edges: (layer, head, query, key) each.
        n_heads: heads of a layer.
        n_tokens: of the sentence, `<bos>` counted.

    >>> forbid_edges([(0, 1, 3, 2)], n_heads=2, n_tokens=4).forbidden[0].nonzero().tolist()
    [[1, 3, 2]]
    """
    masks: dict[int, Tensor] = {}
    for layer, head, query, key in edges:
        mask = masks.setdefault(layer, torch.zeros(n_heads, n_tokens, n_tokens, dtype=torch.bool))
        mask[head, query, key] = True
    return Edits(forbidden=masks)


def every_path(sender: Head, n_layers: int) -> list[Path]:
    """All receivers of a sender: queries, keys, values and MLPs after it, and the unembedding.

    >>> [f"{path.part} {path.layer}" for path in every_path((0, 2), n_layers=2)]
    ['mlp 0', 'q 1', 'k 1', 'v 1', 'mlp 1', 'out 2']
    """
    paths = [] if sender == EMBEDDING else [Path(sender, sender[0], "mlp")]
    for layer in range(sender[0] + 1, n_layers):
        paths += [Path(sender, layer, part) for part in (*ATTENTION_PARTS, "mlp")]
    return [*paths, Path(sender, n_layers, "out")]


def fit(value: Tensor, like: Tensor) -> Tensor:
    """A given value, spread to the shape of what it stands for.

    Raises:
        ShapeError: it cannot be.
    """
    try:
        return value.to(like).expand_as(like)
    except RuntimeError as error:
        raise ShapeError(
            "model.edit", shape=tuple(value.shape), expected=tuple(like.shape)
        ) from error


class Run(Protocol):
    """What a model computed for token numbers [..., token]. Batch axes come first everywhere."""

    @property
    def streams(self) -> tuple[Tensor, ...]:
        """The residual stream [..., token, feature] before each layer, and after the last."""

    @property
    def heads(self) -> tuple[Tensor, ...]:
        """What each layer's heads give, before W_o: [..., head, query, d_value]."""

    @property
    def patterns(self) -> tuple[Tensor, ...]:
        """Each layer's pattern: [..., head, query, key]."""

    @property
    def mlps(self) -> tuple[Tensor | None, ...]:
        """What each layer adds that no head does, its MLP and biases: [..., token, feature]."""

    @property
    def logits(self) -> Tensor:
        """[..., token, vocabulary], or [batch, vocabulary] where one place was asked for."""


class OpenModel(Protocol):
    """A model of layers of heads on one residual stream, which can be looked into and changed."""

    @property
    def n_layers(self) -> int:
        """How many layers there are."""

    @property
    def n_heads(self) -> int:
        """How many heads each layer has."""

    def run(
        self,
        ids: Tensor,
        *,
        keep: Tensor | None = None,
        edits: Edits | None = None,
        known: Any = None,
        at: Tensor | None = None,
    ) -> Run:
        """Compute the model and keep every step.

        Args:
            ids: token numbers [..., token].
            keep: bool, True where a query may look, instead of what the model itself allows.
            edits: what is changed.
            known: this model's run of the same tokens without edits; what lies before the first
                change is taken from it.
            at: [batch], the place in each sentence whose logits are wanted; of all if None.
        """

    def contributions(self, layer: int, heads: Tensor) -> Tensor:
        """What heads [..., head, query, d_value] add to the stream: [..., head, query, feature]."""

    def read_out(self, stream: Tensor) -> Tensor:
        """The logits that a stream [..., feature] would give: last norm and unembedding."""

    def direct(self, part: Tensor, stream: Tensor) -> Tensor:
        """What a part [..., feature] of the last stream adds to the logits.

        The last norm's scale is held at its value for `stream`, so parts that sum to the stream
        give logits that sum to its own, up to what the norm adds by itself (`direct` of nothing).
        """

    def folded(self, layer: int) -> AttentionWeights[Tensor]:
        """A layer's attention weights, the gain of the norm before them multiplied in."""


def zeros_for(heads: Collection[Head]) -> Edits:
    """Heads that give nothing.

    >>> zeros_for([(1, 0)]).heads
    {(1, 0): tensor(0.)}
    """
    return Edits(heads={head: torch.tensor(0.0) for head in heads})
