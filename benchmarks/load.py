"""Many readers at once, beside this app as it was and a plain app that draws the same.

    python -m benchmarks.load [--readers 1 10 30] [--before COMMIT] [--workers 2] [--heavy]
                              [--soak 600]

Each contender is started alone, with the machine to itself and its readers; readers speak
Streamlit's protocol over websockets of their own, think between two wishes, and go through pages,
sentences, layers and heads. Figures go to `benchmarks/results/load.json`. The readers' own work is
on the same cores, and is part of what is measured.

Ratios are what counts: a machine's single milliseconds say little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.readers import PAGES, PLAIN, Answers, crowd
from tests.browser.serving import ROOT, serve, serve_processes

RESULTS = Path(__file__).parent / "results" / "load.json"
BEFORE = "f0f6646"
SETTLE_SECONDS = 15.0


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The project as it was at a commit, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="twelve-heads-") as folder:
        subprocess.run(
            ["git", "worktree", "add", "--detach", folder, commit],
            cwd=ROOT, check=True, capture_output=True,
        )  # fmt: skip
        try:
            yield Path(folder)
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", folder],
                cwd=ROOT, check=True, capture_output=True,
            )  # fmt: skip


def memory_of(server: int) -> float:
    """Resident MiB of a process and all it has started, shared pages counted once each."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rsplit(")")[-1].split()[1]
                )
            except OSError:
                continue  # it has ended meanwhile
    family, grown = {server}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family, grown = family | more, bool(more)
    return sum(_own_kib(pid) for pid in family) / 1024


def _own_kib(pid: int) -> int:
    """A process's proportional share of memory, KiB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1])


@contextmanager
def serving(script: str, root: Path, workers: int) -> Iterator[str]:
    """A contender at its address: one process, or ours in several behind the proxy."""
    if workers == 1:
        with serve(script, root=root) as address:
            yield address
        return
    with (
        tempfile.TemporaryDirectory(prefix="twelve-heads-") as folder,
        serve_processes(workers, Path(folder) / "serve.log") as address,
    ):
        yield address


def measure(
    script: str,
    root: Path,
    n_readers: int,
    pages: tuple[str, ...],
    *,
    n_answers: int = 12,
    heavy: bool = False,
    workers: int = 1,
) -> dict[str, Any]:
    """One contender with so many readers, its server started for them."""  # fmt: skip
    with serving(script, root, workers) as address:
        pid = server_pid(address)
        for _ in range(workers):  # every page once; the proxy gives each process its turn
            asyncio.run(crowd(address, 1, n_answers=len(pages) * 3, pages=pages))
        before = memory_of(pid)
        began = time.perf_counter()
        answers = asyncio.run(
            crowd(address, n_readers, n_answers=n_answers, pages=pages, heavy=heavy)
        )
        seconds, during = time.perf_counter() - began, memory_of(pid)
        time.sleep(SETTLE_SECONDS)
        after = memory_of(pid)
    return {
        "readers": n_readers, "heavy": heavy, **answers.report(),
        "answers_per_s": round(len(answers.seconds) / seconds, 1),
        "memory_mib": [round(value) for value in (before, during, after)],
        "failures": answers.errors[:3],
    }  # fmt: skip


def server_pid(address: str) -> int:
    """The process that listens at an address."""
    port = address.rsplit(":", 1)[1].split("/")[0]
    found = subprocess.run(
        ["pgrep", "-f", f"[-.]port[= ]{port}"], capture_output=True, text=True, check=True
    )
    return int(found.stdout.split()[0])


def soak(seconds: float, n_readers: int = 6) -> dict[str, Any]:
    """Sessions come and go for so long; memory at the start, on the way, and at the end."""
    with serve("app.py") as address:
        pid = server_pid(address)
        asyncio.run(crowd(address, 1, n_answers=len(PAGES) * 3))
        taken, answers, end = [memory_of(pid)], Answers(), time.monotonic() + seconds
        while time.monotonic() < end:
            some = asyncio.run(crowd(address, n_readers, n_answers=4))
            answers.seconds += some.seconds
            answers.bytes += some.bytes
            answers.errors += some.errors
            taken.append(memory_of(pid))
        time.sleep(SETTLE_SECONDS)
        taken.append(memory_of(pid))
    return {"seconds": seconds, **answers.report(), "memory_mib": [round(value) for value in taken]}


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All rows of the table."""
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        contenders: list[tuple[str, str, Path, tuple[str, ...]]] = [("ours", "app.py", ROOT, PAGES)]
        if options.before:
            before = stack.enter_context(checkout(options.before))
            contenders.append((f"at {options.before}", "app.py", before, PAGES))
        contenders.append(("plain", "benchmarks/plain_app.py", ROOT, PLAIN))
        for n_readers in options.readers:
            for name, script, root, pages in contenders:
                row = measure(script, root, n_readers, pages, n_answers=options.answers)
                rows.append({"app": name, **row})
                print(rows[-1], file=sys.stderr, flush=True)
        for workers in options.workers:
            row = measure("app.py", ROOT, options.readers[-1], PAGES,
                          n_answers=options.answers, workers=workers)  # fmt: skip
            rows.append({"app": f"ours, {workers} processes", **row})
            print(rows[-1], file=sys.stderr, flush=True)
        if options.heavy:
            for heavy in (False, True):
                row = measure("app.py", ROOT, options.readers[-1] // 3 or 1, PAGES, heavy=heavy)
                rows.append({"app": "ours, for the heavy job", **row})
                print(rows[-1], file=sys.stderr, flush=True)
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "rows": rows,
    }
    if options.soak:
        report["soak"] = soak(options.soak)
    return report


def main() -> None:
    """Measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--readers", type=int, nargs="+", default=[1, 10, 30])
    parser.add_argument("--answers", type=int, default=12, help="of each reader")
    parser.add_argument("--before", default=BEFORE, help="a commit to compare with; '' for none")
    parser.add_argument(
        "--workers", type=int, nargs="*", default=[], help="processes of ours behind the proxy"
    )
    parser.add_argument("--heavy", action="store_true", help="light pages beside a heavy job")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds of coming and going")
    report = run(parser.parse_args())
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
