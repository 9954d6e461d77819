"""Where the shipped model shows best what each bundled sentence is there to show.

`python -m mha_view.walk.telling` works it out from the shipped weights and writes it to the file
that `texts.TELLING` is read from; a test keeps the two in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mha_view import compute
from mha_view.texts import TELLING_FILE, TEXTS, Look

if TYPE_CHECKING:
    from mha_core.language.tokenizer import Token

# What each sentence is there to show: a word, and an earlier one it should look at. In `chair_zh`
# the noun that the measure word calls for is due after the word that looks.
SHOWN = {
    "cat": ("it", "cat"),
    "ming": ("他", "小明"),
    "keys": ("were", "keys"),
    "queen": ("she", "queen"),
    "repeat": ("cup", "tree"),
    "dog_zh": ("它", "小狗"),
    "chair_zh": ("的", "把"),
    "long_en": ("She", "queen"),
    "long_zh": ("他", "小明"),
}


def find_look(name: str) -> tuple[Look, float]:
    """The layer and head with the largest weight from one word to the other, and that weight."""
    text, (query, key) = TEXTS[name], SHOWN[name]
    at_key = text.index(key)
    at_query = text.index(query, at_key)
    # What comes later is hidden by the mask, so that the text can end with the word that looks.
    text = text[: at_query + len(query)]
    tokens = compute.read_text(text, with_bos=False).tokens
    focus, looked_at = (
        _token_at(tokens, start + len(word) - 1)
        for start, word in ((at_query, query), (at_key, key))
    )
    layers = compute.load_weights().trace(text).layers
    weights = np.stack([layer.pattern[:, focus + 1, looked_at + 1] for layer in layers])
    layer, head = map(int, np.unravel_index(int(weights.argmax()), weights.shape))
    return Look(layer, head, focus, looked_at), float(weights[layer, head])


def _token_at(tokens: Sequence[Token], character: int) -> int:
    """The place of the token that a character of the text belongs to."""
    return next(place for place, token in enumerate(tokens) if token.end > character)


def write_looks() -> str:
    """Every sentence's look, as the file holds it."""
    lines = ["# Written by `python -m mha_view.walk.telling`."]
    for name in SHOWN:
        look, weight = find_look(name)
        query, key = SHOWN[name]
        lines.append(
            f"{name} = {{ layer = {look.layer}, head = {look.head}, focus = {look.focus}, "
            f"key = {look.key} }}  # {query} looks at {key}: {weight:.3f}"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TELLING_FILE.write_text(write_looks(), "utf-8")
