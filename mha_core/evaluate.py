"""Measure a weights file: `python -m mha_core.evaluate`."""

from __future__ import annotations

import argparse
import json

import torch

from mha_core.heads.evaluate import evaluate, format_report
from mha_core.heads.roles import COUNT
from mha_core.model.checkpoint import FINAL, load_model


def main(arguments: list[str] | None = None) -> None:
    """Evaluate a weights file and print the report."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.evaluate", description=__doc__)
    parser.add_argument("weights", nargs="?", default=FINAL, help="a weights file; the shipped one")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--count", type=int, default=COUNT, help="documents for each score")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    report = evaluate(load_model(options.weights), options.count, full=options.json)
    print(json.dumps(report, ensure_ascii=False) if options.json else format_report(report))


if __name__ == "__main__":
    main()
