"""Training a small model in front of a visitor: a generator, no thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mha_core.heads.curves import Scores, measure_repeats
from mha_core.language.repeats import LONGEST, SHORTEST, pool_words
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.training.train import IGNORE, Batch, Recipe, make_optimizer, optimize

EMBEDDING_SCALE = 4.0  # larger starting values than the shipped model's: induction forms sooner


@dataclass(frozen=True)
class LiveSnapshot:
    """Where a live training run stands.

    Attributes:
        step, steps: optimizer steps done, and how many there will be.
        loss: mean loss since the last snapshot, in nats a token; NaN at step 0.
        scores: of every head, on documents that are the same each time.
        model: a copy of its own that no later step changes; it traces text like any toy model.
    """

    step: int
    steps: int
    loss: float
    scores: Scores
    model: ToyModel


def live_sizes(d_model: int = 64, n_heads: int = 4, n_layers: int = 2) -> ModelConfig:
    """The sizes of a live model: attention only, the toy vocabulary.

    >>> live_sizes().d_mlp
    (0, 0)
    """
    return ModelConfig(len(load_tokenizer()), d_model, n_heads, (0,) * n_layers)


def live_recipe(seed: int = 0, steps: int = 300) -> Recipe:
    """What decides a live run."""
    return Recipe(
        seed=seed, steps=steps, tokens=1024, documents=0, pool_steps=0, core_steps=0,
        rate=1e-2, warmup=20, decay=0.0,
    )  # fmt: skip


def pool_ids() -> list[int]:
    """The numbers of the sixty-four nouns."""
    tokenizer = load_tokenizer()
    return [tokenizer.id_of(word) for word in pool_words()]


def repeat_batches(recipe: Recipe) -> Iterator[Batch]:
    """Random repeats without end, one length a batch, drawn anew; loss on the second half only."""
    draw = torch.Generator().manual_seed(recipe.seed)
    words = torch.tensor(pool_ids())
    while True:
        length = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=draw))
        count = recipe.tokens // (2 * length + 1)
        said = words[torch.randint(len(words), (count, length), generator=draw)]
        ids = torch.cat((torch.full((count, 1), load_tokenizer().bos.id), said, said), 1)
        following = torch.full_like(ids, IGNORE)
        following[:, length + 1 : -1] = ids[:, length + 2 :]
        yield ids, following


def live_steps(
    *,
    d_model: int = 64,
    n_heads: int = 4,
    n_layers: int = 2,
    seed: int = 0,
    steps: int = 300,
    every: int = 10,
) -> Iterator[LiveSnapshot | None]:
    """Train a small model on repeats of random nouns, a step at a time.

    It learns induction and nothing else: its predictions are among sixty-four nouns.

    After each step it hands out a snapshot or, between two of them, None. Stop by not asking for
    the next one; nothing runs between two calls of `next`.

    Args:
        d_model, n_heads, n_layers: sizes of an attention-only model.
        seed: the same seed gives the same run on the same machine.
        steps: optimizer steps.
        every: steps between two snapshots.

    Raises:
        ShapeError: the sizes do not fit together.
    """
    recipe = live_recipe(seed, steps)
    model = ToyModel(live_sizes(d_model, n_heads, n_layers), seed)
    with torch.no_grad():
        model.embedding.mul_(EMBEDDING_SCALE)
    optimizer = make_optimizer(model, recipe)
    known = tuple(pool_ids())
    among = torch.tensor(known)
    batches = repeat_batches(recipe)
    losses: list[float] = []
    for done in optimize(model, optimizer, batches, recipe, every=1, among=among):
        losses.append(done.loss)
        if done.step % every and done.step < steps:
            yield None
            continue
        scores, loss = measure_repeats(model, known), sum(losses) / len(losses)
        losses = []
        yield LiveSnapshot(done.step, recipe.steps, loss, scores, copy_model(model))


def live_snapshots(*, until: int, **settings: int) -> Iterator[LiveSnapshot]:
    """The snapshots of `live_steps` up to a step.

    Args:
        until: the last step.
        settings: see `live_steps`.

    Raises:
        ShapeError: the sizes do not fit together.
    """
    for snapshot in live_steps(**settings):
        if snapshot is not None:
            yield snapshot
            if snapshot.step >= until:
                return


def copy_model(model: ToyModel) -> ToyModel:
    """The same weights in a model of their own."""
    twin = ToyModel(model.sizes, tokenizer=model.tokenizer)
    twin.load_state_dict(model.state_dict())
    return twin.eval()
