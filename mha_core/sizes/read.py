"""From a file's bytes to a JSON object, or one clear sentence why not."""

from __future__ import annotations

import codecs
import json
import math
import re
from pathlib import Path
from typing import Any

from mha_core.errors import DataError, Note

# A config.json is a few kB; the largest real one we know is 3.1 MB, nearly all of it the names of
# modules that a quantised export left as they were.
MAX_BYTES = 2**25
MAX_DIGITS = 30
MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
]
# An escaped half of a character without its other half, or one as it is.
HALF = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}|[\ud800-\udfff]"
)
KINDS = {list: "list", str: "string", bool: "boolean", int: "number", float: "number"}

Json = dict[str, object]


def read_file(path: str | Path) -> tuple[Json, list[Note]]:
    """Read a `config.json` from disk.

    Args:
        path: the file.

    Returns:
        The JSON object, and notes on what was odd but readable.

    Raises:
        DataError: the file is not there, too large, or no JSON object.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("sizes.file.missing", path=path.name)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise DataError("sizes.file.large", size=size, limit=MAX_BYTES)
        return read_bytes(path.read_bytes())
    except OSError as error:
        raise DataError("sizes.file.missing", path=path.name) from error


def read_bytes(content: bytes) -> tuple[Json, list[Note]]:
    """Read a `config.json` from its bytes (a dropped file); see `read_file`.

    >>> read_bytes(b'{"hidden_size": 768}')
    ({'hidden_size': 768}, [])
    """
    return read_text(*decode_bytes(content))


def decode_bytes(content: bytes) -> tuple[str, list[Note]]:
    """Give the text of a file's bytes, whatever is in it, and a note on an odd encoding.

    Raises:
        DataError: the file is too large, or no text.

    >>> decode_bytes("{}".encode("utf-16"))[0]
    '{}'
    """
    if len(content) > MAX_BYTES:
        raise DataError("sizes.file.large", size=len(content), limit=MAX_BYTES)
    for mark, encoding, name in MARKS:
        if content.startswith(mark):
            return _decode(content, encoding), [Note("sizes.note.encoding", encoding=name)]
    return _decode(content, "utf-8"), []


def _decode(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError("sizes.file.encoding", encoding=encoding, place=error.start) from error


def read_text(text: str, notes: list[Note] | None = None) -> tuple[Json, list[Note]]:
    """Read a `config.json` from its text (a pasted one); see `read_file`."""
    notes = list(notes or [])
    # A pasted text may carry the mark as a character.
    text = text.removeprefix("\ufeff").strip()
    _refuse_other_files(text)
    try:
        value = json.loads(
            text, object_pairs_hook=_no_twins, parse_int=_whole_number, parse_constant=float
        )
    except json.JSONDecodeError as error:
        raise _explain(text, error) from error
    except RecursionError as error:
        raise DataError("sizes.json.deep") from error
    if not isinstance(value, dict):
        kind = KINDS.get(type(value), "null")
        raise DataError("sizes.json.object", kind=Note(f"sizes.json.kind.{kind}"))
    if not value:
        raise DataError("sizes.keys.none")
    if HALF.search(text):
        value = _whole_characters(value)
        notes.append(Note("sizes.note.surrogate"))
    return value, notes


def _whole_characters(value: Any) -> Any:
    """A value whose halves of characters are replaced, as they can be neither shown nor stored."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value


def _refuse_other_files(text: str) -> None:
    """Name the things people drop here by mistake."""
    if not text:
        raise DataError("sizes.file.empty")
    if text.startswith("version https://git-lfs"):
        raise DataError("sizes.file.lfs")
    if text.startswith("<"):
        raise DataError("sizes.file.html")
    if "\0" in text:
        raise DataError("sizes.file.binary")


def _no_twins(pairs: list[tuple[str, object]]) -> Json:
    """Build an object; the same key twice with two values has no one meaning."""
    found: Json = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise DataError("sizes.json.twice", name=key)
        found[key] = value
    return found


def _whole_number(digits: str) -> int | float:
    """Read an integer; one with absurdly many digits becomes infinity, refused later by name."""
    return int(digits) if len(digits) <= MAX_DIGITS else math.inf


def _explain(text: str, error: json.JSONDecodeError) -> DataError:
    """Say in words what breaks the JSON at the place where reading stopped."""
    where = {"line": error.lineno, "column": error.colno}
    rest = text[error.pos :].lstrip()
    before = text[: error.pos].rstrip()
    if rest.startswith(("//", "/*", "#")):
        return DataError("sizes.json.comment", **where)
    if not rest or error.msg.startswith("Unterminated string"):
        return DataError("sizes.json.truncated", **where)
    if error.msg.startswith("Illegal trailing comma") or (
        before.endswith(",") and rest[:1] in ("}", "]")
    ):
        return DataError("sizes.json.comma", **where)
    return DataError("sizes.json.syntax", **where, found=rest[:12].split("\n")[0])
