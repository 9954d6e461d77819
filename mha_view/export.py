"""A whole page as one HTML file: what is on it, live figures, fonts, and the settings.

The browser makes the file, since it has the page; no browser runs on the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from mha_view.about import About
from mha_view.components.mount import mount


def save_page(
    *,
    name: str,
    title: str,
    settings: Mapping[str, object],
    about: About,
    words: Mapping[str, str],
    key: str,
) -> None:
    """Draw a button that saves the page as `<name>.html`.

    The file works offline. It holds the page's text, formulas and figures as drawings (those of
    `plot` still say what a cell is), its question with the answer folded, what the page is about,
    its link, and `settings` as JSON in `<script id="settings">`. Controls are left out.

    Args:
        name: the file's name without its ending.
        title: the page's title.
        settings: what a reader needs to make the page again: text, sizes, weights, seed, link.
        about: the sentence or the model, and what was chosen of it.
        words: the texts under "plot." by the rest of their key.
        key: unique on the page.
    """
    header = {
        "name": name, "title": title, "settings": settings, "words": dict(words), "reserve": 34,
        "subject": about.subject, "facts": about.facts,
    }  # fmt: skip
    mount("save_page.js", header, key=key, callbacks={})
