"""`from mha_core import …`: every public name, typed, and nothing loaded before it is asked for."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mha_core

ROOT = Path(__file__).parents[2]
# What benchmarks and other people's code rely on.
STABLE = {
    "AttentionConfig", "AttentionWeights", "scaled_dot_product", "attention", "AttentionSteps",
    "fused_attention", "Rope", "rotate", "rotate_with", "keep_mask", "load_toy_model", "ToyModel",
    "AttentionTrace", "ModelTrace", "Step", "walk_layer", "random_weights", "random_embedding",
    "from_torch", "KVCache", "load_tokenizer",
}  # fmt: skip
COMMANDS = ("train", "train_vit", "evaluate", "sizes")


def stub() -> dict[str, str]:
    """What `__init__.pyi` says: name → the module it comes from."""
    tree = ast.parse((ROOT / "mha_core" / "__init__.pyi").read_text("utf-8"))
    told = {}
    for node in tree.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "`as` is what makes a stub's import public"
            told[alias.name] = str(node.module)
    return told


@pytest.mark.parametrize("name", mha_core.__all__)
def test_a_public_name_is_the_thing_itself(name: str) -> None:
    home = importlib.import_module(stub()[name])
    value = getattr(mha_core, name)
    assert value is vars(home)[name]
    assert value is getattr(mha_core, name)
    assert value.__doc__


def test_the_stable_names_are_there_and_listed() -> None:
    assert set(mha_core.__all__) >= STABLE
    assert set(mha_core.__all__) <= set(dir(mha_core))


def test_a_type_checker_is_told_the_same_names() -> None:
    assert sorted(stub()) == list(mha_core.__all__)


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="'mha_core' has no attribute 'atention'"):
        mha_core.atention  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'atention'"):
        exec("from mha_core import atention")


def test_asking_what_there_is_loads_nothing() -> None:
    code = (
        "import sys, mha_core; dir(mha_core); mha_core.__all__; mha_core.AttentionConfig;"
        "print([name for name in ('torch', 'streamlit', 'plotly') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_are_still_modules(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"mha_core.{command}", "--help"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"mha_core.{command}" in done.stdout


def test_examples_come_in_by_the_front_door() -> None:
    files = [*(ROOT / "mha_core").rglob("*.py"), *(ROOT / "mha_view").rglob("*.py")]
    files += [ROOT / "README.md", ROOT / "README.zh.md"]
    around = {
        f"{path.name}: {name}"
        for path in files
        for _, names in re.findall(r">>> from (mha_core\.[\w.]+) import ([\w, ]+)",
                                   path.read_text("utf-8"))
        for name in names.split(", ")
        if name in mha_core.__all__
    }  # fmt: skip
    assert around == set()
