"""CONTRIBUTING's map names every file, and what its recipes name is there."""

from __future__ import annotations

import importlib
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = TEXT.split("## How to add")[1].split("\n## ")[0]
ENDINGS = {"json", "md", "po", "py", "pyi", "toml", "txt"}
CODE = {".py", ".pyi", ".js", ".css"}
PACKAGES = ("mha_core", "mha_core.heads", "mha_view", "mha_view.walk")


def read_map() -> dict[str, list[str]]:
    """The map: folder, with a final slash, to the names under it; "" is the root."""
    block = TEXT.split("## The map")[1].split("```")[1]
    found: dict[str, list[str]] = {"": []}
    folder = ""
    for line in block.strip().splitlines():
        names = re.split(r"\s{2,}", line.strip())[0].split()
        if line.startswith("  "):
            found[folder] += names
        elif names and names[0].endswith("/"):
            (folder,) = names
            assert folder not in found, f"{folder} stands twice"
            found[folder] = []
        elif names:
            folder = ""
            found[""] += names
    return found


def tracked() -> list[Path]:
    """Every file of the repository, the hidden ones and those at the root aside."""
    told = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    files = [Path(name) for name in told if (ROOT / name).is_file()]
    return [path for path in files if not path.parts[0].startswith(".")]


MAP = read_map()
FILES = tracked()


def test_the_map_was_read() -> None:
    assert len(MAP) > 25
    assert {"layer", "trace", "walk"} <= set(MAP["mha_core/"])
    assert len(FILES) > 250


def test_every_file_of_code_is_named() -> None:
    missing = {}
    for path in FILES:
        folder = "" if path.parent == Path() else f"{path.parent.as_posix()}/"
        is_marker = path.name == "__init__.py" and "__init__" not in MAP.get(folder, ())
        if path.suffix not in CODE or is_marker:
            continue
        if not any(fnmatch(path.stem, name) for name in MAP.get(folder, ())):
            missing[str(path)] = f"name it under {folder or 'the root'}"
    assert missing == {}


def test_every_other_file_lies_in_a_folder_that_is_named() -> None:
    lost = [
        str(path)
        for path in FILES
        if path.suffix not in CODE
        and path.parent != Path()
        and not any(f"{parent.as_posix()}/" in MAP for parent in path.parents)
    ]
    assert lost == []


def test_nothing_is_named_that_is_not_there() -> None:
    for folder, names in MAP.items():
        here = ROOT / folder
        assert here.is_dir(), folder
        stems = {path.stem for path in here.iterdir() if path.suffix in CODE}
        gone = [name for name in names if not any(fnmatch(stem, name) for stem in stems)]
        assert gone == [], folder
        assert len(set(names)) == len(names), f"{folder}: a name stands twice"


@pytest.mark.parametrize(("module", "name"), re.findall(r"`(\w+)\.([A-Za-z_]\w+)`", RECIPES))
def test_what_a_recipe_names_is_there(module: str, name: str) -> None:
    if name in ENDINGS:
        assert any(path.name == f"{module}.{name}" for path in FILES)
        return
    homes = [f"{package}.{module}" for package in PACKAGES]
    there = [home for home in homes if (ROOT / f"{home.replace('.', '/')}.py").is_file()]
    assert any(hasattr(importlib.import_module(home), name) for home in there), f"{module}.{name}"


@pytest.mark.parametrize("command", re.findall(r"`make ([\w-]+)`", TEXT))
def test_every_make_target_it_names_exists(command: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{command}:", makefile, re.MULTILINE)
