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


INT4 = {"quant_method": "compressed-tensors", "config_groups": {
    "group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}}}  # fmt: skip
INT8 = {"weights": {"num_bits": 8, "type": "int"}}


@pytest.mark.parametrize(
    "said",
    [
        {"text_config": {**LLAMA, "quantization_config": INT4}, "dtype": "bfloat16"},
        {"compression_config": INT4},
        {"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4"}},
    ],
    ids=["in a part", "older name", "mlx"],
)
def test_a_block_in_another_place_is_read(said: dict[str, Any]) -> None:
    stored, note = read_storage(said, said.get("text_config"))
    assert note is None
    assert stored is not None
    assert stored.matrices.bits == 4


def test_mlx_keeps_tables_of_words_in_bits_as_well() -> None:
    said = {"dtype": "bfloat16", "quantization": {"bits": 4, "group_size": 64}}
    sizes = measure({**LLAMA, **said}, totals=False)
    # A scale and an offset of 16 bits for 64 numbers.
    assert sizes.weight_bytes() == 8_030_261_248 * 9 // 16


def test_a_float_type_in_a_part_is_the_wholes() -> None:
    stored, _ = read_storage({"text_config": {"dtype": "bfloat16"}}, {"dtype": "bfloat16"})
    assert stored is not None
    assert stored.matrices.bits == 16
    bits, _ = read_storage({"torch_dtype": "float16", "quantization_bit": 4})
    assert bits is not None
    assert (bits.matrices.bits, bits.rest.bits) == (4, 16)


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
                                  "config_groups": INT4["config_groups"]}}, "quant_algo"),
        ({"quantization_config": {"quant_method": "fp8"}, "expert_dtype": "fp4"}, "fp4"),
        ({"quantization_config": {"quant_method": "fp8", "moe_quant_algo": "NVFP4"}},
         "moe_quant_algo"),
        ({"quantization_config": {**INT4, "config_groups": {
            **INT4["config_groups"], "group_1": INT8}}}, "config_groups"),  # type: ignore[dict-item]
        ({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128,
                                  "dynamic": {"+:.*down.*": {"bits": 8}}}}, "dynamic"),
        ({"quantization": {"bits": 4, "group_size": 64, "model.layers.0.mlp": {"bits": 8}}},
         "model.layers.0.mlp"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_weights_stored_in_several_ways_are_null_and_said(said: dict[str, Any], other: str) -> None:
    sizes = measure({**LLAMA, "torch_dtype": "bfloat16", **said}, totals=False)
    assert sizes.weight_bytes() is None
    assert any(f"in several ways ({_method(said)}; {other})" in str(n) for n in sizes.notes)


def _method(said: dict[str, Any]) -> str:
    return str(said.get("quantization_config", {}).get("quant_method", "?"))


@pytest.mark.parametrize(
    "left",
    [["model.layers.*.self_attn", "lm_head"], ["re:.*self_attn.*"],
     [f"model.layers.{layer}.self_attn*" for layer in range(32)]],
    ids=["star", "pattern", "each"],
)  # fmt: skip
def test_attention_that_is_left_as_it_is_takes_what_it_took(left: list[str]) -> None:
    said = {"quant_method": "mxfp4", "modules_to_not_convert": left}
    sizes = measure({**LLAMA, "torch_dtype": "bfloat16", "quantization_config": said}, totals=False)
    as_is = 2 * 128_256 * 4096 + 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096)
    assert sizes.weight_bytes() == 2 * as_is + -(-(8_030_261_248 - as_is) // 32) * 17
    some = {**said, "modules_to_not_convert": ["model.layers.3.self_attn", "lm_head"]}
    less = measure({**LLAMA, "torch_dtype": "bfloat16", "quantization_config": some}, totals=False)
    assert (less.weight_bytes() or 0) < (sizes.weight_bytes() or 0)
