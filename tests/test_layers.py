"""core <- view <- pages <- app: who may import whom, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "mha_core": {"streamlit", "plotly", "mha_view", "pages", "app"},
    "mha_view": {"pages", "app"},
    "pages": {"app", "plotly", "torch"},
}


def imported(path: Path) -> set[str]:
    """The top-level packages a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_no_layer_imports_what_is_above_it(layer: str) -> None:
    files = sorted((ROOT / layer).rglob("*.py"))
    assert len(files) > 8
    bad = {str(path): imported(path) & FORBIDDEN[layer] for path in files}
    assert {path: names for path, names in bad.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("mha_core", ("torch", "streamlit", "plotly")),
        ("mha_core.language.tokenizer", ("torch", "streamlit", "plotly")),
        ("mha_core.trace", ("torch", "streamlit", "plotly")),
        ("mha_core.real.folder", ("torch", "transformers")),
        ("mha_view.page", ("torch", "transformers")),
        ("app", ("torch", "transformers")),
    ],
)
def test_an_import_does_not_load_what_it_does_not_need(module: str, absent: tuple[str]) -> None:
    code = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().splitlines()[-1] == "[]"
