"""This server's line for heavy work, and how a page waits in it: place, progress, a way to stop."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any

import streamlit as st

from mha_core.errors import ConfigError, TwelveHeadsError
from mha_view import compute, limits, real_walk, state
from mha_view.jobs import Job, Line, Make
from mha_view.real import SHELF
from mha_view.scene import Scene
from mha_view.store import STORE
from mha_view.words import Words

TICK = 0.25  # seconds between two looks at a job


@st.cache_resource(show_spinner=False, max_entries=1)
def line() -> Line:
    """This server's line."""
    return Line(
        workers=limits.value("WORKERS"),
        most_waiting=limits.value("QUEUE"),
        most_seconds=float(limits.value("JOB_SECONDS")),
    )


@st.cache_resource(
    scope="session", show_spinner=False, max_entries=4,
    on_release=lambda session: line().leave(session),
)  # fmt: skip
def session_name() -> str:
    """This session's name in the line; when the session ends, it leaves the line."""
    return uuid.uuid4().hex


_places = threading.Lock()
_taken: set[str] = set()


def enter(name: str) -> None:
    """Give a session a place among the readers.

    Raises:
        ConfigError: all places are taken.
    """
    with _places:
        if name not in _taken and len(_taken) >= limits.value("SESSIONS"):
            raise ConfigError("limit.sessions", n=len(_taken))
        _taken.add(name)


@st.cache_resource(
    scope="session", show_spinner=False, max_entries=4, on_release=lambda name: _taken.discard(name)
)  # fmt: skip
def _place() -> str:
    """This session's place, given back when it ends; an error is not kept, so the next run asks
    again."""
    name = session_name()
    enter(name)
    return name


def take_place(words: Words) -> None:
    """Take a place among this server's readers, or stop with a message where none is left."""
    try:
        _place()
    except ConfigError as full:
        tell_failure(full, words)
        st.stop()


def tell_failure(failure: Exception, words: Words) -> None:
    """Why there is no result, in the reader's words."""
    st.error(
        words.error(failure) if isinstance(failure, TwelveHeadsError) else words("page.broken")
    )


def once(function: Callable[..., Any], *arguments: Any) -> Make:
    """One call as a job that finds one thing."""

    def make() -> Iterator[Any]:
        yield function(*arguments)

    return make


def walk_of(words: Words, scene: Scene) -> compute.Walk:
    """The walk of a scene; a heavy one is waited for in line."""
    if not compute.is_heavy(scene):
        return compute.walk_of(scene)
    scene = compute.resolve(scene)
    found = wait_for(words, "walk", *_walking(scene))
    return compute.walk_of(scene) if scene.weights == "real" else found


def begin_walk(scene: Scene) -> None:
    """Put the walk of a scene into the line before a page asks for it, so that it is worked out
    while what stands round every page is drawn. Whoever waits for it hears of what goes wrong."""
    with suppress(TwelveHeadsError):
        scene = compute.resolve(scene)
        if not scene.text.strip() or not compute.is_ready(scene) or not compute.is_heavy(scene):
            return
        key, make = _walking(scene)
        if st.session_state.get("stopped_walk") != key:
            line().ask(session_name(), "walk", key, make)


def _walking(scene: Scene) -> tuple[Hashable, Make]:
    """What a resolved scene's walk is called in the line, and the work: of another people's model,
    the layer that is looked at."""
    if scene.weights == "real":
        return (compute.walk_key(scene), scene.layer), once(compute.layer_of, scene)
    return compute.walk_key(scene), once(compute.walk_of, scene)


def read_of(words: Words, scene: Scene) -> compute.Walk:
    """The walk of a scene whose patterns are wanted, and no layer's steps."""
    scene = compute.resolve(scene)
    if scene.weights != "real":
        return walk_of(words, scene)
    bring(words, scene, patterns=True)
    return compute.walk_of(scene)


def bring(words: Words, scene: Scene, *, patterns: bool = False) -> None:
    """Wait until another people's model is loaded, where a scene names one.

    Args:
        words: the reader's words.
        scene: resolved.
        patterns: whether every head's pattern of the scene's text is wanted, too.
    """
    if scene.weights != "real":
        return
    name = scene.real
    if SHELF.find(name) is None:
        wait_for(words, "model", name, once(SHELF.load, name), told="heavy.loading")
        state.say_again()
        st.rerun()  # now that its files are known, for the links and the address that name them
    if patterns and real_walk.patterns_key(name, scene.text) not in STORE:
        wait_for(words, "walk", (name, scene.text), once(real_walk.patterns_of, name, scene.text))


def differences_of(words: Words, scene: Scene, walk: compute.Walk) -> compute.Differences:
    """How far a layer is from its other forms; a heavy one is waited for in line.

    Args:
        words: the reader's words.
        scene: whose layer.
        walk: the scene's walk, held so that it is not computed again meanwhile.
    """
    if compute.layer_of(scene, walk).pattern.size * len(walk.layers) <= compute.HEAVY_CELLS:
        return compute.differences_of(scene)
    scene = compute.resolve(scene)
    key = (compute.walk_key(scene), scene.layer)
    found: compute.Differences = wait_for(words, "check", key, once(compute.differences_of, scene))
    return found


def wait_for(
    words: Words,
    kind: str,
    key: Hashable,
    make: Make,
    tell: Callable[[Any], tuple[float, str]] | None = None,
    *,
    told: str = "heavy.working",
) -> Any:
    """What a heavy job finds last; the page ends with a message where there is nothing.

    Meanwhile the reader sees their place in line and may stop it. A newer run of the page, or one
    of another page, leaves the job to those who still want it.

    Args:
        words: the reader's words.
        kind: what sort of work; a session has one of each.
        key: what is computed: equal keys are computed once.
        make: see `Job`.
        tell: how far it is, as a share and in words, by the last thing it found.
        told: the word that says what is done.
    """
    stopped = f"stopped_{kind}"
    if st.session_state.get(stopped) == key:
        st.info(words("heavy.stopped"))
        st.button(words("heavy.again"), key=f"again_{kind}", type="primary",
                  on_click=st.session_state.pop, args=(stopped, None))  # fmt: skip
        st.stop()
    try:
        job = line().ask(session_name(), kind, key, make)
    except TwelveHeadsError as full:
        tell_failure(full, words)
        st.button(words("heavy.again"), key=f"again_{kind}", type="primary")
        st.stop()
    if not job.ended.wait(TICK):
        _wait(job, words, stopped, tell, told)
    if job.failure is not None:
        tell_failure(job.failure, words)
        st.stop()
    if not job.found:  # it was stopped by a newer wish of the same session
        st.stop()
    return job.found[-1]


def _wait(
    job: Job,
    words: Words,
    stopped: str,
    tell: Callable[[Any], tuple[float, str]] | None,
    work: str,
) -> None:
    """Show where the job stands until it has ended."""
    place = st.empty()
    with place.container(border=True):
        told = st.empty()
        st.button(words("heavy.stop"), key=f"stop_{job.kind}_{hash(job.key)}",
                  on_click=st.session_state.__setitem__, args=(stopped, job.key))  # fmt: skip
    try:
        while not job.ended.wait(TICK):
            before = line().check(job, session_name())
            with told:
                if before:
                    st.info(words("heavy.waiting", n=before))
                elif tell is not None and job.found:
                    st.progress(*tell(job.found[-1]))
                else:
                    st.info(words(work), icon="⏳")
    finally:
        if not job.ended.is_set():
            line().leave(session_name(), job.kind)
    place.empty()
