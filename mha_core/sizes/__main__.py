"""`python -m mha_core.sizes FILE [--tokens N] [--dtype fp16] [--json] [--no-totals]`.

FILE is a config.json, a params.json or a GGUF file. `--memory 24` tells what context fits in so
many GiB beside the weights; `--corpus` compares the reader with the truth of a folder of files.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mha_core.errors import ConfigError, DataError, TwelveHeadsError
from mha_core.sizes import STORAGES, Sizes, measure_file
from mha_core.sizes.bounds import bounded_memory
from mha_core.sizes.report import MATRICES

MAX_SECONDS = 60
MAX_MEMORY = 6 * 2**30
GIB = 2**30


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the sizes of one file; 0 when it could be read, 2 when not."""
    options = _parser().parse_args(arguments)
    if options.corpus is not None:
        from mha_core.sizes.corpus import compare

        return compare(Path(options.corpus) if options.corpus else None)
    if options.file is None:
        print("A file is needed: a config.json, a params.json or a GGUF file.", file=sys.stderr)
        return 2
    try:
        with _limited():
            if options.tokens < 1:
                raise ConfigError("sizes.tokens", n_tokens=options.tokens)
            sizes = measure_file(options.file, totals=options.totals)
            report = sizes.as_json(options.tokens, options.dtype, options.batch)
            if options.memory is not None:
                report["fits"] = _fits(sizes, options)
    except TwelveHeadsError as error:
        print(f"{options.file}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except (TimeoutError, MemoryError):
        print(f"{options.file}: more than {MAX_SECONDS} s or 6 GiB to read. "
              "Give the model's config.json.", file=sys.stderr)  # fmt: skip
        return 2
    print(
        json.dumps(report, ensure_ascii=False, indent=2)
        if options.json
        else in_words(sizes, report)
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mha_core.sizes", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("file", nargs="?", help="a config.json, a params.json or a GGUF file")
    parser.add_argument("--tokens", type=int, default=4096, help="S, for cache and FLOPs")
    parser.add_argument("--batch", type=int, default=1, help="sequences kept at once")
    parser.add_argument(
        "--dtype", choices=STORAGES, default="fp16", help="how a cached number is stored"
    )
    parser.add_argument(
        "--weights", choices=["file", *STORAGES], default="file", help="how the weights are"
    )
    parser.add_argument("--memory", type=float, help="GiB for weights and cache together")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--no-totals", dest="totals", action="store_false", help="do not ask transformers"
    )
    parser.add_argument(
        "--corpus", nargs="?", const="", metavar="FOLDER",
        help="compare with the truth of a folder of files, and print the share right and null",
    )  # fmt: skip
    return parser


def _fits(sizes: Sizes, options: argparse.Namespace) -> dict[str, object]:
    """What context fits in the memory given, and what the weights take of it."""
    memory = int(options.memory * GIB)
    if memory < 1:
        raise ConfigError("setting.positive", name="memory", value=options.memory)
    weights = sizes.weight_bytes(options.weights)
    if weights is None or sizes.cache is None:
        raise DataError("sizes.fits.unknown")
    tokens = sizes.context_that_fits(memory, options.weights, options.dtype, options.batch)
    return {
        "memory_bytes": memory, "weight_bytes": weights, "n_sequences": options.batch,
        "dtype": options.dtype, "n_tokens": tokens, "unbounded": tokens is None,
    }  # fmt: skip


@contextmanager
def _limited() -> Iterator[None]:
    """Bound time and memory of the whole run, whatever the file holds, where the system can."""
    with _bounded_time(), bounded_memory(MAX_MEMORY):
        yield


@contextmanager
def _bounded_time() -> Iterator[None]:
    """An alarm; only some systems have one, and only a main thread may set it."""
    in_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "SIGALRM") or not in_main:
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def in_words(sizes: Sizes, report: dict[str, object]) -> str:
    """The report as lines for a terminal, the article's names first."""
    first = sizes.first
    shapes = report["shapes"]
    assert isinstance(shapes, dict)
    lines = [
        f"{sizes.model_type or 'model'}: d {_or_null(sizes.d_model)}, h {_or_null(sizes.n_heads)}, "
        f"KV heads {_or_null(first.n_kv_heads)}, d_head {_or_null(first.d_head)}, "
        f"layers {_or_null(sizes.n_layers)}"
    ]
    for name in MATRICES:
        bias = {True: "with bias", False: "no bias", None: "bias null"}[first.bias.get(name[-1])]
        lines.append(f"  {name} [out, in] {_or_null(shapes[name])}, {bias}")
    numbers = sizes.parameters
    lines += [
        f"parameters: attention {_or_null(numbers.attention_per_layer)} a layer, "
        f"{_or_null(numbers.attention)} in all; base {_or_null(numbers.base)}, "
        f"total {_or_null(numbers.total)} ({numbers.source or 'no source'})",
        *_weight_lines(report["weights"]),
        *_cache_lines(report["kv_cache"]),
        *_rope_lines(report["rope"]),
        *_fit_lines(report.get("fits")),
        *_flops_lines(report["flops"]),
    ]
    lines += [
        f"part {name}: {in_words(part, part.as_json())}" for name, part in sizes.entries.items()
    ]
    lines += [f"note: {note}" for note in sizes.notes]
    return "\n".join(lines)


