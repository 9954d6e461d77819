"""The command `twelve-heads`: what it understands, and what it says to what it does not."""

from __future__ import annotations

import socket

import pytest

from mha_view import command, state
from mha_view.command import main
from mha_view.home import HOME
from mha_view.words import LANG_VARIABLE, LANGS, Words


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ports that would be served."""
    ports: list[int] = []
    monkeypatch.setattr(command, "serve", ports.append)
    monkeypatch.setattr(command, "is_taken", lambda port: False)
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    monkeypatch.setenv(LANG_VARIABLE, "")
    return ports


@pytest.mark.parametrize(
    ("given", "port"), [([], 8501), (["--port", "9000"], 9000), (["--port=80"], 80)]
)
def test_it_serves_the_port_it_is_given(
    served: list[int], given: list[str], port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(given)
    assert served == [port]
    assert f"http://localhost:{port}" in capsys.readouterr().out


@pytest.mark.parametrize("lang", LANGS)
def test_the_first_page_opens_in_the_language_asked_for(served: list[int], lang: str) -> None:
    main(["--lang", lang])
    assert state.first_language() == lang


def test_without_one_it_follows_the_browser(served: list[int]) -> None:
    main([])
    assert state.first_language() == "en"


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize(
    ("given", "key", "shown"),
    [
        (["--port", "no"], "command.port", "no"),
        (["--port", "0"], "command.port", "0"),
        (["--port", "70000"], "command.port", "70000"),
        (["--port", "8501.0"], "command.port", "8501.0"),
        (["--port", ""], "command.port", ""),
        (["--prot", "80"], "command.unreadable", "--prot 80"),
        (["--port"], "command.unreadable", "--port"),
        (["serve"], "command.unreadable", "serve"),
    ],
)
def test_what_it_cannot_follow_is_answered_in_the_readers_language(
    served: list[int],
    lang: str,
    given: list[str],
    key: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LC_ALL", {"en": "en_GB.UTF-8", "zh": "zh_CN.UTF-8"}[lang])
    with pytest.raises(SystemExit, match="2"):
        main(given)
    told = Words(lang)(key, given=shown, help=Words(lang)("command.help"))
    assert capsys.readouterr().err == told + "\n"
    assert served == []


def test_a_language_that_is_not_there_is_named(
    served: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--lang", "fr"])
    assert "“fr”" in capsys.readouterr().err


def test_a_taken_port_is_told_before_the_server_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "serve", lambda port: pytest.fail("served"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SystemExit, match="2"):
            main(["--port", str(port), "--lang", "zh"])
    assert str(port) in capsys.readouterr().err


@pytest.mark.parametrize("lang", LANGS)
def test_help_names_every_option(
    served: list[int], lang: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--help", "--lang", lang])
    told = capsys.readouterr().out
    assert told == Words(lang)("command.help") + "\n"
    assert all(option in told for option in ("--port", "--lang", "--help"))
    assert served == []


def test_the_apps_files_are_where_the_menu_looks() -> None:
    assert (HOME / "app.py").is_file()
    assert (HOME / ".streamlit" / "config.toml").is_file()
