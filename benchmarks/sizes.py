"""How long reading a file takes: from the command line by formula, and beside the bare class.

    make bench-sizes

The quick path is timed as a whole process, interpreter and imports included, beside an empty one.
The built path is timed in one process beside what transformers itself needs to build the same
class on the meta device, one after the other, each as often; the ratio is of the medians of the
thread's own CPU time, so that what else the machine does counts for neither.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONFIGS = Path(__file__).parents[1] / "tests" / "data" / "configs"
QUICK = ("llama2-7b-chat", "mistral-7b-v0.1", "qwen2.5-0.5b", "glm-4-9b-chat")
BUILT = ("llama3.1-8b", "bert-base-uncased", "gemma3-4b-it-sophgo", "flan-t5-ipex",
         "flux-text-encoder-t5", "mixtral-8x22b", "qwen3-8b", "gpt-oss-20b")  # fmt: skip
MOST_QUICK_SECONDS, MOST_RATIO = 0.3, 1.5


def child_seconds(arguments: list[str], repeats: int) -> float:
    """Median CPU seconds of a whole process."""
    taken = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken)


def interleaved(first: Callable[[], object], second: Callable[[], object], repeats: int) -> float:
    """The ratio of the first's CPU time to the second's, medians of turns taken in turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for call, times in zip((first, second), taken, strict=True):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
    return statistics.median(taken[0]) / statistics.median(taken[1])


def build_bare(config: dict[str, Any]) -> object:
    """What transformers alone does: the configuration, and the class on the meta device."""
    import torch
    import transformers

    kind = getattr(transformers, config["architectures"][0])
    own = {key: value for key, value in config.items() if key != "quantization_config"}
    with torch.device("meta"):
        return kind._from_config(kind.config_class.from_dict(own))


def main() -> int:
    """Print the figures; 1 where one is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    over = 0
    empty = child_seconds(["-c", "pass"], repeats)
    print(f"an empty interpreter: {empty:.3f} s of CPU")
    for name in QUICK:
        path = str(CONFIGS / f"{name}.json")
        taken = child_seconds(["-m", "mha_core.sizes", path, "--no-totals"], repeats)
        over += taken > MOST_QUICK_SECONDS
        print(f"quick path, {name}: {taken:.3f} s of CPU from the command line")
    import transformers

    from mha_core.sizes import measure, read_file

    transformers.logging.set_verbosity_error()
    for name in BUILT:
        config, _ = read_file(CONFIGS / f"{name}.json")
        measure(config)
        ratio = interleaved(lambda c=config: measure(c), lambda c=config: build_bare(c), repeats)
        over += ratio > MOST_RATIO
        print(f"built path, {name}: {ratio:.2f} x building the class alone")
    print(f"{over} over their bounds ({MOST_QUICK_SECONDS} s; {MOST_RATIO} x)")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
