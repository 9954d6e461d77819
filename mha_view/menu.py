"""The menu: which pages there are, in which order, and their order in the walk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from mha_view.home import HOME

if TYPE_CHECKING:
    from mha_view.words import Words

PAGES = HOME / "pages"
SECTIONS: dict[str, tuple[str, ...]] = {
    "learn": (
        "overview",
        "tokens",
        "projection",
        "heads",
        "rope",
        "attention",
        "concat",
        "output",
        "why_heads",
        "class",
    ),
    "explore": (
        "gallery",
        "compare",
        "specialisation",
        "circuits",
        "hypothesis",
        "continue",
        "training",
    ),
    "relate": ("sizes", "grouped", "vit"),
}
ORDER = tuple(name for names in SECTIONS.values() for name in names)


def page_file(name: str) -> Path:
    """The file of a page, by name."""
    section = next(section for section, names in SECTIONS.items() if name in names)
    return PAGES / section / f"{name}.py"


def list_pages(words: Words) -> dict[str, st.Page]:
    """All pages by name, titled in the reader's language; `url_path` is the page's name."""
    return {
        name: st.Page(
            page_file(name),
            title=words(f"nav.{name}"),
            url_path=None if name == "overview" else name,
            default=name == "overview",
        )
        for name in ORDER
    }


def draw_menu(words: Words, pages: Mapping[str, st.Page], link: Mapping[str, str]) -> None:
    """The name and the sections as links that carry the scene, also into a new tab.

    Args:
        words: the reader's words.
        pages: as `list_pages` gives them; a page given by its file is looked for on the disk.
        link: what the links carry.
    """
    st.markdown(f"## {words('brand')}")
    st.caption(words("brand.line"))
    for section, names in SECTIONS.items():
        with st.container(key=f"menu_{section}", gap=None):
            st.caption(words(f"nav.{section}"))
            for name in names:
                st.page_link(pages[name], query_params=link)


def neighbours(name: str) -> tuple[str | None, str | None]:
    """The pages before and after one in the walk, None at the ends."""
    place = ORDER.index(name)
    before = ORDER[place - 1] if place > 0 else None
    after = ORDER[place + 1] if place + 1 < len(ORDER) else None
    return before, after
