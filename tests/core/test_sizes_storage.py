"""Bytes of numbers with group scales, what a file says of its weights, and what context fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import ConfigError, DataError
from mha_core.sizes import (
    STORAGES,
    CacheLayers,
    Storage,
    cache_bytes,
    cache_elements,
    context_that_fits,
    from_numbers,
    measure,
)
from mha_core.sizes.storage import read_storage

GIB = 2**30
LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
    "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(("name", "bits"), [("q4", 4.5), ("q5", 5.5), ("q6", 6.5), ("q8", 8.5)])
def test_a_group_shares_a_scale(name: str, bits: float) -> None:
    assert STORAGES[name].bits_per_number == bits
    # As a block of 32 in q4_0, q5_0 and q8_0 takes 18, 22 and 34 bytes.
    assert STORAGES[name].n_bytes(32) == bits * 4


def test_a_started_group_has_a_whole_scale() -> None:
    assert Storage(4, 32, 16).n_bytes(33) == (33 * 4 + 2 * 16 + 7) // 8
    assert Storage(16).n_bytes(3) == 6


layers = st.builds(
    CacheLayers,
    count=st.integers(1, 5),
    elements=st.integers(1, 300),
    window=st.one_of(st.none(), st.integers(1, 60)),
)


@given(st.lists(layers, min_size=1, max_size=3), st.sampled_from(sorted(STORAGES)),
       st.integers(1, 5), st.integers(0, 10**6))  # fmt: skip
def test_what_fits_fits_and_one_more_does_not(
    groups: list[CacheLayers], dtype: str, n_sequences: int, room: int
) -> None:
    tokens = context_that_fits(groups, room, dtype, n_sequences)
    if tokens is None:
        assert all(group.window is not None for group in groups)
        assert cache_bytes(groups, 10**9, dtype, n_sequences) <= room
        return
    assert tokens == 0 or cache_bytes(groups, tokens, dtype, n_sequences) <= room
    assert cache_bytes(groups, tokens + 1, dtype, n_sequences) > room


def test_a_batch_keeps_so_many_times_as_much() -> None:
    groups = [CacheLayers(3, 64), CacheLayers(2, 64, window=5)]
    assert cache_bytes(groups, 9, "fp16", 4) == 4 * cache_bytes(groups, 9, "fp16")
    assert cache_elements(groups, 9) == 3 * 64 * 9 + 2 * 64 * 5
    with pytest.raises(ConfigError, match="n_sequences = 0"):
        cache_bytes(groups, 9, "fp16", 0)


def test_what_fits_beside_the_weights_by_hand() -> None:
    sizes = measure({**LLAMA, "torch_dtype": "bfloat16"}, totals=False)
    weights = 2 * 8_030_261_248
    assert sizes.weight_bytes() == sizes.weight_bytes("bf16") == weights
    # 131,072 bytes a token; two sequences take twice that.
    assert sizes.context_that_fits(24 * GIB) == (24 * GIB - weights) // 131_072
    assert sizes.context_that_fits(24 * GIB, n_sequences=2) == (24 * GIB - weights) // 262_144
    assert sizes.context_that_fits(8 * GIB) == 0
    assert sizes.weight_bytes("q4") == 8_030_261_248 // 32 * 18
    with pytest.raises(DataError, match="What fits beside the weights is not known"):
        from_numbers(d_model=8, n_heads=2).context_that_fits(GIB)


@pytest.mark.parametrize(
    ("said", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4 + 20 / 64),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 128**2),
        ({"quant_method": "mxfp4"}, 4.25),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 8),
        (
            {"quant_method": "compressed-tensors", "config_groups": {
                "group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}}},
            4.5,
        ),
    ],
    ids=str,
)  # fmt: skip
def test_quantisation_blocks_are_read(said: dict[str, Any], bits: float) -> None:
    stored, note = read_storage({"torch_dtype": "float16", "quantization_config": said})
    assert note is None
    assert stored is not None
    assert stored.matrices.bits_per_number == pytest.approx(bits)
    assert stored.rest.bits_per_number == 16
    # Two tables of words stay as they are: V · d twice.
    sizes = measure({**LLAMA, "torch_dtype": "float16", "quantization_config": said}, totals=False)
    tables = 2 * 128_256 * 4096
    expected = stored.matrices.n_bytes(8_030_261_248 - tables) + 2 * tables
    assert sizes.weight_bytes() == expected


@pytest.mark.parametrize(
    "said", [{"quant_method": "brand_new"}, {}, {"quant_method": "gptq"},
             {"quant_method": "gptq", "bits": "four"}, {"quant_method": "compressed-tensors"}],
)  # fmt: skip
def test_a_quantisation_that_is_not_known_is_null_and_said(said: dict[str, Any]) -> None:
    stored, note = read_storage({"torch_dtype": "float16", "quantization_config": said})
    assert stored is None
    assert note is not None
    sizes = measure({**LLAMA, "quantization_config": said}, totals=False)
    assert sizes.weight_bytes() is None
    assert any("is not known here, so their bytes are null" in str(n) for n in sizes.notes)
