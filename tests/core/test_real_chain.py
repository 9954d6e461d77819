"""A real model offers what the tools for circuits stand on, and changes are what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mha_core.errors import ConfigError, DataError
from mha_core.heads.composition import measure_composition
from mha_core.model.edits import (
    EMBEDDING,
    Edits,
    Head,
    OpenModel,
    every_path,
    forbid_edges,
    zeros_for,
)
from mha_core.model.edits import Path as Way
from mha_core.real.chain import Chain
from mha_core.real.edited import run_edited
from mha_core.real.folder import ModelCard
from mha_core.real.load import open_network
from tests.core.real_families import FAMILIES, build
from tests.core.real_folders import words_tokenizer

BY_NAME = {family.name: family for family in FAMILIES}
IDS = torch.randint(3, 99, (2, 9), generator=torch.Generator().manual_seed(5))
# Grouped heads, Conv1D with LayerNorm and biases, fused projections, sinks, norms of queries.
CHAINS = ["llama", "gpt2", "phi3", "gpt-oss", "qwen3", "opt", "llama, biases"]


def opened(name: str) -> Chain:
    return Chain(open_network(build(BY_NAME[name]), words_tokenizer(), ModelCard(name, Path())))


def same(found: torch.Tensor, expected: torch.Tensor) -> bool:
    size = float(expected.abs().max())
    return float((found - expected).abs().max()) <= 2e-5 * size


@pytest.mark.parametrize("name", CHAINS)
def test_a_run_is_the_models_own_and_its_parts_add_up(name: str) -> None:
    chain = opened(name)
    protocol: OpenModel = chain
    run = protocol.run(IDS)
    with torch.no_grad():
        logits = chain.model.network(input_ids=IDS).logits
    assert same(run.logits, logits)
    assert len(run.streams) == chain.n_layers + 1
    for layer in range(chain.n_layers):
        heads = chain.contributions(layer, run.heads[layer]).sum(-3)
        rest = run.mlps[layer]
        assert rest is not None
        assert same(run.streams[layer] + heads + rest, run.streams[layer + 1])
    last = run.streams[-1]
    assert same(chain.read_out(last), logits)
    nothing = chain.direct(torch.zeros_like(last), last)
    halves = chain.direct(0.3 * last, last) + chain.direct(0.7 * last, last)
    assert same(halves - nothing, logits)
    lone = chain.run(IDS[1])
    assert same(lone.logits, logits[1])
    assert lone.patterns[0].ndim == 3
    assert same(chain.run(IDS, at=torch.tensor([3, 8])).logits, logits[[0, 1], [3, 8]])


@pytest.mark.parametrize("name", CHAINS)
def test_all_paths_of_a_head_together_are_what_it_adds(name: str) -> None:
    """What every receiver reads of a sender is what the sender adds: two ways to one run."""
    chain = opened(name)
    senders: list[Head] = [(0, 2), (1, 1)]
    for sender in senders:
        value = torch.randn(
            chain.maps[0].config.d_model, generator=torch.Generator().manual_seed(1)
        )
        whole = chain.run(IDS, edits=Edits(outputs={sender: value}))
        paths = dict.fromkeys(every_path(sender, chain.n_layers), value)
        by_paths = chain.run(IDS, edits=Edits(paths=paths))
        assert same(by_paths.logits, whole.logits)
        assert not same(whole.logits, chain.run(IDS).logits)
    path = Way((0, 2), 1, "k")
    at_once = chain.run(IDS, edits=Edits(paths={path: value}))
    singly = {Way((0, 2), 1, "k", head): value for head in range(chain.n_heads)}
    assert same(chain.run(IDS, edits=Edits(paths=singly)).logits, at_once.logits)
    one = chain.run(IDS, edits=Edits(paths={Way((0, 2), 1, "k", 3): value}))
    others = [0, 1, 2]
    assert same(one.patterns[1][:, others], chain.run(IDS).patterns[1][:, others])
    assert same(one.patterns[1][:, 3], at_once.patterns[1][:, 3])


def test_heads_and_looks_are_changed_as_by_the_simpler_way() -> None:
    chain = opened("llama")
    edits = zeros_for([(0, 1)]) | forbid_edges([(1, 2, 7, 3)], n_heads=4, n_tokens=9)
    found = chain.run(IDS, edits=edits)
    assert same(found.logits, run_edited(chain.model, IDS, edits).logits)
    keep = torch.ones(9, 9, dtype=torch.bool)
    both_ways = chain.run(IDS, keep=keep)
    assert (both_ways.patterns[0][..., 0, 1:] > 0).all()
    own = chain.run(IDS, keep=keep.tril())
    assert same(own.logits, chain.run(IDS).logits)
    moved = chain.run(IDS, edits=Edits(paths={Way(EMBEDDING, 2, "out"): torch.zeros(80)}))
    assert same(moved.streams[-1], chain.run(IDS).streams[-1])
    assert not same(moved.logits, chain.run(IDS).logits)


def test_the_tools_run_on_it() -> None:
    chain = opened("llama")
    found = measure_composition(chain)
    assert found.scores["q"].shape == (2, 4, 2, 4)
    assert chain.folded(0).w_k.shape == (80, 80)


@pytest.mark.parametrize("name", ["bert", "gemma2", "gpt-neox", "albert", "deepseek-v3"])
def test_what_is_no_chain_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=f"{name} is no chain of layers"):
        opened(name)
    chain = opened("llama")
    with pytest.raises(ConfigError):
        chain.run(IDS, edits=zeros_for([(2, 0)]))
