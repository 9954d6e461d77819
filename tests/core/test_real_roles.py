"""Heads of real models scored on the random tokens that ship, and changed inside the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mha_core.errors import ConfigError, ShapeError
from mha_core.model.edits import Edits, forbid_edges, zeros_for
from mha_core.model.edits import Path as Way
from mha_core.real.capture import capture_calls
from mha_core.real.edited import mean_heads, run_edited
from mha_core.real.folder import ModelCard
from mha_core.real.load import RealModel, open_network
from mha_core.real.roles import draw_repeats, drawn_numbers, score_heads
from tests.core.real_families import FAMILIES, Family, build
from tests.core.real_folders import words_tokenizer

BY_NAME = {family.name: family for family in FAMILIES}
IDS = torch.randint(3, 99, (1, 12), generator=torch.Generator().manual_seed(2))


def opened(family: Family) -> RealModel:
    return open_network(build(family), words_tokenizer(), ModelCard(family.name, Path()))


def test_the_draws_that_ship_are_said_twice() -> None:
    assert len(drawn_numbers()) >= 5
    model = opened(BY_NAME["llama"])
    texts = draw_repeats(model, 20)
    assert len(set(texts)) == len(texts) == len(drawn_numbers())
    for bos, *said in texts:
        assert bos == model.tokenizer.bos_token_id
        assert said[:20] == said[20:]
        assert len(set(said)) == 20
        assert not set(said) & set(model.tokenizer.all_special_ids)


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_scores_are_the_mean_weight_on_the_cell_of_the_role(name: str) -> None:
    """Written out: previous q−1, induction q−L+1, duplicate q−L over the second half, sink 0."""
    model, n = opened(BY_NAME[name]), 15
    texts = draw_repeats(model, n)
    found = score_heads(model, texts)
    for draw in (0, len(texts) - 1):
        calls = capture_calls(model.network, input_ids=torch.tensor([texts[draw]]))
        for call in calls:
            pattern = call.rows()[0].numpy().astype(np.float64)
            rows = np.arange(n + 1, 2 * n + 1)
            by_hand = {
                "previous": pattern[:, rows, rows - 1].mean(1),
                "induction": pattern[:, rows, rows - n + 1].mean(1),
                "duplicate": pattern[:, rows, rows - n].mean(1),
                "sink": pattern[:, 2:, 0].mean(1),
            }
            if name == "bert":  # it sees the second half too: what follows there counts as well
                del by_hand["induction"]
            for role, scores in by_hand.items():
                measured = found.values[role][draw, call.number]
                assert measured == pytest.approx(scores, abs=1e-6), role
    best = found.ranked("previous")
    assert len(best) == sum(model.n_heads)
    assert [each.low for _, each in best] == sorted((each.low for _, each in best), reverse=True)
    (layer, head), first = best[0]
    assert first == found.interval("previous", layer, head)
    assert first.low <= first.mean <= first.high
    assert first.n == len(texts)
    with pytest.raises(ConfigError, match="role = 'lazy' is not known"):
        found.ranked("lazy")


OFF = ["llama", "gpt2", "phi3", "gpt-neox", "bert", "gemma2", "opt"]


@pytest.mark.parametrize("name", OFF)
def test_a_head_switched_off_is_a_head_whose_columns_of_w_o_are_zero(name: str) -> None:
    model = opened(BY_NAME[name])
    before = run_edited(model, IDS)
    off = run_edited(model, IDS, zeros_for([(0, 2)]))
    assert not off.heads[0][:, 2].any()
    assert torch.equal(off.heads[0][:, 1], before.heads[0][:, 1])
    assert (off.logits - before.logits).abs().max() > 1e-3
    width = off.heads[0].shape[-1]
    columns = slice(2 * width, 3 * width)
    matrix = _first_output(model)
    with torch.no_grad():
        if isinstance(matrix, nn.Linear):
            matrix.weight[:, columns] = 0
        else:  # GPT-2 keeps it the other way
            matrix.weight[columns] = 0
    assert torch.allclose(run_edited(model, IDS).logits, off.logits, atol=1e-5)


def _first_output(model: RealModel) -> nn.Module:
    """The first layer's W_o, by the names that these classes give it."""
    names = ("o_proj", "c_proj", "dense", "out_proj", "output.dense")
    for path, module in model.network.named_modules():
        inside = "attn" in path or "attention" in path
        if inside and path.endswith(names) and hasattr(module, "weight"):
            return module
    raise LookupError(model.name)


def test_a_head_may_give_its_mean_instead() -> None:
    model = opened(BY_NAME["llama"])
    means = mean_heads(model, [IDS[0], IDS[0, :5]])
    runs = [run_edited(model, IDS).heads[1], run_edited(model, IDS[:, :5]).heads[1]]
    by_hand = torch.cat([run[0] for run in runs], dim=1).double().mean(1)
    assert torch.allclose(means[1], by_hand.float(), atol=1e-6)
    changed = run_edited(model, IDS, Edits(heads={(1, 3): means[1][3]}))
    assert torch.equal(changed.heads[1][0, 3], means[1][3].expand(IDS.shape[1], -1))
    with pytest.raises(ConfigError, match="at least one document"):
        mean_heads(model, [])


def test_a_look_may_be_forbidden() -> None:
    model = opened(BY_NAME["llama"])
    edits = forbid_edges([(1, 2, 7, 3), (1, 2, 7, 0)], n_heads=4, n_tokens=12)
    before, after = (run_edited(model, IDS, each, patterns=(1,)) for each in (None, edits))
    pattern, free = after.patterns[1][0], before.patterns[1][0]
    assert pattern[2, 7, 3] == pattern[2, 7, 0] == 0
    assert pattern[2, 7].sum() == pytest.approx(1, abs=1e-6)
    left = free[2, 7].clone()
    left[[0, 3]] = 0
    assert torch.allclose(pattern[2, 7], left / left.sum(), atol=1e-6)
    others = torch.ones_like(pattern, dtype=torch.bool)
    others[2, 7] = False
    assert torch.equal(pattern[others], free[others])
    assert torch.equal(after.logits[:, :7], before.logits[:, :7]), "earlier tokens know nothing"
    assert (after.logits[:, 7] - before.logits[:, 7]).abs().max() > 1e-4
    blind = Edits(forbidden={0: torch.ones(1, 12, 12, dtype=torch.bool)})
    assert not run_edited(model, IDS, blind).heads[0].any()


def test_what_cannot_be_changed_is_refused() -> None:
    model = opened(BY_NAME["llama"])
    for edits in (
        Edits(outputs={(0, 0): torch.zeros(80)}),
        Edits(paths={Way((0, 0), 1, "q"): torch.zeros(80)}),
    ):
        with pytest.raises(ConfigError, match="not what a head adds after W_o"):
            run_edited(model, IDS, edits)
    with pytest.raises(ConfigError, match="head = 4 is not known"):
        run_edited(model, IDS, zeros_for([(0, 4)]))
    with pytest.raises(ConfigError, match="layer = 2 is not known"):
        run_edited(model, IDS, Edits(forbidden={2: torch.zeros(1, 1, dtype=torch.bool)}))
    with pytest.raises(ShapeError):
        run_edited(model, IDS, Edits(heads={(0, 1): torch.zeros(7)}))
