"""The circuits page: the task, the graph and what it says, every path, what the weights say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import streamlit as st

from mha_core.errors import ConfigError
from mha_core.model.edits import ATTENTION_PARTS, EMBEDDING, Path, every_path
from mha_view import compute, live, real, state
from mha_view.about import About
from mha_view.explore import circuit as found_by
from mha_view.explore.bench import place_of
from mha_view.explore.board import Board
from mha_view.explore.passport import plain_table
from mha_view.figures.circuit import (
    against_weights,
    circuit_graph,
    counted,
    name_part,
    name_sender,
)
from mha_view.page import open_page_as
from mha_view.panel import literal, number, plain
from mha_view.scene import CircuitPart, Instead
from mha_view.show import show
from mha_view.table_files import draw_save

if TYPE_CHECKING:
    from mha_core.heads.circuits import Circuit

SILENT = 0.05  # an effect smaller than this is none


def open_circuits() -> Board:
    """Open the page about a trained model: the session's own, else the shipped one."""
    now = compute.resolve(state.scene())
    weights = "live" if now.weights == "live" else "toy"
    read = now.with_(weights=weights, mask="causal", rope=True, shift=0)
    board = open_page_as(Board, "circuits", read)
    card = real.card_of(now)
    if card is not None:
        n_layers, n_heads = real.sizes_stated(now) or (1, 1)
        runs = f"{count_paths(n_layers, n_heads):,}"
        st.info(board.words("circuits.real", model=literal(card.name), runs=runs))
    elif now.weights != weights:
        st.info(board.words("board.toy_only"))
    elif now != read:
        st.caption(board.words("circuits.as_trained"))
    return board


def count_paths(n_layers: int, n_heads: int) -> int:
    """How many paths there are between the parts of a model, the embedding among the senders.

    >>> count_paths(2, 2)
    25
    """
    own = sum(len(every_path((layer, 0), n_layers)) for layer in range(n_layers))
    return n_heads * own + len(every_path(EMBEDDING, n_layers))


def draw_parts(board: Board) -> CircuitPart:
    """Choose a part of the page."""
    words = board.words
    st.segmented_control(
        words("circuits.show"), get_args(CircuitPart), required=True,
        label_visibility="collapsed", format_func=lambda part: words(f"circuits.show.{part}"),
        **state.bind("circuit_part"),
    )  # fmt: skip
    return board.scene.circuit_part


def draw_task(board: Board) -> Circuit:
    """The task, what stands in for a cut path, the reader's own pair; returns the circuit."""
    words, scene = board.words, found_by.as_asked(board.scene)
    with st.container(horizontal=True, vertical_alignment="bottom", key="circuit_row"):
        st.selectbox(
            words("circuits.task"), found_by.tasks_of(scene), width=420,
            format_func=lambda task: found_by.name_task(scene.with_(circuit=task), words),
            **state.bind("circuit", shown=scene.circuit),
        )  # fmt: skip
        st.segmented_control(
            words("circuits.instead"), get_args(Instead), required=True,
            format_func=lambda name: words(f"circuits.instead.{name}"), **state.bind("instead"),
        )  # fmt: skip
    asked = _ask(board) if scene.circuit == "own" else None
    return found_by.circuit_of(words, scene, asked)


def copying_circuit(board: Board) -> Circuit:
    """The circuit of repeated words, which the story is about."""
    scene = board.scene.with_(circuit="copying", instead="corrupted")
    return found_by.circuit_of(board.words, scene, None)


def _ask(board: Board) -> found_by.Asked:
    """The second sentence and the place; the page ends with a message where they cannot be."""
    words, scene = board.words, board.scene
    twin = scene.twin or found_by.suggest_twin(scene)
    st.session_state["circuit_twin"] = twin
    st.text_input(
        words("circuits.twin"), key="circuit_twin", max_chars=400, help=words("circuits.twin.help"),
        on_change=lambda: state.change(twin=st.session_state["circuit_twin"]),
    )  # fmt: skip
    place, labels = place_of(board), board.reading.labels
    st.session_state["circuit_after"] = place
    st.select_slider(
        words("bench.where"), list(range(len(labels))), key="circuit_after",
        format_func=[f"{n} · {label}" for n, label in enumerate(labels)].__getitem__,
        on_change=lambda: state.change(after=st.session_state["circuit_after"]),
    )  # fmt: skip
    try:
        asked = found_by.ask_pair(scene, twin, place)
    except ConfigError as error:
        st.warning(words.error(error))
        st.stop()
    st.caption(words("circuits.asked", after=literal(asked.after), right=literal(asked.right),
                     wrong=literal(asked.wrong)))  # fmt: skip
    return asked


def draw_graph(board: Board, circuit: Circuit) -> None:
    """The graph, and in words what it says."""
    words = board.words
    n_layers = compute.n_layers_of(board.scene)
    picture = circuit_graph(circuit, n_layers, board.n_heads, words)
    show(picture, words, about=_about(board))
    st.caption(
        words("circuits.caption", n=circuit.n, margin=number(circuit.margin, 1),
              twin=number(circuit.twin, 1), probability=f"{circuit.probability:.0%}")
    )  # fmt: skip
    for line in tell(board, circuit):
        st.markdown(line)


def _about(board: Board) -> About | None:
    """What the circuit was measured on; None for the reader's own sentence."""
    words, scene = board.words, found_by.as_asked(board.scene)
    if scene.circuit == "own":
        return None
    measured = "weights.live" if live.find(scene) is not None else "picture.measured"
    return About(words(measured), found_by.name_task(scene, words))


