"""Measure a weights file: `python -m mha_core.evaluate`.

With `--write` the figures go beside the weights, where the app finds them, and into the model
cards' measured parts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from mha_core.heads.card import Lang, fill_card
from mha_core.heads.circuit_report import CIRCUITS, measure_circuits
from mha_core.heads.curves import Curves
from mha_core.heads.evaluate import evaluate
from mha_core.heads.report import (
    SHIPPED,
    Report,
    find_differences,
    format_report,
    read_report,
    write_report,
)
from mha_core.heads.roles import COUNT
from mha_core.model.checkpoint import FINAL, WEIGHTS, load_model
from mha_core.model.toy import ToyModel

DOCS = Path(__file__).parents[1] / "docs"
CARDS: dict[Lang, Path] = {"en": DOCS / "model-card.md", "zh": DOCS / "model-card.zh.md"}


def main(arguments: list[str] | None = None) -> None:
    """Evaluate a weights file; print the report, write it, or check what was written."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.evaluate", description=__doc__)
    parser.add_argument("weights", nargs="?", default=FINAL, help="a weights file; the shipped one")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--count", type=int, default=COUNT, help="documents for each score")
    todo = parser.add_mutually_exclusive_group()
    todo.add_argument(
        "--write", action="store_true",
        help="write the shipped weights' figures beside them, and into the model cards in docs/",
    )  # fmt: skip
    todo.add_argument(
        "--check", action="store_true", help="fail unless the figures written are measured again"
    )
    options = parser.parse_args(arguments)
    if (options.write or options.check) and (options.count, options.weights) != (COUNT, FINAL):
        parser.error("--write and --check are about the shipped weights and the full count")
    if options.write and not all(path.exists() for path in CARDS.values()):
        parser.error(f"--write needs the source tree: there are no model cards in {DOCS}")
    torch.set_num_threads(1)
    model = load_model(options.weights)
    written = _read(model) if options.check else None
    report = evaluate(model, options.count, full=options.json or options.write or options.check)
    print(json.dumps(report, ensure_ascii=False) if options.json else format_report(report))
    if options.write:
        write_report(model, report, SHIPPED)
        write_report(model, measure_circuits(model), CIRCUITS)
        curves = Curves.read(WEIGHTS / "scores.json")
        for lang, path in CARDS.items():
            card = fill_card(path.read_text("utf-8"), read_report(model, SHIPPED), curves, lang)
            path.write_text(card, "utf-8")
        print("wrote", SHIPPED, CIRCUITS, *CARDS.values(), file=sys.stderr)
    if written is not None:
        found = {"report": report, "circuits": measure_circuits(model)}
        differences = find_differences(written, found)
        for place, difference in sorted(differences.items()):
            print(f"{place} differs by {difference:.5f}", file=sys.stderr)
        sys.exit(1 if differences else 0)


def _read(model: ToyModel) -> dict[str, Report]:
    """What is written beside the weights."""
    return {"report": read_report(model, SHIPPED), "circuits": read_report(model, CIRCUITS)}


if __name__ == "__main__":
    main()
