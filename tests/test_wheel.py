"""`pip install .`: the wheel is whole, and what is installed from it works without the source."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from mha_core import load_toy_model
from mha_view.words import LANG_VARIABLE, Words
from tests.browser.serving import free_port, wait_until_well
from tests.reader import ask_page

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
OFFLINE = ["--no-index", "--no-deps"]
FIVE_LINES = """\
from mha_core import load_toy_model
trace = load_toy_model().trace("The cat sat on the mat")
layer = trace.layers[2]
print(layer.table(head=1))
print(float(layer.pattern.max(axis=(1, 2)).sum()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    built = [*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(built, check=True, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel, and reads only the dependencies from this one's."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    subprocess.run(
        [*PIP, "--python", str(python), "install", *OFFLINE, str(wheel)], check=True, cwd=folder
    )
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    pointer = Path(own.stdout.strip()) / "test_dependencies.pth"
    pointer.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return scripts


def run(program: Path, *arguments: str, cwd: Path) -> str:
    """What an installed program prints, started far from the source."""
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [program, *arguments], cwd=cwd, env=away, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_app_and_nothing_else(wheel: Path) -> None:
    here = {
        str(path.relative_to(ROOT).as_posix())
        for folder in ("mha_core", "mha_view", "pages")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    moved = ("app.py", "pages/", ".streamlit/")
    expected = {
        f"twelve_heads/{name}" if name.startswith(moved) else name
        for name in {*here, "app.py", ".streamlit/config.toml"}
    }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


def test_the_wheel_names_what_requirements_txt_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        told = HeaderParser().parsestr(file.read(name).decode())
    declared = (ROOT / "requirements.txt").read_text("utf-8").split()
    named = told.get_all("Requires-Dist") or ()
    assert sorted(map(str.lower, named)) == sorted(map(str.lower, declared))


def test_a_notebook_users_five_lines_give_their_numbers(installed: Path, tmp_path: Path) -> None:
    told = run(installed / "python", "-c", FIVE_LINES, cwd=tmp_path).splitlines()
    layer = load_toy_model().trace("The cat sat on the mat").layers[2]
    assert "\n".join(told[:-1]) == str(layer.table(head=1))
    assert float(told[-1]) == pytest.approx(float(layer.pattern.max(axis=(1, 2)).sum()), abs=1e-6)


def test_what_runs_is_what_was_installed(installed: Path, tmp_path: Path) -> None:
    code = "import mha_core, mha_view.home as h; print(mha_core.__file__, h.HOME)"
    core, home = run(installed / "python", "-c", code, cwd=tmp_path).split()
    assert Path(core).is_relative_to(installed.parent)
    assert Path(home) == Path(core).parents[1] / "twelve_heads"


def test_the_command_serves_a_page_in_the_language_asked_for(
    installed: Path, tmp_path: Path
) -> None:
    port = free_port()
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [installed / "twelve-heads", "--port", str(port), "--lang", "zh"],
            cwd=tmp_path, env={**away, LANG_VARIABLE: ""}, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_well(server, f"{address}/_stcore/health")
            first, asked = ask_page(address, ""), ask_page(address, "attention", "lang=en")
        finally:
            server.terminate()
            server.wait(30)
    assert first.finished
    assert asked.finished
    words = Words("zh")
    assert words.lesson("overview", "title") in " ".join(first.texts)
    assert Words("en").lesson("attention", "title") in " ".join(asked.texts)
    assert "exception" not in {*first.kinds, *asked.kinds}
    told = (tmp_path / "log").read_text("utf-8")
    assert told.startswith(words("command.serving", port=port))
    assert "Traceback" not in told
