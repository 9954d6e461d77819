"""Training the toy model: `python -m mha_core.train --out DIR [--seed N] [--steps N]`.

The trainer is a generator. It hands out a snapshot now and then and does nothing between two
calls of `next`, so whoever drives it (the command line, a page) may stop at any step.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from mha_core.errors import DataError
from mha_core.language.documents import Document
from mha_core.language.lexicon import CORE, FAR, Chance
from mha_core.language.mixture import hash_documents, make_documents
from mha_core.language.repeats import make_pool_repeat
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.checkpoint import save_model
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.training.embedding import SplitEmbedding

MAX_TOKENS = 48
IGNORE = -100


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run, with the seed.

    Args:
        seed: of the starting weights, the documents and their order.
        steps: optimizer steps.
        tokens: about how many tokens one step sees.
        documents: how many documents are made of the grammar's own words, and as many that reach
            further.
        pool_steps: first steps, on repeats over a small pool only.
        core_steps: steps until when only the grammar's own words are said.
        sampled: how many random words compete with a batch's own for the next place, 0 for all.
        drop: the share of own vectors left out, see `SplitEmbedding`.
        rate: the highest learning rate; from there by cosine to 2 %.
        warmup: steps to reach it.
        decay: weight decay on matrices.
    """

    seed: int = 0
    steps: int = 6400
    tokens: int = 1536
    documents: int = 70_000
    pool_steps: int = 400
    core_steps: int = 3400
    sampled: int = 1000
    drop: float = 0.25
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
        parts: the embedding's parts, None where it is trained as one matrix.
    """

    step: int
    steps: int
    loss: float
    model: ToyModel
    optimizer: torch.optim.Optimizer
    parts: SplitEmbedding | None = None


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
    """The batches of a run: the small pool, the grammar's own words, then all of the words."""
    draw = Chance(recipe.seed)
    count = 2 * recipe.pool_steps * recipe.tokens // 26 if recipe.pool_steps else 0
    pool = (make_pool_repeat(draw) for _ in range(count))
    yield from make_batches(pool, recipe.tokens, draw)[: recipe.pool_steps]
    near = make_documents(recipe.seed, recipe.documents, reach=CORE)
    yield from islice(
        _again(make_batches(near, recipe.tokens, draw), draw),
        max(0, recipe.core_steps - recipe.pool_steps),
    )
    far = make_documents(recipe.seed, recipe.documents, reach=FAR)
    yield from _again(make_batches(far, recipe.tokens, draw), draw)


def _again(batches: list[Batch], draw: random.Random) -> Iterator[Batch]:
    """The batches without end, in another order each time."""
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


def make_optimizer(
    model: ToyModel, recipe: Recipe, parts: SplitEmbedding | None = None
) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only; over the embedding's parts where it has them."""
    trained = [p for p in model.parameters() if parts is None or p is not model.embedding]
    trained += [] if parts is None else list(parts.parameters())
    matrices = [p for p in trained if p.ndim > 1]
    vectors = [p for p in trained if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), fused=True)


def train(
    recipe: Recipe,
    *,
    sizes: ModelConfig | None = None,
    every: int = 50,
    resume: Path | None = None,
) -> Iterator[Snapshot]:
    """Train the toy model on the grammar; hand out a snapshot every few steps.

    Args:
        recipe: what decides the run.
        sizes: the model's sizes, the shipped ones unless given.
        every: steps between two snapshots; there is one at the start and one at the end.
        resume: a file that `save_state` wrote in a run of the same recipe; goes on from there,
            to the same weights as a run that never stopped.

    Raises:
        DataError: the file is of another recipe.
    """
    model = ToyModel(sizes or ModelConfig(len(load_tokenizer())), recipe.seed)
    parts = SplitEmbedding(model.sizes.d_model, recipe.seed)
    optimizer = make_optimizer(model, recipe, parts)
    start = 0 if resume is None else load_state(resume, recipe, model, optimizer, parts)
    batches = islice(batches_for(recipe), start, None)
    yield from optimize(model, optimizer, batches, recipe, start=start, every=every, parts=parts)


def optimize(
    model: ToyModel,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Batch],
    recipe: Recipe,
    *,
    start: int = 0,
    every: int = 50,
    among: Tensor | None = None,
    parts: SplitEmbedding | None = None,
) -> Iterator[Snapshot]:
    """Take optimizer steps over batches; hand out snapshots.

    With `among`, numbers of the vocabulary [word], only these words compete for the next place.
    With `parts`, the embedding is trained in its parts and folded for each snapshot.
    """
    losses: list[float] = []

    def snapshot(step: int, loss: float) -> Snapshot:
        if parts is not None:
            model.embedding.data.copy_(parts.fold())
        return Snapshot(step, recipe.steps, loss, model, optimizer, parts)

    yield snapshot(start, math.nan)
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    for step in range(start, recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, recipe)
        ids, following = next(batches)
        chance = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        embedded = model.embedding[ids] if parts is None else parts(ids, chance, recipe.drop)
        hidden = model.read(embedded)
        if among is None and recipe.sampled:
            loss = sampled_loss(hidden, following, model.unembedding, recipe.sampled, chance)
        else:
            loss = _loss(hidden, following, model.unembedding, among)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        done = step + 1
        if done % every == 0 or done == recipe.steps:
            yield snapshot(done, sum(losses) / len(losses))
            losses = []


