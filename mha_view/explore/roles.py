"""The specialisation page's parts: roles with thresholds, the evidence of one, the passport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import streamlit as st

from mha_core.heads.measures import MEASURES
from mha_view import state
from mha_view.explore import evidence
from mha_view.explore.board import Board
from mha_view.explore.evidence import Report
from mha_view.explore.examples import example_html, examples_of
from mha_view.explore.passport import Line, counted_note, draw_lines
from mha_view.scene import Picked, RoleName
from mha_view.table_files import draw_table
from mha_view.words import Words

FIRST_EXAMPLES = 3  # sentences that stand open


def draw_roles(board: Board, report: Report) -> None:
    """Every role with its best head, its score over the baselines, and whether it is labelled."""
    best = [(name, tuple(report["roles"][name]["head"])) for name in roles_of(report)]
    _draw_rows("roles", best, board, report)


def _draw_rows(
    name: str, rows: Sequence[tuple[RoleName, tuple[int, int]]], board: Board, report: Report
) -> None:
    """Roles, each as a head fills it, as a table."""
    words, columns = board.words, ("role", "head", "score", "against", "label")
    top = "".join(f'<th scope="col">{words(f"roles.{name}")}</th>' for name in columns)
    body = "".join(_role_row(report, role, head, words) for role, head in rows)
    markup = (
        f'<table class="passport roles"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
    )
    draw_table(name, markup, table_of(report, rows), words, board.scene)


def table_of(
    report: Report, rows: Sequence[tuple[RoleName, tuple[int, int]]]
) -> dict[str, list[Any]]:
    """How roles are filled, a line each: the head, its score, the baselines, the label."""
    roles = [report["roles"][role] for role, _ in rows]
    masses = [
        found["heads"][layer][head] for found, (_, (layer, head)) in zip(roles, rows, strict=True)
    ]
    baselines = dict.fromkeys(name for found in roles for name in found["baselines"])
    return {
        "role": [role for role, _ in rows],
        "layer": [layer for _, (layer, _) in rows],
        "head": [head for _, (_, head) in rows],
        **{part: [mass[part] for mass in masses] for part in ("mean", "low", "high", "n")},
        **{f"baseline_{name}": [found["baselines"].get(name) for found in roles]
           for name in baselines},
        "labelled": [
            head == tuple(found["head"]) and evidence.is_labelled(report, role)
            for found, (role, head) in zip(roles, rows, strict=True)
        ],
    }  # fmt: skip


def roles_of(report: Report) -> list[RoleName]:
    """The roles that were measured."""
    return [name for name in get_args(RoleName) if name in report["roles"]]


def draw_chips(board: Board, report: Report) -> None:
    """The roles to choose from, those that the chosen head is labelled with first."""
    words = board.words
    own = evidence.labels_of(report).get((board.layer, board.head), [])
    names = sorted(roles_of(report), key=lambda name: name not in own)
    st.pills(
        words("roles.choose"),
        names,
        required=True,
        format_func=lambda name: words(f"role.{name}"),
        **state.bind("role"),
    )
    if own:
        st.caption(words("roles.first", head=board.short(board.place)))


def _role_row(report: Report, name: str, head: tuple[int, int], words: Words) -> str:
    """One role as a table row, as one head fills it; only its best head may be labelled."""
    role = report["roles"][name]
    mass, baselines = role["heads"][head[0]][head[1]], role["baselines"]
    against = max(baselines, key=baselines.get)
    if head != tuple(role["head"]):
        label = f'<span class="unmet">– {words("roles.not_best")}</span>'
    elif evidence.is_labelled(report, name):
        label = f'<b class="met">✓ {words("roles.labelled")}</b>'
    elif evidence.role_tests(report, name):
        label = f'<span class="unmet">✗ {words("roles.below")}</span>'
    else:
        label = f'<span class="unmet">– {words("roles.reported")}</span>'
    ticks = "".join(
        f'<span class="tick" style="left:{value:.1%}"></span>' for value in baselines.values()
    )
    bar = (
        f'<span class="track"><span class="fill" style="width:{mass["mean"]:.1%}"></span>'
        f'<span class="range" style="left:{mass["low"]:.1%};'
        f'width:{max(mass["high"] - mass["low"], 0):.1%}"></span>{ticks}</span>'
    )
    return (
        f'<tr data-role="{name}"><th scope="row">{words(f"role.{name}")}</th>'
        f'<td class="num">{words("board.short", layer=head[0], head=head[1])}</td>'
        f'<td class="barcell">{bar}<span class="num">{mass["mean"]:.2f} '
        f"<small>{mass['low']:.2f}–{mass['high']:.2f}</small></span></td>"
        f'<td>{words(f"baseline.{against}")} <span class="num">{baselines[against]:.2f}</span></td>'
        f"<td>{label}</td></tr>"
    )


def draw_evidence(board: Board, report: Report) -> None:
    """The chosen role: what it means, the score, the sentences, the looks forbidden."""
    from mha_core.heads.repeats import REPEAT_ROLES

    words, name = board.words, board.scene.role
    layer, head = _draw_whose(board, report)
    title = words("board.short", layer=layer, head=head)
    st.markdown(f"##### {words('evidence.title', role=words(f'role.{name}'), head=title)}")
    st.markdown(words(f"role.{name}.means"))
    _draw_rows("role", [(name, (layer, head))], board, report)
    tests = evidence.role_tests(report, name)
    if tests:
        told = words("list.and").join(
            f"{'✓' if met else '✗'} {_test_name(test, words)}" for test, met in tests.items()
        )
        st.caption(words("evidence.tests", tests=told))
    else:
        st.caption(words("evidence.no_tests"))
    left, right = st.columns([11, 10])
    with left:
        _draw_examples(board, name, layer, head)
    with right:
        if name in REPEAT_ROLES:
            _draw_copying(board, report, layer, head)
        else:
            _draw_knockout(board, report, name)
    st.button(
        words("evidence.open", head=title),
        **state.setter(layer=layer, head=head, weights="toy"),
    )


def _draw_whose(board: Board, report: Report) -> tuple[int, int]:
    """Whose evidence it is: the role's best head's, or the chosen head's where that is another."""
    words, role = board.words, report["roles"][board.scene.role]
    best, chosen = tuple(role["head"]), (board.layer, board.head)
    if best == chosen:
        return chosen
    told = {
        own: words(f"evidence.{name}", head=words("board.short", layer=head[0], head=head[1]))
        for own, name, head in ((False, "best", best), (True, "chosen", chosen))
    }
    st.segmented_control(
        words("evidence.whose"), [False, True], required=True, format_func=told.__getitem__,
        **state.bind("own"),
    )  # fmt: skip
    return chosen if board.scene.own else best


