"""What the trained heads were measured to do: shipped with the weights, measured again on request.

The numbers are those of `python -m mha_core.evaluate`. A measurement goes on in a thread of its
own, one for the whole server, so a page may wait for it or go on without it and ask again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mha_core.errors import DataError
from mha_view import compute

if TYPE_CHECKING:
    from torch import Tensor

    from mha_core.heads.evaluate import Progress

Report = dict[str, Any]
log = logging.getLogger("twelve_heads")


@dataclass(eq=False)
class Measuring:
    """A measurement of the shipped weights, going on or ended.

    Attributes:
        is_needed: there are no other figures, so it goes on whoever leaves.
        followers: the sessions that wait for it.
        part: what is being measured.
        share: how much is done, from 0 to 1.
        stop: set to end it after the piece it is at.
        ended: set when there is a report, a failure, or a stop.
        report: what was measured, None before the end.
        failure: what went wrong, or None.
    """

    is_needed: bool = True
    followers: set[str] = field(default_factory=set)
    part: str = "roles"
    share: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    report: Report | None = None
    failure: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended without a report."""
        return self.ended.is_set() and self.report is None

    def run(self) -> None:
        """Measure everything, or until it is stopped."""
        try:
            pieces = _measure()
            while not self.stop.is_set():
                progress = next(pieces)
                self.part, self.share = progress.part, progress.share
        except StopIteration as end:
            self.report = end.value
        except Exception as failure:  # raised again where the report is asked for
            log.error("the trained heads could not be measured", exc_info=failure)
            self.failure = failure
        finally:
            self.ended.set()


def _measure() -> Generator[Progress, None, Report]:
    """The core's evaluation of the shipped weights, piece by piece."""
    from mha_core.heads.evaluate import evaluate_parts

    return evaluate_parts(compute.load_weights())


_lock = threading.Lock()
_measuring: Measuring | None = None


@lru_cache(maxsize=1)
def shipped() -> Report | None:
    """The figures shipped with the weights; None, and a word in the log, where they are not
    those of these weights."""
    from mha_core.heads.report import read_report

    try:
        return read_report(compute.load_weights())
    except DataError as error:
        log.warning("the trained heads must be measured first: %s", error)
        return None


def find() -> Report | None:
    """The figures there are: measured on this server, else shipped, else None."""
    measuring = _measuring
    if measuring is not None and measuring.report is not None:
        return measuring.report
    return shipped()


def current() -> Measuring | None:
    """The measurement on this server, going on or ended; None where nobody has begun one."""
    return _measuring


def begin(session: str = "", *, anew: bool = False) -> Measuring:
    """Follow the measurement on this server; start one where there is none that helps.

    Args:
        session: who follows it, and may leave it again.
        anew: start another one where one has ended, also where it has a report.
    """
    global _measuring
    is_needed = shipped() is None
    with _lock:
        found = _measuring
        if found is None or found.is_over or found.stop.is_set() or (anew and found.ended.is_set()):
            found = _measuring = Measuring(is_needed)
            threading.Thread(target=found.run, name="measuring", daemon=True).start()
        found.followers.add(session)
        return found


def leave(session: str) -> None:
    """Follow the measurement no longer; it stops when nobody does and other figures are there."""
    with _lock:
        if _measuring is None:
            return
        _measuring.followers.discard(session)
        if not _measuring.followers and not _measuring.is_needed:
            _measuring.stop.set()


def measure() -> Report:
    """Everything the core measures about the shipped weights; waits until it is there."""
    known = find()
    if known is not None:
        return known
    measuring = begin()
    measuring.ended.wait()
    if measuring.report is None:
        raise measuring.failure or RuntimeError("nothing was measured")
    return measuring.report


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
