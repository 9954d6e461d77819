"""What an evaluation found, as text, as the model card's tables, and as a file beside the weights.

The file names the weights it was measured on by their hash, so figures of other weights are never
taken for theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mha_core.errors import DataError
from mha_core.model.checkpoint import WEIGHTS
from mha_core.model.toy import ToyModel

Report = dict[str, Any]

SHIPPED = WEIGHTS / "report.json"
FORMAT = "twelve-heads report 1"
DIGITS = 5  # after the point; the figures are means of 40 to 200 documents


def write_report(model: ToyModel, report: Mapping[str, Any], path: Path) -> None:
    """Write what was measured, with the hash of the weights it was measured on.

    Raises:
        DataError: the model was not read from a weights file, so it has no hash.
    """
    found = {"format": FORMAT, "weights": _hash_of(model), "report": _rounded(report)}
    path.write_text(json.dumps(found, ensure_ascii=False) + "\n", "utf-8")


def read_report(model: ToyModel, path: Path = SHIPPED) -> Report:
    """Read what was measured on exactly these weights.

    Raises:
        DataError: there is no such file, it is no report, or it is one of other weights.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
        fits = found["format"] == FORMAT
        weights, report = found["weights"], found["report"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError("report.file", path=path, reason=type(error).__name__) from error
    if not fits or not isinstance(report, dict):
        raise DataError("report.file", path=path, reason="format")
    if weights != _hash_of(model):
        raise DataError("report.weights", path=path, found=weights, expected=_hash_of(model))
    return report


def _hash_of(model: ToyModel) -> str:
    """The hash of a model's weights, as its file names it."""
    if "sha256" not in model.metadata:
        raise DataError("report.model")
    return model.metadata["sha256"]


def _rounded(value: Any) -> Any:
    """The same with floats of few digits and tuples as lists."""
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def count_figures(report: Mapping[str, Any]) -> int:
    """How many figures a report holds that were measured."""
    return sum(isinstance(value, float) for _, value in _figures(report))


def find_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, float]:
    """Where two reports differ, by the figure's place, and by how much.

    A float that differs by rounding only is not listed; what is there once, or is no number,
    differs by infinity.

    >>> find_differences({"a": {"mean": 0.5, "n": 3}}, {"a": {"mean": 0.75, "n": 3}})
    {'a.mean': 0.25}
    """
    one, two = dict(_figures(_rounded(first))), dict(_figures(_rounded(second)))
    found = {}
    for place in one.keys() | two.keys():
        a, b = one.get(place), two.get(place)
        if isinstance(a, float) and isinstance(b, float):
            if abs(a - b) > 2 * 10.0**-DIGITS:
                found[place] = abs(a - b)
        elif a != b:
            found[place] = float("inf")
    return found


def _figures(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every figure of a report with its place in it."""
    if isinstance(value, Mapping | list):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in parts:
            yield from _figures(each, f"{place}.{key}" if place else str(key))
    else:
        yield place, float(value) if isinstance(value, float) else value


def name_head(head: tuple[int, int] | list[int]) -> str:
    """A head as it is written wherever layers differ: layer and head, both counted from 0.

    >>> name_head((1, 3))
    'L1 H3'
    """
    layer, number = head
    return f"L{layer} H{number}"


def _two(accuracy: Mapping[str, Any] | None) -> str:
    """Pair and exact accuracy side by side."""
    if accuracy is None:
        return "     –      "
    exact = "  –  " if accuracy["exact"] is None else format(accuracy["exact"], ".3f")
    return f"{accuracy['pair']:.3f}/{exact}"


def format_report(report: Mapping[str, Any]) -> str:
    """The report as lines a person reads."""
    lines = ["role             head    mass  [95 % interval]  argmax  highest baseline"]
    for name, role in report["roles"].items():
        mass, argmax = role["mass"], role["argmax"]
        over = max(role["baselines"], key=role["baselines"].get)
        lines.append(
            f"{name:16} {name_head(role['head'])}   {mass['mean']:.3f} "
            f"[{mass['low']:.3f}, {mass['high']:.3f}]  "
            f"{'  –  ' if argmax is None else format(argmax['mean'], '.3f')}   "
            f"{role['baselines'][over]:.3f} {over}"
        )
    masses = [role["mass"]["mean"] for role in report["roles"].values()]
    lines.append(f"mean over the roles {sum(masses) / len(masses):.3f}")
    lines.append(
        "\npair accuracy / exact: intact, and without the edge in role heads, others, to distractor"
    )
    for task, cut in report["knockout"].items():
        columns = [_two(cut.get(name)) for name in ("intact", "role", "others", "distractor")]
        heads = ", ".join(map(name_head, cut["heads"]))
        lines.append(f"{task:18} {'   '.join(columns)}   [{heads}] of {cut['groups']}")
    copying = report["copying"]
    lines.append(f"\ncopying: any {copying['any']:.3f}, nouns {copying['nouns']:.3f}")
    for name, found in report["everyday"].items():
        shown = {key: value for key, value in found.items() if key != "missed"}
        lines.append(f"everyday {name}: {shown}")
    for language, reach in report["reach"].items():
        shares = {tier: (one["found"], one["nearest"]) for tier, one in reach["tiers"].items()}
        lines.append(f"antecedents {language}, found and nearest candidate: {shares}")
    lines.append(f"next words: {report['next']}")
    for language, typed in report.get("typed", {}).items():
        lines.append(f"typed {language}: {typed}")
    failed = [name for name, passed in report["passed"].items() if not passed]
    lines.append(
        f"thresholds met: {len(report['passed']) - len(failed)} of {len(report['passed'])}"
    )
    lines.append(f"not met: {', '.join(failed) or 'none'}")
    return "\n".join(lines)
