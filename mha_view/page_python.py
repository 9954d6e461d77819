"""The figures of the pages that explore and relate, as the lines of Python that give them again.

Each page's lines leave its main numbers as `value`, and those of each picture and table that is on
it as a variable by its name.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from mha_view import compute
from mha_view.explore import circuit_lines, role_lines
from mha_view.explore import lines as explore
from mha_view.relate import lines as relate
from mha_view.scene import Scene
from mha_view.snippets import join, titled
from mha_view.words import Words

Write = Callable[[Scene], dict[str, str] | None]


def write_page(name: str, scene: Scene) -> str | None:
    """Write the lines of a page; None where there is nothing to compute yet.

    Args:
        name: the page's.
        scene: what the reader chose.

    >>> print(write_page("grouped", Scene())[-46:])
    decode = [found.k_rot, found.v, found.pattern]
    """
    parts = PAGES[name](compute.resolve(scene))
    if parts is None:
        return None
    return join(*titled(parts, Words(scene.lang)))


def draw_python(name: str, words: Words, scene: Scene) -> None:
    """The lines of a page, to be copied, at its foot."""
    if (code := write_page(name, scene)) is not None:
        with st.expander(words("card.python")):
            st.caption(words("python.caption"))
            st.code(code, language="python")


PAGES: dict[str, Write] = {
    "gallery": explore.gallery,
    "compare": explore.compare,
    "specialisation": role_lines.specialisation,
    "circuits": circuit_lines.circuits,
    "hypothesis": circuit_lines.hypothesis,
    "continue": explore.continuing,
    "training": explore.training,
    "sizes": relate.sizes,
    "grouped": relate.grouped,
    "vit": relate.vit,
}
