"""What the trained heads were measured to do: computed by the core once, then kept for everyone.

The numbers are those of `python -m mha_core.evaluate --json`. They are measured in a thread of
their own, so a page may wait for them, or go on without them and ask again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mha_view import compute

if TYPE_CHECKING:
    from torch import Tensor

Report = dict[str, Any]
Progress = Callable[[str, float], None]


@dataclass(eq=False)
class Measuring:
    """The one measurement of the shipped weights, going on or done.

    Attributes:
        part: what is being measured.
        share: how much is done, from 0 to 1.
        ended: set when there is a report or a failure.
        report: what was measured, None before the end.
        failure: what went wrong, or None.
    """

    part: str = "roles"
    share: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)
    report: Report | None = None
    failure: Exception | None = None

    def run(self) -> None:
        """Measure everything."""
        try:
            self.report = _measure_parts(self._tell)
        except Exception as failure:  # raised again where the report is asked for
            log.error("the trained heads could not be measured", exc_info=failure)
            self.failure = failure
        finally:
            self.ended.set()

    def _tell(self, part: str, share: float) -> None:
        """Note how far it is."""
        self.part, self.share = part, share


log = logging.getLogger("twelve_heads")
_lock = threading.Lock()
_measuring: Measuring | None = None


def current() -> Measuring | None:
    """The measurement of the shipped weights, None where nobody has begun one."""
    return _measuring


def begin() -> Measuring:
    """The measurement of the shipped weights, started if nobody has; anew after a failure."""
    global _measuring
    with _lock:
        if _measuring is None or _measuring.failure is not None:
            _measuring = Measuring()
            threading.Thread(target=_measuring.run, name="measuring", daemon=True).start()
        return _measuring


def measure() -> Report:
    """Everything the core measures about the shipped weights; waits until it is there."""
    measuring = begin()
    measuring.ended.wait()
    if measuring.report is None:
        raise measuring.failure or RuntimeError("nothing was measured")
    return measuring.report


def _measure_parts(on_progress: Progress, count: int | None = None) -> Report:
    """The report, part by part; the shares are about the time each part takes."""
    from mha_core.heads import evaluate
    from mha_core.heads import roles as measured

    model, count = compute.load_weights(), count or measured.COUNT
    on_progress("roles", 0.0)
    roles = measured.measure_roles(model, count)
    report: Report = {"roles": {name: asdict(role) for name, role in roles.items()}}
    on_progress("tasks", 0.38)
    report["tasks"] = {
        task: asdict(found) for task, found in evaluate.measure_tasks(model, count).items()
    }
    report["copying"] = evaluate.measure_copying(model, count)
    on_progress("knockout", 0.51)
    report["knockout"] = evaluate.measure_knockout(model, count)
    report["everyday"] = evaluate.measure_everyday(model, roles)
    report["passed"] = evaluate.judge(report)
    on_progress("heads", 0.80)
    report["heads"] = evaluate.measure_heads(model, count)
    on_progress("damage", 0.85)
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
    from mha_core.heads.evaluate import measure_means

    return measure_means(compute.load_weights())
