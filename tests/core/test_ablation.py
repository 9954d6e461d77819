"""Parts taken out of a model: every shortcut equals computing it the long way."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from mha_core import ablation
from mha_core.ablation import Pairs
from mha_core.derivation import head_contributions
from mha_core.errors import ConfigError
from mha_core.model import ModelConfig, ToyModel
from mha_core.tokenizer import load_tokenizer

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


def make_pairs(model: ToyModel, count: int = 12, n_tokens: int = 11) -> Pairs:
    """Pairs with random words: half of them right by chance."""
    draw = torch.Generator().manual_seed(2)

    def numbers(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape, generator=draw)

    n_vocabulary = model.sizes.n_vocabulary
    return Pairs(
        ids=numbers(0, n_vocabulary, count, n_tokens),
        query=numbers(6, n_tokens, count),
        right=numbers(0, n_vocabulary, count),
        wrong=numbers(0, n_vocabulary, count),
        target=numbers(1, 3, count),
        distractor=numbers(3, 6, count),
    )


@pytest.mark.parametrize("heads", [[(0, 1)], [(1, 0), (1, 4)], [(0, 2), (2, 2)]])
def test_a_head_taken_out_is_its_rows_of_the_concat_zeroed(
    model: ToyModel, ids: Tensor, heads: list[tuple[int, int]]
) -> None:
    broken = model.run(ids, edit_heads=ablation.replace_heads(model, heads, None))
    for index, layer in enumerate(model.each_layer()):
        concat = broken.layers[index].concat.clone()
        rest = model.run(ids).layers[0].concat if index == 0 else None
        for _, head in [pair for pair in heads if pair[0] == index]:
            rows = slice(head * 4, head * 4 + 4)
            assert (concat[:, rows] == 0).all()
            if rest is not None:
                rest[:, rows] = 0
        if rest is not None:
            assert torch.equal(concat, rest), "the other heads are as they were"
        expected = broken.streams[index] + concat @ layer.w_o.T
        after = broken.streams[index + 1]
        added = broken.mlps[index]
        assert torch.allclose(after if added is None else after - added, expected, atol=1e-12)
    assert not torch.allclose(broken.logits, model.run(ids).logits)


def test_a_head_replaced_by_its_mean_is_the_mean_everywhere(model: ToyModel, ids: Tensor) -> None:
    texts = [ids, torch.tensor(model.ids_of("我喜欢猫。"))]
    means = ablation.mean_heads(model, texts)
    outputs = [model.run(text).layers[1].heads[3] for text in texts]
    assert torch.allclose(means[1, 3], torch.cat(outputs).mean(dim=0), atol=1e-12)
    steps = model.run(ids, edit_heads=ablation.replace_heads(model, [(1, 3)], means))
    assert torch.equal(steps.layers[1].heads[3], means[1, 3].expand(len(ids), -1))
    assert torch.equal(steps.layers[1].heads[2], model.run(ids).layers[1].heads[2])


@pytest.mark.parametrize("use_means", [False, True])
def test_the_damage_matrix_equals_breaking_one_head_at_a_time(
    model: ToyModel, use_means: bool
) -> None:
    pairs = make_pairs(model, count=60)
    means = torch.randn(N_LAYERS, N_HEADS, 4, dtype=torch.float64) if use_means else None
    done: list[float] = []
    damage = ablation.damage_matrix(model, {"a": pairs, "b": make_pairs(model)}, means, done.append)
    assert done == [0.5, 1.0]
    assert damage.broken.shape == (2, N_LAYERS, N_HEADS)
    assert damage.intact[0] == ablation.pairs_right(model, pairs).float().mean()
    for layer, head in HEADS:
        edit = ablation.replace_heads(model, [(layer, head)], means)
        right = ablation.pairs_right(model, pairs, edit_heads=edit)
        assert damage.broken[0, layer, head] == right.float().mean()
    assert torch.equal(damage.lost[0], damage.intact[0] - damage.broken[0])
    assert damage.lost.abs().max() > 0


def test_what_follows_the_query_changes_no_pair(model: ToyModel) -> None:
    pairs = make_pairs(model)
    longer = torch.cat([pairs.ids, torch.zeros(len(pairs), 3, dtype=torch.long)], dim=1)
    same = Pairs(longer, pairs.query, pairs.right, pairs.wrong, pairs.target, pairs.distractor)
    assert torch.equal(ablation.pairs_right(model, pairs), ablation.pairs_right(model, same))


def test_a_cut_edge_takes_that_look_and_shares_it_among_the_rest(
    model: ToyModel, ids: Tensor
) -> None:
    intact = model.run(ids).layers[0].pattern
    keep = ablation.cut_edges(model, len(ids), [(5, 2), (4, 4)], [(0, 1)])
    cut = model.run(ids, keep=keep).layers[0].pattern
    assert cut[1, 5, 2] == 0
    rest = [0, 1, 3, 4, 5]
    expected = intact[1, 5, rest] / intact[1, 5, rest].sum()
    assert torch.allclose(cut[1, 5, rest], expected)
    assert torch.equal(cut[1, 4], intact[1, 4]), "a look at itself stays"
    cut[1, 5], intact[1, 5] = 0, 0
    assert torch.equal(cut, intact), "no other row, no other head"


def test_cutting_pairs_equals_cutting_each_by_hand(model: ToyModel) -> None:
    pairs = make_pairs(model, count=40)
    heads = [head for head in HEADS if head != (1, 1)]
    for where, keys in (("target", pairs.target), ("distractor", pairs.distractor)):
        right = ablation.cut_pairs(model, pairs, heads, where)
        for place in range(len(pairs)):
            edge = (int(pairs.query[place]), int(keys[place]))
            keep = ablation.cut_edges(model, pairs.ids.shape[1], [edge], heads)
            logits = model.run(pairs.ids[place], keep=keep).logits[pairs.query[place]]
            assert right[place] == (logits[pairs.right[place]] > logits[pairs.wrong[place]])
    assert not torch.equal(
        ablation.cut_pairs(model, pairs, HEADS, "target"), ablation.pairs_right(model, pairs)
    )


def test_a_pair_without_a_distractor_is_left_alone(model: ToyModel) -> None:
    pairs = make_pairs(model)
    pairs.distractor[:] = -1
    intact = ablation.pairs_right(model, pairs)
    assert torch.equal(ablation.cut_pairs(model, pairs, HEADS, "distractor"), intact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_direct_contributions_sum_to_the_logits(
    model: ToyModel, ids: Tensor, dtype: torch.dtype
) -> None:
    model.to(dtype)
    steps = model.run(ids)
    for query in (0, 4, len(ids) - 1):
        direct = ablation.direct_logits(model, steps, query)
        total = direct.embedding + direct.heads.sum(dim=(0, 1)) + direct.mlps.sum(dim=0)
        error = (total - direct.logits).abs().max() / direct.logits.abs().max()
        assert error < (1e-5 if dtype == torch.float32 else 1e-13)
        assert (direct.mlps[:2] == 0).all()
        assert (direct.mlps[2] != 0).any()
    model.double()


def test_head_contributions_sum_to_the_layers_output(model: ToyModel) -> None:
    for layer in model.trace("The cat sat on the mat.").layers:
        total = head_contributions(layer).sum(axis=0)
        assert abs(total - layer.out).max() <= 1e-5 * abs(layer.out).max()


@pytest.mark.parametrize("head", [(3, 0), (0, 5), (-1, 0)])
def test_a_head_that_does_not_exist_is_named(model: ToyModel, head: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=f"Layer {head[0]}, head {head[1]} does not exist"):
        ablation.replace_heads(model, [head], None)
    with pytest.raises(ConfigError, match="does not exist"):
        ablation.cut_edges(model, 4, [(2, 1)], [head])
