"""Run the notebooks of `docs/notebooks/`; `make notebooks` writes what came out into them.

    python -m tests.notebooks          # run all, and write
    python -m tests.notebooks heads    # those whose name begins so

Each figure is written twice: as Plotly's own data, and as a picture for readers whose viewer draws
no Plotly figures.
"""

from __future__ import annotations

import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
PLOTLY = "application/vnd.plotly.v1+json"
PNG = "image/png"
COLOURS = 128
LONGEST_SECONDS = 300  # for one cell


def find(start: str = "") -> list[Path]:
    """The notebooks whose name begins so."""
    return sorted(path for path in FOLDER.glob("*.ipynb") if path.name.startswith(start))


def execute(path: Path) -> NotebookNode:
    """Run a notebook from its first cell in a fresh kernel.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"  # else every figure brings all of Plotly
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    client = NotebookClient(
        notebook, timeout=LONGEST_SECONDS, kernel_name="python3", record_timing=False,
        coalesce_streams=True, resources={"metadata": {"path": str(ROOT)}}, config=_kernels(),
    )  # fmt: skip
    # A library's remark on what else could be installed names a path of this machine.
    client.execute(env={**os.environ, "PYTHONWARNINGS": "ignore:IProgress not found"})
    notebook.metadata["language_info"] = {"name": "python"}  # not which Python it was
    return notebook


def _kernels() -> Config:
    """Talk to a kernel over files where there are such sockets, and over no network."""
    settings = Config()
    if os.name != "nt":
        settings.KernelManager.transport = "ipc"
    return settings


def outputs(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    """Every output with the place of its cell."""
    for place, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            yield place, output


def figures(notebook: NotebookNode) -> list[dict[str, Any]]:
    """The `data` of every output that is a figure."""
    return [out["data"] for _, out in outputs(notebook) if PLOTLY in out.get("data", {})]


def add_pictures(notebook: NotebookNode) -> None:
    """Draw every figure in a browser, and keep the picture beside it."""
    from playwright.sync_api import sync_playwright

    from mha_view.assets import plotly_script
    from tests.browser.conftest import ARGUMENTS
    from tests.browser.find_browser import find_browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = browser.new_page()
        page.add_script_tag(path=plotly_script())
        for data in figures(notebook):
            told = {name: data[PLOTLY][name] for name in ("data", "layout")}
            size = {name: told["layout"][name] for name in ("width", "height")}
            address = page.evaluate(
                "([figure, size]) => Plotly.toImage(figure, {format: 'png', ...size})",
                [told, size],
            )
            data[PNG] = _shrink(address.split(",", 1)[1])
        browser.close()


def _shrink(png: str) -> str:
    """A picture, base64, in a few colours: a third of the bytes."""
    small = BytesIO()
    with Image.open(BytesIO(b64decode(png))) as image:
        image.convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    return b64encode(small.getvalue()).decode()


def main(arguments: Sequence[str]) -> None:
    """Run the notebooks and write them."""
    for path in find(arguments[0] if arguments else ""):
        notebook = execute(path)
        add_pictures(notebook)
        nbformat.write(notebook, path)
        print(f"{path.relative_to(ROOT)}: {len(figures(notebook))} figures")


if __name__ == "__main__":
    main(sys.argv[1:])
