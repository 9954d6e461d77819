"""The training page's parts: the shipped run on a slider, and a run of the visitor's own."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from mha_view import compute, limits, live, state
from mha_view.about import About, about_sentence
from mha_view.explore import checkpoints, live_run
from mha_view.explore.board import Board
from mha_view.figures import explore
from mha_view.figures.curves import curves
from mha_view.heavy import line, session_name, tell_failure
from mha_view.jobs import Job
from mha_view.link import link_of
from mha_view.menu import page_file
from mha_view.scene import LIVE_HEADS, LIVE_LAYERS, LIVE_WIDTHS
from mha_view.show import show
from mha_view.theme import head_colour
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.heads.curves import Curves

# What the curves show, in this order, where it was measured.
CURVES = ("sink", "previous", "induction", "pronoun", "pronoun_zh", "subject", "reflexive",
          "classifier_zh")  # fmt: skip


@lru_cache(maxsize=1)
def shipped_curves() -> Curves | None:
    """The scores of the shipped run, or None where they are not shipped."""
    from mha_core.heads.curves import Curves
    from mha_core.model.checkpoint import WEIGHTS

    path = WEIGHTS / "scores.json"
    return Curves.read(path) if path.exists() else None


def draw_checkpoints(board: Board) -> None:
    """The slider, the patterns at its step, the curves with a line there."""
    words = board.words
    steps = checkpoints.list_steps()
    step = checkpoints.nearest_step(board.scene.step)
    st.select_slider(words("training.step"), steps, **state.bind("step", shown=step))
    patterns = checkpoints.patterns_at(board.scene, step)[board.layer]
    titles = [words("head.chip", head=head) for head in range(len(patterns))]
    picture = explore.gallery(
        "checkpoint", board.grouping.apply(patterns), board.grouping.apply_mask(board.keep), titles,
        board.grouping.labels, words, grouping=board.grouping,
        colours=[head_colour(head) for head in range(len(patterns))], scale=board.scene.scale,
        across=min(6, len(patterns)), alt=words("alt.checkpoint", layer=board.layer, step=step),
    )  # fmt: skip
    about = about_sentence(board.scene, words)
    show(picture, words, None, partial(_choose, layer=board.layer), about=about)
    _draw_shipped_curves(board, step)


def _choose(cell: Any, layer: int) -> None:
    """Choose the head of a picked tile."""
    if cell is not None:
        state.change(layer=layer, head=cell.head)


def _draw_shipped_curves(board: Board, step: int) -> None:
    """The curves of the shipped run and the order in which skills appear."""
    words, run = board.words, shipped_curves()
    if run is None:
        return
    known = [name for name in CURVES if name in run.scores[0].heads]
    scores = {
        words(f"role.{name}"): np.array([report.best()[name] for report in run.scores])
        for name in known
    }
    phases = {words(f"role.{name}"): run.half_way(name) for name in known}
    together: dict[int, list[str]] = {}
    for label, half in sorted(phases.items(), key=lambda phase: phase[1]):
        together.setdefault(half, []).append(label)
    told = words("list.next").join(
        words("training.phase", step=half, roles=words("list.and").join(labels))
        for half, labels in together.items()
    )
    show(
        curves("curves", run.steps, run.losses, scores, words, here=step, phases=phases,
               alt=words("alt.curves", order=told)),
        words,
        about=About(words("picture.measured")),
    )  # fmt: skip
    st.caption(words("training.counted", **_curve_numbers()))
    st.markdown(words("training.phases", order=told))
    st.markdown(words("training.pool", steps=checkpoints.pool_steps()))


def _curve_numbers() -> dict[str, int]:
    """On how many sentences the curves are measured, and how long a half of a repeat is."""
    from mha_core.heads.curves import CURVE_COUNT, CURVE_LENGTH

    return {"n": CURVE_COUNT, "length": CURVE_LENGTH}


def draw_live(board: Board) -> None:
    """Train a small model now: settings, start and stop, what comes out, and its use."""
    words = board.words
    running = live_run.is_running()
    _draw_settings(words, running)
    st.fragment(_follow, run_every=live_run.TICK if running else None)(words, running)
    run = live_run.current()
    if run is not None and run.ended.is_set() and run.found:
        _draw_use(words)
        _draw_result(board, run)


def _widths() -> tuple[int, ...]:
    """The widths this server trains, and the chosen one, about which the run then speaks."""
    most = limits.value("MOST_LIVE_FEATURES")
    return tuple(d for d in LIVE_WIDTHS if d <= most or d == state.scene().live_d)


def _draw_settings(words: Words, running: bool) -> None:
    """How large a model, from which seed."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="live_settings"):
        for name, field, choices in (
            ("width", "live_d", _widths()),
            ("heads", "live_h", LIVE_HEADS),
            ("layers", "live_layers", LIVE_LAYERS),
        ):
            st.selectbox(words(f"live.{name}"), choices, disabled=running, width=110,
                         **state.bind(field))  # fmt: skip
        st.number_input(words("size.seed"), 0, 2**31 - 1, disabled=running, width=150,
                        **state.bind("live_seed"))  # fmt: skip