def _weight_lines(weights: object) -> list[str]:
    assert isinstance(weights, dict)
    if weights["bytes"] is None:
        return []
    return [f"weights: about {weights['bytes']:,} bytes as stored ({weights['stored_as']})"]


def _rope_lines(rope: object) -> list[str]:
    assert isinstance(rope, list)
    lines = []
    for waves in rope:
        layers = f" ({waves['layers']})" if waves["layers"] else ""
        line = f"RoPE{layers}: {waves['kind']}, base {waves['base']:,.0f}, "
        line += f"{waves['width']} features, longest wavelength {waves['longest_wavelength']:,.0f}"
        scaled = waves["longest_wavelength_scaled"]
        if scaled is not None and scaled != waves["longest_wavelength"]:
            line += f", scaled {scaled:,.0f}"
        lines.append(f"{line} tokens")
    return lines


def _fit_lines(fits: object) -> list[str]:
    if not isinstance(fits, dict):
        return []
    tokens = "any context" if fits["unbounded"] else f"{fits['n_tokens']:,} tokens"
    return [
        f"fits in {fits['memory_bytes'] / GIB:g} GiB beside {fits['weight_bytes']:,} bytes of "
        f"weights: {tokens} for each of {fits['n_sequences']} sequences in {fits['dtype']}"
    ]


def _cache_lines(cache: object) -> list[str]:
    assert isinstance(cache, dict)
    if cache["elements_per_token"] is None:
        return ["KV cache: null"]
    line = f"KV cache: {cache['elements_per_token']:,} numbers a token, "
    line += f"{cache['bytes_per_token']:,} bytes in {cache['dtype']}"
    if cache["n_tokens"]:
        each = "" if cache["n_sequences"] == 1 else f" of {cache['n_sequences']} sequences"
        line += f"; {cache['bytes']:,} bytes at {cache['n_tokens']:,} tokens{each}"
    return [line]


def _flops_lines(flops: object) -> list[str]:
    assert isinstance(flops, dict)
    if flops["per_layer"] is None:
        return []
    steps = ", ".join(f"{step} {number:,}" for step, number in flops["per_layer"].items())
    cross = flops["crossover_causal" if flops["causal"] else "crossover_two_way"]
    overtakes = "never" if cross is None else f"from S = {cross:,.0f}"
    return [
        f"FLOPs of the first attention layer at S = {flops['n_tokens']:,}: {steps}",
        f"score and value products overtake the projections: {overtakes}",
    ]


def _or_null(value: object) -> str:
    if value is None:
        return "null"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(main())
