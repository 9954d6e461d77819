"""The questions that close the pages of pages/explore, answered from what is on them."""

from __future__ import annotations

import numpy as np

from mha_core.continuing import Sampling, chances
from mha_core.heads.measures import entropy
from mha_view import compute
from mha_view.closing import Question
from mha_view.explore import again
from mha_view.explore.board import Board
from mha_view.explore.compare import Side, is_cut_apart
from mha_view.explore.continuing import Text
from mha_view.explore.losses import losses_of
from mha_view.explore.training import CURVES, shipped_curves
from mha_view.panel import literal

MOST_HEADS = 12  # answers
APART = 5e-4  # two numbers closer than this are printed alike


def ask_gallery(board: Board) -> Question | None:
    """Which head of the layer spreads the focus token's look most evenly."""
    words, layer = board.words, board.layer
    patterns = board.walk.patterns[layer][:MOST_HEADS, board.focus]
    spread = np.array([float(entropy(row)) for row in patterns])
    order = np.argsort(-spread, kind="stable")
    if len(order) < 2 or spread[order[0]] - spread[order[1]] < APART:
        return None
    said = {
        "layer": layer, "token": literal(board.labels[board.focus]),
        "head": order[0], "other": order[-1],
        "most": f"{spread[order[0]]:.3f}", "least": f"{spread[order[-1]]:.3f}",
    }  # fmt: skip
    return Question(
        words("question.gallery.ask", **said),
        {str(head): words("head.chip", head=head) for head in range(len(spread))},
        str(order[0]),
        words("question.gallery.why", **said),
    )


def ask_compare(board: Board, sides: tuple[Side, Side]) -> Question | None:
    """What the differences of a row add up to."""
    words, (first, second) = board.words, sides
    if len(first.labels) != len(second.labels) or is_cut_apart(first, second):
        return None
    row = min(board.focus, len(first.labels) - 1)
    change = second.pattern[row] - first.pattern[row]
    most = f"{change[np.abs(change).argmax()]:+.3f}".replace("-", "−")
    if abs(float(change.sum())) >= APART or np.abs(change).max() < APART:
        return None
    said = {"token": literal(first.labels[row]), "most": most}
    return Question(
        words("question.compare.ask", **said),
        {name: words(f"question.compare.{name}", **said) for name in ("zero", "one", "most")},
        "zero",
        words("question.compare.why", **said),
    )


def ask_specialisation(board: Board) -> Question | None:
    """Which head's loss costs most over all tasks."""
    words = board.words
    lost = losses_of(again.load_report(words)).sum(axis=0)
    order = np.argsort(-lost, kind="stable")
    asked = sorted(int(place) for place in dict.fromkeys((*order[:3], order[len(order) // 2])))
    if len(asked) < 2 or lost[order[0]] - lost[order[1]] < APART:
        return None
    said = {
        "head": board.short(int(order[0])), "other": board.short(int(order[1])),
        "most": f"{100 * lost[order[0]]:.0f}", "least": f"{100 * lost[order[1]]:.0f}",
    }  # fmt: skip
    return Question(
        words("question.specialisation.ask"),
        {str(place): board.short(place) for place in asked},
        str(order[0]),
        words("question.specialisation.why", **said),
    )


def ask_real(board: Board) -> Question | None:
    """In which layer of another people's model the first induction head can stand."""
    words, last = board.words, compute.n_layers_of(board.scene) - 1
    if last < 2:
        return None
    return Question(
        words("question.induction.ask", last=last),
        {str(layer): words("layer.option", layer=layer) for layer in (0, 1, last)},
        "1",
        words("question.induction.why"),
    )


def ask_training(board: Board) -> Question | None:
    """Which role came first in the shipped run."""
    words, run = board.words, shipped_curves()
    if run is None:
        return None
    half = {name: run.half_way(name) for name in CURVES if name in run.scores[0].heads}
    first, *later = sorted(half, key=lambda name: half[name])
    later = [name for name in later if half[name] > half[first]]
    if not later:
        return None
    said = {
        "role": words(f"role.{first}"), "step": half[first],
        "other": words(f"role.{later[0]}"), "later": half[later[0]],
    }  # fmt: skip
    return Question(
        words("question.training.ask"),
        {name: words(f"role.{name}") for name in half if name == first or name in later},
        first,
        words("question.training.why", **said),
    )


def ask_continue(text: Text) -> Question | None:
    """How half the temperature changes what the first candidate is to the second."""
    words, logits = text.words, text.found.logits
    first, second = (int(token) for token in np.argsort(-logits, kind="stable")[:2])
    warm, cool = (chances(logits, Sampling(temperature=heat)) for heat in (1.0, 0.5))
    if not warm[second]:
        return None
    ratio, squared = (float(found[first] / found[second]) for found in (warm, cool))
    said = {
        "first": literal(text.writer.display(first)),
        "second": literal(text.writer.display(second)),
        "ratio": f"{ratio:.3g}", "squared": f"{squared:.3g}",
    }  # fmt: skip
    factors = {"same": ratio, "double": 2 * ratio, "square": squared}
    options = {name: words("question.times", n=f"{n:.3g}") for name, n in factors.items()}
    if len(set(options.values())) < len(options):
        return None
    return Question(
        words("question.continue.ask", **said),
        options,
        "square",
        words("question.continue.why", **said),
    )