def _loss(hidden: Tensor, following: Tensor, unembedding: Tensor, among: Tensor | None) -> Tensor:
    """Mean cross-entropy in nats a token, over all words or only some."""
    if among is not None:
        place = torch.full((len(unembedding),), IGNORE)
        place[among] = torch.arange(len(among))
        following = torch.where(following == IGNORE, IGNORE, place[following.clamp_min(0)])
        unembedding = unembedding[among]
    logits = linear(hidden, unembedding)
    return cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=IGNORE)


def sampled_loss(
    hidden: Tensor, following: Tensor, unembedding: Tensor, count: int, chance: torch.Generator
) -> Tensor:
    """Mean cross-entropy in nats a token, estimated on the batch's own words and some others.

    Words drawn at random stand for all the words not in the batch, so each counts as many times as
    there are such words to one that was drawn.

    Args:
        hidden: [batch, token, feature], what the layers made.
        following: [batch, token], the next tokens, IGNORE where none counts.
        unembedding: [vocabulary, feature].
        count: how many words are drawn.
        chance: where they are drawn from.

    Source: Jean et al. 2015, "On using very large target vocabulary", section 3.1.
    """
    counts = following != IGNORE
    hidden, targets = hidden[counts], following[counts]
    size = len(unembedding)
    own = targets.unique()  # type: ignore[no-untyped-call]
    drawn = torch.randint(size, (count,), generator=chance)
    drawn = drawn.unique()  # type: ignore[no-untyped-call]
    place = torch.full((size,), -1)
    place[own] = torch.arange(len(own))
    others = drawn[place[drawn] < 0]
    logits = linear(hidden, unembedding[torch.cat((own, others))])
    weight = math.log((size - len(own)) / max(1, len(others)))
    shift = torch.cat((torch.zeros(len(own)), torch.full((len(others),), weight)))
    return cross_entropy(logits + shift, place[targets])


def save_state(path: Path, snapshot: Snapshot, recipe: Recipe) -> None:
    """Write what `train(resume=…)` needs; the file is whole at every moment."""
    state = {
        "recipe": recipe.as_dict(),
        "step": snapshot.step,
        "model": snapshot.model.state_dict(),
        "optimizer": snapshot.optimizer.state_dict(),
        "parts": None if snapshot.parts is None else snapshot.parts.state_dict(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def load_state(
    path: Path,
    recipe: Recipe,
    model: ToyModel,
    optimizer: torch.optim.Optimizer,
    parts: SplitEmbedding | None = None,
) -> int:
    """Fill model, its embedding's parts and optimizer from a file of `save_state`.

    Returns:
        The steps done.
    """
    state = torch.load(path, weights_only=True)
    if state["recipe"] != recipe.as_dict():
        raise DataError("train.recipe", path=path, found=state["recipe"], asked=recipe.as_dict())
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if parts is not None:
        parts.load_state_dict(state["parts"])
    return int(state["step"])


# Steps whose weights are kept as earlier checkpoints of the shipped model.
KEPT_STEPS = (400, 1200, 2000, 4000)


def run(recipe: Recipe, folder: Path, *, every: int = 400) -> Path:
    """Train as the command line does: progress, resumable state, stored weights.

    Args:
        recipe: what decides the run; a state of the same recipe in `folder` is resumed.
        folder: gets `state.pt`, `step-NNNNN.safetensors`, `toy.safetensors`, `scores.json`.
        every: steps between two reports.

    Returns:
        The path of the final weights.
    """
    from mha_core.heads.curves import Curves, measure_scores

    state, final = folder / "state.pt", folder / "toy.safetensors"
    curves = Curves.read(folder / "scores.json") if state.exists() else Curves()
    about: dict[str, Any] = {
        "recipe": recipe.as_dict(),
        "seed": recipe.seed,
        "data": hash_documents(recipe.seed),
    }
    began = time.monotonic()
    for snapshot in train(recipe, every=every, resume=state if state.exists() else None):
        scores = measure_scores(snapshot.model)
        known = about | {"step": snapshot.step, "scores": scores.best()}
        curves.add(snapshot.step, snapshot.loss, scores)
        curves.write(folder / "scores.json")
        save_state(state, snapshot, recipe)
        save_model(snapshot.model, final, precision="int8", **known)
        if snapshot.step in KEPT_STEPS:
            kept = folder / f"step-{snapshot.step:05d}.safetensors"
            save_model(snapshot.model, kept, precision="int8", predicts=False, **known)
        print(_progress(snapshot, scores.best(), time.monotonic() - began), file=sys.stderr)
    return final


def _progress(snapshot: Snapshot, best: dict[str, float], seconds: float) -> str:
    """One line with a bar, the loss, and the best head of each score."""
    filled = 20 * snapshot.step // snapshot.steps
    bar = "█" * filled + "·" * (20 - filled)
    shown = "  ".join(f"{name} {value:.2f}" for name, value in best.items())
    done = f"{snapshot.step}/{snapshot.steps}"
    return f"{bar} {done}  {seconds:.0f} s  loss {snapshot.loss:.3f}  {shown}"
