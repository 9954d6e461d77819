"""Real configs against sizes found without this code: built on the meta device, or by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mha_core.sizes import Sizes, measure_file

CONFIGS = Path(__file__).parents[1] / "data" / "configs"
# Rows that are not to be believed: this one describes the audio tower of a model whose top here
# is its language part.
NOT_TRUSTED = {"qwen2.5-omni"}
WANTED_SHARE = 0.97


def rows(name: str) -> list[dict[str, str]]:
    with (CONFIGS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


TRUTH = [
    row
    for row in rows("config_truth.tsv")
    if row["status"] == "ok" and row["name"] not in NOT_TRUSTED
]


@cache
def measured(name: str) -> Sizes:
    return measure_file(CONFIGS / f"{name}.json")


def report(name: str, n_tokens: int | None = None) -> dict[str, Any]:
    file, _, part = name.partition("#")
    sizes = measured(file).entries[part] if part else measured(file)
    return sizes.as_json(n_tokens)


def matrices(text: str) -> list[Any]:
    found = [[int(n) for n in pair.split(",")] for pair in re.findall(r"\[(\d+,\d+)\]", text)]
    return found[0] if len(found) == 1 else found


def differences(row: dict[str, str]) -> Iterator[str]:
    """Every field of a truth row that the report states otherwise."""
    found = report(row["name"])
    heads = [int(n) for n in re.findall(r"\d+", row["h"])]
    wanted: list[tuple[str, Any, Any]] = [
        ("n_heads", found["n_heads"], heads[0] if len(heads) == 1 else heads or None)
    ]
    for key, column in [
        ("d_model", "d"),
        ("n_kv_heads", "h_kv"),
        ("d_head", "d_head"),
        ("n_layers", "layers"),
    ]:
        wanted.append((key, found[key], int(row[column]) if row[column].isdigit() else None))
    for letter, flag in zip("qkvo", row["bias_qkvo"].ljust(4, "?"), strict=True):
        shape = matrices(row[f"{letter}_shape"]) or None
        wanted.append((f"w_{letter}", found["shapes"][f"w_{letter}"], shape))
        stated = None if flag == "?" else flag == "1"
        wanted.append((f"bias {letter}", found["bias"][letter], stated))
    for key, column in [("base", "params_base"), ("total", "params_full")]:
        number = int(row[column]) if row[column] else None
        wanted.append((key, found["parameters"][key], number))
    for key, value, truth in wanted:
        if truth is not None and value != truth:
            yield f"{key}: {value}, truth {truth}"


def test_corpus_is_all_there() -> None:
    assert len(TRUTH) >= 100
    assert {row["file"] for row in rows("SOURCES.tsv")} == {p.name for p in CONFIGS.glob("*.json")}


def test_share_of_fully_right_configs() -> None:
    wrong = {row["name"]: found for row in TRUTH if (found := list(differences(row)))}
    assert 1 - len(wrong) / len(TRUTH) >= WANTED_SHARE, wrong


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["name"])
def test_config_is_right(row: dict[str, str]) -> None:
    assert list(differences(row)) == []


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["name"])
def test_every_null_has_a_reason(row: dict[str, str]) -> None:
    found = report(row["name"])
    nulls = [found["parameters"]["total"], *found["shapes"].values()]
    nulls.append(found["kv_cache"]["elements_per_token"])
    if None in nulls:
        assert any(" null" in note for note in found["notes"])


@pytest.mark.parametrize("row", rows("config_truth_manual.tsv"), ids=lambda row: row["name"])
def test_remote_code_by_closed_form(row: dict[str, str]) -> None:
    found = report(row["name"])
    d, h, h_kv, d_head = (int(row[name]) for name in ("d", "h", "h_kv", "d_head"))
    assert [found[name] for name in ("d_model", "n_heads", "n_kv_heads", "d_head")] == [
        d,
        h,
        h_kv,
        d_head,
    ]
    assert found["n_layers"] == int(row["layers"])
    assert found["parameters"]["total"] == int(row["total_params"])
    assert found["parameters"]["source"].startswith("closed form")
    fused_rows, columns = matrices(row["fused_shape"].split(" (")[0])
    parts = [found["shapes"][name] for name in ("w_q", "w_k", "w_v")]
    assert [sum(part[0] for part in parts), columns] == [fused_rows, d]
    assert found["bias"] == {
        **dict.fromkeys("qkv", row["bias_qkv"] == "1"),
        "o": row["bias_o"] == "1",
    }


@pytest.mark.parametrize("row", rows("kv_truth.tsv"), ids=lambda row: row["name"])
def test_kv_cache(row: dict[str, str]) -> None:
    cache = report(row["name"], 4096)["kv_cache"]
    assert cache["elements_per_token"] == int(row["elements_per_token"])
    assert cache["bytes_per_token"] == int(row["bytes_per_token_fp16"])
    assert cache["bytes"] == int(row["bytes_4096_tokens"])


def test_mla_caches_the_latent() -> None:
    # 61 layers · (512 of the latent + 64 of the rotary key); DeepSeek-V2 paper, section 2.1.
    cache = report("deepseek-v3.2")["kv_cache"]
    assert cache["elements_per_token"] == 61 * (512 + 64)


def test_layers_that_differ_are_all_counted() -> None:
    # Gemma 4: 25 windowed layers with 8 KV heads of 256, and 5 whose 2 keys of 512 serve as
    # values; both are kept, the keys turned by RoPE and the values not.
    found = report("gemma4-26b-a4b")
    assert [layer["count"] for layer in found["layers"]] == [25, 5]
    assert found["layers"][1]["shapes"]["w_v"] is None
    assert found["kv_cache"]["elements_per_token"] == 25 * 2 * 8 * 256 + 5 * 2 * 2 * 512


def test_hybrid_layers_cache_only_in_attention() -> None:
    # 48 layers, every fourth with attention: 12 · 2 · 2 KV heads · 256.
    assert report("tf_qwen3_next")["kv_cache"]["elements_per_token"] == 12 * 2 * 2 * 256


def test_staged_model_lists_its_stages() -> None:
    found = report("tf_swin")
    assert [stage["n_heads"] for stage in found["stages"]] == [3, 6, 12, 24]
    assert [stage["d_model"] for stage in found["stages"]] == [96, 192, 384, 768]
    assert [stage["n_layers"] for stage in found["stages"]] == [2, 2, 6, 2]
    assert found["shapes"]["w_q"] == [96, 96]


@pytest.mark.parametrize("row", rows("config_truth.tsv"), ids=lambda row: row["name"])
def test_what_is_not_covered_is_null_with_a_reason(row: dict[str, str]) -> None:
    if not row["status"].startswith("unsupported"):
        return
    found = report(row["name"])
    parameters = found["parameters"]
    if parameters["total"] is None:
        assert any("null" in note for note in found["notes"])
    else:
        assert parameters["source"]
