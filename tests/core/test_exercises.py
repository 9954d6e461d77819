"""Exercises: one right answer, worked out again from what is given alone; and every near miss."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from mha_core.errors import ConfigError
from mha_core.exercises import catalogue
from mha_core.exercises.catalogue import ALL_KINDS, KINDS, MAKERS, make_exercise
from mha_core.exercises.exercise import Cell, Choice, Exercise, Matrix, Number, is_sound, mark

SEEDS = 200
Parts = Mapping[str, Any]
Solver = Callable[[Parts, Mapping[str, Any]], Any]


def sizes(*lengths: int) -> str:
    return "[" + ", ".join(str(length) for length in lengths) + "]"


def fewest(word: str, pieces: tuple[str, ...]) -> int:
    best = [0]
    for end in range(1, len(word) + 1):
        best.append(1 + min(best[s] for s in range(end) if word[s:end] in pieces))
    return best[-1]


def quarter_turns(column: np.ndarray, times: int) -> np.ndarray:
    """One pair, turned anticlockwise, as complex numbers have it."""
    number = complex(column[0, 0], column[1, 0]) * 1j**times
    return np.array([number.real, number.imag])


def turn_by_halves(column: np.ndarray, position: int) -> np.ndarray:
    a, b, c, d = column[:, 0]
    one, two = complex(a, c) * 1j**position, complex(b, d) * (-1) ** position
    return np.array([[one.real], [two.real], [one.imag], [two.imag]])


def shape_of(step: str, d: int, h: int, n: int) -> tuple[int, int]:
    whole, part = (d, n), (d // h, n)
    return {"Q": whole, "Q_k": part, "A_k": (n, n), "head_k": part, "Concat": whole}[step]


def weights_of_row(exponentials: np.ndarray, query: int) -> np.ndarray:
    row = np.array([value if key <= query else 0 for key, value in enumerate(exponentials[query])])
    return row[None] / row.sum()


def argmax(values: np.ndarray) -> int:
    return sorted(range(len(values)), key=lambda place: values[place])[-1]


def means(text: str) -> np.ndarray:
    numbers = [
        float(n) for n in text.replace("−", "-").replace("(", "").replace(")", "").split(",")
    ]
    return np.array(numbers).reshape(2, 2).mean(0)


def odd_one_out(options: tuple[str, ...], blend: str) -> str:
    wanted = np.array([float(n) for n in blend.replace("−", "-").strip("()").split(",")])
    odd = [text for text in options if np.abs(means(text) - wanted).max() > 1e-9]
    return odd[0] if len(odd) == 1 else "not one alone"


# Plain NumPy, from the parts and the values alone: p holds the parts by symbol, v the values.
SOLVERS: dict[str, Solver] = {
    "overview.numbers": lambda p, v: v["h"] * v["n"] ** 2,
    "overview.shape": lambda p, v: sizes(*shape_of(v["step"], v["d"], v["h"], v["n"])),
    "overview.table": lambda p, v: [
        shape_of(step, v["d"], v["h"], v["n"]) for step in ("Q", "Q_k", "A_k", "head_k", "Concat")
    ],
    "overview.most": lambda p, v: (0, v["query"], argmax(p["A_k"][v["query"]])),
    "tokens.count": lambda p, v: 1 + fewest(v["word"], p["columns of id"]),
    "tokens.embed": lambda p, v: np.stack([p["E"][int(n)] for n in v["ids"].split(",")], axis=1),
    "tokens.point": lambda p, v: (0, v["feature"], v["token"]),
    "projection.cell": lambda p, v: (p["W_q"] @ p["X"])[v["feature"], v["token"]],
    "projection.matrix": lambda p, v: p["W_k"] @ p["X"],
    "projection.point": lambda p, v: (0, v["feature"], v["met"]),
    "projection.count": lambda p, v: (v["h"] + 2 * v["h_kv"]) * v["d_head"] * v["d"],
    "heads.place": lambda p, v: v["head"] * v["d_head"] + v["feature"],
    "heads.band": lambda p, v: p["Q"][len(p["Q"]) // v["h"] * v["head"] :][: len(p["Q"]) // v["h"]],
    "heads.point": lambda p, v: (0, v["head"] * v["d_head"] + v["feature"], v["token"]),
    "heads.shared": lambda p, v: v["head"] // (v["h"] // v["h_kv"]),
    "rope.partner": lambda p, v: (v["feature"] + v["d_head"] // 2) % v["d_head"],
    "rope.turn": lambda p, v: turn_by_halves(p["q"], v["position"]),
    "rope.score": lambda p, v: quarter_turns(p["q"], v["query"]) @ quarter_turns(p["k"], v["key"]),
    "rope.same": lambda p, v: (0, v["row"], v["row"] - (v["query"] - v["key"])),
    "attention.score": lambda p, v: (p["q"] * p["k"]).sum() / v["d_head"] ** 0.5,
    "attention.row": lambda p, v: weights_of_row(p["e^score"], v["query"]),
    "attention.mask": lambda p, v: [
        [float(v["query"] - v["window"] < key <= v["query"]) for key in range(v["n"])]
    ],
    "attention.head": lambda p, v: (p["V"] * p["A"][v["query"]]).sum(1)[:, None],
    "attention.point": lambda p, v: (0, v["query"], v["key"]),
    "concat.row": lambda p, v: v["row"] // v["d_value"],
    "concat.stack": lambda p, v: np.vstack([p["head_0"], p["head_1"]])[:, [v["token"]]],
    "concat.shape": lambda p, v: sizes(v["h"] * v["d_value"], v["n"]),
    "concat.point": lambda p, v: (0, v["head"] * v["d_value"] + v["feature"], v["token"]),
    "output.cell": lambda p, v: (p["W_o"] @ p["Concat"])[v["feature"], v["token"]],
    "output.part": lambda p, v: (
        p["W_o"][:, v["head"] * 2 : v["head"] * 2 + 2] @ p["Concat"][v["head"] * 2 :][:2]
    ),
    "output.residual": lambda p, v: (p["X_in"] + p["O"])[v["feature"], v["token"]],
    "output.share": lambda p, v: (
        (p["c_0"] * (p["c_0"] + p["c_1"])).sum() / ((p["c_0"] + p["c_1"]) ** 2).sum()
    ),
    "why_heads.parameters": lambda p, v: 2 * v["d"] * v["d_head"] * (v["h"] + v["h_kv"]),
    "why_heads.products": lambda p, v: v["n"] ** 2 * v["d"],
    "why_heads.lost": lambda p, v: odd_one_out(p["options"], v["blend"]),
    "why_heads.point": lambda p, v: (
        argmax(p["A"][:, v["query"], v["key"]]), v["query"], v["key"],
    ),
}  # fmt: skip


def shown(exercise: Exercise) -> Parts:
    """What a page shows of an exercise beside the values that its question names."""
    parts: dict[str, Any] = {part.symbol: part.value for part in exercise.parts}
    parts |= {f"columns of {part.symbol}": part.columns for part in exercise.parts}
    if isinstance(exercise.answer, Choice):
        parts["options"] = exercise.answer.options
    return parts


def possible(exercise: Exercise) -> list[Any]:
    """Every answer that can be given, where they can be counted."""
    answer = exercise.answer
    if isinstance(answer, Choice):
        return list(answer.options)
    assert isinstance(answer, Cell)
    shape = exercise.parts[answer.part].value.shape
    return list(product(*map(range, shape if len(shape) == 3 else (1, *shape))))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_an_exercise_has_one_right_answer_which_what_is_given_suffices_for(kind: str) -> None:
    answers = set()
    for seed in range(SEEDS):
        exercise = make_exercise(kind, seed)
        answer = exercise.answer
        solved = SOLVERS[kind](shown(exercise), exercise.values)
        assert mark(exercise, solved).is_right, (kind, seed, solved, answer.value)
        if isinstance(answer, Choice | Cell):
            given = possible(exercise)
            assert len(set(given)) == len(given)
            assert sum(mark(exercise, one).is_right for one in given) == 1, (kind, seed)
        elif isinstance(answer, Number):
            off = 2 * answer.tolerance
            assert not any(mark(exercise, solved + by).is_right for by in (off, -off, 0.5, -1))
        else:
            for at in np.ndindex(answer.value.shape):
                moved = np.array(solved, dtype=np.float64)
                moved[at] += 2 * answer.tolerance
                verdict = mark(exercise, moved)
                assert not verdict.is_right
                assert verdict.n_right == answer.value.size - 1
        answers.add(repr(answer.value))
    assert len(answers) >= 4, "a seed must make a difference"


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_near_miss_is_told_from_the_answer_and_from_the_others(kind: str) -> None:
    met: dict[str, int] = {}
    for seed in range(SEEDS):
        exercise = make_exercise(kind, seed)
        assert len(exercise.misses) >= 2
        for miss in exercise.misses:
            verdict = mark(exercise, miss.value)
            assert (verdict.is_right, verdict.miss) == (False, miss.name), (kind, seed)
            met[miss.name] = met.get(miss.name, 0) + 1
    assert min(met.values()) >= SEEDS // 20, met


def test_the_same_seed_gives_the_same_exercise_and_what_is_given_cannot_be_changed() -> None:
    for kind in ALL_KINDS:
        page, name = kind.split(".")
        one = make_exercise(kind, 7)
        make_exercise.cache_clear()
        other = make_exercise(kind, 7)
        assert one is not other
        assert (one.kind, one.page, one.seed) == (kind, page, 7)
        assert name in MAKERS[page]
        assert all((a.value == b.value).all() for a, b in zip(one.parts, other.parts, strict=True))
        assert (dict(one.values), dict(one.hint)) == (dict(other.values), dict(other.hint))
        assert not any(part.value.flags.writeable for part in one.parts)


def test_every_page_has_three_to_five_and_there_is_every_way_to_answer() -> None:
    assert [len(kinds) for kinds in KINDS.values() if not 3 <= len(kinds) <= 5] == []
    ways = {make_exercise(kind, 0).answer.kind for kind in ALL_KINDS}
    assert ways == {"number", "choice", "cell", "matrix"}


def test_numbers_are_hand_sized() -> None:
    for kind, seed in product(ALL_KINDS, range(20)):
        exercise = make_exercise(kind, seed)
        for part in exercise.parts:
            assert part.value.size <= 27
            assert np.abs(part.value).max() < 100
            assert np.allclose(part.value * 20, np.round(part.value * 20), atol=1e-9)
        if isinstance(exercise.answer, Matrix):
            assert exercise.answer.value.size <= 10
        if isinstance(exercise.answer, Number) and exercise.answer.tolerance < 1e-3:
            assert exercise.answer.value * 2 == round(exercise.answer.value * 2)


def test_a_matrix_says_how_much_of_it_is_right_and_a_wrong_shape_is_wrong() -> None:
    exercise = make_exercise("projection.matrix", 3)
    given = np.array(exercise.answer.value)
    given[0, 0] += 100
    assert mark(exercise, given) == replace(mark(exercise, given), n_right=3, n_asked=4, miss=None)
    assert isinstance(exercise.answer, Matrix)
    assert not exercise.answer.meets(given[:1], exercise.answer.value)


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"kind = 'rope.none' is not known"):
        make_exercise("rope.none", 0)
    with pytest.raises(ConfigError, match="seed = -1 is out of range"):
        make_exercise("rope.turn", -1)


# Mistakes in what makes an exercise: page, kind, the source text, and what stands in its place.
MUTANTS = (
    ("overview", "numbers", "Number(h * n * n)", "Number(n * n + h)"),
    ("overview", "shape", "width = d_head if is_part else d", "width = d_head"),
    ("overview", "most", "pattern[query].argmax()", "pattern[:, query].argmax()"),
    ("tokens", "count", "Number(len(made) + 1)", "Number(len(longest_first(word, pieces)) + 2)"),
    ("tokens", "embed", "entries[ids].T.copy()", "entries[ids[::-1]].T.copy()"),
    ("projection", "cell", "columns = tensor(x).T", "columns = tensor(x)"),
    ("projection", "matrix", "(w_q, w_k, w_k, w_k)", "(w_q, w_k.T, w_k, w_k)"),
    ("heads", "band", "heads[head], (", "heads[1 - head], ("),
    ("heads", "shared", "Number(head // config.group)", "Number(head // (config.group + 1))"),
    ("rope", "partner", "order[feature] ^ 1", "(order[feature] + 1) % d_head"),
    ("rope", "turn", "Rope(frequencies=QUARTER_AND_HALF)", "Rope(frequencies=(pi, pi / 2))"),
    ("rope", "score", "turned(q, m), turned(k, n)", "turned(q, m), turned(k, m)"),
    ("rope", "same", "row - query + key))", "row + query - key))"),
    ("attention", "score", "q, k, k, None, None)", "q, k, k, None, 0.25)"),
    ("attention", "row", "scale=scale)", "scale=2 * (scale or 1))"),
    ("attention", "mask", "right = seen(window)", "right = seen(window) * 1.0; right[0, 0] = 1"),
    ("attention", "head", "[query]\n    wrong", "[query - 1]\n    wrong"),
    ("concat", "stack", "tensor(by_token)", "tensor(by_token[::-1].copy())"),
    ("concat", "row", "Number(place // d_value)", "Number(round(place / d_value))"),
    ("output", "cell", "tensor(concat.T), tensor(w_o))", "tensor(concat.T), tensor(w_o.T))"),
    ("output", "part", "// 2 == head", "// 2 != head"),
    ("output", "share", "float(first @ out) / norm, TWO", "float(second @ out) / norm, TWO"),
    ("why_heads", "parameters", '("w_q", "w_k", "w_v", "w_o")', '("w_q", "w_k", "w_o", "w_o")'),
    ("why_heads", "lost", "np.array([1.0, -1.0]) * pick(rng, 1, 2)", "0"),
    ("why_heads", "point", "key].argmax())\n    back", "key].argmin())\n    back"),
)  # fmt: skip


@pytest.mark.parametrize(("page", "name", "right", "wrong"), MUTANTS, ids=lambda text: text[:24])
def test_a_mistake_in_the_making_is_noticed(page: str, name: str, right: str, wrong: str) -> None:
    source = inspect.getsource(import_module(f"mha_core.exercises.{page}"))
    assert right in source, "update the mutant with the code"
    made: dict[str, Any] = {"__name__": page}
    exec(source.replace(right, wrong), made)
    makers = MAKERS[page] | made["MAKERS"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MAKERS, page, makers)
        patch.setattr(catalogue, "is_sound", lambda exercise: True)
        noticed = 0
        for seed in range(40):
            exercise = make_exercise.__wrapped__(f"{page}.{name}", seed)
            solved = SOLVERS[exercise.kind](shown(exercise), exercise.values)
            noticed += not mark(exercise, solved).is_right
    assert noticed


def test_without_the_check_of_what_is_drawn_near_misses_would_be_right() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "is_sound", lambda exercise: True)
        drawn = [make_exercise.__wrapped__(kind, seed) for kind in ALL_KINDS for seed in range(20)]
    unsound = {exercise.kind for exercise in drawn if not is_sound(exercise)}
    assert len(unsound) > len(ALL_KINDS) // 3
