"""Serve the app from several processes of this machine, behind one proxy.

    python deploy/serve.py --workers 4 [--port 8501] [--address 127.0.0.1]

HAProxy must be installed. A reader stays with one process; when a process ends it is started
again, and until then its readers are taken by another, where their page stands as its address
says. Ctrl-C ends everything.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

ROOT = Path(__file__).parents[1]
NO_PROXY = (
    "HAProxy was not found. Install it (on Debian and Ubuntu: apt-get install haproxy), or serve "
    "one process: make run.\n"
    "没有找到 HAProxy。请先安装（Debian 与 Ubuntu：apt-get install haproxy），"
    "或者只用一个进程：make run。"
)
START_SECONDS = 120.0
PAUSE = 0.5


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def write_backend(ports: list[int]) -> str:
    """The proxy's second file: where the processes listen.

    >>> print(write_backend([9001, 9002]), end="")
    backend app
        server app1 127.0.0.1:9001 check cookie app1
        server app2 127.0.0.1:9002 check cookie app2
    """
    lines = (
        f"    server app{number} 127.0.0.1:{port} check cookie app{number}\n"
        for number, port in enumerate(ports, 1)
    )
    return "backend app\n" + "".join(lines)


def start_app(port: int, secret: str) -> subprocess.Popen[bytes]:
    """One process of the app, on this machine only."""
    # One thread for mathematics in each; the secret is one for all, as uploads are signed with it.
    settings = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "STREAMLIT_SERVER_COOKIE_SECRET": secret,
    }
    return subprocess.Popen(
        [
            sys.executable, "-m", "streamlit", "run", "app.py",
            f"--server.port={port}", "--server.address=127.0.0.1",
        ],
        cwd=ROOT, env={**settings, **os.environ},
    )  # fmt: skip


def is_well(port: int) -> bool:
    """Whether the app answers at a port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError, TimeoutError):
        return False


class Watch:
    """The processes, started again when one ends.

    Args:
        ports: where each listens.
    """

    def __init__(self, ports: list[int]) -> None:
        self._secret = secrets.token_hex(32)
        self.processes = {port: start_app(port, self._secret) for port in ports}
        self.over = threading.Event()

    def wait_until_well(self) -> bool:
        """Wait for every process to answer; False if it takes too long or one cannot start."""
        end = time.monotonic() + START_SECONDS
        waiting = set(self.processes)
        while waiting and time.monotonic() < end and not self.over.is_set():
            if any(self.processes[port].poll() is not None for port in waiting):
                return False
            waiting = {port for port in waiting if not is_well(port)}
            self.over.wait(PAUSE)
        return not waiting

    def keep(self) -> None:
        """Start again what ends, until it is over."""
        while not self.over.wait(PAUSE):
            for port, process in self.processes.items():
                if process.poll() is not None:
                    print(f"process at {port} ended ({process.returncode}); starting another",
                          file=sys.stderr, flush=True)  # fmt: skip
                    self.processes[port] = start_app(port, self._secret)

    def end(self) -> None:
        """End every process."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main() -> int:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python deploy/serve.py", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="processes of the app")
    parser.add_argument("--port", type=int, default=8501, help="where the proxy listens")
    parser.add_argument("--address", default="127.0.0.1", help="0.0.0.0 for every network")
    options = parser.parse_args()
    if not 1 <= options.workers <= 64:
        parser.error(f"--workers {options.workers}: expected 1 to 64")
    proxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    if proxy is None:
        print(NO_PROXY, file=sys.stderr)
        return 1
    watch = Watch(free_ports(options.workers))
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: watch.over.set())
    try:
        if not watch.wait_until_well():
            if watch.over.is_set():
                return 0
            print("the app did not start; what it says stands above", file=sys.stderr)
            return 1
        with tempfile.TemporaryDirectory() as folder:
            backend = Path(folder) / "processes.cfg"
            backend.write_text(write_backend(list(watch.processes)))
            front = subprocess.Popen(
                [proxy, "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg"), "-f", str(backend)],
                env={**os.environ, "PROXY_BIND": f"{options.address}:{options.port}"},
            )
            print(f"http://{options.address}:{options.port} · {options.workers}", flush=True)
            keeper = threading.Thread(target=watch.keep, daemon=True)
            keeper.start()
            while front.poll() is None and not watch.over.wait(PAUSE):
                pass
            failed = front.poll() is not None
            watch.over.set()
            keeper.join()
            front.terminate()
            front.wait()
            return int(failed)
    finally:
        watch.end()


if __name__ == "__main__":
    sys.exit(main())
