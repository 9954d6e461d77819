"""Training in front of visitors: one run at a time on this server, the others wait in line.

A run belongs to a session and lives in a thread of its own. The session's page keeps it alive by
asking for it; a run nobody has asked for in a while stops, and a session that ends leaves at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mha_core.training.live import LiveSnapshot

SILENT_SECONDS = 20.0  # a busy server may draw a whole page between two questions
log = logging.getLogger("twelve_heads")
Make = Callable[[], "Iterator[LiveSnapshot | None]"]


@dataclass(eq=False)
class Run:
    """A training run asked for by a session.

    Attributes:
        session: whose it is.
        make: starts the generator of snapshots; it gives None for a step without one.
        snapshots: what came out so far, all with the last one's model.
        stop: set to end the run after the step it is at.
        ended: set when the thread has let go of the server.
        failure: what went wrong, or None.
        asked: when its page last asked for it, by the trainer's clock.
        thread: what trains it, None while it waits.
    """

    session: str
    make: Make
    snapshots: list[LiveSnapshot] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    failure: Exception | None = None
    asked: float = 0.0
    thread: threading.Thread | None = None

    def add(self, snapshot: LiveSnapshot) -> None:
        """Append a snapshot; the earlier ones let go of their models."""
        earlier = [replace(shot, model=snapshot.model) for shot in self.snapshots]
        self.snapshots = [*earlier, snapshot]


class Trainer:
    """One server's trainer.

    Args:
        silent: after so many seconds without being asked for, a run or a place in line is given
            up.
        clock: tells the time in seconds.
    """

    def __init__(
        self, silent: float = SILENT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._silent, self._clock = silent, clock
        self._lock = threading.Lock()
        self._line: list[Run] = []  # the first one trains

    def ask(self, session: str, make: Make) -> Run:
        """Join the line, or train at once where there is none; an old run of the session ends."""
        self.leave(session)
        run = Run(session, make, asked=self._clock())
        with self._lock:
            self._line.append(run)
        self._advance()
        return run

    def check(self, run: Run) -> int:
        """Say that a run is still wanted; how many are before it, 0 while it trains or when it
        has ended."""
        run.asked = self._clock()
        self._advance()
        with self._lock:
            return self._line.index(run) if run in self._line else 0

    def leave(self, session: str) -> None:
        """Stop a session's run and give up its place in line."""
        with self._lock:
            for run in [run for run in self._line if run.session == session]:
                self._drop(run)
        self._advance()

    def _drop(self, run: Run) -> None:
        """Take a run out of the line; the one that trains leaves it when its thread ends."""
        run.stop.set()
        if self._line[0] is not run or run.thread is None:
            self._line.remove(run)
            run.ended.set()

    def _advance(self) -> None:
        """Drop who has gone silent, and let the first in line train."""
        with self._lock:
            late = self._clock() - self._silent
            for run in [run for run in self._line if run.asked < late]:
                self._drop(run)
            if self._line and self._line[0].thread is None:
                first = self._line[0]
                first.thread = threading.Thread(target=self._train, args=(first,), daemon=True)
                first.thread.start()

    def _train(self, run: Run) -> None:
        """Train until the run is over, stopped, or nobody asks for it."""
        try:
            for snapshot in run.make():
                if snapshot is not None:
                    run.add(snapshot)
                if run.stop.is_set() or run.asked < self._clock() - self._silent:
                    break
        except Exception as failure:  # told to the visitor by the page
            log.error("a live training run failed", exc_info=failure)
            run.failure = failure
        finally:
            with self._lock:
                self._line.remove(run)
            run.ended.set()
            self._advance()
