"""The roles that tensors play, and their colours: the same on every page and in a notebook."""

from __future__ import annotations

# Which role a tensor of the trace plays.
ROLE_OF: dict[str, str] = {
    "q_full": "query", "q": "query", "q_rot": "query",
    "k_full": "key", "k": "key", "k_rot": "key",
    "v_full": "value", "v": "value",
    "pattern": "pattern", "out": "output", "residual": "residual", "stream": "residual",
}  # fmt: skip
# By role, on a light and on a dark page.
INK: dict[str, tuple[str, str]] = {
    "query": ("#1c5a96", "#7ab3ec"),
    "key": ("#a8480a", "#f0a066"),
    "value": ("#1a6b47", "#6fc79a"),
    "pattern": ("#6b3fa0", "#bd9be8"),
    "output": ("#b0273a", "#f08a94"),
    "residual": ("#5c626b", "#a3a9b1"),
}
# What a shape or a symbol is set on, light; the light inks are made for it.
CHIP = "#eceff3"
