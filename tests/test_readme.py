"""The code in the README runs and prints what it says."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from mha_view import command
from mha_view.words import LANG_VARIABLE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readmes_code_prints_what_it_says(name: str) -> None:
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.attempted >= 6
    assert result.failed == 0


def test_both_languages_show_the_same_code() -> None:
    blocks = [
        re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
        for name in ("README.md", "README.zh.md")
    ]
    english, chinese = (" ".join(found).replace('"zh"', '"en"') for found in blocks)
    assert english == chinese


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_command_it_names_is_understood(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = re.findall(r"`(twelve-heads [^`]+)`", (ROOT / name).read_text("utf-8"))
    served: list[int] = []
    monkeypatch.setattr(command, "serve", served.append)
    monkeypatch.setattr(command, "is_taken", lambda port: False)
    monkeypatch.setenv(LANG_VARIABLE, "")
    command.main(line.split()[1:])
    assert served == [8501]


def test_the_citation_is_of_this_version() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    told = dict(re.findall(r"^([\w-]+): (.+)$", cited, re.MULTILINE))
    assert told["version"] == project["version"]
    assert told["license"] == project["license"]
    assert told["cff-version"] == "1.2.0"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "CONTRIBUTING.md"])
def test_every_file_a_document_links_to_exists(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert all((ROOT / link).exists() for link in links), links
