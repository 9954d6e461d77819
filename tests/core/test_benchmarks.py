"""What the benchmark times is one and the same computation."""

from __future__ import annotations

import argparse
import time

import pytest
import torch

from benchmarks import memory
from benchmarks.core import RATIOS, STATUS, measure_memory, time_all
from benchmarks.layers import make_runs, takes_fast_path


def test_the_contenders_give_the_same_output():
    with torch.inference_mode():
        made = {name: run() for name, run in make_runs(9, "cpu", torch.float32).items()}
    plain, turned = made["attention"], made["attention, RoPE"]
    for name in ("nn.MultiheadAttention", "nn.MultiheadAttention, no fast path"):
        out, pattern = made[name]
        torch.testing.assert_close(out, plain.out, rtol=0, atol=1e-5)
        torch.testing.assert_close(pattern, plain.pattern, rtol=0, atol=1e-5)
    for name in ("fused_attention", "F.scaled_dot_product_attention"):
        torch.testing.assert_close(made[name], plain.out, rtol=0, atol=1e-5)
    out, pattern = made["Llama eager, RoPE"]
    torch.testing.assert_close(out, turned.out, rtol=0, atol=1e-5)
    torch.testing.assert_close(pattern, turned.pattern, rtol=0, atol=1e-5)
    assert (turned.out - plain.out).abs().max() > 1e-3


def test_the_fast_path_is_told_from_the_plain_one():
    with torch.inference_mode():
        assert takes_fast_path(9, "cpu", torch.float32)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            assert not takes_fast_path(9, "cpu", torch.float32)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


def test_every_ratio_is_measured():
    with torch.inference_mode():
        row = time_all(make_runs(8, "cpu", torch.float32), 0, time.perf_counter)
    assert set(row["ratios"]) == {
        f"{ours} / {other}" for ours, others in RATIOS.items() for other in others
    }
    assert all(milliseconds > 0 for milliseconds in row["ms"].values())


def test_the_gallerys_sentence_has_as_many_tokens_as_it_says():
    from benchmarks.ui import GALLERY_HEADS, GALLERY_TOKENS, gallery_text
    from mha_core.model.checkpoint import load_toy_model

    model = load_toy_model()
    assert len(model.ids_of(gallery_text(GALLERY_TOKENS))) == GALLERY_TOKENS
    assert model.n_layers * model.n_heads == GALLERY_HEADS


def test_memory_grows_with_the_pattern():
    """At 1024 tokens one pattern of 12 heads is 50 MB; what is kept is one of them."""
    found = measure_memory("attention", [1024], "cpu", torch.float32)
    least = 40 if STATUS.exists() else 0  # elsewhere only the whole life's peak is known
    assert least <= found["1024"] < 200


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells a process's memory")
@pytest.mark.parametrize("case", memory.CASES)
def test_no_reader_makes_the_server_hold_more_than_its_bound(case: str) -> None:
    options = argparse.Namespace(bound=96, steps=1)
    assert memory.in_child(memory.ROOT, case, options) <= memory.MOST_GROWTH * options.bound
