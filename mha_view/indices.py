"""Symbols with their indices set lower, as HTML, which pictures read too."""

from __future__ import annotations

import re

# `W_q`, `d_head`, `A_k`, `Q̃_0`: what follows is set lower.
INDEX = re.compile(r"(?<![A-Za-z_`])([A-Za-z]+\u0303?)_(head|value|in|kv|[a-z]|\d+)(?![A-Za-z_])")


def low(markup: str) -> str:
    """HTML, or a picture's title, with every index set lower.

    >>> low("X_in + O, d_head and q_rot, head_12")
    'X<sub>in</sub> + O, d<sub>head</sub> and q_rot, head<sub>12</sub>'
    """
    return INDEX.sub(r"\1<sub>\2</sub>", markup)


def length(markup: str) -> int:
    """How many letters of it are seen.

    >>> length("X<sub>in</sub>")
    3
    """
    return len(re.sub(r"</?su[bp]>", "", markup))
