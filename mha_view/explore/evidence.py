"""What the trained heads were measured to do: shipped with the weights, measured again on request.

The numbers are those of `python -m mha_core.evaluate`. A measurement is a job in this server's line
for heavy work, the same for all who want it; what it finds is kept for everyone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mha_core.errors import DataError
from mha_view import compute
from mha_view.heavy import line
from mha_view.jobs import Job

if TYPE_CHECKING:
    from torch import Tensor

    from mha_core.heads.evaluate import Progress

Report = dict[str, Any]
KIND = "measure"
log = logging.getLogger("twelve_heads")
_measured: Report | None = None


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
    return _measured or shipped()


def weights_name() -> str:
    """The hash of the weights that all figures are about."""
    return compute.load_weights().metadata["sha256"]


def ask(session: str) -> Job:
    """Want the heads measured on this server; whoever wants it gets the same job.

    Raises:
        DataError: too much heavy work waits already.
    """
    return line().ask(session, KIND, weights_name(), _measure, lambda found, new: [new])


def leave(session: str) -> None:
    """Want it no longer; it stops when nobody does."""
    line().leave(session, KIND)


def progress_of(job: Job) -> Progress | None:
    """How far a measurement is; None before it has begun."""
    return job.found[-1] if job.found else None


def _measure() -> Iterator[Progress]:
    """Evaluate the shipped weights piece by piece, and keep the report for everyone."""
    from mha_core.heads.evaluate import evaluate_parts

    global _measured
    _measured = yield from evaluate_parts(compute.load_weights())


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
