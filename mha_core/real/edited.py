"""A real model run with some of it changed: heads that give something else, looks forbidden.

A head is changed before its output projection, where it is still a head: whatever matrix follows,
however the class splits and joins, and however many heads share a key.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.errors import ConfigError
from mha_core.model.edits import Edits, fit
from mha_core.real.capture import Call, watching
from mha_core.real.load import RealModel


@dataclass(frozen=True, eq=False)
class RealRun:
    """What a model computed for token numbers [batch, token].

    Attributes:
        logits: [batch, token, vocabulary]; the last hidden states [batch, token, feature] of a
            model that says nothing of the next token.
        heads: by layer, what its heads gave, changed or not: [batch, head, query, d_value].
        patterns: by layer [batch, head, query, key], for the layers that were asked for.
    """

    logits: Tensor
    heads: tuple[Tensor, ...]
    patterns: dict[int, Tensor]

    __repr__ = brief


def run_edited(
    model: RealModel,
    ids: Tensor,
    edits: Edits | None = None,
    *,
    patterns: tuple[int, ...] = (),
) -> RealRun:
    """Run a model with changes.

    Args:
        model: see `load_model`.
        ids: token numbers [batch, token], without padding.
        edits: `heads` and `forbidden`; a query that may look nowhere gives zeros.
        patterns: the layers whose patterns are kept.

    Returns:
        What it computed.

    Raises:
        ConfigError: a head or layer that is not there, or a change of a kind that a real model is
            not open to: of what a head adds after W_o, or of single paths.
        ShapeError: a value does not fit what it stands for.
    """
    edits = Edits() if edits is None else edits
    for layer, head in edits.heads:
        model.check_head(layer, head)
    for layer in edits.forbidden:
        model.check_layer(layer)
    if edits.outputs or edits.paths:
        raise ConfigError("real.edits")
    heads: list[Tensor] = []
    kept: dict[int, Tensor] = {}

    def run(call: Call) -> Tensor:
        forbidden = edits.forbidden.get(call.number)
        whole = forbidden is not None or call.number in patterns
        if whole:
            rows = call.rows(forbidden=forbidden)
            given = call.collect(rows)
            if call.number in patterns:
                kept[call.number] = rows
        else:
            given = call.heads()
        changed = {
            head: value for (layer, head), value in edits.heads.items() if layer == call.number
        }
        if changed:
            given = given.clone()
            for head, value in changed.items():
                given[:, head] = fit(value, given[:, head])
        heads.append(given)
        return given

    ids = ids.to(next(model.network.parameters()).device)
    with model.lock, torch.no_grad(), watching(run):
        found = model.network(input_ids=ids)
    logits = found.logits if "logits" in found else found[0]
    return RealRun(logits, tuple(heads), kept)


def mean_heads(model: RealModel, texts: list[Tensor]) -> list[Tensor]:
    """What each layer's heads give on average, to be put in their place.

    Args:
        model: see `load_model`.
        texts: token numbers [token] each, at least one.

    Returns:
        By layer [head, d_value], the mean over all tokens of all texts.

    Raises:
        ConfigError: there is no text.
    """
    if not texts:
        raise ConfigError("ablation.documents")
    totals: list[Tensor] = []
    n_tokens = 0
    for ids in texts:
        found = [each.double().sum((0, 2)) for each in run_edited(model, ids[None]).heads]
        totals = [a + b for a, b in zip(totals, found, strict=True)] if totals else found
        n_tokens += len(ids)
    return [(total / n_tokens).float() for total in totals]
