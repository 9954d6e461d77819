"""One rule for where to compute, and the same numbers on every device found here."""

from __future__ import annotations

import pytest
import torch

from mha_core.config import AttentionConfig
from mha_core.device import VARIABLE, choose_device, devices
from mha_core.errors import DeviceError
from mha_core.layer import attention, fused_attention
from mha_core.rope import Rope
from mha_core.walk import compare, limits, walk_layer
from mha_core.weights import random_embedding, random_weights
from tests.core.layers import layer_of

CONFIG = AttentionConfig(
    d_model=26, n_heads=6, n_kv_heads=2, d_head=8, d_value=5, rope=Rope(), window=(9, None)
)
TYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
HERE = [
    pytest.param(device, dtype, id=f"{device}-{str(dtype).removeprefix('torch.')}")
    for device in devices()
    for dtype in TYPES
    if not (device == "mps" and dtype == torch.float64)
]


@pytest.mark.parametrize(("device", "dtype"), HERE)
def test_every_device_and_type_is_as_good_as_its_rounding(device: str, dtype: torch.dtype):
    """Errors grow with the steps that round: at most 40 roundings of the largest number."""
    layer = layer_of(CONFIG, 17, seed=4, biases=True, sinks=True, keep=True)
    keep = layer.inputs()["keep"].to(device)
    x = torch.tensor(layer.x, dtype=dtype, device=device) / 4
    weights = layer.weights.to_torch(device, dtype)
    exact = attention(
        x.cpu().double(), weights.convert(lambda w: w.cpu().double()), CONFIG, keep=keep.cpu()
    )
    steps = attention(x, weights, CONFIG, keep=keep)
    fused = fused_attention(x, weights, CONFIG, keep=keep)
    rounding = 40 * torch.finfo(dtype).eps
    for name in ("q_rot", "k_rot", "scores", "pattern", "heads", "out"):
        value, expected = getattr(steps, name), getattr(exact, name)
        assert value.device.type == torch.device(device).type
        assert value.dtype == dtype
        apart = (value.cpu().double() - expected).abs().max()
        assert apart <= rounding * expected.abs().max(), name
    assert (fused.cpu().double() - exact.out).abs().max() <= rounding * exact.out.abs().max()


@pytest.mark.parametrize("device", devices())
def test_the_walk_agrees_with_the_article_on_every_device(device: str):
    trace = walk_layer(
        random_embedding(17, 26, 0), random_weights(CONFIG, 0), CONFIG, device=device
    )
    allowed = limits(trace)
    assert {name: far for name, far in compare(trace).items() if far > allowed[name]} == {}
    assert torch.device(trace.device).type == torch.device(device).type


def test_the_softmax_can_be_computed_in_a_longer_type():
    layer = layer_of(CONFIG, 17, seed=4)
    x = torch.tensor(layer.x, dtype=torch.float32)
    weights = layer.weights.to_torch(dtype=torch.float32)
    longer = AttentionConfig(26, 6, 2, 8, 5, CONFIG.rope, softmax_dtype="float64")
    steps = attention(x, weights, longer)
    assert steps.pattern.dtype == torch.float32
    assert torch.equal(steps.pattern, steps.masked.double().softmax(-1).float())


def test_the_argument_comes_first_then_the_variable_then_the_best(monkeypatch):
    monkeypatch.setenv(VARIABLE, "cpu")
    assert choose_device() == torch.device("cpu")
    monkeypatch.setenv(VARIABLE, "warp")
    assert choose_device("cpu") == torch.device("cpu")
    monkeypatch.delenv(VARIABLE)
    assert choose_device() == torch.device(devices()[0])


def test_a_device_that_is_no_device_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "warp")
    with pytest.raises(DeviceError, match=r"'warp' is not the name of a device.*cpu"):
        choose_device()


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(DeviceError, match=r"'cuda:97' was asked for and is not there.*cpu"):
        choose_device("cuda:97")


def test_a_type_that_the_device_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("mps", torch.float32) == torch.device("mps")
    with pytest.raises(DeviceError, match="'mps' has no float64"):
        choose_device("mps", torch.float64)


def test_the_best_device_is_the_gpu(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices()[:2] == ("cuda:0", "cuda:1")
    assert choose_device() == torch.device("cuda:0")
    assert choose_device("cuda") == torch.device("cuda")
