"""The files that put the app on a server say what is so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mha_view.limits import TABLE

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
GUIDES = [ROOT / "docs" / "deploy.md", ROOT / "docs" / "deploy.zh.md"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_each_guide_lists_every_bound_with_its_values(guide: Path) -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \|", guide.read_text("utf-8"), re.M)
    told = {name: (lab.replace(",", ""), public.replace(",", "")) for name, lab, public in rows}
    assert told == {limit.variable: (str(limit.lab), str(limit.public)) for limit in TABLE}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_file_a_guide_names_is_there(guide: Path) -> None:
    text = guide.read_text("utf-8")
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert len(linked) >= 3
    for link in linked:
        assert (guide.parent / link).exists(), link
    for name in re.findall(r"deploy/[\w./-]+\w", text):
        assert (ROOT / name).exists(), name


def test_the_dockerfile_passes_its_linter() -> None:
    lint = shutil.which("hadolint", path=str(Path(ROOT / ".venv" / "bin"))) or shutil.which(
        "hadolint"
    )
    assert lint is not None, "hadolint is missing: pip install -r requirements-dev.txt"
    found = subprocess.run(
        [lint, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout


def test_the_image_is_not_root_and_asks_for_its_health() -> None:
    steps = (DEPLOY / "Dockerfile").read_text("utf-8")
    final = steps.rsplit("FROM ", 1)[1]
    assert re.search(r"^USER (?!root|0)\w+", final, re.M)
    assert "HEALTHCHECK" in final
    assert "pip install" not in final, "what runs brings no installer's work along"


def test_no_log_line_of_the_proxy_holds_a_path_or_a_query() -> None:
    [line] = re.findall(r'log-format "(.*)"', (DEPLOY / "haproxy.cfg").read_text("utf-8"))
    assert set(re.findall(r"%\w+", line)) <= {"%ci", "%B", "%ST", "%Tt", "%s"}
