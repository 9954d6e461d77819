"""The hub is asked only where it is allowed, at one commit, for files that can be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mha_core.errors import DataError
from mha_core.real import hub
from mha_core.real.folder import card_of
from mha_core.real.load import load_model
from tests.core.real_families import FAMILIES
from tests.core.real_folders import save_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A hub that holds one small model, with code and a pickle beside it."""
    folder = save_folder(tmp_path / "published", FAMILIES[0])
    for name in ("modeling.py", "pytorch_model.bin"):
        (folder / name).write_bytes(b"no")
    asked: dict[str, Any] = {}

    def info(name: str, revision: str) -> Any:
        asked["info"] = (name, revision)
        files = [SimpleNamespace(rfilename=p.name, size=p.stat().st_size) for p in folder.iterdir()]
        files.append(SimpleNamespace(rfilename="deep/config.json", size=1))
        return SimpleNamespace(siblings=files, card_data=SimpleNamespace(license="mit"))

    def snapshot(name: str, *, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        asked["files"], asked["revision"] = allow_patterns, revision
        local_dir.mkdir(parents=True)
        for file in allow_patterns:
            shutil.copy(folder / file, local_dir / file)

    monkeypatch.setattr(hub, "_ask", info)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    return asked


def test_a_model_is_fetched_without_code_and_pickles(
    published: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "models"
    monkeypatch.setenv(hub.HUB_VARIABLE, "1")
    folder = hub.fetch_from_hub("someone/tiny-llama", COMMIT, root)
    assert folder.name == "someone--tiny-llama"
    assert published["info"] == ("someone/tiny-llama", COMMIT)
    assert published["revision"] == COMMIT
    assert not {"modeling.py", "pytorch_model.bin", "deep/config.json"} & set(published["files"])
    card = card_of(folder)
    assert (card.licence, card.problem) == ("mit", None)
    assert card.source == f"https://huggingface.co/someone/tiny-llama/tree/{COMMIT}"
    assert load_model(folder.name, root=root).n_layers == 2


@pytest.mark.parametrize(
    ("name", "revision", "allowed", "sentence"),
    [
        ("someone/tiny", COMMIT, "", "the hub is not asked"),
        ("someone/tiny", COMMIT, "yes", "the hub is not asked"),
        ("someone/tiny", "main", "1", "revision = 'main' may change"),
        ("someone/tiny", COMMIT.upper(), "1", "may change"),
        ("tiny", COMMIT, "1", "is no name of a model on the hub"),
        ("../../etc/x", COMMIT, "1", "is no name of a model on the hub"),
    ],
)
def test_nothing_is_asked_of_the_hub_unless_all_is_right(
    published: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, revision: str, allowed: str, sentence: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(hub.HUB_VARIABLE, allowed)
    with pytest.raises(DataError, match=sentence):
        hub.fetch_from_hub(name, revision, tmp_path / "models")
    assert published == {}
    assert not (tmp_path / "models").exists()


def test_what_is_too_large_is_not_fetched(
    published: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hub.HUB_VARIABLE, "1")
    monkeypatch.setenv(hub.SIZE_VARIABLE, "0.0001")
    with pytest.raises(DataError, match="at most 107,374 are loaded here"):
        hub.fetch_from_hub("someone/tiny", COMMIT, tmp_path / "models")
    assert "files" not in published


def test_a_hub_that_does_not_answer_is_said_to_be_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setenv(hub.HUB_VARIABLE, "1")
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", fail)
    with pytest.raises(DataError, match=r"tiny at 0123456789ab could not be fetched .*Connection"):
        hub.fetch_from_hub("someone/tiny", COMMIT, tmp_path / "models")
