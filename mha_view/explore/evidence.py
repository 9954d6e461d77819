"""What the trained heads were measured to do: computed by the core once, then kept for everyone.

The numbers are those of `python -m mha_core.evaluate --json`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mha_view import compute

if TYPE_CHECKING:
    from torch import Tensor

Report = dict[str, Any]
Progress = Callable[[str, float], None]
_lock = threading.Lock()
_kept: dict[str, Report] = {}


def is_measured() -> bool:
    """Whether the report of the shipped weights is there already."""
    return compute.load_weights().metadata["sha256"] in _kept


def measure(on_progress: Progress | None = None) -> Report:
    """Everything the core measures about the shipped weights.

    Args:
        on_progress: called before each part with the part's name and the share done.
    """
    model = compute.load_weights()
    key = model.metadata["sha256"]
    with _lock:  # a second reader waits for the first one's numbers
        if key not in _kept:
            _kept.clear()
            _kept[key] = _measure_parts(on_progress or (lambda part, share: None))
        return _kept[key]


def _measure_parts(on_progress: Progress, count: int | None = None) -> Report:
    """The report, part by part; the shares are about the time each part takes."""
    from mha_core import evaluate

    model, count = compute.load_weights(), count or evaluate.COUNT
    on_progress("roles", 0.0)
    roles = evaluate.measure_roles(model, count)
    report: Report = {"roles": {name: asdict(role) for name, role in roles.items()}}
    on_progress("tasks", 0.35)
    report["tasks"] = {
        task: asdict(found) for task, found in evaluate.measure_tasks(model, count).items()
    }
    repeats = evaluate.measure_repeats(model, evaluate.SCORE_SEED, count)
    report["copying"] = {"any": repeats.copying, "nouns": repeats.copying_nouns}
    on_progress("knockout", 0.45)
    report["knockout"] = evaluate.measure_knockout(model, count)
    report["everyday"] = evaluate.measure_everyday(model, roles)
    report["passed"] = evaluate.judge(report)
    on_progress("heads", 0.65)
    report["heads"] = evaluate.measure_heads(model, count)
    on_progress("damage", 0.7)
    report["damage"] = evaluate.measure_damage(model, min(count, 100))
    on_progress("damage", 1.0)
    return report


def role_tests(report: Report, role: str) -> dict[str, bool]:
    """The thresholds that a role is held to, and whether it meets each."""
    passed: dict[str, bool] = report["passed"]
    return {
        name: met for name, met in passed.items() if name == role or name.startswith(f"{role} ")
    }


def is_labelled(report: Report, role: str) -> bool:
    """Whether a role has thresholds and meets them all."""
    tests = role_tests(report, role)
    return bool(tests) and all(tests.values())


def labels_of(report: Report) -> dict[tuple[int, int], list[str]]:
    """The roles each head is labelled with."""
    labels: dict[tuple[int, int], list[str]] = {}
    for name, role in report["roles"].items():
        if is_labelled(report, name):
            labels.setdefault(tuple(role["head"]), []).append(name)
    return labels


@lru_cache(maxsize=1)
def head_means() -> Tensor:
    """Every head's mean output over sentences of the grammar, [layer, head, d_value]."""
    from mha_core.ablation import mean_heads
    from mha_core.evaluate import CHOOSE_SEED
    from mha_core.grammar import make_documents
    from mha_core.probe import ids_of

    documents = [ids_of(document) for document in make_documents(CHOOSE_SEED, 100)]
    return mean_heads(compute.load_weights(), documents)
