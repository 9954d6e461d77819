"""The line for heavy work: one at a time, fair, bounded, and nobody's work lost or done twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.errors import DataError, ShapeError
from mha_core.training.live import live_snapshots
from mha_view.explore.live_run import add_snapshot
from mha_view.jobs import Job, Line
from mha_view.processes import in_process
from mha_view.words import Words


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def steps_through(gate: threading.Semaphore) -> Callable[[], Iterator[int]]:
    """Work that takes a step each time the gate lets it."""

    def make() -> Iterator[int]:
        step = 0
        while True:
            gate.acquire()
            step += 1
            yield step

    return make


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for another thread; fail after a minute."""
    pause = threading.Event()
    for _ in range(6000):
        if is_so():
            return
        pause.wait(0.01)
    pytest.fail("waited for a minute in vain")


def ask(line: Line, session: str, key: object = None, kind: str = "work"):
    """A job of a session, and the gate it waits at."""
    gate = threading.Semaphore(0)
    return line.ask(session, kind, key or session, steps_through(gate)), gate


def test_one_works_and_the_others_wait() -> None:
    line = Line()
    (first, gate), (second, other), (third, _) = (ask(line, name) for name in "abc")
    assert [
        line.check(job, name) for job, name in zip((first, second, third), "abc", strict=True)
    ] == [0, 1, 2]
    gate.release()
    wait_until(lambda: len(first.found) == 1)
    assert second.found == []
    line.leave("b")
    assert second.ended.is_set(), "who waits leaves at once"
    assert line.check(third, "c") == 1
    line.leave("a")
    gate.release()
    assert first.ended.wait(60)
    assert first.found == [1, 2], "what was found is kept"
    assert line.check(third, "c") == 0
    assert third.began is not None
    line.leave("c")
    other.release()


def test_so_many_work_at_a_time_as_there_are_workers() -> None:
    line = Line(workers=2)
    jobs = [ask(line, name) for name in "abcd"]
    assert [job.began is not None for job, _ in jobs] == [True, True, False, False]
    assert [line.check(job, name) for (job, _), name in zip(jobs, "abcd", strict=True)] == [
        0,
        0,
        2,
        3,
    ]
    for name in "abcd":
        line.leave(name)
    for _, gate in jobs:
        gate.release()
    wait_until(lambda: line.n_jobs() == 0)


def test_the_same_thing_is_computed_once() -> None:
    line = Line()
    first, gate = ask(line, "a", key="same")
    second, _ = ask(line, "b", key="same")
    assert first is second
    line.leave("a")
    gate.release()
    wait_until(lambda: first.found == [1])
    assert not first.ended.is_set(), "the other session still wants it"
    line.leave("b")
    gate.release()
    assert first.ended.wait(60)


def test_a_new_wish_of_a_session_takes_the_old_ones_place() -> None:
    line = Line()
    first, gate = ask(line, "a", key=1)
    second, _ = ask(line, "a", key=2)
    other, _ = ask(line, "a", key=3, kind="another kind")
    gate.release()
    assert first.ended.wait(60)
    wait_until(lambda: second.began is not None)
    assert not other.stop.is_set(), "another kind of work is left alone"
    line.leave("a")


def test_whoever_was_served_longest_ago_is_next() -> None:
    clock = Clock()
    line = Line(clock=clock, silent=1e9)
    first, gate = ask(line, "greedy", key=0)
    waiting = {}
    for number, session in enumerate(["greedy", "new"]):
        clock.now += 1
        waiting[session], _ = ask(line, session, key=("next", number), kind="more")
    assert line.check(waiting["new"], "new") == 1, "the new one has not been served yet"
    assert line.check(waiting["greedy"], "greedy") == 2
    line.leave("greedy", "work")
    gate.release()
    assert first.ended.wait(60)
    wait_until(lambda: waiting["new"].began is not None)
    assert waiting["greedy"].began is None


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=30))
def test_nobody_is_served_twice_while_another_waits(wishes: list[str]) -> None:
    line = Line(clock=count().__next__, silent=1e9, most_seconds=1e9)  # no two at one time
    order: list[str] = []
    gates = threading.Semaphore(0)

    def work(session: str) -> Callable[[], Iterator[int]]:
        def make() -> Iterator[int]:
            order.append(session)
            gates.acquire()
            yield 1

        return make

    line.ask("blocker", "block", 0, work("blocker"))
    for number, session in enumerate(wishes):
        line.ask(session, f"kind {number}", number, work(session))
    for _ in range(len(wishes) + 1):
        gates.release()
    wait_until(lambda: line.n_jobs() == 0)
    rounds = order[1:]
    for session in set(wishes):
        places = [place for place, name in enumerate(rounds) if name == session]
        for earlier, later in pairwise(places):
            waiting = set(rounds[later:]) - {session}
            assert waiting <= set(rounds[earlier:later]), "one was served twice, another not once"


def test_a_full_line_takes_nothing_on_and_says_so() -> None:
    line = Line(most_waiting=1)
    first, gate = ask(line, "a")
    ask(line, "b")
    with pytest.raises(DataError, match="1 long computations are waiting") as refused:
        ask(line, "c")
    assert "排队" in Words("zh").error(refused.value)
    assert ask(line, "d", key="b")[0].asked.keys() == {"b", "d"}, "joining costs no place"
    for name in "abd":
        line.leave(name)
    gate.release()
    assert first.ended.wait(60)


