"""The code in the README runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readmes_code_prints_what_it_says(name: str) -> None:
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.attempted >= 6
    assert result.failed == 0


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "CONTRIBUTING.md"])
def test_every_file_a_document_links_to_exists(name: str) -> None:
    import re

    text = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert all((ROOT / link).exists() for link in links), links
