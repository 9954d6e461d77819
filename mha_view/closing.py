"""What closes a page: a question marked by the core, more to read, and the page as a file."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from mha_view import state
from mha_view.about import About
from mha_view.export import save_page
from mha_view.link import settings_of
from mha_view.scene import Scene
from mha_view.words import Words


@dataclass(frozen=True)
class Question:
    """A question about what is on the page.

    Attributes:
        ask: the question.
        options: what can be answered, id to text.
        answer: the right id, computed.
        why: what is said to any answer.
    """

    ask: str
    options: Mapping[str, str]
    answer: str
    why: str


def draw_question(name: str, question: Question, words: Words) -> None:
    """The question, and after an answer, whether it is right and why.

    Args:
        name: the page's.
        question: what is asked.
        words: the reader's words.
    """
    st.markdown(f"##### {words('card.ask')}")
    options = distinct(question.options, question.answer)
    given = st.radio(
        question.ask,
        list(options),
        index=None,
        format_func=options.__getitem__,
        key=f"answer_{name}",
    )
    right = options[question.answer]
    if given is None and state.scene().present:
        with st.container(key=f"revealed_{name}"):
            st.success(right + "\n\n" + question.why)
        return
    # Not shown here: a page that is saved has no one to mark an answer.
    with st.container(key="kept_answer"):
        st.markdown(words("saved.answered", answer=right))
        st.markdown(question.why)
    if given is None:
        return
    if given == question.answer:
        st.success(words("ask.right") + "\n\n" + question.why)
    else:
        told = words("ask.wrong", answer=right)
        st.warning(told + "\n\n" + question.why)


def draw_foot(
    name: str, words: Words, scene: Scene, about: About, *, title: str, more: str
) -> None:
    """More to read, and beside it the button that saves the page.

    Args:
        name: the page's.
        words: the reader's words.
        scene: what the reader chose.
        about: what the page is about, said in the file.
        title: the page's title.
        more: Markdown.
    """
    told = "".join(f"<p>{html.escape(line)}</p>" for line in (about.subject, about.facts) if line)
    st.html(f'<div class="printed">{told}</div>')
    with st.container(horizontal=True, key="foot"):
        with st.expander(words("card.more")):
            st.markdown(more)
        save_page(
            name=name,
            title=title,
            settings=settings_of(scene),
            about=about,
            words=words.group("plot"),
            key="save_page",
        )


def distinct(options: Mapping[str, str], answer: str) -> dict[str, str]:
    """The answers without those that read like another, so that one is right and no other says
    the same.

    >>> distinct({"words": "S = 3", "characters": "S = 9", "tokens": "S = 3"}, "tokens")
    {'characters': 'S = 9', 'tokens': 'S = 3'}
    """
    names = {options[name]: name for name in [*reversed(list(options)), answer]}
    return {name: text for name, text in options.items() if names[text] == name}
