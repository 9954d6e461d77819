"""`python -m mha_core.sizes FILE.json [--tokens N] [--dtype fp16] [--json] [--no-totals]`."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mha_core.errors import ConfigError, TwelveHeadsError
from mha_core.sizes import BYTES, Sizes, measure_file
from mha_core.sizes.report import MATRICES

MAX_SECONDS = 60
MAX_MEMORY = 6 * 2**30


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the sizes of one config; 0 when it could be read, 2 when not."""
    options = _parser().parse_args(arguments)
    try:
        with _limited():
            if options.tokens < 1:
                raise ConfigError("sizes.tokens", n_tokens=options.tokens)
            sizes = measure_file(options.file, totals=options.totals)
            report = sizes.as_json(options.tokens, options.dtype)
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
    parser = argparse.ArgumentParser(prog="python -m mha_core.sizes", description=__doc__)
    parser.add_argument("file", help="a Hugging Face style config.json")
    parser.add_argument("--tokens", type=int, default=4096, help="S, for cache and FLOPs")
    parser.add_argument("--dtype", choices=BYTES, default="fp16", help="float type of the cache")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--no-totals", dest="totals", action="store_false", help="do not ask transformers"
    )
    return parser


@contextmanager
def _limited() -> Iterator[None]:
    """Bound time and memory of the whole run, whatever the file holds."""

    def stop(*_: object) -> None:
        raise TimeoutError

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MAX_MEMORY if hard == resource.RLIM_INFINITY else min(MAX_MEMORY, hard)
    before = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    signal.alarm(MAX_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


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
        *_cache_lines(report["kv_cache"]),
        *_flops_lines(report["flops"]),
    ]
    lines += [
        f"part {name}: {in_words(part, part.as_json())}" for name, part in sizes.entries.items()
    ]
    lines += [f"note: {note}" for note in sizes.notes]
    return "\n".join(lines)


def _cache_lines(cache: object) -> list[str]:
    assert isinstance(cache, dict)
    if cache["elements_per_token"] is None:
        return ["KV cache: null"]
    line = f"KV cache: {cache['elements_per_token']:,} numbers a token, "
    line += f"{cache['bytes_per_token']:,} bytes in {cache['dtype']}"
    if cache["n_tokens"]:
        line += f"; {cache['bytes']:,} bytes at {cache['n_tokens']:,} tokens"
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
