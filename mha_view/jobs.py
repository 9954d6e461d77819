"""Heavy work waits in one fair line for the whole server, so that light work never waits for it.

A job belongs to the sessions that want it; two that ask for the same thing get one job. A session
has one job of a kind: a new one takes the old one's place. Whoever was served longest ago comes
next. A page keeps its job alive by asking for it; a job that nobody has asked for in a while
stops, and a session that ends leaves at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from mha_core.errors import DataError, TwelveHeadsError

SILENT_SECONDS = 20.0  # a busy server may draw a whole page between two questions
log = logging.getLogger("twelve_heads")
Make = Callable[[], Iterator[Any]]


def _append(found: list[Any], new: Any) -> list[Any]:
    """Keep everything that comes out."""
    return [*found, new]


@dataclass(eq=False)
class Job:
    """A piece of heavy work.

    Attributes:
        kind: what sort of work; a session has one of each.
        key: what it computes; equal keys are one job.
        make: starts the generator of what it finds; None is a breath without news.
        add: how something found joins what was found before.
        asked: the sessions that want it, and when each last asked, by the line's clock.
        found: what has come out so far.
        stop: set to end it at its next breath.
        ended: set when it has let go of its worker, or of its place.
        failure: what went wrong, or None.
        began: when it began, None while it waits.
        arrived: its place in the order of arrival.
    """

    kind: str
    key: Hashable
    make: Make
    add: Callable[[list[Any], Any], list[Any]] = _append
    asked: dict[str, float] = field(default_factory=dict)
    found: list[Any] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    failure: Exception | None = None
    began: float | None = None
    arrived: int = 0


class Line:
    """The heavy work of one server.

    Args:
        workers: jobs at a time.
        most_waiting: jobs that may wait.
        most_seconds: how long a job may take; it ends at the next breath after that.
        silent: seconds without being asked for, after which a session no longer wants a job.
        clock: tells the time in seconds.
    """

    def __init__(
        self,
        workers: int = 1,
        most_waiting: int = 64,
        most_seconds: float = 300.0,
        silent: float = SILENT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers, self._most_waiting = workers, most_waiting
        self._most_seconds, self._silent, self._clock = most_seconds, silent, clock
        self._lock = threading.RLock()
        self._jobs: list[Job] = []
        self._served: dict[str, float] = {}
        self._arrivals = 0

    def ask(
        self,
        session: str,
        kind: str,
        key: Hashable,
        make: Make,
        add: Callable[[list[Any], Any], list[Any]] = _append,
    ) -> Job:
        """Join the job with this key, or start one or wait in line for it.

        Args:
            session: who wants it; its other job of this kind, if any, is left.
            kind: what sort of work.
            key: what is computed.
            make: see `Job`.
            add: see `Job`.

        Raises:
            DataError: too many jobs wait already.
        """
        with self._lock:
            same = next((job for job in self._jobs if self._is_wanted(job, kind, key)), None)
            self._leave(session, kind, but=same)
            if same is None:
                waiting = sum(job.began is None for job in self._jobs)
                running = len(self._jobs) - waiting
                if running >= self._workers and waiting >= self._most_waiting:
                    raise DataError("jobs.full", n=waiting)
                self._arrivals += 1
                same = Job(kind, key, make, add, arrived=self._arrivals)
                self._jobs.append(same)
            same.asked[session] = self._clock()
            self._advance()
            return same

    def check(self, job: Job, session: str) -> int:
        """Say that a session still wants a job; how many are before it, 0 while it is worked on
        and when it has ended."""
        with self._lock:
            if session in job.asked:
                job.asked[session] = self._clock()
            self._advance()
            if job not in self._jobs or job.began is not None:
                return 0
            waiting = self._in_turn()
            return waiting.index(job) + len(self._jobs) - len(waiting)

    def leave(self, session: str, kind: str | None = None) -> None:
        """A session no longer wants its job of a kind, or any."""
        with self._lock:
            self._leave(session, kind)
            self._advance()

    def n_jobs(self) -> int:
        """Jobs worked on or waiting."""
        with self._lock:
            return len(self._jobs)

    @staticmethod
    def _is_wanted(job: Job, kind: str, key: Hashable) -> bool:
        return job.kind == kind and job.key == key and not job.stop.is_set()

    def _leave(self, session: str, kind: str | None, but: Job | None = None) -> None:
        """Take a session off its jobs; those that nobody wants any more end."""
        for job in list(self._jobs):
            if job is not but and kind in (None, job.kind) and session in job.asked:
                del job.asked[session]
                self._drop_unwanted(job)

    def _drop_unwanted(self, job: Job) -> None:
        """End a job that nobody wants; a running one leaves when its thread does."""
        if job.asked:
            return
        job.stop.set()
        if job.began is None:
            self._jobs.remove(job)
            job.ended.set()

    def _in_turn(self) -> list[Job]:
        """The jobs that wait, the next one first."""

        def turn(job: Job) -> tuple[float, int]:
            served = (self._served.get(session, float("-inf")) for session in job.asked)
            return min(served, default=0.0), job.arrived

        return sorted((job for job in self._jobs if job.began is None), key=turn)

    def _advance(self) -> None:
        """Let go of who has gone silent, and begin what there is a worker for."""
        late = self._clock() - self._silent
        for job in list(self._jobs):
            job.asked = {who: when for who, when in job.asked.items() if when >= late}
            self._drop_unwanted(job)
        for job in self._in_turn():
            if sum(other.began is not None for other in self._jobs) >= self._workers:
                break
            job.began = self._clock()
            for session in job.asked:
                self._served.pop(session, None)  # the latest goes to the end
                self._served[session] = job.began
            while len(self._served) > 1_000:
                del self._served[next(iter(self._served))]
            threading.Thread(target=self._work, args=(job,), name=job.kind, daemon=True).start()

    def _work(self, job: Job) -> None:
        """Work until the job is done, stopped, unwanted, or has taken too long."""
        try:
            with closing(job.make()) as found:  # type: ignore[type-var]
                for new in found:
                    if new is not None:
                        job.found = job.add(job.found, new)
                    if self._must_end(job):
                        break
        except Exception as failure:  # told to the reader by the page
            if not isinstance(failure, TwelveHeadsError):
                log.error("a heavy job failed: %s", job.kind, exc_info=failure)
            job.failure = failure
        finally:
            with self._lock:
                self._jobs.remove(job)
                job.ended.set()
                self._advance()

    def _must_end(self, job: Job) -> bool:
        """Whether a running job ends at this breath."""
        with self._lock:
            now = self._clock()
            if not any(when >= now - self._silent for when in job.asked.values()):
                job.stop.set()
            assert job.began is not None
            if now - job.began > self._most_seconds:
                job.failure = DataError("jobs.too_long", seconds=round(self._most_seconds))
                return True
            return job.stop.is_set()
