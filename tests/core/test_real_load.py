"""Folders of models: what is loaded, how its tokens read, and what is refused before it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mha_core.errors import DataError
from mha_core.real.capture import Call, capture
from mha_core.real.folder import FOLDER_VARIABLE, card_of, find_model, list_models, models_root
from mha_core.real.labels import encode
from mha_core.real.load import load_model, open_network
from mha_core.sizes.quiet import one_at_a_time
from tests.core.real_families import CLOSED, FAMILIES, UNLIKE, Family, build
from tests.core.real_folders import bytes_tokenizer, save_folder, words_tokenizer

LLAMA = next(family for family in FAMILIES if family.name == "llama")
BERT = next(family for family in FAMILIES if family.name == "bert")
WIDE = Family("llama", "llama", LLAMA.settings | {"vocab_size": 300})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_folder(folder / "small-llama", WIDE, bytes_tokenizer())
    save_folder(folder / "small-bert", BERT)
    return folder


def test_a_folder_lists_its_models(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bert, llama = list_models(root)
    assert (llama.name, llama.kind, llama.n_layers, llama.n_heads) == ("small-llama", "llama", 2, 4)
    assert (bert.name, bert.kind, bert.problem) == ("small-bert", "bert", None)
    assert (llama.causal, bert.causal) == (True, False)
    assert llama.n_bytes > 100_000
    monkeypatch.setenv(FOLDER_VARIABLE, str(root))
    assert models_root() == root
    assert find_model("small-bert") == bert
    monkeypatch.setenv(FOLDER_VARIABLE, str(root / "none"))
    with pytest.raises(DataError, match="is no folder"):
        list_models()
    assert list_models(root / "nothing") == ()


@pytest.mark.parametrize("name", ["..", "../models", "/etc", "small-llama/", ".", "", "gpt2"])
def test_only_what_is_listed_can_be_named(root: Path, name: str) -> None:
    with pytest.raises(DataError, match="Found there: small-bert, small-llama"):
        load_model(name, root=root)


def test_a_digest_tells_other_numbers(root: Path, tmp_path: Path) -> None:
    before = card_of(root / "small-llama").digest
    again = save_folder(tmp_path / "again", WIDE, bytes_tokenizer())
    assert card_of(again).digest == before
    weights = again / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert card_of(again).digest != before


def test_a_model_is_loaded_and_shows_its_attention(root: Path) -> None:
    model = load_model("small-llama", root=root)
    assert (model.n_layers, model.n_heads, model.n_kv_heads) == (2, (4, 4), (2, 2))
    assert model.causal
    assert model.speaks
    assert not model.network.training
    read = model.encode("the 我!")
    calls = capture(model, read, patterns=True)
    assert [call.number for call in calls] == [0, 1]
    assert calls[1].rows().shape == (1, 4, read.n_tokens, read.n_tokens)
    assert repr(model) == "RealModel(small-llama: LlamaForCausalLM, 2 layers, 8 heads)"
    bert = load_model("small-bert", root=root)
    assert not bert.causal
    assert not bert.speaks
    loaded, made = bert.network.state_dict(), build(BERT).state_dict()
    assert loaded.keys() == made.keys()
    assert all(torch.equal(loaded[name], made[name]) for name in made)


@pytest.mark.parametrize("family", CLOSED, ids=lambda family: family.name)
def test_a_class_that_hides_its_attention_is_refused_by_name(family: Family, root: Path) -> None:
    with one_at_a_time():
        network = build(family)
    with pytest.raises(DataError, match=f"{type(network).__name__}, the class of small-llama"):
        open_network(network, words_tokenizer(), card_of(root / "small-llama"))


@pytest.mark.parametrize(("family", "sentence"), UNLIKE, ids=lambda each: getattr(each, "name", ""))
def test_a_class_that_is_not_what_is_seen_of_it_is_refused(
    family: Family, sentence: str, root: Path
) -> None:
    with one_at_a_time():
        network = build(family)
    with pytest.raises(DataError, match=f"{type(network).__name__}, the class of .*{sentence}"):
        open_network(network, words_tokenizer(), card_of(root / "small-llama"))


def test_a_model_that_is_seen_a_little_wrong_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that our function would not know of shows as soon as the model is tried out."""
    rows = Call.rows

    def forgetful(call: Call, *which: int) -> torch.Tensor:
        call.scale *= 0.98
        return rows(call, *which)

    card = card_of(root / "small-llama")
    open_network(build(LLAMA), words_tokenizer(), card)
    monkeypatch.setattr(Call, "rows", forgetful)
    with pytest.raises(DataError, match="the class of small-llama, computes more"):
        open_network(build(LLAMA), words_tokenizer(), card)


def test_tokens_are_labelled_by_the_characters_they_cover() -> None:
    read = encode(bytes_tokenizer(), " the 我\nx")
    assert read.labels == (
        "␣th", "e", "␣", "我 ½", "我 2⁄2", "↵", "x",
    )  # fmt: skip
    assert read.spans[3] == read.spans[4] == (5, 6)
    assert read.pieces == ((1, 1), (1, 1), (1, 1), (1, 2), (2, 2), (1, 1), (1, 1))
    assert "".join(read.text[slice(*span)] for span in dict.fromkeys(read.spans)) == read.text
    assert encode(bytes_tokenizer(), "你").labels == ("你 ⅓", "你 ⅔", "你 3⁄3")
    named = encode(bytes_tokenizer(), "a<eos>b")
    assert (named.labels, named.special) == (("a", "<eos>", "b"), (False, True, False))


def test_a_text_that_cannot_be_read_is_refused(root: Path) -> None:
    tokenizer = words_tokenizer()
    with pytest.raises(DataError, match=r"no token in this text for m\."):
        encode(tokenizer, "  ", name="m")
    with pytest.raises(DataError, match="has 3 tokens for m; at most 2 are read"):
        encode(tokenizer, "w4 w5 w6", name="m", limit=2)
    with pytest.raises(DataError, match=r"half a character \(number 2\)"):
        encode(tokenizer, "a\ud83d", name="m")