def test_what_takes_too_long_is_stopped_and_keeps_what_it_found() -> None:
    clock = Clock()
    line = Line(clock=clock, most_seconds=5, silent=1e9)
    job, gate = ask(line, "a")
    gate.release()
    wait_until(lambda: job.found == [1])
    clock.now = 6
    gate.release()
    assert job.ended.wait(60)
    assert job.found[0] == 1
    assert isinstance(job.failure, DataError)
    assert "5 seconds" in str(job.failure)


def test_a_silent_job_frees_the_worker() -> None:
    clock = Clock()
    line = Line(silent=5, clock=clock)
    (first, gate), (second, _) = (ask(line, name) for name in "ab")
    for clock.now in (3.0, 6.0):
        line.check(second, "b")
    gate.release()
    assert first.ended.wait(60), "nobody asked for it since 0"
    assert not second.ended.is_set()
    assert line.check(second, "b") == 0
    wait_until(lambda: second.began is not None)
    line.leave("b")


def test_a_silent_place_in_line_is_given_up() -> None:
    clock = Clock()
    line = Line(silent=5, clock=clock)
    (first, _), (second, _), (third, _) = (ask(line, name) for name in "abc")
    clock.now = 4
    line.check(first, "a")
    line.check(third, "c")
    clock.now = 6
    assert line.check(third, "c") == 1
    assert second.ended.is_set()
    line.leave("a")


def test_a_failure_is_kept_and_frees_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[int]:
        raise ValueError("no such thing")
        yield

    line = Line()
    job = line.ask("a", "work", 1, broken)
    assert job.ended.wait(60)
    assert str(job.failure) == "no such thing"
    assert "a heavy job failed: work" in caplog.text
    second, _ = ask(line, "b")
    assert line.check(second, "b") == 0
    line.leave("b")


@dataclass(frozen=True)
class Shot:
    """A snapshot of a run that trains nothing."""

    step: int
    model: object


def test_earlier_snapshots_let_go_of_their_models() -> None:
    found: list[Shot] = []
    for step in range(3):
        found = add_snapshot(found, Shot(step, object()))  # type: ignore[arg-type]
    assert [shot.step for shot in found] == [0, 1, 2]
    assert len({id(shot.model) for shot in found}) == 1


# --- In a process of its own ------------------------------------------------------------------


def count_to(most: int) -> Iterator[int]:
    """What another process does in these tests."""
    import os

    for number in range(most):
        yield (number, os.getpid())  # type: ignore[misc]


def fall_silent() -> Iterator[int]:
    import os

    yield 1
    os._exit(7)


def refuse(number: int) -> Iterator[int]:
    yield number
    raise ShapeError("heads.divide", d_model=number, n_heads=3)


def for_ever() -> Iterator[int]:
    import time

    yield 1
    while True:
        time.sleep(0.1)


def news(found: Iterator[object]) -> list[object]:
    return [item for item in found if item is not None]


def test_another_process_gives_what_the_generator_gives() -> None:
    import os

    found = news(in_process(count_to, 5))
    assert [number for number, _ in found] == list(range(5))  # type: ignore[misc]
    assert os.getpid() not in {process for _, process in found}  # type: ignore[misc]


def test_its_failure_comes_over_in_words() -> None:
    found = in_process(refuse, 10)
    with pytest.raises(ShapeError, match="10") as refused:
        news(found)
    assert "10" in Words("zh").error(refused.value)


def test_an_end_without_a_word_is_a_failure() -> None:
    with pytest.raises(RuntimeError, match="code 7"):
        news(in_process(fall_silent))


def test_who_is_not_wanted_any_more_is_gone() -> None:
    import multiprocessing

    before = set(multiprocessing.active_children())
    found = in_process(for_ever)
    assert next(item for item in found if item is not None) == 1
    assert set(multiprocessing.active_children()) - before
    found.close()  # type: ignore[attr-defined]
    assert set(multiprocessing.active_children()) - before == set()


def test_a_model_trains_in_another_process_as_in_this_one() -> None:
    import torch

    wanted = {"d_model": 32, "n_heads": 2, "n_layers": 1, "seed": 3, "steps": 300, "until": 20}
    here = list(live_snapshots(**wanted))
    there = news(in_process(live_snapshots, **wanted))
    assert [shot.step for shot in here] == [shot.step for shot in there] == [0, 10, 20]
    for mine, other in zip(here, there, strict=True):
        assert mine.scores == other.scores
        for name, value in mine.model.state_dict().items():
            assert torch.equal(value, other.model.state_dict()[name]), name
        assert other.model.trace("cat dog cat").tokens == ("<bos>", "cat", "dog", "cat")


def test_sizes_that_do_not_fit_are_told_in_words() -> None:
    line = Line()
    wanted = {"d_model": 30, "n_heads": 4, "until": 10}
    job: Job = line.ask("a", "live", 1, lambda: in_process(live_snapshots, **wanted))
    assert job.ended.wait(120)
    assert "30" in Words("zh").error(job.failure)  # type: ignore[arg-type]
