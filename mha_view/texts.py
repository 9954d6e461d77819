"""The bundled sentences: each shows something, each is named by a stable id in links."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

LONG = Path(__file__).parent / "bundled"

TEXTS: dict[str, str] = {
    "cat": "The cat sat on the mat because it was tired.",
    "ming": "她把书给了小明，因为他喜欢看书。",
    "keys": "The keys to the old house were on the table.",
    "queen": "The queen saw the boy when she opened the door.",
    "repeat": "cup tree hat door fish cup tree hat door fish",
    "dog_zh": "小狗追小红，因为它很饿。",
    "chair_zh": "那把公主喜欢的椅子很旧。",
    "long_en": (LONG / "long.en.txt").read_text(encoding="utf-8").strip(),
    "long_zh": (LONG / "long.zh.txt").read_text(encoding="utf-8").strip(),
}
DEFAULT_TEXT = {"en": TEXTS["cat"], "zh": TEXTS["ming"]}


@dataclass(frozen=True)
class Look:
    """Where the shipped model shows best what a sentence is there to show.

    Attributes:
        layer, head: who looks.
        focus, key: the token that looks and the one looked at, counted from the text's first.
    """

    layer: int
    head: int
    focus: int
    key: int


# Written by `python -m mha_view.walk.telling` from the shipped weights.
TELLING_FILE = LONG / "telling.toml"
TELLING = {
    name: Look(**look) for name, look in tomllib.loads(TELLING_FILE.read_text("utf-8")).items()
}
