"""The toy model: the traced way equals the fast way, causality, files that are checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.checkpoint import (
    FINAL,
    _unpack,
    list_checkpoints,
    load_model,
    load_toy_model,
    quantise,
    save_model,
)
from mha_core.model.toy import ModelConfig, ToyModel
from mha_core.walk import compare, limits

TEXT = "The cat sat on the mat because it was tired."


@pytest.fixture(scope="module")
def model() -> ToyModel:
    """The shipped model."""
    return load_toy_model()


@torch.no_grad()
def test_the_traced_way_equals_the_fast_way(model: ToyModel) -> None:
    ids = torch.randint(len(model.tokenizer), (3, 11), generator=torch.Generator().manual_seed(0))
    traced, fast = model.run(ids).logits, model(ids)
    assert (traced - fast).abs().max() <= 1e-5 * fast.abs().max()


@torch.no_grad()
def test_a_later_token_changes_nothing_before_it(model: ToyModel) -> None:
    ids = torch.tensor([model.ids_of(TEXT)])
    changed = ids.clone()
    changed[0, 7] = 900
    assert torch.equal(model(ids)[:, :7], model(changed)[:, :7])
    assert not torch.equal(model(ids)[:, 7:], model(changed)[:, 7:])


def test_a_trace_is_the_models_own(model: ToyModel) -> None:
    trace = model.trace(TEXT)
    assert trace.tokens[:4] == ("<bos>", "The", "cat", "sat")
    assert trace.logits.shape == (12, len(model.tokenizer))
    for layer in trace.layers:
        apart, allowed = compare(layer), limits(layer)
        assert all(apart[name] <= allowed[name] for name in apart)
    embedded = model.embedding[model.ids_of(TEXT)].detach().numpy()
    assert np.array_equal(trace.layers[0].stream, embedded)
    assert np.allclose(trace.layers[1].stream, trace.layers[0].residual)  # layer 0 has no MLP


def test_a_mask_replaces_causality_and_rope_can_be_off(model: ToyModel) -> None:
    two_way = model.trace(TEXT, keep=np.ones((12, 12), dtype=bool))
    assert (two_way.layers[0].pattern > 0).all()
    plain = model.trace(TEXT, rope=False)
    assert np.array_equal(plain.layers[0].q, plain.layers[0].q_rot)
    off = model.trace(TEXT, heads_off=[(1, 4)])
    assert not off.layers[1].heads[4].any()
    assert off.layers[1].heads[3].any()


def test_any_text_can_be_traced(model: ToyModel) -> None:
    for text in ("", "🙂", "zebu", "a\ud800b"):
        assert np.isfinite(model.trace(text).logits).all()


def test_predictions_are_probabilities_in_order(model: ToyModel) -> None:
    best = model.predict("The cat sat on the", 5)
    chances = [chance for _, chance in best]
    assert chances == sorted(chances, reverse=True)
    assert 0 < sum(chances) <= 1
    assert len(model.predict("The", 10**6)) == len(model.tokenizer)


def test_a_row_comes_back_within_half_a_step() -> None:
    matrix = torch.randn(13, 7, generator=torch.Generator().manual_seed(3))
    whole, scale = quantise(matrix)
    back = _unpack({"m": whole, "m.scale": scale})["m"]
    # Half a step of rounding, and the scale's own float16 rounding times 127 steps.
    allowed = matrix.abs().amax(1) / 127 * (0.5 + 127 * 2**-11)
    assert ((back - matrix).abs().amax(1) <= allowed * 1.001).all()


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_saved_model_comes_back(tmp_path: Path, precision: str) -> None:
    small = ToyModel(ModelConfig(len(load_tokenizer()), 12, 3, (0, 8)), seed=1)
    save_model(small, tmp_path / "a.safetensors", precision=precision, seed=1)  # type: ignore[arg-type]
    back = load_model(tmp_path / "a.safetensors")
    assert back.sizes == small.sizes
    assert back.metadata["seed"] == "1"
    for name, value in small.state_dict().items():
        assert (value - back.state_dict()[name]).abs().max() <= value.abs().max() / 100


def test_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    with pytest.raises(DataError, match="cannot be read as safetensors"):
        load_model(path)
    path.write_bytes(FINAL.read_bytes()[:1000])
    with pytest.raises(DataError, match="cannot be read as safetensors"):
        load_model(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(DataError, match="names the format None"):
        load_model(path)
    tensors, metadata = load_file(FINAL), load_toy_model().metadata
    tensors["norm"][0] += 1
    save_file(tensors, path, metadata)
    with pytest.raises(DataError, match="do not match the checksum"):
        load_model(path)
    save_file(load_file(FINAL), path, metadata | {"vocabulary": "other"})
    with pytest.raises(DataError, match="another vocabulary"):
        load_model(path)
    sizes = metadata["sizes"].replace('"d_model": 96', '"d_model": 102')
    save_file(load_file(FINAL), path, metadata | {"sizes": sizes})
    with pytest.raises(DataError, match="the tensor embedding has shape"):
        load_model(path)


SIZES = {
    "none": None,
    "no JSON": "six heads",
    "no sizes": "null",
    "a list": "[1, 2]",
    "one missing": '{"n_vocabulary": 10}',
    "one unknown": '{WIDE, "n_heads": 6, "d_mlp": [0], "colour": 3}',
    "no heads": '{WIDE, "n_heads": 0, "d_mlp": [0]}',
    "heads of odd width": '{WIDE, "n_heads": 32, "d_mlp": [0]}',
    "a word": '{"n_vocabulary": 10, "d_model": "wide", "n_heads": 6, "d_mlp": [0]}',
    "no layers": '{WIDE, "n_heads": 6, "d_mlp": 7}',
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_file_without_sizes_of_a_model_is_refused(sizes: str | None, tmp_path: Path) -> None:
    path, metadata = tmp_path / "toy.safetensors", dict(load_toy_model().metadata)
    wide = '"n_vocabulary": {}, "d_model": {}'.format(*load_toy_model().embedding.shape)
    del metadata["sizes"]
    sizes = sizes and sizes.replace("WIDE", wide)
    save_file(load_file(FINAL), path, metadata | ({} if sizes is None else {"sizes": sizes}))
    with pytest.raises(DataError, match=r"has the sizes .*expected those of ModelConfig"):
        load_model(path)


def test_the_shipped_files_keep_to_their_sizes() -> None:
    assert FINAL.stat().st_size <= 2_700_000
    checkpoints = list_checkpoints()
    assert 4 <= len(checkpoints) <= 8
    assert all(path.stat().st_size <= 1_350_000 for path in checkpoints)
    assert FINAL.stat().st_size + sum(path.stat().st_size for path in checkpoints) <= 8_000_000


IMPOSSIBLE = {
    "13 features for 10 heads": ((10, 13, 10, (0,)), ShapeError, "13 cannot be shared equally"),
    "13 features, 4 heads": ((10, 13, 4, (0,)), ShapeError, "13 cannot be shared equally by 4"),
    "odd heads": ((10, 9, 3, (0,)), ShapeError, "RoPE cannot turn 3 features"),
    "no vocabulary": ((0, 12, 3, (0,)), ShapeError, "n_vocabulary = 0 is not a size"),
    "no heads": ((10, 12, 0, (0,)), ShapeError, "n_heads = 0 is not a size"),
    "half an MLP": ((10, 12, 3, (0.5,)), ConfigError, r"d_mlp = \(0\.5,\) names no model"),
    "a number of layers": ((10, 12, 3, 2), ConfigError, "d_mlp = 2 names no model"),
    "no base": ((10, 12, 3, (0,), 0.0), ConfigError, r"base = 0\.0 is out of range"),
}


@pytest.mark.parametrize(("sizes", "kind", "words"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_model_that_cannot_run_is_not_built(sizes, kind, words) -> None:
    with pytest.raises(kind, match=words):
        ModelConfig(*sizes)


def test_sizes_that_make_no_model_are_refused() -> None:
    with pytest.raises(ConfigError, match="names no model"):
        ModelConfig(10, d_mlp=())


def test_a_checkpoint_without_unembedding_reads_and_predicts_nothing(tmp_path: Path) -> None:
    model = load_toy_model()
    save_model(model, tmp_path / "early.safetensors", precision="int8", predicts=False)
    early = load_model(tmp_path / "early.safetensors")
    ids = torch.tensor([model.ids_of("The cat sat")])
    assert bool(early(ids).isnan().all())
    for one, two in zip(early.run(ids).patterns, model.run(ids).patterns, strict=True):
        assert torch.equal(one, two)  # the shipped file is int8 as well
