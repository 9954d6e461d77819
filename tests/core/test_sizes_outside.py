"""Files from elsewhere, by kind: what must come, or null with its reason; never another model's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mha_core.sizes import Sizes, cache_bytes, elements_per_token, measure, read_file
from mha_core.sizes.__main__ import main

OUTSIDE = Path(__file__).parents[1] / "data" / "outside"
GIB = 2**30


def sizes_of(name: str, *, totals: bool = True) -> Sizes:
    config, notes = read_file(OUTSIDE / f"{name}.json")
    return measure(config, totals=totals, notes=notes)


def told(sizes: Sizes) -> str:
    return " ".join(map(str, sizes.notes))


def keeps(sizes: Sizes) -> int | None:
    return None if sizes.cache is None else elements_per_token(sizes.cache)


# --- One class of an encoder-decoder -------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "attention", "total"),
    [
        ("t5_encoder_xxl", 1_610_612_736, 4_762_310_656),
        ("t5_encoder_large", 100_663_296, 334_939_648),
        ("umt5_encoder_xxl", 1_610_612_736, 5_680_910_336),
        ("mt5_encoder_xl", 402_653_184, 1_669_958_656),
        ("whisper_audio_classifier", 28_339_200, 88_351_490),
    ],
)
def test_an_encoder_is_an_encoder(name: str, attention: int, total: int) -> None:
    sizes = sizes_of(name)
    assert sizes.parameters.attention == attention
    assert sizes.parameters.total == total
    assert sizes.cache is None
    assert "keeps no KV cache" in told(sizes)
    if "encoder" in name:
        assert sizes.parameters.base == total


SEQ2SEQ: dict[str, Any] = {
    "is_encoder_decoder": True, "d_model": 32, "encoder_layers": 3, "decoder_layers": 5,
    "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40, "vocab_size": 97, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model_type", "family"), [("bart", "Bart"), ("mbart", "MBart"), ("marian", "Marian"),
                               ("pegasus", "Pegasus"), ("blenderbot", "Blenderbot")],
)  # fmt: skip
def test_a_decoder_alone_is_a_decoder(model_type: str, family: str) -> None:
    config = {**SEQ2SEQ, "model_type": model_type, "pad_token_id": 1, "decoder_start_token_id": 2}
    sizes = measure({**config, "architectures": [f"{family}ForCausalLM"]})
    # Five layers with self- and cross-attention of 32 · 32 and a bias each; two heads of 16.
    assert (sizes.n_layers, sizes.n_heads, sizes.first.d_head) == (5, 2, 16)
    assert sizes.parameters.attention == 5 * 2 * 4 * (32 * 32 + 32)
    assert keeps(sizes) == 5 * 2 * 32
    assert sizes.causal is True
    quick = measure({**config, "architectures": [f"{family}ForCausalLM"]}, totals=False)
    assert (quick.n_layers, quick.n_heads) == (5, 2)
    both = measure({**config, "architectures": [f"{family}Model"]})
    assert both.parameters.attention == (3 + 5 * 2) * 4 * (32 * 32 + 32)
    assert keeps(both) == 5 * 2 * 32


@pytest.mark.parametrize(
    ("model_type", "name"),
    [("bigbird_pegasus", "BigBirdPegasusForConditionalGeneration"),
     ("bigbird_pegasus", "BigBirdPegasusForCausalLM"), ("pegasus_x", "PegasusXModel"),
     ("nllb-moe", "NllbMoeModel")],
)  # fmt: skip
def test_a_decoder_keeps_a_cache_though_its_layers_are_not_marked_causal(
    model_type: str, name: str
) -> None:
    config = {**SEQ2SEQ, "model_type": model_type, "pad_token_id": 1, "decoder_start_token_id": 2}
    sizes = measure({**config, "architectures": [name]})
    assert keeps(sizes) == 5 * 2 * 32
    assert "keeps no KV cache" not in told(sizes)


def test_one_part_of_a_composite_is_that_part() -> None:
    vision = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
              "intermediate_size": 24, "image_size": 28, "patch_size": 14}  # fmt: skip
    text = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 3,
            "intermediate_size": 20, "vocab_size": 50, "max_position_embeddings": 12}  # fmt: skip
    file = {"model_type": "clip", "text_config": text, "vision_config": vision}
    one = measure({**file, "architectures": ["CLIPTextModel"]})
    assert (one.d_model, one.n_layers, one.entries) == (16, 3, {})
    other = measure({**file, "architectures": ["CLIPVisionModel"]})
    assert (other.d_model, other.n_layers) == (32, 2)
    whole = measure({**file, "architectures": ["CLIPModel"]})
    assert set(whole.entries) == {"text_config", "vision_config"}
    assert one.parameters.total
    assert other.parameters.total
    assert whole.parameters.total
    # Both parts and two projections into the shared space of 512, and a temperature.
    projections = 512 * (16 + 32) + 1
    assert whole.parameters.total == one.parameters.total + other.parameters.total + projections


# --- A class that cannot be had ------------------------------------------------------------

GPT2: dict[str, Any] = {"model_type": "gpt2", "n_embd": 48, "n_head": 6, "n_layer": 3,
                        "n_positions": 20, "vocab_size": 50}  # fmt: skip


def test_someone_elses_gpt2_is_null_with_its_reason() -> None:
    sizes = sizes_of("gpt2_multiquery_remote")
    assert (sizes.d_model, sizes.n_heads, sizes.n_layers) == (2048, 16, 24)
    assert (keeps(sizes), sizes.parameters.base, sizes.parameters.total) == (None, None, None)
    assert not sizes.has_shapes
    assert "has no class GPT2LMHeadCustomModel" in told(sizes)
    assert "attention_head_type" in told(sizes)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"architectures": ["GPT2LMHeadCustomModel"]}, "GPT2LMHeadCustomModel"),
        ({"architectures": None, "auto_map": {"AutoConfig": "own.OwnConfig"}}, "OwnConfig"),
        ({"attention_head_type": "multiquery"}, "attention_head_type"),
        ({"multi_query": True}, "multi_query"),
        ({"kv_lora_rank": 8}, "kv_lora_rank"),
        ({"head_dim": 5}, "head_dim"),
        ({"layer_types": ["linear_attention"] * 3}, "layer_types"),
        ({"sliding_window": 4}, "sliding_window"),
    ],
    ids=str,
)
def test_what_may_change_the_attention_makes_it_null(change: dict[str, Any], names: str) -> None:
    sizes = measure({**GPT2, "architectures": ["GPT2LMHeadModel"], **change})
    assert not sizes.has_shapes
    assert keeps(sizes) is None
    assert sizes.parameters.total is sizes.parameters.base is sizes.parameters.attention is None
    assert names in told(sizes)


@pytest.mark.parametrize("key", ["num_key_value_heads", "n_head_kv", "num_kv_heads"])
def test_kv_heads_a_class_does_not_know_are_the_files_not_the_classs(key: str) -> None:
    sizes = measure({**GPT2, "architectures": ["GPT2LMHeadModel"], key: 2})
    assert (sizes.first.n_kv_heads, keeps(sizes)) == (2, 3 * 2 * 2 * 8)
    assert sizes.parameters.total is sizes.parameters.base is None
    assert f"{key} may change the heads" in told(sizes)


@pytest.mark.parametrize(
    "change",
    [{"position_embedding_type": "alibi"}, {"alibi": True}, {"num_experts": 4},
     {"activation_function": "swiglu"}, {"mlp_type": "gated"}, {"feed_forward_type": "geglu"}],
    ids=str,
)  # fmt: skip
def test_what_may_change_other_parameters_makes_the_totals_null(change: dict[str, Any]) -> None:
    sizes = measure({**GPT2, "architectures": ["GPT2LMHeadModel"], **change})
    assert sizes.parameters.total is sizes.parameters.base is None
    assert sizes.parameters.attention == 3 * (4 * 48 * 48 + 4 * 48)
    assert keeps(sizes) == 3 * 2 * 48
    assert next(iter(change)) in told(sizes)


def test_alibi_on_a_table_of_positions_is_another_model() -> None:
    bert = {"model_type": "bert", "hidden_size": 24, "num_attention_heads": 4, "vocab_size": 30,
            "num_hidden_layers": 2, "intermediate_size": 32, "architectures": ["BertModel"],
            "type_vocab_size": 2, "max_position_embeddings": 16}  # fmt: skip
    assert measure({**bert, "position_embedding_type": "absolute"}).parameters.total
    sizes = measure({**bert, "position_embedding_type": "alibi", "feed_forward_type": "geglu"})
    assert sizes.parameters.total is None
    assert "position_embedding_type" in told(sizes)


def test_keys_that_say_what_the_class_does_anyway_change_nothing() -> None:
    plain = measure({**GPT2, "architectures": ["GPT2LMHeadModel"]})
    same = measure(
        {**GPT2, "architectures": ["GPT2LMHeadModel"], "num_key_value_heads": 6, "head_dim": 8,
         "multi_query": False, "num_experts": 0, "sliding_window": None, "use_flash": True}
    )  # fmt: skip
    assert same.parameters == plain.parameters
    assert same.cache == plain.cache


@pytest.mark.parametrize("name", ["LlamaBidirectionalModel", "QwenEmbedder", "OwnBertModel"])
def test_a_reader_of_both_sides_that_is_not_here_keeps_nothing(name: str) -> None:
    config = {"model_type": "llama", "hidden_size": 24, "num_attention_heads": 4,
              "num_key_value_heads": 2, "num_hidden_layers": 2}  # fmt: skip
    sizes = measure({**config, "architectures": [name]})
    assert (sizes.first.n_kv_heads, sizes.cache, sizes.causal) == (2, None, None)
    assert "kv_cache is null" in told(sizes)
    by_type = measure({**config, "model_type": f"own_{name[:4]}_audio_encoder"})
    assert (by_type.first.n_kv_heads, by_type.cache) == (2, None)


@pytest.mark.parametrize(
    "key", ["num_key_value_heads", "num_attention_heads", "intermediate_size", "head_dim"]
)
def test_the_quick_reading_stands_back_from_a_number_a_layer(key: str) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 24,
              "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
              "intermediate_size": 32, "vocab_size": 30, "tie_word_embeddings": False}  # fmt: skip
    quick = measure({**config, key: [2, 4]}, totals=False)
    assert (quick.cache, quick.has_shapes, quick.parameters.total) == (None, False, None)
    assert key in told(quick)


@pytest.mark.parametrize("window", ["4096", 16.0, True, [16, None]], ids=str)
def test_the_quick_reading_stands_back_from_a_window_that_is_no_number(window: object) -> None:
    config = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "hidden_size": 24,
              "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
              "intermediate_size": 32, "vocab_size": 30, "tie_word_embeddings": False}  # fmt: skip
    assert measure({**config, "sliding_window": 16}, totals=False).cache
    for totals in (False, True):
        assert measure({**config, "sliding_window": window}, totals=totals).cache is None


@pytest.mark.parametrize("name", ["PreTrainedModel", "LlamaPreTrainedModel"])
def test_what_classes_are_made_from_is_no_model(name: str) -> None:
    config = {"model_type": "llama", "architectures": [name], "hidden_size": 24,
              "num_attention_heads": 4, "num_hidden_layers": 2}  # fmt: skip
    sizes = measure(config)
    assert (sizes.n_heads, sizes.parameters.total) == (4, None)
    assert f"has no class {name}" in told(sizes)


def test_params_with_a_window_a_layer_or_a_second_part() -> None:
    config, _ = read_file(OUTSIDE / "params_mistral_7b.json")
    for key in ("sliding_window", "_sliding_window"):
        for totals in (False, True):
            assert measure({**config, key: [16, None] * 16}, totals=totals).cache is None
    sizes = measure({**config, "multimodal": {"whisper_model_args": {"encoder_args": {"dim": 8}}}})
    assert (keeps(sizes), sizes.parameters.base) == (65_536, None)
    assert "multimodal" in told(sizes)


def test_an_offset_of_alibi_is_no_size() -> None:
    config = {"model_type": "bloom", "architectures": ["BloomForCausalLM"], "hidden_size": 64,
              "n_head": 8, "n_layer": 3, "vocab_size": 40}  # fmt: skip
    plain = measure(config).parameters.total
    assert plain
    assert measure({**config, "offset_alibi": 100}).parameters.total == plain


def test_the_class_is_the_model_and_not_its_model_type() -> None:
    config = {"model_type": "llama", "hidden_size": 24, "num_attention_heads": 4,
              "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 32,
              "vocab_size": 30, "tie_word_embeddings": False}  # fmt: skip
    as_llama = measure({**config, "architectures": ["LlamaForCausalLM"]})
    as_qwen = measure({**config, "architectures": ["Qwen2ForCausalLM"]})
    assert as_llama.first.bias["q"] is False
    assert as_qwen.first.bias["q"] is True
    assert "names the class Qwen2ForCausalLM" in told(as_qwen)
    quick = measure({**config, "architectures": ["Qwen2ForCausalLM"]}, totals=False)
    assert not quick.has_shapes


# --- What a class fills in -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("llama_without_mlp_width", ["intermediate_size = 11008"]),
        ("llama_without_vocab", ["vocab_size = 32000"]),
        ("mixtral_without_experts", ["num_local_experts = 8", "num_key_value_heads = 8"]),
        ("mistral_without_kv_heads", ["num_key_value_heads = 8"]),
        ("mistral_without_window", ["sliding_window = 4096"]),
        ("qwen2_without_kv_heads", ["num_key_value_heads = 32"]),
    ],
)
def test_what_is_not_in_the_file_is_named_with_its_value(name: str, named: list[str]) -> None:
    built = told(sizes_of(name))
    assert all(text in built for text in named)


@pytest.mark.parametrize(
    "name", ["mistral_without_kv_heads", "mistral_without_window", "qwen2_without_kv_heads"]
)
def test_the_quick_path_guesses_no_default(name: str) -> None:
    quick = sizes_of(name, totals=False)
    assert (keeps(quick), quick.parameters.total, quick.has_shapes) == (None, None, False)
    assert "does not hold with" in told(quick)


def test_a_part_that_is_not_in_the_file_is_said_and_not_in_the_total() -> None:
    sizes = sizes_of("llama4_text_part_only")
    assert sizes.parameters.total is None
    assert "vision_config is not in the file" in told(sizes)
    assert sizes.first.n_kv_heads == 8
    nested = sizes_of("nested_parts")
    assert (nested.d_model, nested.n_heads, nested.first.n_kv_heads) == (3584, 28, 4)
    assert (nested.parameters.base, nested.parameters.total) == (None, None)
    assert nested.first.shapes["w_k"] == ((512, 3584),)
    assert "thinker_config.vision_config is not in the file" in told(nested)


def test_a_part_a_formula_does_not_know_is_in_no_total() -> None:
    for totals in (False, True):
        sizes = sizes_of("qwen_first_with_vision", totals=totals)
        assert sizes.parameters.total is None
        assert "visual" in told(sizes)


# --- One answer ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_bytes"),
    [("qwen2_last_layers_windowed", 5_435_817_984), ("qwen2_layer_types", 1_937_768_448)],
)
def test_windows_are_counted_layer_by_layer(name: str, n_bytes: int) -> None:
    sizes = sizes_of(name)
    assert sizes.cache is not None
    assert cache_bytes(sizes.cache, 131_072) == n_bytes
    assert sizes_of(name, totals=False).cache is None


@pytest.mark.parametrize(
    ("name", "total"), [("llama_mlp_bias_3b", 3_482_503_680), ("llama_mlp_bias_8b", 8_054_910_976)]
)
def test_biases_of_the_mlp_are_counted_on_both_paths(name: str, total: int) -> None:
    assert sizes_of(name).parameters.total == total
    assert sizes_of(name, totals=False).parameters.total == total


@pytest.mark.parametrize("window", [{}, {"sliding_window": 16}], ids=["absent", "stated"])
def test_a_window_that_is_switched_on_is_the_classs_even_where_it_is_not_stated(
    window: dict[str, int],
) -> None:
    file = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 64,
            "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 6,
            "intermediate_size": 96, "vocab_size": 50, "tie_word_embeddings": False,
            "use_sliding_window": True, "max_window_layers": 2}  # fmt: skip
    built = measure({**file, **window})
    assert built.cache is not None
    kept = {group.window: group.count for group in built.cache}
    assert kept == {None: 2, window.get("sliding_window", 4096): 4}
    assert measure({**file, **window}, totals=False).cache is None


# --- What is kept --------------------------------------------------------------------------


def test_layers_that_share_keys_and_values() -> None:
    sizes = sizes_of("gemma4_shared_kv")
    assert keeps(sizes) == 28_672
    assert sizes.cache is not None
    assert {(group.count, group.window) for group in sizes.cache} == {(20, 512), (4, None)}
    assert "18 layers reuse the cache" in told(sizes)
    assert "h 8, KV heads 2, d_head 256, window none" not in told(sizes)
    older = sizes_of("gemma3n_shared_kv")
    assert keeps(older) == 20_480
    assert older.cache is not None
    assert sum(group.count for group in older.cache if group.window == 512) == 16


def test_an_mlp_in_a_pattern_is_no_state() -> None:
    sizes = sizes_of("nemotron_h_mlp_layers")
    assert "21 of 42 layers mix tokens without attention" in told(sizes)
    assert "17 of 42 layers are an MLP and nothing else" in told(sizes)
    assert keeps(sizes) == 4 * 2 * 8 * 128


def test_an_unknown_activation_changes_no_shape() -> None:
    sizes = sizes_of("unknown_activation")
    assert keeps(sizes) == 24 * 576
    assert "situ is not an activation" in told(sizes)
    assert "KeyError" not in told(sizes)
    assert "69 of 93 layers mix tokens without attention" in told(sizes)


# --- Other spellings -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["params_llama3_8b", "params_mistral_7b"])
@pytest.mark.parametrize("totals", [False, True])
def test_params_files_say_it_all(name: str, totals: bool) -> None:
    sizes = sizes_of(name, totals=totals)
    assert (sizes.first.n_kv_heads, sizes.first.d_head, keeps(sizes)) == (8, 128, 65_536)
    assert sizes.first.shapes["w_k"] == ((1024, 4096),)
    # Published: 8.03 and 7.24 thousand millions, with a head of V · 4096 apart.
    base = {"params_llama3_8b": 7_504_924_672, "params_mistral_7b": 7_110_660_096}[name]
    assert sizes.parameters.base == base


@pytest.mark.parametrize("totals", [False, True])
def test_a_vocabulary_of_minus_one_is_not_known(totals: bool) -> None:
    sizes = sizes_of("params_llama2_70b", totals=totals)
    assert keeps(sizes) == 163_840
    assert sizes.parameters.attention == 80 * (2 * 8192 * 8192 + 2 * 1024 * 8192)
    assert (sizes.parameters.base, sizes.parameters.total) == (None, None)
    assert "vocab_size = -1" in told(sizes)


def test_deepseeks_inference_config_is_the_same_model() -> None:
    sizes = sizes_of("inference_deepseek_671b")
    assert keeps(sizes) == 61 * 576
    assert sizes.parameters.total == 671_026_404_352


@pytest.mark.parametrize(
    ("change", "n_kv_heads"),
    [
        ({"model_type": "RefinedWeb", "n_head_kv": 2}, 2),
        ({"model_type": "RefinedWebModel", "multi_query": True}, 1),
        ({"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
        ({"model_type": "falcon", "new_decoder_architecture": True, "n_head_kv": 2}, 2),
        ({"model_type": "falcon", "multi_query": False, "new_decoder_architecture": False}, 8),
    ],
    ids=str,
)
def test_falcon_in_its_older_words(change: dict[str, Any], n_kv_heads: int) -> None:
    config = {"hidden_size": 64, "n_head": 8, "n_layer": 3, "vocab_size": 40, "bias": False,
              "alibi": False, "architectures": ["RWForCausalLM"]}  # fmt: skip
    sizes = measure(config | change)
    assert sizes.first.n_kv_heads == n_kv_heads
    assert keeps(sizes) == 3 * 2 * n_kv_heads * 8


@pytest.mark.parametrize(
    "attention", [{"attn_type": "multiquery_attention"}, {"kv_n_heads": 2},
                  {"attn_type": "grouped_query_attention", "kv_n_heads": 2}],
)  # fmt: skip
def test_mpt_with_fewer_kv_heads_is_not_the_mpt_that_is_here(attention: dict[str, Any]) -> None:
    config = {"model_type": "mpt", "d_model": 64, "n_heads": 8, "n_layers": 3, "vocab_size": 40,
              "max_seq_len": 32, "architectures": ["MPTForCausalLM"]}  # fmt: skip
    plain = {"attn_type": "multihead_attention", "alibi": True}
    assert keeps(measure({**config, "attn_config": plain, "architectures": None})) == 3 * 2 * 64
    sizes = measure({**config, "attn_config": plain | attention})
    assert keeps(sizes) is None
    assert not sizes.has_shapes


def test_width_heads_kv_heads_and_layers_give_what_follows() -> None:
    config = {"model_type": "never_heard_of", "hidden_size": 96, "num_attention_heads": 6,
              "num_key_value_heads": 2, "num_hidden_layers": 5, "warp_factor": 9}  # fmt: skip
    sizes = measure(config)
    assert (sizes.first.d_head, keeps(sizes)) == (16, 5 * 2 * 2 * 16)
    assert sizes.first.shapes["w_k"] == ((32, 96),)
    assert sizes.parameters.total is None
    assert "Read as plain attention" in told(sizes)
    with_latent = measure(config | {"kv_lora_rank": 16})
    assert keeps(with_latent) is None
    assert "kv_lora_rank" in told(with_latent)


# --- Large files, broken characters, missing packages --------------------------------------


def test_a_file_that_is_mostly_a_list_of_names_is_read(tmp_path: Path) -> None:
    names = [f"model.layers.{layer}.block_sparse_moe.experts.{expert}.w{part}"
             for layer in range(60) for expert in range(256) for part in (1, 2, 3)]  # fmt: skip
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 32, "tie_word_embeddings": False, "vocab_size": 128256,
        "quantization_config": {"quant_method": "modelopt", "ignore": names},
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert path.stat().st_size > 2**21
    read, notes = read_file(path)
    for totals in (False, True):
        sizes = measure(read, totals=totals, notes=notes)
        assert (sizes.first.n_kv_heads, sizes.parameters.total) == (8, 8_030_261_248)


@pytest.mark.parametrize("options", [[], ["--json"], ["--no-totals"]], ids=str)
def test_half_a_character_is_replaced(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(OUTSIDE / "lone_surrogate.json"), *options]) == 0
    printed = capsys.readouterr().out
    printed.encode("utf-8")
    assert "\ufffd" in printed


@pytest.mark.parametrize("where", ["model_type", "key", "value"])
def test_half_a_character_anywhere(where: str, tmp_path: Path) -> None:
    half = "\\ud83d"
    text = {
        "model_type": f'"model_type": "x{half}", "a": 1',
        "key": f'"{half}": 1',
        "value": f'"nested": {{"names": ["{half}", "\\ud83d\\ude00"]}}',
    }[where]
    path = tmp_path / "config.json"
    path.write_text(
        f'{{"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, {text}}}'
    )
    config, notes = read_file(path)
    assert [note.key for note in notes] == ["sizes.note.surrogate"]
    json.dumps(config, ensure_ascii=False).encode("utf-8")
    if where == "value":
        assert config["nested"]["names"][1] == "\U0001f600"  # type: ignore[index]


def test_a_missing_package_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    def lacking(*_: object, **__: object) -> None:
        raise ImportError("X requires the timm library but it was not found in your environment")

    monkeypatch.setattr(transformers.LlamaForCausalLM, "_from_config", lacking)
    sizes = measure({**GPT2, "model_type": "llama", "architectures": ["LlamaForCausalLM"]})
    assert "it needs the package timm, which is not installed here" in told(sizes)
    assert sizes.parameters.total is None
