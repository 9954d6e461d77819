"""A GGUF file of the Llama kind, once, into the folder of safetensors that is loaded from then on.

    python -m mha_core.real.convert FILE.gguf FOLDER

Reading GGUF anew at every start would take many times as long. The numbers are those that the
file's rounded ones stand for, as float32: what was lost when they were rounded stays lost.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mha_core.arrays import Array
from mha_core.errors import DataError, TwelveHeadsError

LAYER = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
NAME = re.compile(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)")
# How a text is cut before pieces are joined, by llama.cpp's name for it: digits alone, or not.
CUTS = {"smollm": True, "gpt-2": False}
CONTROL = 3


def convert_gguf(file: Path, folder: Path) -> str:
    """Write the config, the numbers and the tokenizer of a GGUF file as a folder.

    Args:
        file: of the architecture "llama", with a byte-level tokenizer.
        folder: made if it is not there.

    Returns:
        How the numbers were rounded in the file, such as "4 bits"; "" where they were not.

    Raises:
        DataError: the file is none, is damaged, or of another kind.

    Source: the GGUF specification; llama.cpp turns the rows of W_q and W_k from halves into
    neighbours, which is undone here.
    """
    import torch
    from safetensors.torch import save_file

    reader = _open(file)
    settings = _settings(reader, file)
    config = _config(settings, {str(tensor.name) for tensor in reader.tensors})
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: torch.from_numpy(value) for name, value in _tensors(reader, config, file).items()
    }
    weights = folder / "model.safetensors"
    save_file(tensors, weights, metadata={"format": "pt"})
    weights.chmod(0o644)  # as any other file: whoever serves the app reads it
    _write_tokenizer(settings, config, file, folder)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    return _rounding(Counter(tensor.tensor_type.name for tensor in reader.tensors))


def _open(file: Path) -> Any:
    """The library's reader of a file."""
    try:
        import gguf
    except ImportError as error:
        raise DataError("sizes.gguf.library") from error
    try:
        return gguf.GGUFReader(file)
    except Exception as error:
        # The reader raises anything for bytes that end early or mean nothing.
        raise DataError("sizes.gguf.broken", path=file.name) from error


def _settings(reader: Any, file: Path) -> dict[str, Any]:
    """The file's keys and values; refuses another architecture or tokenizer."""
    settings = {name: value.contents() for name, value in reader.fields.items()}
    kind, cut = settings.get("general.architecture"), settings.get("tokenizer.ggml.pre")
    tokens = settings.get("tokenizer.ggml.model")
    if kind != "llama" or tokens != "gpt2" or cut not in CUTS:
        told = f"{kind}, {tokens}, {cut}"
        raise DataError("real.convert.kind", file=file.name, found=told, known=", ".join(CUTS))
    return settings


def _config(settings: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """The config.json that transformers' Llama class reads."""

    def told(key: str) -> Any:
        return settings[f"llama.{key}"]

    n_heads = int(told("attention.head_count"))
    width = int(told("embedding_length"))
    ids = {name: settings.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": int(told("feed_forward_length")),
        "num_hidden_layers": int(told("block_count")),
        "num_attention_heads": n_heads,
        "num_key_value_heads": int(settings.get("llama.attention.head_count_kv", n_heads)),
        "head_dim": int(settings.get("llama.attention.key_length", width // n_heads)),
        "vocab_size": len(settings["tokenizer.ggml.tokens"]),
        "max_position_embeddings": int(told("context_length")),
        # The file holds it as float32; seven digits are what was meant.
        "rms_norm_eps": float(f"{told('attention.layer_norm_rms_epsilon'):.7g}"),
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": float(settings.get("llama.rope.freq_base", 10_000.0)),
        },
        "hidden_act": "silu",
        "attention_bias": any(name.endswith("attn_q.bias") for name in names),
        "tie_word_embeddings": "output.weight" not in names,
        "bos_token_id": ids["bos"],
        "eos_token_id": ids["eos"],
        "dtype": "float32",
    }


def _tensors(reader: Any, config: Mapping[str, Any], file: Path) -> dict[str, Array]:
    """Every tensor as float32, by the name that transformers gives it."""
    import gguf

    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    found: dict[str, Array] = {}
    for tensor in reader.tensors:
        match = NAME.fullmatch(tensor.name)
        layer, part, kind = match.groups() if match else (None, "", "")
        known = LAYER if layer is not None else TOP
        if part not in known:
            raise DataError("real.convert.tensor", file=file.name, tensor=str(tensor.name)[:60])
        value = np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32)
        if part in heads:
            value = _in_halves(value, heads[part])
        place = known[part] if layer is None else f"model.layers.{layer}.{known[part]}"
        found[f"{place}.{kind}"] = value
    return found


def _in_halves(value: Array, n_heads: int) -> Array:
    """Rows of each head from pairs of neighbours (2p, 2p + 1) into halves (p, p + d_head/2).

    >>> _in_halves(np.arange(8.0)[:, None], 2)[:, 0].tolist()
    [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]
    """
    pairs = value.reshape(n_heads, -1, 2, *value.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(value.shape)


def _write_tokenizer(
    settings: Mapping[str, Any], config: Mapping[str, Any], file: Path, folder: Path
) -> None:
    """The byte-level tokenizer whose pieces and merges the file lists."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pieces = [str(each) for each in settings["tokenizer.ggml.tokens"]]
    merges = [tuple(each.split(" ", 1)) for each in settings["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alone = CUTS[settings["tokenizer.ggml.pre"]]
    made.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytewise])
        if alone
        else bytewise
    )
    made.decoder = decoders.ByteLevel()
    kinds = settings.get("tokenizer.ggml.token_type") or [1] * len(pieces)
    made.add_special_tokens(
        [
            AddedToken(piece, special=True, normalized=False)
            for piece, kind in zip(pieces, kinds, strict=True)
            if kind == CONTROL
        ]
    )
    made.save(str(folder / "tokenizer.json"))
    told: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": config["max_position_embeddings"],
    }
    for name, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        number = settings.get(f"tokenizer.ggml.{key}_token_id")
        if number is not None:
            told[f"{name}_token"] = pieces[int(number)]
    if "tokenizer.chat_template" in settings:
        told["chat_template"] = settings["tokenizer.chat_template"]
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, "utf-8")


def _rounding(kinds: Counter[str]) -> str:
    """How most of the rounded tensors are stored.

    >>> _rounding(Counter({"Q4_1": 210, "F32": 61, "Q8_0": 1})), _rounding(Counter({"F32": 3}))
    ('4 bits', '')
    """
    rounded = [(count, name) for name, count in kinds.items() if re.match(r"I?Q\d", name)]
    digits = re.search(r"\d+", max(rounded)[1]) if rounded else None
    return f"{digits[0]} bits" if digits else ""


def main(arguments: list[str] | None = None) -> None:
    """Convert a file, and say how its numbers were rounded."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.real.convert", description=__doc__)
    parser.add_argument("file", type=Path, help="a GGUF file of the Llama kind")
    parser.add_argument("folder", type=Path, help="where the folder of safetensors is made")
    options = parser.parse_args(arguments)
    try:
        print(convert_gguf(options.file, options.folder) or "float numbers")
    except TwelveHeadsError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
