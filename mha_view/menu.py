"""The menu: which pages there are, in which order, and their order in the walk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from mha_view.words import Words

PAGES = Path(__file__).parents[1] / "pages"
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
    ),
}
ORDER = tuple(name for names in SECTIONS.values() for name in names)


def page_file(name: str) -> Path:
    """The file of a page, by name."""
    section = next(section for section, names in SECTIONS.items() if name in names)
    return PAGES / section / f"{name}.py"


def build_menu(words: Words) -> dict[str, list[st.Page]]:
    """The sections of the menu in the reader's language; `url_path` is the page's name."""
    return {
        words(f"nav.{section}"): [
            st.Page(
                page_file(name),
                title=words(f"nav.{name}"),
                url_path=None if name == "overview" else name,
                default=name == "overview",
            )
            for name in names
        ]
        for section, names in SECTIONS.items()
    }


def neighbours(name: str) -> tuple[str | None, str | None]:
    """The pages before and after one in the walk, None at the ends."""
    place = ORDER.index(name)
    before = ORDER[place - 1] if place > 0 else None
    after = ORDER[place + 1] if place + 1 < len(ORDER) else None
    return before, after
