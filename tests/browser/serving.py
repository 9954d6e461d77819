"""Start a Streamlit app as its own process, on a free port, and stop it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_SECONDS = 300


@contextmanager
def serve(
    script: str, *, base: str = "", log: Path | None = None, root: Path = ROOT
) -> Iterator[str]:
    """Run `streamlit run <script>` and give its address without a final slash.

    Args:
        script: path from the root of the repository.
        base: `server.baseUrlPath`.
        log: where the server's output goes; nowhere if None.
        root: the checkout that is served.

    Raises:
        RuntimeError: if the server does not get ready.
    """
    port = free_port()
    options = {
        "server.port": str(port),
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.baseUrlPath": base,
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    # One thread: on a shared machine two are slower than one.
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    with open(log or os.devnull, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", script, *flags],
            cwd=root,
            env={**os.environ, **threads},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        address = f"http://127.0.0.1:{port}" + (f"/{base}" if base else "")
        try:
            wait_until_well(process, f"{address}/_stcore/health")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def serve_processes(workers: int, log: Path) -> Iterator[str]:
    """Serve the app from several processes behind the proxy and give its address.

    Args:
        workers: how many processes.
        log: where everything they say goes.

    Raises:
        RuntimeError: if they do not get ready.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        serving = subprocess.Popen(
            [sys.executable, "deploy/serve.py", f"--workers={workers}", f"--port={port}"],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        end = time.monotonic() + START_SECONDS
        while f"{address} · {workers}" not in log.read_text():
            if serving.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text())
            time.sleep(0.3)
        yield address
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(60)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_until_well(process: subprocess.Popen[bytes], health: str) -> None:
    """Wait until the server says that it is well."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with code {process.returncode}")
        try:
            with urllib.request.urlopen(health, timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"the server was not ready after {START_SECONDS} s")
