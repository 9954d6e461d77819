"""A remark beside a result: what was odd, assumed or cannot be known."""

from __future__ import annotations

from mha_core.errors import MESSAGES


class Note:
    """One remark, by key and values, like an error that did not stop anything.

    Args:
        key: which remark, a key of `mha_core.errors.MESSAGES`.
        values: what it names, by placeholder.

    >>> str(Note("sizes.note.encoding", encoding="UTF-16"))
    'The file is UTF-16 with a byte order mark; JSON is usually UTF-8 without one.'
    """

    def __init__(self, key: str, **values: object) -> None:
        self.key = key
        self.values = values
        self.text = MESSAGES[key].format(**values)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Note({self.key!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.text)
