"""A worksheet: one HTML file to print or to open, the answers on a page of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from mha_core.exercises.catalogue import KINDS, make_exercise
from mha_core.exercises.exercise import Cell, Choice, Exercise, Matrix
from mha_view.walk import exercise_sheet as sheet
from mha_view.words import Words

ALL_PAGES = tuple(KINDS)
STYLE = """
@page { size: A4; margin: 16mm 15mm; }
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 48rem; padding: 0 1rem; color: #14181c; background: #fff;
  font: 15px/1.5 "Source Sans", "Source Sans 3", "Noto Sans", "Noto Sans SC", "PingFang SC",
  "Microsoft YaHei", system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 0.4rem; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 2rem;
  border-bottom: 2px solid #14181c; padding-bottom: 0.4rem; }
header .name { flex: 0 1 16rem; border-bottom: 1px solid #666; color: #555; }
.counted { color: #555; font-size: 0.87rem; }
ol { padding-left: 1.4rem; } li { margin: 0 0 1.3rem; break-inside: avoid; }
li p { margin: 0.2rem 0; }
.title { font-weight: 700; }
.givens { display: flex; flex-wrap: wrap; gap: 0.4rem 2rem; align-items: flex-end; }
table { border-collapse: collapse; margin: 0.4rem 0; break-inside: avoid;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 700; }
th, td { padding: 0.12rem 0.5rem; text-align: right; font-weight: 400; }
thead td, th { color: #555; font-size: 0.8rem; }
tbody td { border: 1px solid #999; min-width: 2.6rem; height: 1.7rem; }
.line { display: inline-block; width: 12rem; border-bottom: 1px solid #666; height: 1.6rem; }
.options { display: flex; flex-wrap: wrap; gap: 0.2rem 1.6rem; padding: 0; list-style: none; }
.options li { margin: 0; } .options li::before { content: "◯ "; }
.answers { break-before: page; padding-top: 1.5rem; }
.answers li { margin-bottom: 0.7rem; }
code { font-family: "Source Code Pro", ui-monospace, monospace; font-size: 0.9em; }
button { font: inherit; padding: 0.2rem 0.9rem; }
@media print { body { margin: 0; max-width: none; padding: 0; } button { display: none; } }
"""


def write_worksheet(pages: Sequence[str], seed: int, lang: str) -> str:
    """The exercises of some pages with one seed, and their answers, as one file.

    Args:
        pages: the pages' names.
        seed: the same for a class.
        lang: the language of every word in it.

    Returns:
        HTML that loads nothing.
    """
    words = Words(lang)
    asked, answered = [], []
    for page in pages:
        made = [make_exercise(kind, seed) for kind in KINDS[page]]
        heading = f"<h2>{escape(words(f'nav.{page}'))}</h2>"
        asked.append(heading + _list(_ask(exercise, words) for exercise in made))
        answered.append(heading + _list(_answer(exercise, words) for exercise in made))
    title = f"{words('worksheet.title')} · {words('worksheet.seed', seed=seed)}"
    return (
        f'<!doctype html><html lang="{"zh-CN" if lang == "zh" else "en"}"><head>'
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f'<header><h1>{escape(title)}</h1><span class="name">{escape(words("worksheet.name"))}'
        f'</span><button onclick="print()">{escape(words("worksheet.print"))}</button></header>'
        f'<p class="counted">{escape(words("worksheet.counted"))}</p>'
        f"<main>{''.join(asked)}</main>"
        f'<section class="answers"><header><h1>{escape(words("worksheet.answers"))}</h1>'
        f"<span>{escape(title)}</span></header>{''.join(answered)}</section></body></html>"
    )


def _list(items: Iterable[str]) -> str:
    """Numbered items."""
    return f"<ol>{''.join(f'<li>{item}</li>' for item in items)}</ol>"


def _ask(exercise: Exercise, words: Words) -> str:
    """One exercise with room for its answer."""
    answer = exercise.answer
    if isinstance(answer, Choice):
        options = "".join(f"<li>{sheet.inline(option)}</li>" for option in answer.options)
        room = f'<ul class="options">{options}</ul>'
    elif isinstance(answer, Matrix):
        room = f'<div class="givens">{sheet.tables(answer.part, words, empty=True)}</div>'
    elif isinstance(answer, Cell):
        part = sheet.tables(exercise.parts[answer.part], words)
        room = f'<div class="givens">{part}</div><p>{escape(words("worksheet.circle"))}</p>'
    else:
        room = '<span class="line"></span>'
    title = escape(words(f"exercise.{exercise.kind}.title"))
    return (
        f'<p class="title">{title}</p><p>{sheet.inline(sheet.question(exercise, words))}</p>'
        f"{sheet.given(exercise, words)}{room}"
    )


def _answer(exercise: Exercise, words: Words) -> str:
    """One exercise's answer, and the line of the derivation that leads to it."""
    answer = exercise.answer
    drawn = f"<p>{sheet.inline(sheet.say_solution(exercise, words))}</p>"
    if isinstance(answer, Matrix):
        drawn += f'<div class="givens">{sheet.tables(answer.part, words)}</div>'
    return f'{drawn}<p class="counted">{sheet.inline(sheet.hint(exercise, words))}</p>'
