"""Small models whose circuit is known, because it was put there by hand.

The stream has four rooms: what a token is, what came before it, the answer, and a constant. Head
0.`SENDER` looks at the previous token (its queries and keys are the constant, turned by RoPE) and
writes what that is into the second room. Head 1.`RECEIVER` reads that room with its keys, its
queries or its values, and writes into the third, which alone the unembedding reads. All other
weights are small noise.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mha_core.heads.prompts import Prompt
from mha_core.model.toy import Layer, ModelConfig, ToyModel

N_WORDS, N_HEADS, D = 16, 3, 96
WIDTH = D // N_HEADS
IS, BEFORE, ANSWER, ONE = (slice(16 * room, 16 * room + 16) for room in range(4))
# Pairs of features that RoPE hardly turns, for what must match whatever the distance.
STILL = [*range(8, 16), *range(24, 32)]
QUICK = [*range(8), *range(16, 24)]  # and those it turns, for the place
NOISE = 0.002


def plant(part: str, sender: int, receiver: int, seed: int) -> ToyModel:
    """A model of two layers whose head 1.`receiver` reads 0.`sender` with one part only."""
    sizes = ModelConfig(N_WORDS, D, N_HEADS, d_mlp=(0, 0), base=1e6)
    model = ToyModel(sizes, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
        parameter.copy_(NOISE * torch.randn(parameter.shape, generator=generator))
    first, second = model.each_layer()
    for gain in (first.norm, second.norm, model.norm):
        gain.fill_(1.0)
    words = torch.eye(N_WORDS)
    model.embedding[:, IS] += words
    model.embedding[:, ONE.start] += 1.0
    model.unembedding[:, ANSWER] += 4 * words
    _look_back(first, sender)
    _carry(first, sender, IS, BEFORE, 0.15)  # as large there as the token's own mark
    here = slice(receiver * WIDTH, receiver * WIDTH + WIDTH)
    if part == "v":  # looks at the previous token too, and tells what came before that
        _look_back(second, receiver)
        _carry(second, receiver, BEFORE, ANSWER, 1.0)
        return model
    # "k": where did what I am come before? "q": where stands what came before me?
    query, key = (IS, BEFORE) if part == "k" else (BEFORE, IS)
    second.w_q[here][:, query] += _into(STILL, 8.0)
    second.w_k[here][:, key] += _into(STILL, 8.0)
    _carry(second, receiver, IS, ANSWER, 1.0)
    return model


def _into(rows: list[int], size: float) -> Tensor:
    """[d_head, word]: each word into its own row."""
    made = torch.zeros(WIDTH, N_WORDS)
    made[rows, range(N_WORDS)] = size
    return made


def _look_back(layer: Layer, head: int) -> None:
    """Make a head look at the previous token: the query is turned on by one place."""
    here = slice(head * WIDTH, head * WIDTH + WIDTH)
    angles = 1e6 ** (-torch.arange(8) / 16)
    query, key = torch.zeros(WIDTH), torch.zeros(WIDTH)
    key[:8] = 1.0
    # A key is turned by its place, a query by its own: they meet where key = query - 1.
    query[:8], query[16:24] = torch.cos(angles), -torch.sin(angles)
    layer.w_q[here, ONE.start] += 6 * query
    layer.w_k[here, ONE.start] += 6 * key


def _carry(layer: Layer, head: int, source: slice, target: slice, size: float) -> None:
    """Make a head take what is in one room where it looks, and write it into another."""
    here = slice(head * WIDTH, head * WIDTH + WIDTH)
    layer.w_v[here][:, source] += _into(list(range(N_WORDS)), 1.0)
    layer.w_o[target, here] += _into(list(range(N_WORDS)), size).T


def planted_prompts(part: str, seed: int, count: int) -> list[Prompt]:
    """Sentences that the planted head answers, with twins of other words."""
    generator = np.random.default_rng(seed)
    prompts = []
    for _ in range(count):
        words = generator.permutation(N_WORDS).tolist()
        one, two = words[:6], words[6:12]
        if part == "k":  # a b c … a b: what came after b
            at = int(generator.integers(1, 5))
            ids, twin = (*one, *one[: at + 1]), (*two, *two[: at + 1])
            right, wrong = one[at + 1], two[at + 1]
        else:  # the word before this one, or the one before that
            back = 1 if part == "q" else 2
            ids, twin = tuple(one), tuple(two)
            right, wrong = one[-1 - back], two[-1 - back]
        prompts.append(Prompt(ids, twin, len(ids) - 1, right, wrong))
    return prompts
