"""Time and memory of one layer, side by side with what else one would use.

    python -m benchmarks.core [--device cuda] [--dtype bfloat16] [--sizes 64 512 4096]

Contenders take turns, so that whatever else the machine does falls on all of them alike; a ratio
is the median of the ratios within each turn. On the CPU with one thread the clock is the
processor's, which stands still while another process has its turn. Memory is measured in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.layers import D_MODEL, N_HEADS, Run, make_runs, takes_fast_path
from mha_core.device import choose_device

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
STATUS = Path("/proc/self/status")
RESULTS = Path(__file__).parent / "results"
# ours → what it is held against
RATIOS = {
    "attention": ("nn.MultiheadAttention", "nn.MultiheadAttention, no fast path"),
    "fused_attention": ("F.scaled_dot_product_attention",),
    "attention, RoPE": ("Llama eager, RoPE",),
}


def main() -> None:
    """Measure, print the table, write the JSON."""
    options = read_options()
    torch.set_num_threads(options.threads)
    device, dtype = str(choose_device(options.device)), getattr(torch, options.dtype)
    if options.memory_of:
        print(json.dumps(measure_memory(options.memory_of, options.sizes, device, dtype)))
        return
    with torch.inference_mode():
        fast = takes_fast_path(64, device, dtype)
        read = time.process_time if (device, options.threads) == ("cpu", 1) else time.perf_counter
        rows = {
            n: time_all(make_runs(n, device, dtype), options.seconds, read) for n in options.sizes
        }
    memory = {name: memory_in_child(name, options) for name in rows[options.sizes[0]]["ms"]}
    report = {
        "machine": machine_name(device),
        "device": device,
        "dtype": options.dtype,
        "threads": options.threads,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "d_model": D_MODEL,
        "n_heads": N_HEADS,
        "batch": 1,
        "mask": "causal",
        "fast_path_taken": fast,
        "clock": read.__name__,
        "tokens": {str(n): row | {"mb": mb_of(memory, n)} for n, row in rows.items()},
    }
    print_table(report)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"core-{device.replace(':', '')}-{options.dtype}.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(
        f"\nWritten to {path.relative_to(Path.cwd())}" if path.is_relative_to(Path.cwd()) else path
    )


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="tokens")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=15, help="at most, per size")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    return parser.parse_args()


def time_all(
    runs: dict[str, Run], seconds: float, read: Callable[[], float]
) -> dict[str, dict[str, float]]:
    """Let the contenders take turns, at least three times each.

    Each turn has an order of its own: who comes second finds the weights in the caches.

    Returns:
        "ms": name → median milliseconds; "ratios": "ours / theirs" → median of the turns' ratios.
    """
    turns: dict[str, list[float]] = {name: [] for name in runs}
    shuffle = random.Random(0)
    for run in runs.values():
        clock(run, read)
    end = time.perf_counter() + seconds
    while len(turns["attention"]) < 3 or time.perf_counter() < end:
        for name in shuffle.sample(sorted(runs), len(runs)):
            turns[name].append(clock(runs[name], read))
    ratios = {
        f"{ours} / {theirs}": statistics.median(
            mine / other for mine, other in zip(turns[ours], turns[theirs], strict=True)
        )
        for ours, against in RATIOS.items()
        for theirs in against
    }
    return {
        "ms": {name: 1000 * statistics.median(times) for name, times in turns.items()},
        "ratios": ratios,
        "turns": {"each": len(turns["attention"])},
    }


def clock(run: Run, read: Callable[[], float]) -> float:
    """Time one call in seconds, a GPU's work included."""
    wait()
    start = read()
    kept = run()
    wait()
    passed = read() - start
    del kept  # whatever it costs to let go is no part of the call
    return passed


def wait() -> None:
    """Let a GPU finish what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.backends.mps.is_available():
        torch.mps.synchronize()


def memory_in_child(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Measure one contender's memory in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.core", "--memory-of", name]
    command += ["--device", options.device, "--dtype", options.dtype, "--threads", "1", "--sizes"]
    command += [str(size) for size in sorted(options.sizes)]
    # Have the C library give every large block back at once, so that none is used twice unseen.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    answer = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    return json.loads(answer.splitlines()[-1])


def measure_memory(
    name: str, sizes: list[int], device: str, dtype: torch.dtype
) -> dict[str, float]:
    """Give the most memory that one call holds beyond what was there before it, in MB, by size."""
    found = {}
    with torch.inference_mode():
        make_runs(8, device, dtype)[name]()
        for n_tokens in sizes:
            run = make_runs(n_tokens, device, dtype)[name]
            before = forget_peak(device)
            kept = run()
            found[str(n_tokens)] = peak_mb(device) - before
            del kept
    return found


def forget_peak(device: str) -> float:
    """Begin to look for the peak anew; give the memory held now, in MB."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device) / 1e6
    if not STATUS.exists():  # no Linux: the peak of the whole life of the process is all there is
        return peak_mb(device)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return status_mb("VmRSS")


def peak_mb(device: str) -> float:
    """Give the most memory held since the peak was forgotten, in MB."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device) / 1e6
    if STATUS.exists():
        return status_mb("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def status_mb(line: str) -> float:
    """Read one line of what Linux says about this process."""
    found = re.search(rf"{line}:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))
    if found is None:
        raise LookupError(f"{STATUS} has no line {line}")
    return int(found[1]) * 1024 / 1e6


def mb_of(memory: dict[str, dict[str, float]], n_tokens: int) -> dict[str, float]:
    """Give every contender's memory at one size."""
    return {name: round(by_size[str(n_tokens)], 1) for name, by_size in memory.items()}


def machine_name(device: str) -> str:
    """Name the processor, never the host."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"model name\s*: (.+)", information.read_text(encoding="utf-8"))
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def print_table(report: dict) -> None:
    """Print times, memory and ratios, one line per contender and size."""
    path = "taken" if report["fast_path_taken"] else "not taken"
    print(
        f"d {D_MODEL}, h {N_HEADS}, batch 1, causal, biases, {report['dtype']}, "
        f"{report['threads']} thread(s), {report['clock']}, {report['machine']}, "
        f"torch {report['torch']}; "
        f"PyTorch's own fast path: {path}\n"
    )
    print(f"| {'tokens':>6} | {'what':<36} | {'ms':>9} | {'MB':>8} |\n|--:|--|--:|--:|")
    for n_tokens, row in report["tokens"].items():
        for name, milliseconds in row["ms"].items():
            print(
                f"| {n_tokens:>6} | {name:<36} | {milliseconds:>9.2f} | {row['mb'][name]:>8.1f} |"
            )
    print(f"\n| {'tokens':>6} | {'ratio of times':<58} |       |\n|--:|--|--:|")
    for n_tokens, row in report["tokens"].items():
        for name, ratio in row["ratios"].items():
            print(f"| {n_tokens:>6} | {name:<58} | {ratio:>5.2f} |")


if __name__ == "__main__":
    main()
