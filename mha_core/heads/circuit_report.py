"""The circuits of the tasks, measured and kept beside the weights as `report.json` is.

`python -m mha_core.evaluate --write` writes them, `--check` measures them again.
"""

from __future__ import annotations

from typing import Any

from mha_core.heads.circuits import Bench, Circuit, as_json, find_circuit_at_once, from_json
from mha_core.heads.prompts import CIRCUIT_TASKS, cut_after, task_prompts
from mha_core.heads.report import read_report
from mha_core.model.checkpoint import WEIGHTS
from mha_core.model.toy import ToyModel

CIRCUITS = WEIGHTS / "circuits.json"
CIRCUIT_SEED, CIRCUIT_COUNT = 9_400_000, 200  # no training run uses this seed


def task_bench(model: ToyModel, task: str, count: int = CIRCUIT_COUNT) -> Bench:
    """A task's sentences, read once."""
    return Bench(model, [cut_after(one) for one in task_prompts(task, CIRCUIT_SEED, count)])


def measure_circuits(model: ToyModel, count: int = CIRCUIT_COUNT) -> dict[str, Any]:
    """The circuit of every task, ready for JSON."""
    return {
        task: as_json(find_circuit_at_once(task_bench(model, task, count)))
        for task in CIRCUIT_TASKS
    }


def read_circuits(model: ToyModel) -> dict[str, Circuit]:
    """The circuits of every task that ship with exactly these weights.

    Raises:
        DataError: as `read_report`.
    """
    return {task: from_json(found) for task, found in read_report(model, CIRCUITS).items()}
