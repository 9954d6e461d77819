"""Numbers as people type them: a decimal point or comma, a fraction, any keyboard's minus sign."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 24
NUMBER = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:/(\d{1,9}))?(%?)")
DASHES = str.maketrans("−–—﹣－", "-----")


def read_number(text: str) -> float | None:
    """The number that a text means; None where it means none, or might mean two.

    Args:
        text: what was typed. It is compared with a pattern and never run.

    >>> [read_number(text) for text in ("−2", "3/8", "0,5", "½", "２．５", "60 %")]
    [-2.0, 0.375, 0.5, 0.5, 2.5, 0.6]
    >>> [read_number(text) for text in ("", "1,000", "1½", "1/0", "two", "2**3")]
    [None, None, None, None, None, None]
    """
    text = text.strip().translate(DASHES)
    if len(text) > LONGEST or re.search(r"\d\s*[¼½¾⅐-⅞]", text):
        return None
    text = unicodedata.normalize("NFKC", text).replace("⁄", "/")
    text = re.sub(r"\s*([/%])\s*|(?<=^[+-])\s+", r"\1", text)
    if re.fullmatch(r"[+-]?\d+,\d{3}", text):
        return None  # a thousand to some, a decimal to others
    sign, text = (-1.0 if text[:1] == "-" else 1.0), text[1:] if text[:1] in "+-" else text
    found = NUMBER.fullmatch(text.replace(",", ".") if text.count(",") == 1 else text)
    if found is None or not found[1].strip("."):
        return None
    below = int(found[2] or 1)
    if not below:
        return None
    return sign * float(found[1]) / below / (100 if found[3] else 1)
