"""The story "previous token → induction" told with the model's own heads, each step to be cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from mha_core.model.edits import EMBEDDING, Edits, Head, Path, every_path, forbid_edges
from mha_view import compute, live, state
from mha_view.about import About
from mha_view.explore.board import Board
from mha_view.figures.bars import bars
from mha_view.panel import literal
from mha_view.scene import Scene
from mha_view.show import show
from mha_view.theme import ink

if TYPE_CHECKING:
    from mha_core.heads.circuits import Bench, Circuit
    from mha_core.heads.prompts import Prompt

STORY_SEED = 7
HALF = 5


@dataclass(frozen=True)
class Cast:
    """Who plays: the head that looks back, the layer that reads it, its strongest head."""

    back: Head
    inducing: Head


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the story: its number on the sentence, and what cuts it."""

    name: str
    value: float
    cut: Edits


def cast_of(circuit: Circuit) -> Cast | None:
    """The heads of the story, as the circuit of repeated words has them; None where it has not."""
    keys = [path for path in circuit.edges if path.part == "k" and path.sender != EMBEDDING]
    if not keys:
        return None
    layer = keys[0].layer
    own = [(effect.mean, path.head) for path, effect in circuit.finer.items()
           if (path.layer, path.part) == (layer, "k") and path.head is not None]  # fmt: skip
    return Cast(keys[0].sender, (layer, max(own)[1])) if own else None


def story_prompt(scene: Scene) -> Prompt:
    """Five nouns of the reader's language said twice, up to the fourth; other five in the twin."""
    from mha_core.heads.prompts import Prompt
    from mha_core.language.lexicon import load_lexicon
    from mha_core.language.tokenizer import load_tokenizer
    from mha_core.training.live import pool_ids

    tokenizer = load_tokenizer()
    if live.find(scene) is None:
        lexicon = load_lexicon("chinese" if scene.lang == "zh" else "english")
        numbers = sorted({tokenizer.id_of(noun.word) for noun in lexicon.nouns})
    else:
        numbers = sorted(pool_ids())
    generator = np.random.Generator(np.random.PCG64(STORY_SEED))
    drawn = generator.choice(numbers, 2 * HALF, replace=False).tolist()
    said, other, end = drawn[:HALF], drawn[HALF:], HALF - 1
    bos = tokenizer.bos.id
    return Prompt((bos, *said, *said[:end]), (bos, *other, *other[:end]), HALF + end, said[end],
                  other[end])  # fmt: skip


def steps_of(bench: Bench, cast: Cast, n_layers: int, n_heads: int) -> list[Step]:
    """The steps, each with a number read off the run and the edit that cuts it."""
    query = int(bench.at[0])
    target = query - HALF + 1  # the word that followed what stands at the query
    layer, head = cast.inducing
    run = bench.clean
    looks = float(run.patterns[cast.back[0]][0, cast.back[1], target, target - 1])
    finds = float(run.patterns[layer][0, head, query, target])
    key = Path(cast.back, layer, "k")
    edges = [(layer, each, query, target) for each in range(n_heads)]
    cuts = {
        "back": bench.cut(every_path(cast.back, n_layers)),
        "key": bench.cut([key]),
        "query": bench.cut([Path(EMBEDDING, layer, "q")]),
        "find": forbid_edges(edges, n_heads, bench.ids.shape[1]),
        "carry": bench.cut([Path(EMBEDDING, layer, "v")]),
    }
    numbers = {"back": looks, "find": finds}
    return [
        Step(name, numbers.get(name, bench.effect(cut).mean), cut) for name, cut in cuts.items()
    ]


def draw_story(board: Board, circuit: Circuit) -> None:
    """The steps with their switches, and the probability of the word that comes next."""
    from mha_core.heads.circuits import Bench

    words, scene = board.words, board.scene
    cast = cast_of(circuit)
    if cast is None:
        st.info(words("story.none"))
        return
    model = compute.model_of(scene)
    prompt = story_prompt(scene)
    bench = Bench(model, [prompt])
    steps = steps_of(bench, cast, model.n_layers, model.n_heads)
    entries = model.tokenizer.entries
    told = [entries[number].display for number in prompt.ids[1:]]
    names = {
        "back": words("board.short", layer=cast.back[0], head=cast.back[1]),
        "head": words("board.short", layer=cast.inducing[0], head=cast.inducing[1]),
        "layer": cast.inducing[0],
        "here": literal(told[-1]), "before": literal(told[HALF - 2]),
        "word": literal(entries[prompt.right].display),
    }  # fmt: skip
    st.markdown(words("story.sentence", text=literal(" ".join(told)), word=names["word"]))
    chosen = [step for number, step in enumerate(steps, 1) if number in scene.cuts]
    together = Edits()
    for step in chosen:
        together = together | step.cut
    left, right = st.columns([11, 10])
    with left:
        for number, step in enumerate(steps, 1):
            _draw_step(board, number, step, names)
    alone = [bench.probability(step.cut) for step in steps]
    intact, now = bench.probability(), bench.probability(together)
    with right:
        rows = [intact, *alone] + ([now] if len(chosen) > 1 else [])
        labels = [words("story.intact"), *(words(f"story.cut.{step.name}") for step in steps)]
        labels += [words("story.together")] if len(chosen) > 1 else []
        faint = [number not in scene.cuts for number in range(1, len(steps) + 1)]
        colours = [ink("pattern"), *(ink("residual") if off else ink("output") for off in faint)]
        picture = bars(
            "story", np.array([rows]), labels, colours=[*colours, ink("output")][: len(rows)],
            title=words("axis.story", word=entries[prompt.right].display), bounds=(0.0, 1.1),
            alt=words("alt.story", word=entries[prompt.right].display, intact=f"{intact:.2f}",
                      cut=f"{min(alone):.2f}"),
            height=120 + 44 * len(rows), sideways=True,
        )  # fmt: skip
        picture.figure["data"][0] |= {
            "text": [f"{row:.2f}" for row in rows], "textposition": "outside", "cliponaxis": False,
        }  # fmt: skip
        show(picture, words, about=About(" ".join(told), words("circuits.task.copying")))
        key = "story.now" if chosen else "story.now.intact"
        st.markdown(words(key, word=names["word"], before=f"{intact:.2f}", now=f"{now:.2f}"))


def _draw_step(board: Board, number: int, step: Step, names: dict[str, object]) -> None:
    """One step: its switch, and its sentence with its number."""
    words = board.words

    def turn() -> None:
        cuts = set(state.scene().cuts) ^ {number}
        state.change(cuts=tuple(sorted(cuts)))

    with st.container(key=f"story_{number}"):
        st.session_state[f"story_cut_{number}"] = number in board.scene.cuts
        st.toggle(words(f"story.switch.{step.name}", n=number, **names),
                  key=f"story_cut_{number}", on_change=turn)  # fmt: skip
        st.caption(words(f"story.step.{step.name}", value=f"{step.value:.2f}", **names))
