"""Training the toy model: `python -m mha_core.train --out DIR [--seed N] [--steps N]`.

The trainer is a generator. It hands out a snapshot now and then and does nothing between two
calls of `next`, so whoever drives it (the command line, a page) may stop at any step.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mha_core.grammar import Document, make_documents
from mha_core.grammar_repeats import make_pool_repeat
from mha_core.model import ModelConfig, ToyModel
from mha_core.tokenizer import load_tokenizer

MAX_TOKENS = 48
IGNORE = -100


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run, with the seed.

    Args:
        seed: of the starting weights, the documents and their order.
        steps: optimizer steps.
        tokens: about how many tokens one step sees.
        documents: how many documents are made.
        pool_steps: first steps, on repeats over a small pool only.
        rate: the highest learning rate; from there by cosine to 2 %.
        warmup: steps to reach it.
        decay: weight decay on matrices.
    """

    seed: int = 0
    steps: int = 4200
    tokens: int = 1536
    documents: int = 110_000
    pool_steps: int = 600
    rate: float = 6e-3
    warmup: int = 100
    decay: float = 0.05

    def as_dict(self) -> dict[str, float]:
        """The recipe as it goes into the weights' metadata."""
        return asdict(self)


@dataclass(frozen=True)
class Snapshot:
    """Where training stands.

    Attributes:
        step: optimizer steps done.
        steps: how many there will be.
        loss: mean loss, in nats a token, since the last snapshot.
        model: the model itself; it trains on, so copy what should stay.
        optimizer: its state, for resuming.
    """

    step: int
    steps: int
    loss: float
    model: ToyModel
    optimizer: torch.optim.Optimizer


Batch = tuple[Tensor, Tensor]  # ids [batch, token], next ids [batch, token], IGNORE where none


def encode_document(document: Document) -> tuple[list[int], list[int]]:
    """Token numbers with `<bos>`, and what each position has to predict.

    >>> ids, following = encode_document(Document("en", ["the", "cat"]))
    >>> following == [*ids[1:], IGNORE]
    True
    """
    tokenizer = load_tokenizer()
    ids = [tokenizer.bos.id, *document.ids][:MAX_TOKENS]
    following = [*ids[1:], IGNORE]
    for place in range(min(document.skip_loss, len(following))):
        following[place] = IGNORE
    return ids, following


def make_batches(documents: Iterator[Document], tokens: int, draw: random.Random) -> list[Batch]:
    """Documents of about one length side by side, batches in random order."""
    encoded = [encode_document(document) for document in documents]
    draw.shuffle(encoded)
    encoded.sort(key=lambda pair: len(pair[0]))
    batches, start = [], 0
    while start < len(encoded):
        length = len(encoded[start][0])
        count = max(1, tokens // length)
        chosen = encoded[start : start + count]
        batches.append(_pad(chosen))
        start += count
    draw.shuffle(batches)
    return batches


def _pad(chosen: list[tuple[list[int], list[int]]]) -> Batch:
    """Rows of one length; padding comes last, where causality hides it, and is not scored."""
    width = max(len(ids) for ids, _ in chosen)
    ids = torch.zeros(len(chosen), width, dtype=torch.long)
    following = torch.full((len(chosen), width), IGNORE)
    for row, (one, two) in enumerate(chosen):
        ids[row, : len(one)] = torch.tensor(one)
        following[row, : len(two)] = torch.tensor(two)
    return ids, following


def batches_for(recipe: Recipe) -> Iterator[Batch]:
    """The batches of a run: first the small pool, then the mixture again and again."""
    draw = random.Random(recipe.seed)
    count = 2 * recipe.pool_steps * recipe.tokens // 26 if recipe.pool_steps else 0
    pool = (make_pool_repeat(draw) for _ in range(count))
    yield from make_batches(pool, recipe.tokens, draw)[: recipe.pool_steps]
    batches = make_batches(make_documents(recipe.seed, recipe.documents), recipe.tokens, draw)
    while True:
        yield from batches
        draw.shuffle(batches)


def rate_at(step: int, recipe: Recipe) -> float:
    """The learning rate of a step: warm-up, then cosine down to 2 %.

    >>> recipe = Recipe(steps=1000, rate=1.0, warmup=100)
    >>> rate_at(49, recipe), round(rate_at(999, recipe), 2)
    (0.5, 0.02)
    """
    if step < recipe.warmup:
        return recipe.rate * (step + 1) / recipe.warmup
    share = (step - recipe.warmup) / max(1, recipe.steps - 1 - recipe.warmup)
    return recipe.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * share)))


def make_optimizer(model: ToyModel, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98))


def train(
    recipe: Recipe,
    *,
    sizes: ModelConfig | None = None,
    every: int = 50,
    at: tuple[int, ...] = (),
) -> Iterator[Snapshot]:
    """Train the toy model on the grammar; hand out a snapshot every few steps.

    Args:
        recipe: what decides the run.
        sizes: the model's sizes, the shipped ones unless given.
        every: steps between two snapshots; there is one at step 0 and one at the end.
        at: further steps at which there is one.
    """
    model = ToyModel(sizes or ModelConfig(len(load_tokenizer())), recipe.seed)
    yield from optimize(model, batches_for(recipe), recipe, every=every, at=at)


def optimize(
    model: ToyModel,
    batches: Iterator[Batch],
    recipe: Recipe,
    *,
    every: int,
    at: tuple[int, ...] = (),
) -> Iterator[Snapshot]:
    """Take optimizer steps over batches; hand out snapshots."""
    optimizer = make_optimizer(model, recipe)
    yield Snapshot(0, recipe.steps, math.nan, model, optimizer)
    losses: list[float] = []
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, recipe)
        ids, following = next(batches)
        loss = cross_entropy(model(ids).flatten(0, 1), following.flatten(), ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        done = step + 1
        if done % every == 0 or done == recipe.steps or done in at:
            yield Snapshot(done, recipe.steps, sum(losses) / len(losses), model, optimizer)
            losses = []
