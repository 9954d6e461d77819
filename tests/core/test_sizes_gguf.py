"""GGUF headers written by the library itself, read back as sizes."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.errors import DataError
from mha_core.sizes import Sizes, elements_per_token, measure_file
from mha_core.sizes.__main__ import main
from mha_core.sizes.gguf_file import TABLES, measured_bytes

# A different prime for every size.
D, H, KV, D_HEAD, LAYERS, MLP, WORDS = 44, 6, 3, 10, 2, 13, 29


def write(
    path: Path,
    *,
    arch: str = "llama",
    kv: Any = KV,
    more: dict[str, int] | None = None,
    tensors: dict[str, tuple[int, ...]] | None = None,
    fused: bool = False,
) -> Path:
    """A small GGUF file, its matrices [out, in]."""
    writer = gguf.GGUFWriter(path, arch)
    writer.add_embedding_length(D)
    writer.add_block_count(LAYERS)
    writer.add_head_count(H)
    writer.add_head_count_kv(kv)
    writer.add_key_length(D_HEAD)
    writer.add_value_length(D_HEAD)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(D_HEAD)
    writer.add_context_length(512)
    for name, value in (more or {}).items():
        writer.add_uint32(f"{arch}.{name}", value)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(TABLES, (WORDS, D))
    for layer in range(LAYERS):
        n_kv = kv[layer] if isinstance(kv, list) else kv
        parts = {"attn_q": (H * D_HEAD, D), "attn_k": (n_kv * D_HEAD, D),
                 "attn_v": (n_kv * D_HEAD, D)}  # fmt: skip
        if fused:
            parts = {"attn_qkv": ((H + 2 * n_kv) * D_HEAD, D)}
        parts |= {"attn_output": (D, H * D_HEAD), "ffn_up": (MLP, D), "ffn_down": (D, MLP)}
        shapes |= {f"blk.{layer}.{part}.weight": shape for part, shape in parts.items()}
    shapes |= tensors or {}
    for name, shape in shapes.items():
        writer.add_tensor(name, np.zeros(shape, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_header_tells_shapes_parameters_bytes_and_cache(tmp_path: Path) -> None:
    sizes = measure_file(write(tmp_path / "model.gguf"))
    assert (sizes.model_type, sizes.d_model, sizes.n_heads, sizes.n_layers) == (
        "llama",
        D,
        H,
        LAYERS,
    )
    assert (sizes.first.n_kv_heads, sizes.first.d_head, sizes.first.count) == (KV, D_HEAD, LAYERS)
    assert sizes.first.shapes["w_k"] == ((KV * D_HEAD, D),)
    attention = 2 * D * H * D_HEAD + 2 * D * KV * D_HEAD
    assert sizes.parameters.attention_per_layer == attention
    total = 2 * WORDS * D + LAYERS * (attention + 2 * D * MLP)
    assert sizes.parameters.total == total
    assert sizes.weight_bytes() == 2 * total
    assert sizes.cache is not None
    assert elements_per_token(sizes.cache) == LAYERS * 2 * KV * D_HEAD
    assert [waves.kind for waves in sizes.rope] == ["default"]


def test_only_the_header_is_needed(tmp_path: Path) -> None:
    whole = write(tmp_path / "model.gguf")
    front = tmp_path / "front.gguf"
    content = whole.read_bytes()
    front.write_bytes(content[: len(content) - 2 * 2 * WORDS * D])
    assert measure_file(front).parameters == measure_file(whole).parameters


@pytest.mark.parametrize("kept", [5, 40, 300])
def test_a_header_that_is_cut_is_a_sentence(
    kept: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(write(tmp_path / "model.gguf").read_bytes()[:kept])
    with pytest.raises(DataError, match=r"cut\.gguf begins as a GGUF file, but its header"):
        measure_file(cut)
    assert main([str(cut)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_fused_matrix_is_cut_in_three(tmp_path: Path) -> None:
    sizes = measure_file(write(tmp_path / "model.gguf", fused=True))
    assert sizes.first.shapes["w_q"] == ((H * D_HEAD, D),)
    assert sizes.first.shapes["w_v"] == ((KV * D_HEAD, D),)


def test_kv_heads_by_layer(tmp_path: Path) -> None:
    sizes = measure_file(write(tmp_path / "model.gguf", kv=[3, 1]))
    assert [layer.n_kv_heads for layer in sizes.layers] == [3, 1]
    assert sizes.cache is not None
    assert elements_per_token(sizes.cache) == 2 * (3 + 1) * D_HEAD


@pytest.mark.parametrize(
    ("more", "tensors"),
    [
        ({"attention.sliding_window": 64}, {}),
        ({}, {"blk.0.ssm_in.weight": (4, 4)}),
        ({}, {"blk.0.attn_kv_a_mqa.weight": (4, 4)}),
    ],
)
def test_what_may_keep_something_else_has_no_cache(
    more: dict[str, int], tensors: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    sizes = measure_file(write(tmp_path / "model.gguf", more=more, tensors=tensors))
    assert sizes.cache is None
    assert any("kv_cache is null" in str(note) for note in sizes.notes)
    assert sizes.parameters.total


def test_the_command_prints_a_gguf_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "model.gguf")
    assert main([str(path), "--memory", "1", "--dtype", "q8", "--batch", "3"]) == 0
    out = capsys.readouterr().out
    assert "llama: d 44, h 6, KV heads 3" in out
    assert "fits in 1 GiB" in out


def test_bytes_from_a_stranger_are_measured_or_refused_in_a_sentence(tmp_path: Path) -> None:
    content = write(tmp_path / "model.gguf").read_bytes()
    [sizes] = measured_bytes(content[:-100], "drop.gguf")
    assert sizes.parameters == measure_file(tmp_path / "model.gguf").parameters
    assert not list(tmp_path.glob("header*"))

    def claiming(count: int, kind: int, rest: bytes) -> bytes:
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, count)
        return head + struct.pack("<Q", 1) + b"a" + struct.pack("<I", kind) + rest

    endless = {
        "a list longer than the file": claiming(1, 9, struct.pack("<IQ", 4, 2**60)),
        "no end of settings": claiming(2**60, 4, struct.pack("<I", 1)),
        "a word longer than the file": claiming(1, 8, struct.pack("<Q", 2**62)),
        "a list in a list in a list": claiming(1, 9, struct.pack("<IQ", 9, 1) * 4000),
        "a kind there is none of": claiming(1, 77, b"\0" * 64),
        "nothing": b"GGUF",
    }
    for data in endless.values():
        with pytest.raises(DataError, match=r"drop\.gguf begins as a GGUF file"):
            list(measured_bytes(data, "drop.gguf"))


with TemporaryDirectory() as folder:
    DAMAGED = write(Path(folder) / "whole.gguf").read_bytes()[:2000]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_header_never_raises_anything_else(data: st.DataObject) -> None:
    content = bytearray(DAMAGED)
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(DataError):
        [sizes] = measured_bytes(bytes(content), "drop.gguf")
        assert isinstance(sizes, Sizes)
