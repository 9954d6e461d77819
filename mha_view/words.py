"""Every word on screen, by key and language: short strings from `.po` files, lessons from Markdown.

The `.po` files are read as they are, with Babel; there is no build step. A key names a meaning
(`mask.causal`), never an English sentence, so English is a language like the other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from babel.messages.pofile import read_po

from mha_core.errors import Note, TwelveHeadsError

FOLDER = Path(__file__).parent
LANGS = ("en", "zh")
LANG_VARIABLE = "TWELVE_HEADS_LANG"  # the language a server's first page opens in
PLACEHOLDER = re.compile(r"\[\[(\w+)\]\]")


@lru_cache(maxsize=len(LANGS))
def catalogue(lang: str) -> dict[str, str]:
    """All strings of a language by key, from every `.po` file of its folder."""
    strings: dict[str, str] = {}
    for path in sorted((FOLDER / "locales" / lang).glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale=lang):
                if message.id:
                    strings[str(message.id)] = str(message.string)
    return strings


@lru_cache(maxsize=64)
def lesson(name: str, lang: str) -> dict[str, str]:
    """The parts of a lesson by heading: `## says` and so on, as Markdown."""
    text = (FOLDER / "lessons" / lang / f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
    return {part: body.strip() for part, body in zip(parts[1::2], parts[2::2], strict=True)}


@lru_cache(maxsize=256)
def _group(lang: str, prefix: str) -> dict[str, str]:
    """All strings of a language whose key starts with `prefix.`, by the rest of the key."""
    start = prefix + "."
    return {
        key.removeprefix(start): text
        for key, text in catalogue(lang).items()
        if key.startswith(start)
    }


class Words:
    """The words of one language.

    >>> Words("en")("nav.learn"), Words("zh")("nav.learn")
    ('Learn', '讲解')
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def __call__(self, key: str, /, **values: object) -> str:
        """The string under `key` with its `{placeholders}` filled; KeyError if there is none."""
        text = catalogue(self.lang)[key]
        return text.format(**values) if values else text

    def has(self, key: str) -> bool:
        """Whether there is a string under `key`."""
        return key in catalogue(self.lang)

    def has_lesson(self, name: str, part: str) -> bool:
        """Whether a lesson has a part."""
        return part in lesson(name, self.lang)

    def group(self, prefix: str) -> dict[str, str]:
        """All strings whose key starts with `prefix.`, by the rest of the key."""
        return dict(_group(self.lang, prefix))

    def error(self, error: TwelveHeadsError | Note) -> str:
        """An error or a note of the core, and the notes it names, in the reader's language."""
        if self.lang == "en":
            return str(error)
        values = {
            name: self.error(value) if isinstance(value, Note) else value
            for name, value in error.values.items()
        }
        return self(f"error.{error.key}").format(**values)

    def lesson(self, name: str, part: str, /, **values: object) -> str:
        """A part of a lesson as Markdown, with its `[[placeholders]]` filled."""
        return PLACEHOLDER.sub(lambda found: str(values[found[1]]), lesson(name, self.lang)[part])