def _test_name(test: str, words: Words) -> str:
    """A threshold in words: what it is about, and how much it asks."""
    from mha_core.heads.evaluate import THRESHOLDS

    if test.endswith(" argmax"):
        return words("threshold.argmax", least=THRESHOLDS["pronoun argmax"])
    if test.endswith(" over baselines"):
        return words("threshold.margin", least=THRESHOLDS["margin"])
    return words("threshold.mass", least=THRESHOLDS[test])


def _draw_examples(board: Board, name: str, layer: int, head: int) -> None:
    """The first sentences of the role, as the head reads them; each can be taken along."""
    words = board.words
    st.markdown(f"**{words('evidence.sentences')}**")
    st.caption(words("evidence.sentences.caption"))
    place, rest = st.container(), st.expander(words("evidence.more"))
    for number, example in enumerate(examples_of(name, layer, head)):
        told = words("evidence.weight", weight=f"{example.weight:.2f}")
        picked = Picked("pattern", head, example.query, example.target)
        changes = {"text": example.text, "layer": layer, "head": head, "picked": picked}
        with (rest if number >= FIRST_EXAMPLES else place).container(gap="xxsmall"):
            st.html(example_html(example, told))
            st.button(
                words("evidence.take"),
                key=f"example_{name}_{number}",
                help=words("evidence.take.help"),
                **state.setter(weights="toy", **changes),
            )


def _draw_knockout(board: Board, report: Report, name: str) -> None:
    """Each task of the role with looks forbidden."""
    from mha_core.heads.evaluate import ROLE_MASS
    from mha_core.heads.probe import TASK_RELATION

    words = board.words
    st.markdown(f"**{words('evidence.knockout')}**")
    for task in [task for task, kind in TASK_RELATION.items() if kind == name]:
        cut = report["knockout"][task]
        heads = [words("board.short", layer=layer, head=head) for layer, head in cut["heads"]]
        labels = {
            "intact": words("knockout.intact"),
            "role": words("knockout.role", heads=", ".join(heads) or "–"),
            "others": words("knockout.others"),
            "distractor": words("knockout.distractor"),
        }
        keys = [key for key in labels if key in cut]
        lines = [Line(labels[key], cut[key]["pair"], "share", 0.5) for key in keys]
        told = words("knockout.pair", task=words(f"task.{task}"), n=cut["n"])
        draw_lines(f"knockout_{task}", lines, words, board.scene, caption=told, rows=keys)
    st.caption(words("knockout.caption", least=ROLE_MASS))


def _draw_copying(board: Board, report: Report, layer: int, head: int) -> None:
    """How well random repeats are copied with and without the head."""
    words, found = board.words, report["copying"]
    st.markdown(f"**{words('evidence.copying')}**")
    without = np.array(found["without"])
    others = np.delete(without.ravel(), layer * board.n_heads + head)
    lines = [
        Line(words("copying.intact"), found["nouns"], "share"),
        Line(words("copying.without", head=words("board.short", layer=layer, head=head)),
             float(without[layer, head]), "share"),
        Line(words("copying.other"), float(others.mean()), "share"),
    ]  # fmt: skip
    draw_lines(
        "copying", lines, words, board.scene, caption=words("copying.caption", n=found["n"]),
        rows=["intact", "without", "without_others"],
    )  # fmt: skip


def draw_passport(board: Board, report: Report) -> None:
    """The chosen head's measures over the grammar's sentences, with intervals and chance."""
    words = board.words
    found: dict[str, Any] = report["heads"][f"{board.layer}.{board.head}"]
    lines = []
    every = max(entry["n"] for entry in found.values())
    for name, entry in found.items():
        measure = MEASURES[name]
        most = 1.0 if measure.unit == "share" else max(entry["high"], entry["chance"]) * 1.1
        note = counted_note(measure, words)
        if entry["n"] < every:
            note = words("counted.sentences", rows=note, n=entry["n"])
        lines.append(
            Line(
                words(f"measure.{name}"), entry["mean"], measure.unit, entry["chance"],
                entry["low"], entry["high"], note, words(f"measure.{name}.means"), most,
            )
        )  # fmt: skip
    labels = evidence.labels_of(report).get((board.layer, board.head), [])
    told = ", ".join(words(f"role.{name}") for name in labels)
    with st.expander(words("gallery.passport.many", title=board.short(board.place))):
        st.markdown(words("passport.roles", roles=told) if told else words("passport.no_role"))
        draw_lines(
            "passport", lines, words, board.scene, caption=words("passport.caption", n=every),
            rows=list(found),
        )  # fmt: skip
