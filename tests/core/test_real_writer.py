"""Other people's models write on: the library's own text, and the rows of the pattern at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from mha_core.continuing import Sampling, continue_text
from mha_core.errors import DataError
from mha_core.real.capture import Call, capture_calls, watching
from mha_core.real.folder import ModelCard
from mha_core.real.load import RealModel, open_network
from mha_core.real.writer import RealWriter
from mha_core.sizes.quiet import one_at_a_time
from tests.core.real_families import FAMILIES, Family, build
from tests.core.real_folders import bytes_tokenizer, words_tokenizer

TEXT = "w5 w9 w5 w20 w31 w5 w9 w50 w60 w7 w5"  # longer than the small models' windows
ENCODERS = {"bert", "roberta", "albert", "distilbert", "electra", "modernbert", "eurobert"}
SPEAKERS = [family for family in FAMILIES if family.kind not in ENCODERS]
LLAMA = FAMILIES[0]


def opened(family: Family, tokenizer: PreTrainedTokenizerFast | None = None) -> RealModel:
    """A small model of a family, as it is when it is loaded."""
    with one_at_a_time():
        card = ModelCard("small", Path("small"))
        return open_network(build(family), tokenizer or words_tokenizer(), card)


@pytest.mark.parametrize("family", SPEAKERS, ids=lambda family: family.name)
def test_the_text_is_the_librarys_and_the_rows_are_the_patterns(family: Family) -> None:
    writer = RealWriter(opened(family))
    plain = build(family)
    ids = list(writer.encode(TEXT))
    for new in continue_text(writer, TEXT, 6):
        with torch.no_grad():
            logits = plain(input_ids=torch.tensor([ids])).logits[0, -1]
        calls = capture_calls(writer.model.network, input_ids=torch.tensor([ids]))
        assert new.id == int(logits.argmax())
        largest = max(1.0, float(logits.abs().max()))
        np.testing.assert_allclose(new.found.logits, logits.numpy(), atol=2e-5 * largest)
        assert len(new.found.rows) == len(calls)
        for row, call in zip(new.found.rows, calls, strict=True):
            assert row.shape == (call.n_heads, len(ids))
            np.testing.assert_allclose(row, call.rows()[0, :, -1].numpy(), atol=1e-5)
        ids.append(new.id)
        if new.id in writer.ends:
            break


def test_any_earlier_reading_gives_the_same(tmp_path: Path) -> None:
    writer = RealWriter(opened(LLAMA))
    first = writer.read([5, 9, 7, 8, 30]).past
    before = [keys.clone() for keys, _ in first.layers]
    for ids in ([5, 9, 7, 8, 30], [5, 9], [5, 9, 40, 41], [60], [5, 9, 7, 8, 30, 31, 32]):
        known, anew = writer.read(ids, first), writer.read(ids)
        np.testing.assert_allclose(known.logits, anew.logits, atol=1e-4)
        for a, b in zip(known.rows, anew.rows, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
    assert all(torch.equal(a, b) for a, (b, _) in zip(before, first.layers, strict=True))


def test_it_stops_at_the_models_end_and_writes_by_a_seed() -> None:
    writer = RealWriter(opened(LLAMA))
    assert writer.ends == frozenset({2})
    writer.ends = frozenset(range(99))
    assert len(list(continue_text(writer, TEXT, 5))) == 1
    writer.ends = frozenset()
    sampling = Sampling(temperature=2.0, seed=4)
    whole = [new.id for new in continue_text(writer, TEXT, 8, sampling=sampling)]
    rest = continue_text(writer, TEXT, 5, sampling=sampling, said=whole[:3])
    assert [new.id for new in rest] == whole[3:]


def test_tokens_read_as_what_they_are() -> None:
    wide = Family("llama", "llama", LLAMA.settings | {"vocab_size": 300})
    writer = RealWriter(opened(wide, bytes_tokenizer()))
    ids = writer.encode("the 我!")
    shown = [writer.display(token) for token in ids]
    assert shown[:3] == ["t", "h", "e"]
    assert " ".join(shown[-3:]).endswith("!")
    assert all("\ufffd" not in name for name in shown)
    assert "0xE6 0x88" in shown
    assert writer.decode(ids).endswith("the 我!")


def test_a_model_that_only_reads_is_refused() -> None:
    bert = next(family for family in FAMILIES if family.kind == "bert")
    with pytest.raises(DataError, match="small does not say what comes next"):
        RealWriter(opened(bert))


def test_a_head_that_is_off_gives_nothing_before_the_output_projection() -> None:
    ids = [5, 9, 7, 8, 30, 31]
    for kind, path in (("llama", "model.layers.1.self_attn.o_proj"),
                       ("gpt2", "transformer.h.1.attn.c_proj")):  # fmt: skip
        family = next(each for each in FAMILIES if each.name == kind)
        writer, plain = RealWriter(opened(family)), build(family)

        def silence(module: object, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            changed = inputs[0].clone()
            changed[..., 40:60] = 0  # head 2 of 20 features
            return (changed,)

        handle = plain.get_submodule(path).register_forward_pre_hook(silence)
        with torch.no_grad():
            expected = plain(input_ids=torch.tensor([ids])).logits[0, -1].numpy()
        handle.remove()
        np.testing.assert_allclose(writer.read_without(ids, [(1, 2)]), expected, atol=2e-5)
        as_it_is = writer.read(ids).logits
        np.testing.assert_allclose(writer.read_without(ids, ()), as_it_is, atol=2e-5)
        assert np.abs(expected - as_it_is).max() > 1e-3


@pytest.mark.parametrize("name", ["llama", "gpt-oss", "gemma2"])
def test_a_forbidden_edge_is_masked_before_the_softmax(name: str) -> None:
    family = next(each for each in FAMILIES if each.name == name)
    writer = RealWriter(opened(family))
    ids, (layer, head, query, key) = [5, 9, 7, 8, 30, 31], (1, 3, 5, 2)
    hidden: list[torch.Tensor] = []

    def forbid(call: Call) -> torch.Tensor:
        if call.number == layer:
            call.bias = torch.zeros(1, call.n_heads, len(ids), len(ids))
            call.bias[0, head, query, key] = -torch.inf
            hidden.append(call.rows())
        return call.heads()

    with torch.no_grad(), watching(forbid):
        expected = writer.model.network(input_ids=torch.tensor([ids])).logits[0, -1].numpy()
    assert hidden[0][0, head, query, key] == 0
    found = writer.read_without(ids, (), (layer, head, query, key))
    np.testing.assert_allclose(found, expected, atol=2e-5)
