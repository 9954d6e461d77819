"""The exercises at the end of a page of the walk: drawn, answered, marked by the core."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_view import state
from mha_view.about import About
from mha_view.scene import MOST_EXERCISE_SEED
from mha_view.show import show
from mha_view.walk.typed import read_number
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.exercises.exercise import Choice, Exercise, Matrix, Part
    from mha_view.components.plot import Cell

# Pixels of a field: of a grid with few columns, of one with many.
FIELD, NARROW_FIELD = 72, 52


def draw_exercises(words: Words, page: str) -> None:
    """A chip an exercise; the chosen one is asked, marked and explained.

    Args:
        words: the reader's words.
        page: the page's name.
    """
    # Here, as the makers load torch, which a page must not wait for.
    from mha_core.exercises.catalogue import KINDS, make_exercise

    now, kinds = state.scene(), KINDS[page]
    shown = min(now.exercise, len(kinds))
    with st.container(border=bool(shown), key="exercises"):
        with st.container(horizontal=True, vertical_alignment="center", key="exercise_row"):
            st.markdown(f"##### {words('exercise.heading')}", width="content")
            st.session_state["exercise"] = shown or None
            st.pills(
                words("exercise.choose"),
                range(1, len(kinds) + 1),
                label_visibility="collapsed",
                format_func=lambda n: words(f"exercise.{kinds[n - 1]}.title"),
                key="exercise",
                on_change=lambda: state.change(exercise=st.session_state["exercise"] or 0),
                width="content",
            )
        if not shown:
            return
        st.caption(words("exercise.lead"))
        asked = make_exercise(kinds[shown - 1], now.exercise_seed)
        st.fragment(_draw_one)(words, asked)
        _draw_seed(words, page)


def _draw_seed(words: Words, page: str) -> None:
    """Which of its kind, another one, and the worksheets with this seed."""
    from mha_view.walk.worksheet import ALL_PAGES, write_worksheet

    seed = state.scene().exercise_seed
    with st.container(horizontal=True, vertical_alignment="bottom", key="exercise_seed_row"):
        st.number_input(
            words("exercise.seed"), 0, MOST_EXERCISE_SEED, step=1, width=150,
            help=words("exercise.seed.help"), **state.bind("exercise_seed"),
        )  # fmt: skip
        st.button(
            words("exercise.another"),
            key="another",
            **state.setter(exercise_seed=(seed + 1) % (MOST_EXERCISE_SEED + 1)),
        )
        for name, pages in (("page", (page,)), ("all", ALL_PAGES)):
            st.download_button(
                words(f"worksheet.{name}"),
                partial(write_worksheet, pages, seed, words.lang),
                file_name=f"{'-'.join(pages) if name == 'page' else 'exercises'}-{seed}.html",
                mime="text/html",
                key=f"worksheet_{name}",
                help=words("worksheet.help"),
                on_click="ignore",
                type="tertiary",
            )


def _draw_one(words: Words, asked: Exercise) -> None:
    """One exercise: what is given, a way to answer, what is said to the answer, the hint."""
    from mha_view.walk import exercise_sheet as sheet

    kept = _kept(asked)
    left, right = st.columns([11, 10])
    with left:
        st.html(f'<p class="asked">{sheet.inline(sheet.question(asked, words))}</p>')
        if drawn := sheet.given(asked, words):
            st.html(drawn)
        if asked.answer.kind == "cell":
            _draw_picture(words, asked)
    with right:
        if asked.answer.kind == "cell":
            _draw_pointed(words, asked)
        else:
            _draw_form(words, asked)
        if say := kept.get("said"):
            kind, text = say(words)
            st.html(f'<p class="verdict {kind}" role="status">{sheet.inline(text)}</p>')
        _draw_hint(words, asked)


def _kept(asked: Exercise) -> dict[str, Any]:
    """What is kept of the exercise that is open: the hints taken, what was said, the cell."""
    kept: dict[str, Any] = st.session_state.setdefault("exercise_kept", {})
    name = (asked.kind, asked.seed)
    if kept.get("name") != name:
        kept.clear()
        kept |= {"name": name, "hints": 0}
    return kept


def _draw_hint(words: Words, asked: Exercise) -> None:
    """The next line of the derivation, and once that is there, the answer."""
    from mha_view.walk import exercise_sheet as sheet

    kept = _kept(asked)
    if kept["hints"] >= 1:
        st.html(f'<p class="line">{sheet.inline(sheet.hint(asked, words))}</p>')
    if kept["hints"] >= 2:
        solution = f'<p class="line">{sheet.inline(sheet.say_solution(asked, words))}</p>'
        if asked.answer.kind == "matrix":
            solution += f'<div class="givens">{sheet.tables(_matrix(asked).part, words)}</div>'
        st.html(solution)
        return
    label = words("exercise.solution" if kept["hints"] else "exercise.hint")
    st.button(label, key="exercise_hint", on_click=_take_hint, args=(kept,))


def _take_hint(kept: dict[str, Any]) -> None:
    """One line more."""
    kept["hints"] += 1


def _matrix(asked: Exercise) -> Matrix:
    """The answer of an exercise that asks for a matrix."""
    from mha_core.exercises.exercise import Matrix

    assert isinstance(asked.answer, Matrix)
    return asked.answer


def _choice(asked: Exercise) -> Choice:
    """The answer of an exercise that asks for a choice."""
    from mha_core.exercises.exercise import Choice

    assert isinstance(asked.answer, Choice)
    return asked.answer


def _draw_form(words: Words, asked: Exercise) -> None:
    """Fields for a number, a choice or a matrix, and a button that sends them, as Enter does."""
    from mha_view.walk import exercise_sheet as sheet

    key = f"answer_{asked.kind}_{asked.seed}"
    with st.form(f"form_{asked.kind}", border=False):
        if asked.answer.kind == "choice":
            st.radio(
                words("exercise.options"), _choice(asked).options, index=None, key=key,
                format_func=lambda text: text.replace("[", r"\["), horizontal=True,
            )  # fmt: skip
        elif asked.answer.kind == "matrix":
            _draw_grid(words, _matrix(asked), key)
        else:
            st.text_input(words("exercise.field"), key=key, width=180, max_chars=24)
        st.form_submit_button(
            words("exercise.check"), type="primary", on_click=_mark_form, args=(asked, key)
        )
    if tolerance := sheet.say_tolerance(asked, words):
        st.caption(tolerance)


def _draw_grid(words: Words, matrix: Matrix, key: str) -> None:
    """A field a number, in rows."""
    from mha_view.walk import exercise_sheet as sheet

    part, width = matrix.part, FIELD if matrix.value.shape[1] <= 4 else NARROW_FIELD
    symbol = part.symbol
    title = words("exercise.fill", symbol=symbol) if symbol else words("exercise.fill.table")
    down, across = (sheet.axis(word, words) for word in part.axes)
    axes = f" <span>{down} ↓ &ensp; {across} →</span>" if across else ""
    st.html(f'<p class="fill">{sheet.inline(title)}{axes}</p>')
    columns = [sheet.name(text, words) for text in part.columns]
    rows = [sheet.name(text, words) for text in part.rows]
    with st.container(key="exercise_grid", gap="xxsmall"):
        with st.container(horizontal=True, gap="xxsmall"):
            for text in ("", *columns):
                st.html(f'<span class="mark">{sheet.inline(text) or "&nbsp;"}</span>', width=width)
        for place, row in enumerate(rows):
            with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center"):
                st.html(f'<span class="mark">{sheet.inline(row)}</span>', width=width)
                for column, text in enumerate(columns):
                    st.text_input(
                        words("exercise.cell", symbol=symbol, row=row, column=text),
                        key=f"{key}_{place}_{column}", width=width, max_chars=24,
                        label_visibility="collapsed",
                    )  # fmt: skip


def _mark_form(asked: Exercise, key: str) -> None:
    """Read the fields; what cannot be read is said, anything else is marked."""
    kind = asked.answer.kind
    if kind == "choice":
        _mark(asked, st.session_state[key])
        return
    keys = [key]
    if kind == "matrix":
        high, wide = _matrix(asked).value.shape
        keys = [f"{key}_{row}_{column}" for row in range(high) for column in range(wide)]
    typed = [st.session_state.get(key) or "" for key in keys]
    n_empty = sum(not text.strip() for text in typed)
    if n_empty and kind == "matrix":
        _refuse(asked, "exercise.unfilled", n=n_empty)
        return
    if n_empty:
        _mark(asked, None)
        return
    numbers = [read_number(text) for text in typed]
    if None in numbers:
        _refuse(asked, "exercise.unread", typed=typed[numbers.index(None)])
        return
    if kind == "number":
        _mark(asked, numbers[0])
    else:
        _mark(asked, [numbers[start : start + wide] for start in range(0, len(keys), wide)])


def _mark(asked: Exercise, given: Any) -> None:
    """Let the core mark an answer, and keep what is to be said, in any language."""
    from mha_core.exercises.exercise import mark
    from mha_view.walk import exercise_sheet as sheet

    if given is None:
        _refuse(asked, "exercise.ungiven")
        return
    verdict = mark(asked, given)
    kind = "right" if verdict.is_right else "wrong"
    _kept(asked)["said"] = lambda words: (kind, sheet.say_verdict(asked, verdict, given, words))


def _refuse(asked: Exercise, key: str, **values: object) -> None:
    """Keep what there is to say to something that is no answer."""
    _kept(asked)["said"] = lambda words: ("wrong", words(key, **values))


def _draw_picture(words: Words, asked: Exercise) -> None:
    """The matrix to point at."""
    from mha_view.figures.exercise import pointing

    kept, part = _kept(asked), _pointed_part(asked)

    def point(cell: Cell | None) -> None:
        """Keep the cell that is pointed at."""
        kept["cell"] = None if cell is None else (cell.head, cell.row, cell.column)

    about = About(words("picture.exercise.from"))
    show(pointing(part, words), words, kept.get("cell"), point, about=about)


def _pointed_part(asked: Exercise) -> Part:
    """The matrix that an exercise asks for a cell of."""
    from mha_core.exercises.exercise import Cell

    assert isinstance(asked.answer, Cell)
    return asked.parts[asked.answer.part]


def _draw_pointed(words: Words, asked: Exercise) -> None:
    """The cell that is pointed at, and a button that sends it."""
    from mha_view.walk import exercise_sheet as sheet

    kept = _kept(asked)
    pointed = kept.get("cell")
    st.caption(
        words("exercise.pointed", place=sheet.say_answer(asked, pointed, words))
        if pointed
        else words("exercise.point")
    )
    st.button(
        words("exercise.check"), type="primary", key="exercise_check",
        on_click=lambda: _mark(asked, kept.get("cell")),
    )  # fmt: skip