def _draw_use(words: Words) -> None:
    """Make what was learnt the weights of every page, or say that it is."""
    settings, scene = live_run.learnt(), state.scene()
    if live.find(scene) is not None and live.settings_of(scene) == settings:
        st.success(words("live.used"))
        st.page_link(page_file("attention"), label=words("live.look"),
                     query_params=link_of(scene))  # fmt: skip
        return
    st.button(words("live.use"), key="live_use", type="primary", on_click=live_run.use)
    st.caption(words("live.use.caption"))


def _follow(words: Words, was_running: bool) -> None:
    """Start, stop, and where the run stands; drawn anew every moment while it goes on, and alone,
    so that a stop is shown at once. The page follows when a run has begun or ended."""
    running = live_run.is_running()
    begin, stop, _ = st.columns([2, 2, 6])
    begin.button(words("live.start"), type="primary", disabled=running,
                 on_click=live_run.start_anew)  # fmt: skip
    stop.button(words("live.stop"), disabled=not running, on_click=live_run.stop)
    run = live_run.current()
    if run is not None:
        _draw_progress(run, words)
    if running != was_running:
        st.rerun()


def _draw_progress(run: Job, words: Words) -> None:
    """The place in line, or the step, the loss and the scores so far."""
    before = line().check(run, session_name())
    if before:
        st.info(words("live.waiting", n=before))
        return
    if run.failure is not None:
        tell_failure(run.failure, words)
        return
    if not run.found:
        st.progress(0.0, words("live.starting"))
        return
    last = run.found[-1]
    best = last.scores.best()
    over = run.ended.is_set()
    st.progress(
        last.step / last.steps,
        words("live.over" if over else "live.going", step=last.step, steps=last.steps,
              loss="–" if np.isnan(last.loss) else f"{last.loss:.2f}",
              induction=f"{best['induction']:.2f}"),
    )  # fmt: skip
    names = [name for name in CURVES if name in last.scores.heads]
    shots = list(run.found)
    scores = {
        words(f"role.{name}"): np.array([shot.scores.best()[name] for shot in shots])
        for name in names
    }
    if "copying" in last.scores.tasks:
        scores[words("live.copying")] = np.array([shot.scores.tasks["copying"] for shot in shots])
    losses = [None if np.isnan(shot.loss) else shot.loss for shot in shots]
    told = words("alt.live", step=last.step, induction=f"{best['induction']:.2f}")
    drawn = curves("live", [shot.step for shot in shots], losses, scores, words, alt=told)
    show(drawn, words, about=About(words("weights.live")))
    st.caption(words("live.counted", **_curve_numbers()))


def _draw_result(board: Board, run: Job) -> None:
    """What the trained model's heads do: its best heads, and its patterns on random repeats."""
    words, last = board.words, run.found[-1]
    first = next((shot.step for shot in run.found if shot.scores.best()["induction"] > 0.5), None)
    if first is not None:
        st.success(words("live.formed", step=first))
    else:
        st.info(words("live.not_formed", step=last.step))
    model = last.model
    st.markdown(f"##### {words('live.patterns')}")
    trace = model.trace(board.scene.text)
    n_tokens = min(len(trace.tokens), compute.MOST_TOKENS)
    patterns = np.concatenate([layer.pattern[:, :n_tokens, :n_tokens] for layer in trace.layers])
    places = [divmod(place, model.n_heads) for place in range(len(patterns))]
    picture = explore.gallery(
        "live_heads", patterns, np.tri(n_tokens, dtype=bool),
        [words("board.short", layer=layer, head=head) for layer, head in places],
        board.labels[:n_tokens], words, colours=[head_colour(head) for _, head in places],
        scale=board.scene.scale, across=min(model.n_heads, 6), alt=words("alt.live_heads"),
    )  # fmt: skip
    about = About(board.scene.text, words("weights.live"))
    show(picture, words, None, lambda cell: None, about=about)
