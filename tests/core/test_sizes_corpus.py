"""Real configs against sizes found without this code: built on the meta device, or by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mha_core.sizes.corpus import FOLDER, NOT_TRUSTED, Corpus, compare, rows_of

CONFIGS = FOLDER
WANTED_SHARE = 0.97
CORPUS = Corpus()
TRUTH = [
    row
    for row in rows_of(CONFIGS, "config_truth.tsv")
    if row["status"] == "ok" and row["name"] not in NOT_TRUSTED
]


def rows(name: str) -> list[dict[str, str]]:
    return rows_of(CONFIGS, name)


def report(name: str, n_tokens: int | None = None) -> dict[str, Any]:
    return CORPUS.measured(name).as_json(n_tokens)


def matrices(text: str) -> list[Any]:
    found = [[int(n) for n in pair.split(",")] for pair in re.findall(r"\[(\d+,\d+)\]", text)]
    return found[0] if len(found) == 1 else found


def differences(row: dict[str, str]) -> Iterator[str]:
    """Every field of a truth row that the report states otherwise, null included."""
    for answer in CORPUS.of_built(row):
        if answer.value != answer.truth:
            yield f"{answer.name}: {answer.value}, truth {answer.truth}"


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


@pytest.mark.parametrize("row", rows("built_truth.tsv"), ids=lambda row: row["name"])
def test_a_class_that_was_built_and_run_is_what_is_told(row: dict[str, str]) -> None:
    for answer in CORPUS.of_run(row):
        assert not answer.is_wrong, answer
        if answer.value is None:
            assert any(" null" in note for note in report(row["name"])["notes"])


def test_what_is_known_of_the_classes_that_were_run() -> None:
    answers = [answer for row in rows("built_truth.tsv") for answer in CORPUS.of_run(row)]
    given = [answer for answer in answers if answer.value is not None]
    assert len(rows("built_truth.tsv")) >= 60
    assert len(given) / len(answers) >= 0.9


def test_the_command_prints_the_shares(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    assert compare(folder) == 2
    assert "no table of truths" in capsys.readouterr().err
    for name in ("llama2-7b-chat.json", "gte-qwen2-7b.json"):
        (folder / name).write_bytes((CONFIGS / name).read_bytes())
    head = "name\tarchitecture\ttotal\tkept\twindows\n"
    true = "llama2-7b-chat\tLlamaForCausalLM\t6738415616\t262144\tNone 32\n"
    (folder / "built_truth.tsv").write_text(head + true)
    assert compare(folder) == 0
    assert "1 rows: 100.0% right, 0.0% null, 0 wrong" in capsys.readouterr().out
    false = "gte-qwen2-7b\tQwen2ForCausalLM\t1\t28672\tNone 28\n"
    (folder / "built_truth.tsv").write_text(head + true + false)
    assert compare(folder) == 1
    assert "gte-qwen2-7b (run): total 7612620288, truth 1" in capsys.readouterr().out


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
