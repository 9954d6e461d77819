"""The reader against the truth of a folder of real files: how many are right, null or wrong.

    python -m mha_core.sizes --corpus

The truth lies beside the files in tables: what a built class holds, what it keeps when it runs,
and what was worked out by hand for code that ships beside weights. An answer that is null is not
wrong; an answer that differs is.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mha_core.errors import DataError
from mha_core.sizes import Sizes, measure_file

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "configs"
# This row describes the audio tower of a model whose top here is its language part.
NOT_TRUSTED = {"qwen2.5-omni"}


@dataclass(frozen=True)
class Answer:
    """One answer beside its truth."""

    name: str
    value: Any
    truth: Any

    @property
    def is_wrong(self) -> bool:
        """Whether it is given and differs."""
        return self.value is not None and self.value != self.truth


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of one table; none where the folder has none of that name."""
    path = folder / name
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


class Corpus:
    """A folder of files and the tables of their truth.

    Args:
        folder: files and tables; the tests' own unless given.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self._measured: dict[str, Sizes] = {}

    def measured(self, name: str) -> Sizes:
        """A file's sizes, or a part's after `#`; each file is measured once."""
        file, _, part = name.partition("#")
        if file not in self._measured:
            self._measured[file] = measure_file(self.folder / f"{file}.json")
        return self._measured[file].entries[part] if part else self._measured[file]

    def answers(self) -> Iterator[tuple[str, list[Answer]]]:
        """Every row of every table, with its answers."""
        for row in rows_of(self.folder, "config_truth.tsv"):
            if row["status"] == "ok" and row["name"] not in NOT_TRUSTED:
                yield row["name"], self.of_built(row)
        for row in rows_of(self.folder, "config_truth_manual.tsv"):
            yield f"{row['name']} (by hand)", self.of_hand(row)
        for row in rows_of(self.folder, "built_truth.tsv"):
            yield f"{row['name']} (run)", self.of_run(row)
        for row in rows_of(self.folder, "kv_truth.tsv"):
            yield f"{row['name']} (cache)", self.of_cache(row)

    def of_built(self, row: dict[str, str]) -> list[Answer]:
        """What the modules of a built class hold."""
        found = self.measured(row["name"]).as_json()
        heads = [int(n) for n in re.findall(r"\d+", row["h"])]
        wanted: list[tuple[str, Any, Any]] = [
            ("n_heads", found["n_heads"], heads[0] if len(heads) == 1 else heads or None)
        ]
        for key, column in [
            ("d_model", "d"),
            ("n_kv_heads", "h_kv"),
            ("d_head", "d_head"),
            ("n_layers", "layers"),
        ]:
            wanted.append((key, found[key], int(row[column]) if row[column].isdigit() else None))
        shapes, bias, parameters = (found[name] for name in ("shapes", "bias", "parameters"))
        assert isinstance(shapes, dict)
        assert isinstance(bias, dict)
        assert isinstance(parameters, dict)
        for letter, flag in zip("qkvo", row["bias_qkvo"].ljust(4, "?"), strict=True):
            shape = _matrices(row[f"{letter}_shape"]) or None
            wanted.append((f"w_{letter}", shapes[f"w_{letter}"], shape))
            stated = None if flag == "?" else flag == "1"
            wanted.append((f"bias {letter}", bias[letter], stated))
        for key, column in [("base", "params_base"), ("total", "params_full")]:
            number = int(row[column]) if row[column] else None
            wanted.append((key, parameters[key], number))
        return _known(wanted)

    def of_hand(self, row: dict[str, str]) -> list[Answer]:
        """What was worked out by hand."""
        sizes = self.measured(row["name"])
        return _known(
            [
                ("d_model", sizes.d_model, int(row["d"])),
                ("n_kv_heads", sizes.first.n_kv_heads, int(row["h_kv"])),
                ("total", sizes.parameters.total, int(row["total_params"])),
            ]
        )

    def of_run(self, row: dict[str, str]) -> list[Answer]:
        """What a built class counts and, when it reads three tokens, keeps."""
        sizes = self.measured(row["name"])
        cache = None if sizes.cache is None else sum(g.count * g.elements for g in sizes.cache)
        windows = _windows(sizes)
        return _known(
            [
                ("total", sizes.parameters.total, int(row["total"]) if row["total"] else None),
                ("kept", cache, int(row["kept"]) if row["kept"] else None),
                ("windows", windows, row["windows"] or None),
            ]
        )

    def of_cache(self, row: dict[str, str]) -> list[Answer]:
        """What a cache takes."""
        cache = self.measured(row["name"]).as_json(4096)["kv_cache"]
        assert isinstance(cache, dict)
        return _known(
            [
                ("elements", cache["elements_per_token"], int(row["elements_per_token"])),
                ("bytes", cache["bytes"], int(row["bytes_4096_tokens"])),
            ]
        )


def _windows(sizes: Sizes) -> str | None:
    """How many layers keep at most how much, as the table writes it."""
    if sizes.cache is None:
        return None
    counts: dict[str, int] = {}
    for group in sizes.cache:
        counts[str(group.window)] = counts.get(str(group.window), 0) + group.count
    return ", ".join(f"{window} {counts[window]}" for window in sorted(counts))


def _matrices(text: str) -> list[Any]:
    found = [[int(n) for n in pair.split(",")] for pair in re.findall(r"\[(\d+,\d+)\]", text)]
    return found[0] if len(found) == 1 else found


def _known(wanted: list[tuple[str, Any, Any]]) -> list[Answer]:
    return [Answer(*answer) for answer in wanted if answer[2] is not None]


def compare(folder: Path | None = None) -> int:
    """Print the shares; 1 where an answer is wrong, 2 where there is nothing to compare with.

    Args:
        folder: files and tables; the tests' own where None.
    """
    corpus = Corpus(folder or FOLDER)
    if not rows_of(corpus.folder, "config_truth.tsv") + rows_of(corpus.folder, "built_truth.tsv"):
        print(f"{corpus.folder}: no table of truths here.", file=sys.stderr)
        return 2
    right = null = wrong = 0
    for name, answers in corpus.answers():
        faults = [answer for answer in answers if answer.is_wrong]
        wrong += bool(faults)
        null += not faults and any(answer.value is None for answer in answers)
        right += all(answer.value == answer.truth for answer in answers)
        for fault in faults:
            print(f"{name}: {fault.name} {fault.value}, truth {fault.truth}")
    every = right + null + wrong
    unread = _unreadable(corpus.folder)
    print(f"{every} rows: {right / every:.1%} right, {null / every:.1%} null, {wrong} wrong")
    print(f"{len(unread)} files refused in one sentence: {', '.join(unread) or 'none'}")
    return int(bool(wrong))


def _unreadable(folder: Path) -> list[str]:
    """Files that are refused, each by a message."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            measure_file(path, totals=False)
        except DataError:
            found.append(path.stem)
    return found
