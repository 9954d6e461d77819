"""Finding a browser: the named one, or the next best, or a message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser import find_browser as finding


def test_the_named_browser_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = tmp_path / "my-chromium"
    named.touch()
    monkeypatch.setenv("CHROMIUM", str(named))
    assert finding.find_browser() == str(named)


def test_a_named_browser_that_is_not_there_is_not_replaced_silently(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "nothing"))
    assert finding.find_browser() is None


def test_the_systems_browser_is_found_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    program = tmp_path / "chromium-browser"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{tmp_path / 'bin'}")
    assert finding.find_browser() == str(program)


def test_without_a_browser_the_reader_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(finding, "find_browser", lambda: None)
    monkeypatch.setattr(finding.sys, "argv", ["find_browser"])
    with pytest.raises(SystemExit, match=r"No Chromium was found: .* set CHROMIUM"):
        finding.main()
