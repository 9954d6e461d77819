"""The questions that close the pages of circuits and of hypotheses, answered from their numbers."""

from __future__ import annotations

from mha_core.errors import ConfigError
from mha_core.heads.claim import LEVEL
from mha_core.model.edits import EMBEDDING
from mha_view.closing import Question
from mha_view.explore import circuit
from mha_view.explore.board import Board
from mha_view.explore.stated import Stated

APART = 0.01  # two effects closer than this are printed alike


def ask_circuits(board: Board) -> Question | None:
    """Whose loss costs most on the task that the page is about; None where that is not measured
    yet, or two cost the same."""
    words, scene = board.words, circuit.as_asked(board.scene)
    if scene.circuit_part in ("story", "lens"):
        scene = scene.with_(circuit="copying", instead="corrupted")
    asked = None
    if scene.circuit == "own":
        try:
            asked = circuit.asked_of(scene)
        except ConfigError:
            return None
    found = circuit.known(scene, asked)
    if found is None:
        return None
    cost = {head: effect.mean for head, effect in found.heads.items() if head != EMBEDDING}
    order = sorted(cost, key=lambda head: -cost[head])
    if len(order) < 2 or cost[order[0]] - cost[order[1]] < APART:
        return None
    offered = sorted({*order[:3], order[len(order) // 2]})
    named = {head: words("board.short", layer=head[0], head=head[1]) for head in offered}
    said = {
        "task": circuit.name_task(scene, words), "head": named[order[0]], "other": named[order[1]],
        "most": f"{cost[order[0]]:.2f}", "least": f"{cost[order[1]]:.2f}",
    }  # fmt: skip
    return Question(
        words("question.circuits.ask", **said),
        {f"{layer}.{head}": name for (layer, head), name in named.items()},
        f"{order[0][0]}.{order[0][1]}",
        words("question.circuits.why", **said),
    )


def ask_hypothesis(stated: Stated) -> Question:
    """How many heads chance alone would call, were each looked at by itself."""
    words, n = stated.words, len(stated.heads)
    said = {"n": n, "level": f"{LEVEL:.0%}", "called": f"{n * LEVEL:.3g}"}
    return Question(
        words("question.hypothesis.ask", **said),
        {"none": "0", "some": f"{n * LEVEL:.3g}", "all": f"{n}"},
        "some",
        words("question.hypothesis.why", **said),
    )
