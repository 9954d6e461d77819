"""The digits, the canvas and the small vision transformer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from sklearn import datasets

from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.model.digits import centred, digit_from_canvas, load_digits, split_digits
from mha_core.model.vit import FILE, Vit, VitConfig, load_vit, read_vit, save_vit
from mha_core.training.train_vit import accuracy, train_vit


def test_digits_are_those_of_the_source() -> None:
    source = datasets.load_digits()
    digits = load_digits()
    assert np.array_equal(digits.images, source.images)
    assert np.array_equal(digits.labels, source.target)


def test_the_held_out_fifth_is_apart() -> None:
    learn, held_out = split_digits(load_digits())
    assert len(learn) + len(held_out) == 1797
    assert np.array_equal(held_out.images[3], load_digits().images[15])
    assert np.array_equal(learn.images[:4], load_digits().images[1:5])


def test_shipped_weights_read_the_held_out_fifth() -> None:
    _, held_out = split_digits(load_digits())
    found = accuracy(load_vit(), held_out)
    assert found >= 0.96
    assert load_vit().metadata["held_out_accuracy"] == f"{found:.4f}"


def test_training_reproduces_it() -> None:
    learn, held_out = split_digits(load_digits())
    assert accuracy(train_vit(learn, seed=0), held_out) >= 0.96


def test_the_traced_way_equals_the_fast_way() -> None:
    model, images = load_vit(), load_digits().images[:7]
    with torch.no_grad():
        fast = model(model.patches(images)).numpy()
    for image, logits in zip(images, fast, strict=True):
        trace = model.trace(image)
        np.testing.assert_allclose(trace.logits, logits, atol=2e-5)
        assert trace.probabilities.sum() == pytest.approx(1)
        assert trace.digit == logits.argmax()


def test_every_patch_may_look_at_every_patch() -> None:
    trace = load_vit().trace(load_digits().images[0])
    for layer in trace.layers:
        assert layer.pattern.shape == (4, 16, 16)
        assert (layer.pattern > 0).all()
        np.testing.assert_allclose(layer.pattern.sum(-1), 1, atol=1e-6)


def test_patches_are_cut_row_by_row() -> None:
    image = np.arange(64).reshape(8, 8) % 17
    patches = Vit().patches(image[None])[0] * 16
    # Token 5 is row 1, column 1 of the 4 × 4 grid: pixels (2, 2), (2, 3), (3, 2), (3, 3).
    assert patches[5].tolist() == [image[2, 2], image[2, 3], image[3, 2], image[3, 3]]
    assert Vit().trace(image).tokens[5] == "(1, 1)"


def test_canvas_counts_ink_by_block() -> None:
    canvas = np.zeros((32, 32), dtype=bool)
    canvas[0:32, 12:20] = True  # already in the middle
    canvas[1, 12] = False
    found = digit_from_canvas(canvas)
    assert found[0].tolist() == [0, 0, 0, 15, 16, 0, 0, 0]
    assert found.sum() == canvas.sum()


@given(st.integers(0, 20), st.integers(0, 24), st.integers(1, 12), st.integers(1, 8))
def test_where_it_was_drawn_does_not_matter(top: int, left: int, height: int, width: int) -> None:
    canvas = np.zeros((32, 32), dtype=bool)
    canvas[top : top + height, left : left + width] = True
    corner = np.zeros_like(canvas)
    corner[:height, :width] = True
    assert np.array_equal(digit_from_canvas(canvas), digit_from_canvas(corner))
    used = np.flatnonzero(centred(canvas).any(1))
    assert abs((31 - used[-1]) - used[0]) <= 1


def test_what_is_no_drawing_is_refused() -> None:
    with pytest.raises(DataError, match="has no ink"):
        digit_from_canvas(np.zeros((32, 32)))
    with pytest.raises(DataError, match="expected 32 × 32"):
        digit_from_canvas(np.ones((8, 8)))
    with pytest.raises(ShapeError, match="expected 8 × 8"):
        load_vit().trace(np.ones((32, 32)))
    with pytest.raises(ConfigError, match="divides 8"):
        VitConfig(patch=3)


def test_weights_come_back_as_they_went(tmp_path: Path) -> None:
    sizes = VitConfig(d_model=12, n_heads=3, n_layers=1, d_mlp=10, patch=4)
    model = Vit(sizes, seed=5)
    save_vit(model, tmp_path / "own.safetensors", {"seed": "5"})
    again = read_vit(tmp_path / "own.safetensors")
    assert again.sizes == sizes
    assert again.metadata["seed"] == "5"
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value.half().float())


@pytest.mark.parametrize("harm", ["missing", "extra", "shape", "nan"])
def test_harmed_weights_are_refused(harm: str, tmp_path: Path) -> None:
    tensors = load_file(FILE)
    if harm == "missing":
        del tensors["positions"]
    if harm == "extra":
        tensors["positions_too"] = torch.ones(1)
    if harm == "shape":
        tensors["positions"] = tensors["positions"][1:]
    if harm == "nan":
        tensors["positions"][2, 3] = float("nan")
    path = tmp_path / "harmed.safetensors"
    save_file(tensors, path, metadata=load_vit().metadata)
    with pytest.raises(DataError, match=r"harmed.safetensors does not hold .*positions"):
        read_vit(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.safetensors").write_bytes(b"")
    for name in ("empty.safetensors", "nowhere.safetensors"):
        with pytest.raises(DataError, match=f"{name} does not hold the weights"):
            read_vit(tmp_path / name)
