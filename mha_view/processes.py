"""Work in a process of its own, where Python itself is the work: the server's lock stays free.

The process yields to the server for the cores, and ends with whoever waits for it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

BREATH_SECONDS = 0.2
NICE = 10
# What every job needs is loaded once, in the process that the others are split off from.
PRELOADED = ["numpy", "torch", "mha_core.training.live", "transformers.modeling_utils"]
_starting = threading.Lock()


@cache
def _context() -> BaseContext:
    """How processes are started: split off from a clean one where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def in_process(
    function: Callable[..., Iterator[Any]], *arguments: Any, **named: Any
) -> Iterator[Any]:
    """Run a generator in another process and hand out what it gives.

    Args:
        function: a generator function that can be imported by its name.
        arguments, named: what it is called with; they are copied, as is what it gives.

    Yields:
        What the function yields, and None now and then while nothing has come.

    Raises:
        RuntimeError: the process ended without a word.
        Exception: what the function raised.
    """
    context = _context()
    with _starting:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(  # type: ignore[attr-defined]
            target=_run, args=(sender, function, arguments, named), daemon=True
        )
        process.start()
        sender.close()
    try:
        while True:
            if not receiver.poll(BREATH_SECONDS):
                yield None
                continue
            try:
                kind, value = pickle.loads(receiver.recv_bytes())
            except EOFError:
                process.join()
                raise RuntimeError(f"a worker ended with code {process.exitcode}") from None
            if kind == "end":
                return
            if kind == "failure":
                raise value
            yield value
    finally:
        process.kill()
        process.join()
        receiver.close()


def _run(
    sender: Connection,
    function: Callable[..., Iterator[Any]],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> None:
    """What the other process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        import torch

        torch.set_num_threads(1)
        for item in function(*arguments, **named):
            _send(sender, "item", item)
    except BrokenPipeError:
        return  # nobody waits any more
    except Exception as failure:
        _send(sender, "failure", _portable(failure))
    else:
        _send(sender, "end", None)


def _send(sender: Connection, kind: str, value: Any) -> None:
    """Send plain bytes: torch's own way shares memory that is gone with its sender."""
    sender.send_bytes(pickle.dumps((kind, value)))


def _portable(failure: Exception) -> Exception:
    """The failure itself where it can travel, else what it says."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:
        return RuntimeError(f"{type(failure).__name__}: {failure}")
    return failure
