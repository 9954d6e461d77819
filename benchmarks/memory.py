"""What one reader can make the server hold, and what a slider step costs, beside an earlier state.

    python -m benchmarks.memory [--bound 256] [--before f0f6646] [--steps 40]

Each case runs in a process of its own, which first warms up and then walks many scenes, as a
reader who moves a slider or types one sentence after the other would; how much the process has
grown is read after every scene, and the largest reading counts. Then a RoPE-shift step at article
sizes is timed here and in the earlier state, which is checked out into a temporary folder: both in
one run, taking turns, on the processor's clock. Results go to `benchmarks/results/memory.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mha_view.scene import Scene

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "memory.json"
STATUS = Path("/proc/self/status")
MIB = 2**20
MOST_GROWTH = 1.3  # times the bound
MOST_STEP = 0.5  # times the earlier state
SENTENCE = "The cat sat on the mat because it was tired."


def main() -> None:
    """Measure, print the table, write the JSON; say whether the bounds hold."""
    options = read_options()
    if options.child:
        print(json.dumps(CHILDREN[options.child](options)))
        return
    cases = {name: in_child(ROOT, name, options) for name in CASES}
    with earlier_state(options.before) as before:
        grown = {name: in_child(before, name, options) for name in CASES}
        steps = time_steps(before, options)
    report = {
        "bound_mib": options.bound,
        "grown_mib": cases,
        "grown_mib_before": grown,
        "before": options.before,
        "step": steps,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"Grown by, MiB; the bound is {options.bound}{'':8}here{'':6}{options.before}")
    for name, growth in cases.items():
        print(f"  {CASES[name]:<44}{growth:8.0f}{grown[name]:12.0f}")
    print(f"A RoPE-shift step at article sizes: {steps['ratio']:.2f} × {options.before}")
    within = max(cases.values()) <= MOST_GROWTH * options.bound and steps["ratio"] <= MOST_STEP
    print("Within the bounds." if within else "NOT within the bounds.")
    sys.exit(not within)


def read_options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bound", type=int, default=256, help="MiB that the caches may take")
    parser.add_argument("--before", default="f0f6646", help="the earlier state")
    parser.add_argument("--steps", type=int, default=40, help="slider steps that are timed")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def earlier_state(name: str) -> Iterator[Path]:
    """A folder with the repository as it was."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        run = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*run, "add", "--detach", str(tree), name], check=True, capture_output=True)
        try:
            yield tree
        finally:
            subprocess.run([*run, "remove", "--force", str(tree)], check=True)


def in_child(tree: Path, child: str, options: argparse.Namespace) -> Any:
    """What a process of its own finds, running the code of a tree."""
    command = [sys.executable, str(Path(__file__)), "--child", child]
    command += ["--bound", str(options.bound), "--steps", str(options.steps)]
    settings = {
        "PYTHONPATH": str(tree), "TWELVE_HEADS_CACHE_MB": str(options.bound),
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, **settings}, check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def time_steps(before: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Median milliseconds of a slider step, in turns of ten steps."""
    trees = {"here": ROOT, "before": before}
    turns: dict[str, list[float]] = {name: [] for name in trees}
    for _ in range(3):
        for name, tree in trees.items():
            turns[name].append(in_child(tree, "step", options))
    ratios = [here / there for here, there in zip(turns["here"], turns["before"], strict=True)]
    return {"ms": turns, "ratio": statistics.median(ratios)}


# --- What runs in a child, on whichever tree is on its path ------------------------------------


def sentences() -> Iterator[Scene]:
    """Sixty short sentences at article sizes, each of its own seed."""
    from mha_view.scene import Scene

    for place in range(60):
        yield Scene(weights="article", text=f"{SENTENCE} {place}", seed=place)


def shifts() -> Iterator[Scene]:
    """The RoPE page's slider from 1 to 128, at article sizes."""
    from mha_view.scene import Scene

    for shift in range(1, 129):
        yield Scene(weights="article", text=SENTENCE, shift=shift)


def largest_sizes() -> Iterator[Scene]:
    """The largest sizes of a reader's own, with six seeds."""
    from mha_view.scene import Scene

    for seed in range(6):
        yield Scene(
            weights="custom", text=SENTENCE, d_model=1024, n_heads=64, d_head=256, seed=seed
        )


CASES = {
    "sentences": "60 short sentences at article sizes",
    "shifts": "RoPE-shift slider from 1 to 128",
    "largest": "the largest sizes of one's own, 6 seeds",
}
SCENES = {"sentences": sentences, "shifts": shifts, "largest": largest_sizes}


def growth_of(case: str) -> float:
    """How many MiB a case makes the process grow at most."""
    from mha_view import compute
    from mha_view.scene import Scene

    compute.differences_of(Scene(weights="custom"))
    compute.differences_of(Scene())
    start, most = resident(), 0.0
    for scene in SCENES[case]():
        compute.differences_of(scene)
        most = max(most, resident() - start)
    return most


def resident() -> float:
    """MiB of this process that are in memory."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / MIB


def step_ms(steps: int) -> float:
    """Median processor milliseconds to walk a RoPE-shift step at article sizes."""
    import torch

    from mha_view import compute
    from mha_view.scene import Scene

    torch.set_num_threads(1)
    scene, taken = Scene(weights="article", text=SENTENCE), []
    compute.walk_of(scene)
    for shift in range(1, steps + 1):
        start = time.thread_time()
        compute.layer_of(scene.with_(shift=shift))
        taken.append((time.thread_time() - start) * 1e3)
    return statistics.median(taken)


CHILDREN = {
    **{name: lambda options, name=name: growth_of(name) for name in CASES},
    "step": lambda options: step_ms(options.steps),
}

if __name__ == "__main__":
    main()
