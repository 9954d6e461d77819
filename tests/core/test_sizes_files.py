"""What people really drop on the page: odd files are read, broken ones refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core.errors import DataError, Note
from mha_core.sizes import build, measure, read_bytes, read_text
from mha_core.sizes.__main__ import main

CONFIGS = Path(__file__).parents[1] / "data" / "configs"
GOOD: dict[str, Any] = {
    "model_type": "mistral",
    "architectures": ["MistralForCausalLM"],
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 96,
    "vocab_size": 100,
    "tie_word_embeddings": False,
}
READ = {
    "malformed_float_heads.json": "num_attention_heads was given as 32.0; read as 32.",
    "malformed_head_dim_null.json": "head_dim is null: d_head is derived, 128.",
    "malformed_kv_heads_null.json": "num_key_value_heads is null: 32 KV heads",
    "malformed_numbers_as_strings.json": 'hidden_size was given as "4096"; read as 4096.',
    "malformed_rope_scaling_both_keys.json": "RoPE is set in rope_scaling (kind: linear)",
    "malformed_rope_scaling_llama31_old.json": "RoPE is set in rope_scaling (kind: llama3)",
    "malformed_utf16.json": "The file is UTF-16 with a byte order mark",
}
REFUSED = {
    "malformed_empty.json": "The file is empty",
    "malformed_hidden_not_divisible.json": "hidden_size = 1024 is not divisible by",
    "malformed_huge.json": "hidden_size = 1000000000000: expected a whole number of at most",
    "malformed_list_top.json": "The file holds a JSON list",
    "malformed_not-a-model-config.json": "hidden_size is missing",
    "malformed_trailing_comma.json": "a comma before the closing bracket",
    "malformed_zero_heads.json": "num_attention_heads = 0: expected a whole number above zero",
}


@pytest.mark.parametrize(
    ("model_type", "source"),
    [("mistral", "as many as query heads"), ("internlm2", "by its closed form")],
)
def test_null_kv_heads_are_told_with_their_source(model_type: str, source: str) -> None:
    asked = {"model_type": model_type, "num_key_value_heads": None, "architectures": None}
    found = measure(GOOD | asked)
    assert f"num_key_value_heads is null: 8 KV heads, {source}." in map(str, found.notes)


def run(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main([str(path), "--json"])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_every_malformed_file_is_named_here() -> None:
    assert READ.keys() | REFUSED.keys() == {p.name for p in CONFIGS.glob("malformed_*")}


@pytest.mark.parametrize("name", READ)
def test_odd_but_readable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(CONFIGS / name, capsys)
    found = json.loads(out)
    assert status == 0
    assert any(READ[name] in note for note in found["notes"])
    assert (found["d_model"], found["n_heads"], found["d_head"]) == (4096, 32, 128)
    # Null KV heads are read as one for each query head: 32 layers · 2 · 3072 · 4096 more.
    more = 32 * 2 * 3072 * 4096 if name == "malformed_kv_heads_null.json" else 0
    assert found["parameters"]["total"] == 7_241_732_096 + more


@pytest.mark.parametrize("name", REFUSED)
def test_broken_is_refused_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run(CONFIGS / name, capsys)
    assert (status, out) == (2, "")
    assert error.count("\n") == 1
    assert REFUSED[name] in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The file is empty"),
        ("   \n", "The file is empty"),
        ("<!DOCTYPE html><html>", "web page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 700", "Git LFS pointer"),
        ('{"hidden_size": 768, // width\n "num_attention_heads": 12}', "a comment at line 1"),
        ('{"hidden_size": 768, # width\n "num_attention_heads": 12}', "a comment at line 1"),
        ('{"hidden_size": 768, "num_att', "before its last bracket or quotation mark"),
        ('{"hidden_size": 768', "before its last bracket or quotation mark"),
        ('{"hidden_size": 768,}', "a comma before the closing bracket"),
        ("{'hidden_size': 768}", "line 1, column 2"),
        ('{"a": 1, "a": 2}', "The key a is there twice"),
        ("[]", "JSON list"),
        ("3", "JSON number"),
        ("null", "JSON null"),
        ("{}", "no keys"),
        ("[" * 100_000, "nested too deeply|before its last bracket"),
    ],
)
def test_text_that_is_no_config(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_text(text)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_read_with_a_note(encoding: str) -> None:
    config, notes = read_bytes(json.dumps(GOOD).encode(encoding))
    assert config == GOOD
    assert len(notes) == 1


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DataError, match="Byte 0 is not utf-8"):
        read_bytes(b"\x80\x02}q\x00")


@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan"), float("inf"), 10**40, True, "wide"])
@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "num_hidden_layers"])
def test_a_bad_size_is_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(DataError, match=key):
        measure({**GOOD, key: value}, totals=False)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "num_hidden_layers"])
@pytest.mark.parametrize("totals", [False, True])
def test_a_missing_size_is_refused_by_name(key: str, totals: bool) -> None:
    config = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(DataError, match=f"{key} is missing"):
        measure(config, totals=totals)


def test_a_contradicted_file_gives_no_totals() -> None:
    # An old LLaVA file states its language model at the top, where transformers does not look.
    config = json.loads((CONFIGS / "llava-v1.5-7b-orig.json").read_text())
    config |= {"hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 40}
    found = measure(config)
    assert (found.d_model, found.n_heads) == (5120, 40)
    assert found.parameters.total is None
    assert any("would be another model's" in str(note) for note in found.notes)


def test_remote_code_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modeling_own.py").write_text("raise SystemExit('ran')")
    automatic = {"AutoConfig": "modeling_own.Own", "AutoModel": "modeling_own.Own"}
    found = measure({**GOOD, "auto_map": automatic, "_name_or_path": str(tmp_path)})
    assert found.parameters.total == measure(GOOD).parameters.total
    unknown = measure(
        {**GOOD, "auto_map": automatic, "model_type": "own", "architectures": ["Own"]}
    )
    assert unknown.parameters.total is None


@pytest.mark.parametrize("limit", [{"tensors": 10}, {"seconds": 0.0}])
def test_building_is_bounded(limit: dict[str, Any]) -> None:
    with build.budget(**limit), pytest.raises(build.BudgetError, match="to build"):
        torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(50)))
    # The watch is gone afterwards.
    torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(50)))


def test_too_large_to_build_leaves_totals_out(monkeypatch: pytest.MonkeyPatch) -> None:
    too_slow = Note("sizes.reason.seconds", most=1)
    monkeypatch.setattr(build, "_attempt", lambda kind, config: (None, too_slow))
    found = measure(GOOD)
    assert (found.d_model, found.n_heads, found.parameters.total) == (64, 8, None)
    assert any("base is null: more than 1 seconds to build" in str(note) for note in found.notes)


def mutations() -> st.SearchStrategy[dict[str, Any]]:
    """A good file with one key changed to anything."""
    anything = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 10_000),
        st.floats(),
        st.text(max_size=5),
        st.lists(st.integers(0, 9), max_size=3),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    )
    keys = st.sampled_from([*GOOD, "head_dim", "sliding_window", "rope_scaling", "layer_types"])
    return st.builds(lambda key, value: {**GOOD, key: value}, keys, anything)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutations(), st.booleans())
def test_any_change_is_read_or_refused(config: dict[str, Any], totals: bool) -> None:
    try:
        found = measure(config, totals=totals)
    except DataError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    json.dumps(found.as_json(64))
    if found.parameters.total is not None:
        assert found.parameters.total > 0