def tell(board: Board, circuit: Circuit) -> list[str]:
    """What feeds each part that matters, with its second routes, and the control."""
    words, lines = board.words, []
    read = {(path.layer, path.part) for path in circuit.edges if path.part in ATTENTION_PARTS}
    for layer, part in sorted(read, key=lambda one: (one[0], "kqv".index(one[1]))):
        sender, effect = counted(circuit.paths, layer, part)[0]
        if sender == EMBEDDING:
            lines.append(words(f"circuits.token.{part}", layer=layer, effect=f"{effect:.2f}"))
            continue
        path = Path(sender, layer, part)
        whole = circuit.heads[sender].mean
        lines.append(
            words(f"circuits.feeds.{part}", layer=layer, head=name_sender(sender, words),
                  effect=f"{effect:.2f}", whole=f"{whole:.2f}", share=f"{effect / whole:.0%}")
        )  # fmt: skip
        for other, share in circuit.routes(sender):
            if other != path and share >= 0.15:
                lines.append(
                    words("circuits.second", head=name_sender(sender, words),
                          receiver=name_part(other, words), share=f"{share:.0%}")
                )  # fmt: skip
    if not lines:
        lines.append(words("circuits.direct_only" if circuit.edges else "circuits.nothing"))
    control = [e.mean for path, e in circuit.others.items() if path.part in ATTENTION_PARTS]
    if control:
        lines.append(words("circuits.control", most=f"{max(control):.2f}"))
    return [f"- {line}" for line in lines]


def draw_every(board: Board, circuit: Circuit) -> None:
    """Every path's effect: a row a sender, a column a receiver, the whole head last."""
    words = board.words
    columns = list(dict.fromkeys((path.layer, path.part) for path in circuit.paths))
    columns.sort(key=lambda one: (one[0], "qkv mlp out".index(one[1])))
    rows = []
    for sender, whole in circuit.heads.items():
        cells = [circuit.paths.get(Path(sender, layer, part)) for layer, part in columns]
        told = ["–" if cell is None else _share(cell.mean) for cell in cells]
        rows.append([name_sender(sender, words), *told, _share(whole.mean)])
    table: dict[str, list[Any]] = {
        "sender": [name_sender(sender, words) for sender in circuit.heads],
    }
    for layer, part in columns:
        found = [circuit.paths.get(Path(sender, layer, part)) for sender in circuit.heads]
        table["out" if part == "out" else f"{part}_{layer}"] = [
            None if effect is None else effect.mean for effect in found
        ]
    table["whole"] = [whole.mean for whole in circuit.heads.values()]
    names = [words("circuits.sender"),
             *(name_part(Path(EMBEDDING, layer, part), words) for layer, part in columns),
             words("circuits.whole")]  # fmt: skip
    with st.container(key="circuit_table"):
        st.html(f'<div class="wide" tabindex="0">{plain_table(names, rows)}</div>')
        draw_save("circuit_paths", table, words, board.scene)
    st.caption(words("circuits.table.caption"))


def _share(effect: float) -> str:
    """An effect with two decimals; what rounds to nothing has no sign."""
    return plain(round(effect, 2) + 0.0, 2)


def draw_weights(board: Board, circuit: Circuit) -> None:
    """The composition scores beside the effects, and where they disagree."""
    words, composition = board.words, found_by.composition_of(board.scene)
    points, limits = [], []
    for path, effect in circuit.paths.items():
        if path.sender == EMBEDDING or path.part not in ATTENTION_PARTS:
            continue
        scores = composition.scores[path.part][*path.sender, path.layer]
        times = float(np.mean(scores)) / composition.baseline[path.part]
        limits.append(composition.limit[path.part] / composition.baseline[path.part])
        points.append((path, times, effect))
    limit = max(limits, default=1.0)
    strong = [point for point in points if point[1] > limit]
    quiet = sorted((p for p in strong if p[2].mean < SILENT), key=lambda p: -p[1])
    loud = sorted((p for p in points if p[2].mean >= 0.1), key=lambda p: -p[2].mean)
    hidden = [point for point in loud if point[1] <= limit]
    picture = against_weights(points, words, chance=limit,
                         alt=words("alt.against_weights", n=len(points), strong=len(strong),
                                   quiet=len(quiet)))  # fmt: skip
    show(picture, words, about=_about(board))
    lines = [words("circuits.weights.chance", limit=f"{limit:.2f}")]
    if loud:
        path, times, effect = loud[0]
        lines.append(words("circuits.weights.loud", sender=name_sender(path.sender, words),
                           receiver=name_part(path, words), times=f"{times:.2f}",
                           effect=f"{effect.mean:.2f}"))  # fmt: skip
    if quiet:
        path, times, effect = quiet[0]
        lines.append(words("circuits.weights.quiet", n=len(quiet), strong=len(strong),
                           sender=name_sender(path.sender, words),
                           receiver=name_part(path, words), times=f"{times:.2f}",
                           effect=f"{max(effect.mean, 0.0):.2f}"))  # fmt: skip
    if hidden:
        path, times, effect = hidden[0]
        lines.append(words("circuits.weights.hidden", sender=name_sender(path.sender, words),
                           receiver=name_part(path, words), times=f"{times:.2f}",
                           effect=f"{effect.mean:.2f}"))  # fmt: skip
    st.markdown("\n".join(f"- {line}" for line in lines))
    st.caption(words("circuits.weights.caption"))
