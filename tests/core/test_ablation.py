"""Parts taken out of a model: each way of doing it equals doing it by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from mha_core.derivation import head_contributions
from mha_core.errors import ConfigError
from mha_core.heads import ablation
from mha_core.heads.probe import Pair, query_logits
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.toy import ModelConfig, ToyModel

N_LAYERS, N_HEADS = 3, 5
HEADS = list(itertools.product(range(N_LAYERS), range(N_HEADS)))


@pytest.fixture(scope="module")
def model() -> ToyModel:
    """A model whose parts are all large enough to be missed, in float64."""
    sizes = ModelConfig(len(load_tokenizer()), d_model=20, n_heads=N_HEADS, d_mlp=(0, 0, 14))
    made = ToyModel(sizes, seed=4)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return made.double()


@pytest.fixture(scope="module")
def ids(model: ToyModel) -> Tensor:
    return torch.tensor(model.ids_of("The cat that the dogs saw sat on the mat."))


def make_pairs(model: ToyModel, count: int) -> list[Pair]:
    """Pairs with random words: half of them right by chance."""
    draw = np.random.default_rng(2)
    words = draw.integers(0, model.sizes.n_vocabulary, (count, 13)).tolist()
    return [
        Pair(tuple(row[:11]), int(draw.integers(6, 11)), row[11], row[12], 2, 4) for row in words
    ]


@pytest.mark.parametrize("heads", [[(0, 1)], [(1, 0), (1, 4)], [(0, 2), (2, 2)]])
def test_a_head_taken_out_is_its_rows_of_the_concat_zeroed(
    model: ToyModel, ids: Tensor, heads: list[tuple[int, int]]
) -> None:
    intact = model.run(ids)
    broken = model.run(ids, edits=ablation.ablate(model, heads))
    first = min(layer for layer, _ in heads)
    for index, layer in enumerate(model.each_layer()):
        concat = broken.layers[index].concat
        if index == first:
            expected = intact.layers[index].concat.clone()
            for _, head in [pair for pair in heads if pair[0] == index]:
                expected[:, head * 4 : head * 4 + 4] = 0
            assert torch.equal(concat, expected), "the other heads are as they were"
        added = broken.mlps[index]
        after = broken.streams[index + 1]
        after = after if added is None else after - added
        assert torch.allclose(after, broken.streams[index] + concat @ layer.w_o.T, atol=1e-12)
    assert not torch.allclose(broken.logits, intact.logits)


def test_a_head_replaced_by_its_mean_is_the_mean_everywhere(model: ToyModel, ids: Tensor) -> None:
    texts = [tuple(ids.tolist()), tuple(model.ids_of("我喜欢猫。"))]
    means = ablation.mean_heads(model, texts)
    outputs = [model.run(torch.tensor(text)).layers[1].heads[3] for text in texts]
    assert torch.allclose(means[1, 3], torch.cat(outputs).mean(dim=0), atol=1e-12)
    edit = ablation.ablate(model, [(1, 3)], mode="mean", means=means)
    steps = model.run(ids, edits=edit)
    assert torch.equal(steps.layers[1].heads[3], means[1, 3].expand(len(ids), -1))
    assert torch.equal(steps.layers[1].heads[2], model.run(ids).layers[1].heads[2])


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_taking_a_head_off_the_layers_output_is_taking_it_out(model: ToyModel, mode: str) -> None:
    pairs = make_pairs(model, 16)
    means = torch.randn(N_LAYERS, N_HEADS, 4, dtype=torch.float64)
    found = list(ablation.each_head_off(model, pairs, means if mode == "mean" else None))
    assert len(found) == len(HEADS) + 1
    edits = [ablation.ablate(model, [head], mode=mode, means=means) for head in HEADS]  # type: ignore[arg-type]
    for logits, edit in zip(found, [*edits, None], strict=True):
        with torch.no_grad():
            expected = query_logits(model, pairs, edits=edit)
        assert torch.allclose(logits, expected, atol=1e-10)
    assert not torch.allclose(found[0], found[-1], atol=1e-3)


def test_a_forbidden_edge_takes_that_look_and_shares_it_among_the_rest(
    model: ToyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(tuple(model.ids_of("The cat that the dogs saw sat.")), 5, 1, 2, 2, None)
    seen, run = [], model.run

    def note(ids: Tensor, **settings: object) -> object:
        seen.append(run(ids, **settings))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(model, "run", note)
    query_logits(model, [pair])
    query_logits(model, [pair], knock=lambda layer, pair: ([1] if layer == 0 else [], [2]))
    intact, cut = (steps.layers[0].pattern[0] for steps in seen)
    assert cut[1, 5, 2] == 0
    rest = [0, 1, 3, 4, 5]
    expected = intact[1, 5, rest] / intact[1, 5, rest].sum()
    assert torch.allclose(cut[1, 5, rest], expected)
    cut[1, 5], intact[1, 5] = 0, 0
    assert torch.equal(cut, intact), "no other row, no other head"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_direct_contributions_sum_to_the_logits(
    model: ToyModel, ids: Tensor, dtype: torch.dtype
) -> None:
    model.to(dtype)
    with torch.no_grad():
        steps = model.run(ids)
        parts = ablation.logit_parts(model, steps)
    error = (parts.total - steps.logits).abs().max() / steps.logits.abs().max()
    assert error < (1e-5 if dtype == torch.float32 else 1e-13)
    assert (parts.mlps[:2] == 0).all()
    assert (parts.mlps[2] != 0).any()
    here = ablation.logit_parts(model, steps, query=3)
    close = 1e-3 if dtype == torch.float32 else 1e-10
    assert torch.allclose(here.heads[:, :, 0], parts.heads[:, :, 3], atol=close)
    assert torch.allclose(here.total[0], parts.total[3], atol=close)
    model.double()


def test_head_contributions_sum_to_the_layers_output(model: ToyModel, ids: Tensor) -> None:
    with torch.no_grad():
        for index, steps in enumerate(model.run(ids).layers):
            total = model.contributions(index, steps.heads).sum(dim=-3)
            assert torch.allclose(total, steps.out, atol=1e-12)
    for traced in model.trace("The cat sat on the mat.").layers:
        total = head_contributions(traced).sum(axis=0)
        assert abs(total - traced.out).max() <= 1e-5 * abs(traced.out).max()


@pytest.mark.parametrize("head", [(3, 0), (0, 5), (-1, 0)])
def test_a_head_that_does_not_exist_is_named(model: ToyModel, head: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=f"Layer {head[0]}, head {head[1]} does not exist"):
        ablation.ablate(model, [head])
