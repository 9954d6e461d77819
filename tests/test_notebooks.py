"""The notebooks run as shipped, hold what comes out, and say the same in both languages."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat import NotebookNode

from tests.notebooks import PLOTLY, PNG, execute, figures, find, outputs

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
HEAD_NUMBER = re.compile(r"(head|layer|头|层)\s*\d|\d\.\d|第\s*\d")
STALE = "run `make notebooks` and look at what has changed"
NAMES = {"one-layer", "heads", "your-own", "your-model"}


def shipped(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def said(notebook: NotebookNode) -> str:
    """Everything that was printed or shown as text, figures aside."""
    texts = []
    for place, output in outputs(notebook):
        shown = output.get("data", {})
        if PLOTLY not in shown:
            texts.append(f"{place}: {output.get('text', '')}{shown.get('text/plain', '')}")
    return "\n".join(texts)


def numbers_of(figure: dict[str, Any]) -> list[np.ndarray]:
    """The arrays of a figure as it was stored."""
    stored = [trace[name] for trace in figure["data"] for name in "xyz" if name in trace]
    return [
        np.frombuffer(b64decode(values["bdata"]), values["dtype"]).astype(np.float64)
        if isinstance(values, dict)
        else np.array(values, dtype=np.float64)
        for values in stored
    ]


@pytest.mark.parametrize("path", find(), ids=lambda path: path.name)
def test_a_notebook_runs_and_holds_what_comes_out(path: Path) -> None:
    before, after = shipped(path), execute(path)
    told, anew = said(before), said(after)
    assert NUMBER.sub("#", told) == NUMBER.sub("#", anew), STALE
    old, new = (np.array(NUMBER.findall(text), dtype=np.float64) for text in (told, anew))
    assert np.allclose(old, new, rtol=5e-3, atol=5e-3), STALE
    kept, drawn = figures(before), figures(after)
    assert len(kept) == len(drawn) > 0, STALE
    for one, other in zip(kept, drawn, strict=True):
        assert numbers_of(one[PLOTLY]), "a figure without numbers"
        pairs = zip(numbers_of(one[PLOTLY]), numbers_of(other[PLOTLY]), strict=True)
        assert all(np.allclose(a, b, atol=1e-3, equal_nan=True) for a, b in pairs), STALE


@pytest.mark.parametrize("path", find(), ids=lambda path: path.name)
def test_every_figure_has_a_picture_and_nothing_is_a_remark_on_this_machine(path: Path) -> None:
    assert [out for _, out in outputs(shipped(path)) if out.get("name") == "stderr"] == []
    assert all(len(data[PNG]) > 2_000 for data in figures(shipped(path)))


@pytest.mark.parametrize(
    "path", [*find("one-layer"), *find("your-model")], ids=lambda path: path.name
)
def test_what_is_worked_out_by_hand_is_what_the_library_recorded(path: Path) -> None:
    printed = "".join(
        out["text"] for _, out in outputs(shipped(path)) if out["output_type"] == "stream"
    )
    apart = [float(text) for text in re.findall(r"\de-?\d+", printed)]
    assert len(apart) >= 16
    assert max(apart) < 1e-4


def test_each_notebook_is_there_in_both_languages() -> None:
    names = {path.name for path in find()}
    assert names == {f"{name}{lang}.ipynb" for name in NAMES for lang in ("", ".zh")}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_both_languages_run_the_same_code(name: str) -> None:
    english, chinese = (shipped(path) for path in find(name + "."))
    kinds = [[cell.cell_type for cell in one.cells] for one in (english, chinese)]
    assert kinds[0] == kinds[1]
    code = [
        [cell.source for cell in one.cells if cell.cell_type == "code"]
        for one in (english, chinese)
    ]
    assert 'LANG = "en"' in code[0][0]
    assert 'LANG = "zh"' in code[1][0]
    assert code[0][1:] == code[1][1:], "only the first code cell may differ: language and sentence"


@pytest.mark.parametrize("path", find(), ids=lambda path: path.name)
def test_no_text_remembers_what_the_cells_compute(path: Path) -> None:
    for cell in shipped(path).cells:
        if cell.cell_type == "markdown":
            assert not HEAD_NUMBER.search(cell.source), cell.source
        elif cell.cell_type == "code":
            assert not re.search(r"\bhead=\d|layer=\d", cell.source), cell.source


# What a learner may write in place of each `raise NotImplementedError`.
SOLUTIONS = {
    "split_heads": "return x.reshape(len(x), n_heads, -1).transpose(1, 0, 2)",
    "rotate": """half = x.shape[-1] // 2
    angles = np.outer(positions, base ** (-2 * np.arange(half) / x.shape[-1]))
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)""",
    "softmax_with_mask": """masked = np.where(keep, scores, -np.inf)
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)""",
    "join_heads": "return np.concatenate(list(heads), axis=-1)",
}


@pytest.mark.parametrize("path", find("your-own"), ids=lambda path: path.name)
def test_whoever_writes_all_four_functions_makes_the_layer(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for cell in shipped(path).cells:
        if cell.cell_type == "code":
            source = cell.source
            for name, body in SOLUTIONS.items():
                if source.startswith(f"def {name}("):
                    source = source.replace("    raise NotImplementedError\n", f"    {body}\n")
            exec(source, names)
    told = capsys.readouterr().out
    assert (told.count("✓"), told.count("✗")) == (4, 0)
    assert set(names["passed"]) == set(SOLUTIONS) == set(names["library"])
    assert float(told.rsplit("= ", 1)[1]) < 1e-4
    assert np.abs(names["pattern"] - names["trace"].pattern).max() < 1e-6


@pytest.mark.parametrize("path", find("your-own"), ids=lambda path: path.name)
def test_what_is_not_written_yet_is_said_and_stood_in_for(path: Path) -> None:
    told = said(shipped(path))
    assert (told.count("✓"), told.count("✗")) == (0, 4)
    assert all(told.count(name) >= 2 for name in SOLUTIONS)
    assert float(told.rsplit("= ", 1)[1].split()[0]) < 1e-4
