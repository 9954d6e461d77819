"""This session's training run: asked for, followed, stopped, and kept as the app's weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.errors import ConfigError
from mha_view import limits, live, state
from mha_view.heavy import line, session_name, tell_failure
from mha_view.jobs import Job
from mha_view.live import LiveSettings
from mha_view.scene import LIVE_STEPS, Scene
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.training.live import LiveSnapshot

# Seconds between two looks at the run, and the longest wait for a stopped one to end.
TICK, STOP_SECONDS = 0.7, 1.0


KIND = "live"


def current() -> Job | None:
    """This session's run, going on or ended."""
    run: Job | None = st.session_state.get("live_run")
    return run


def keep_alive() -> None:
    """Say that this session's run is still wanted, while a page that takes long is drawn."""
    run = current()
    if run is not None:
        line().check(run, session_name())


def is_running() -> bool:
    """Whether this session has a run that goes on or waits in line."""
    run = current()
    return run is not None and not run.ended.is_set()


def learnt() -> LiveSettings | None:
    """The settings of what the session's ended run has learnt; None where there is none."""
    run = current()
    if run is None or not run.ended.is_set() or not run.found:
        return None
    asked: LiveSettings = st.session_state["live_asked"]
    return replace(asked, steps=run.found[-1].step)


def start(settings: LiveSettings) -> None:
    """Join the line with these settings; the run ends where its weights are wanted."""
    from mha_core.training.live import live_snapshots
    from mha_view.processes import in_process

    sizes = {name: value for name, value in asdict(settings).items() if name != "steps"}
    wanted = {**sizes, "steps": LIVE_STEPS, "until": settings.steps}
    st.session_state["live_asked"] = settings
    session = session_name()  # in the key: a visitor's run is their own to stop

    def make() -> Iterator[Any]:
        most = limits.value("MOST_LIVE_FEATURES")
        if settings.d_model > most:
            raise ConfigError("limit.live", asked=settings.d_model, most=most)
        yield from in_process(live_snapshots, **wanted)

    st.session_state["live_run"] = line().ask(
        session, KIND, (session, settings), make, add_snapshot,
    )  # fmt: skip


def add_snapshot(earlier: list[Any], new: LiveSnapshot) -> list[Any]:
    """Append a snapshot; the earlier ones let go of their models."""
    return [*(replace(shot, model=new.model) for shot in earlier), new]


def start_anew() -> None:
    """Train the model that the form describes, to the end."""
    state.change(live_steps=LIVE_STEPS)
    start(live.settings_of(state.scene()))


def stop() -> None:
    """Stop this session's run, keeping what has been learnt."""
    line().leave(session_name(), KIND)
    st.session_state["live_run"].ended.wait(STOP_SECONDS)


def use() -> None:
    """Keep what the ended run has learnt, and make it the weights of every page."""
    settings, run = learnt(), current()
    if settings is not None and run is not None:
        live.keep(settings, run.found[-1].model)
        state.change(weights="live", **live.changes_for(settings))


def draw_notice(words: Words, scene: Scene, *, follow: bool = True) -> None:
    """Where a scene names a model this session does not hold: say so, with a button to train it.

    The run's end brings the model in, as it is the one that was asked for.

    Args:
        words: the reader's words.
        scene: names a live model as its weights.
        follow: show how far the run is; the training page does that itself.
    """
    wanted = live.settings_of(scene)
    run = current()
    if live.find(scene) is None and run is not None and learnt() == wanted:
        live.keep(wanted, run.found[-1].model)
    if live.find(scene) is not None:
        return
    with st.container(border=True, key="live_notice"):
        st.warning(words("live.missing", model=live.describe(wanted, words)))
        st.button(
            words("live.train_same"), type="primary", key="live_train_same",
            disabled=is_running(), on_click=start, args=(wanted,),
        )  # fmt: skip
        if run is not None and run.failure is not None:
            tell_failure(run.failure, words)
        elif follow and is_running():
            st.fragment(_follow_briefly, run_every=TICK)(words)


def _follow_briefly(words: Words) -> None:
    """How far the session's run is; at its end the page is drawn anew."""
    run = current()
    if run is None or run.ended.is_set():
        st.rerun()
    before = line().check(run, session_name())
    if before:
        st.info(words("live.waiting", n=before))
    elif not run.found:
        st.progress(0.0, words("live.starting"))
    else:
        step, steps = run.found[-1].step, max(1, st.session_state["live_asked"].steps)
        st.progress(min(step / steps, 1.0), words("live.so_far", step=step, steps=steps))
