"""The real configs that ship with the app."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mha_core.errors import DataError
from mha_core.sizes.read import Json, read_file

FOLDER = Path(__file__).parents[1] / "data" / "configs"


@dataclass(frozen=True)
class Bundled:
    """One bundled config and where it was taken from.

    Args:
        name: file name without its ending; what `read_bundled` takes.
        title: what people call the model; the same in every language.
        source: repository, path and commit, or the library and call that wrote it.
    """

    name: str
    title: str
    source: str


@cache
def list_bundled() -> tuple[Bundled, ...]:
    """List the bundled configs, the most asked for first.

    >>> [config.title for config in list_bundled()][:2]
    ['Llama 3.1 8B', 'Llama 2 7B chat']
    """
    with (FOLDER / "SOURCES.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return tuple(
        Bundled(
            row["name"],
            row["title"],
            " ".join(part for part in (row["repository"], row["path"], row["commit"]) if part),
        )
        for row in rows
    )


def read_bundled(name: str) -> Json:
    """Read one bundled config.

    Args:
        name: a `Bundled.name`.

    Raises:
        DataError: there is none of that name.

    >>> read_bundled("gpt2-medium")["n_embd"]
    1024
    """
    if name not in {config.name for config in list_bundled()}:
        raise DataError("sizes.file.missing", path=f"{name}.json")
    config, _ = read_file(FOLDER / f"{name}.json")
    return config
