"""Links as a person writes them: `?text=The dog ran.&head=2&token=4`.

What is typed into an address bar is no form's output: a sentence holds `&`, `+`, `%` and `#`, a
word stands where the app writes a number. All of it is read here and turned into what `scene`
knows; nothing that was typed is lost, and what cannot be read is answered with a sentence. Links
that a person is to read are written in the same form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from urllib.parse import quote, unquote_to_bytes, urlencode

from mha_core.errors import TwelveHeadsError
from mha_view import compute, limits
from mha_view.link import COUNTED, link_of, refuse_missing, sizes_of
from mha_view.panel import literal
from mha_view.scene import (
    CODECS,
    FIELD_OF,
    LONGEST_LINK,
    ROOM_FOR_TEXTS,
    TEXT_FIELDS,
    Scene,
    read_link,
    thread_of,
)
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words

# What a person is told to write. Other names are the app's own, and read as well.
NAMES = ("text", "layer", "head", "token", "mask", "rope", "play", "lang", "present")
OTHER_NAMES = {
    "句子": "text", "层": "layer", "头": "head", "词元": "token", "掩码": "mask", "步": "play",
    "语言": "lang", "projector": "present",
}  # fmt: skip
KNOWN = {*NAMES, *FIELD_OF, *TEXT_FIELDS, "ready", "v"}
YES, NO = {"1", "on", "yes", "true", "开", "是"}, {"0", "off", "no", "false", "关", "否"}
ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
MOST_SHOWN = 40  # characters of what could not be read
SHORT = 60  # characters of a bundled sentence that is written out


@dataclass(frozen=True)
class Refused:
    """A part of a link that could not be used.

    Attributes:
        name, value: as they were typed.
        reason: the rest of its sentence's key under "link.refused".
        values: what that sentence names besides.
    """

    name: str
    value: str
    reason: str
    values: Mapping[str, object]

    def say(self, words: Words) -> str:
        """The sentence, as Markdown."""
        typed = {"name": self.name, "value": self.value, "parameter": f"{self.name}={self.value}"}
        cut = {key: text[:MOST_SHOWN] for key, text in typed.items()}
        named = {key: literal(str(value)) for key, value in {**cut, **self.values}.items()}
        return words(f"link.refused.{self.reason}", **named)


def split_query(raw: str) -> dict[str, str]:
    """Names and values of a query string, as a person or the app wrote it.

    A `+` is a space, as forms write it, but not beside a real space; a `%` that begins no escape
    is itself; an `&` after which no parameter follows belongs to the sentence.

    >>> split_query("text=The+dog+ran.&head=2")
    {'text': 'The dog ran.', 'head': '2'}
    >>> split_query("text=C++%20%26%20R%20&%20D:%20100%&head=2")
    {'text': 'C++ & R & D: 100%', 'head': '2'}
    """
    spaced = "%20" in raw or " " in raw
    found: dict[str, str] = {}
    last, skipped = "", ""
    for part in raw.lstrip("?").split("&"):
        name, equals, value = (_unescape(piece, spaced) for piece in part.partition("="))
        if not part:
            skipped += "&"
        elif last == "text" and not _is_parameter(name, has_value=bool(equals)):
            found["text"] += f"{skipped}&{name}{equals}{value}"
            skipped = ""
        else:
            last, skipped = _name(name), ""
            found[last] = value
    return found


def _is_parameter(name: str, *, has_value: bool) -> bool:
    """Whether what stands after an `&` is a parameter and not more of the sentence."""
    if not has_value:
        return _name(name) in NAMES
    return _name(name) in KNOWN or (name.isascii() and name.isidentifier())


def _name(typed: str) -> str:
    """A parameter's name, whichever way it was typed."""
    bare = typed.strip()
    name = OTHER_NAMES.get(bare, bare)
    return name.lower() if name.lower() in NAMES else name


def _unescape(typed: str, spaced: bool) -> str:
    """A piece of a query string as the text it stands for."""

    return ESCAPES.sub(
        lambda found: _decode(found[0]), typed if spaced else typed.replace("+", " ")
    )


def _decode(escapes: str) -> str:
    """A row of escapes as text; those that are no text stay as they were typed."""
    raw, text = unquote_to_bytes(escapes), ""
    while raw:
        try:
            return text + raw.decode("utf-8")
        except UnicodeDecodeError as bad:
            text += raw[: bad.start].decode("utf-8") + escapes[3 * bad.start : 3 * bad.end]
            raw, escapes = raw[bad.end :], escapes[3 * bad.end :]
    return text


def read(link: Mapping[str, str], start: Scene | None = None) -> tuple[Scene, list[Refused]]:
    """The scene of a link, written by hand or by the app.

    Args:
        link: names and values.
        start: what holds where the link says nothing.

    Returns:
        The scene, and what could not be used.
    """
    plain = {name: _value(name, value) for name, value in link.items()}
    token = plain.pop("token", None)
    scene, unread = read_link(plain, start)
    scene, missing = refuse_missing(scene, plain)
    if scene.picked is not None and "focus" not in plain:
        scene = scene.with_(**thread_of(scene.picked, compute.tokens_before(scene)))
    names = [parameter.partition("=")[0] for parameter in (*unread, *missing)]
    refused = [_refuse(name, link[_typed(name, link)], scene) for name in names]
    if token is None or not compute.is_ready(scene):
        return scene, refused
    place = find_token(scene, token)
    if place is not None:
        return scene.with_(focus=place - compute.tokens_before(scene)), refused
    reading = _reading_of(scene)
    labels = () if reading is None else reading.labels
    shown = " ".join(f"{number} {label}" for number, label in enumerate(labels[:SHORT]))
    return scene, [*refused, Refused("token", token, "token", {"tokens": shown})]


def _typed(name: str, link: Mapping[str, str]) -> str:
    """The name under which a link holds what was refused; messages are cut."""
    return name if name in link else next(typed for typed in link if typed.startswith(name))


def find_token(scene: Scene, typed: str) -> int | None:
    """The place among the sentence's tokens of one named by that place, or by its text.

    >>> find_token(Scene(text="The dog ran."), "2"), find_token(Scene(text="The dog ran."), "DOG")
    (2, 2)
    >>> find_token(Scene(text="The dog ran."), "5") is None
    True
    """
    reading, typed = _reading_of(scene), typed.strip()
    if reading is None:
        return None
    if typed.isascii() and typed.isdigit() and len(typed) < 7:
        return int(typed) if int(typed) < len(reading) else None
    for same in (str, str.casefold):
        folded = [same(label) for label in reading.labels]
        if same(typed) in folded:
            return folded.index(same(typed))
    start = scene.text.find(typed) if typed else -1
    before = compute.tokens_before(scene)
    ends = [token.end for token in reading.tokens[before:]]
    return next(
        (before + n for n, end in enumerate(ends) if start >= 0 and end >= start + len(typed)), None
    )


def needs_model(link: Mapping[str, str], scene: Scene) -> bool:
    """Whether a link says something that only its model can tell, which is not loaded: which token
    a place or a word is, where another people's model cuts the text."""
    asks = "token" in link or ("cell" in link and "focus" not in link)
    return asks and not compute.is_ready(scene)


def _reading_of(scene: Scene) -> compute.Reading | None:
    """The sentence's tokens, where it is one that the pages take and its model is there."""
    if len(scene.text) > limits.value("MOST_TEXT") or not compute.is_ready(scene):
        return None
    try:
        return compute.reading_of(scene)
    except TwelveHeadsError:  # the page says what is wrong with the text
        return None


def _value(name: str, typed: str) -> str:
    """A value in the app's own spelling, where a person may have written a word instead."""
    word = typed.strip().casefold()
    if name in FIELD_OF and CODECS[FIELD_OF[name]].is_switch:
        return "1" if word in YES else "0" if word in NO else typed
    if name == "lang":
        return "zh" if word.startswith(("zh", "cn", "中")) else "en" if word[:2] == "en" else typed
    if name in ("mask", "play"):
        return _spellings(name).get(re.sub(r"[\s_+-]+", "_", word), typed)
    return typed.strip() if name in NAMES and name != "text" else typed


@cache
def _spellings(name: str) -> dict[str, str]:
    """How masks and steps are called on the screen, to what a link holds."""
    from mha_view.walk.sayings import STEP_NAMES

    choices = {step: str(1 + place) for place, step in enumerate(STEP_NAMES)}
    if name == "mask":
        choices = {mask: mask for mask in CODECS["mask"].choices}
    called = {"mask": "mask", "play": "step"}[name]
    spoken = {
        re.sub(r"[\s_+-]+", "_", Words(lang)(f"{called}.{choice}").casefold()): value
        for lang in LANGS
        for choice, value in choices.items()
    }
    return {**choices, **spoken}


def _refuse(name: str, value: str, scene: Scene) -> Refused:
    """Why a part of a link could not be used, and what would be."""
    if name in TEXT_FIELDS:
        return Refused(name, value, "example" if name in ("s", "s2") else "packed",
                       {"choices": ", ".join(TEXTS)})  # fmt: skip
    if name not in FIELD_OF:
        near = get_close_matches(name.lower(), NAMES, 1)
        reason = "unknown_near" if near else "unknown"
        return Refused(name, value, reason, {"near": near[0] if near else ""})
    field, codec = FIELD_OF[name], CODECS[FIELD_OF[name]]
    if field in ("layer", "head"):
        most = sizes_of(scene)[COUNTED[field]] - 1
        return Refused(name, value, field, {"most": most})
    if codec.choices:
        return Refused(name, value, "choice", {"choices": ", ".join(codec.choices)})
    if codec.bounds:
        least, most = codec.bounds
        return Refused(name, value, "number", {"least": least, "most": most})
    return Refused(name, value, "other", {})


def write(scene: Scene) -> str:
    """What is shown of a scene as a query string that can be read: the sentence first, in letters.

    Other programs' letters are escaped; `in_letters` gives them back.

    >>> write(Scene(text="The dog ran.", head=2, focus=2))
    'text=The+dog+ran.&head=2&token=3&lang=en&v=1'
    """
    link = link_of(scene)
    text = _written_out(scene.text)
    first = {} if text is None else {"text": scene.text}
    kept = {name: value for name, value in link.items() if not first or name not in ("s", "t")}
    reading = None if scene.focus is None else _reading_of(scene)
    if scene.focus is not None and reading is not None:
        place = scene.focus + compute.tokens_before(scene)
        if 0 <= place < len(reading):
            kept["token"] = str(place)
            del kept["focus"]
    order = {name: number for number, name in enumerate(("text", *kept, "lang", "v"))}
    order |= {"layer": 1, "head": 1, "token": 1}
    pairs = sorted({**first, **kept}.items(), key=lambda pair: (order[pair[0]], pair[0]))
    query = "&".join(f"{name}={_escape(value)}" for name, value in pairs)
    return query if len(query) <= LONGEST_LINK else urlencode(link)


def _written_out(text: str) -> str | None:
    """A sentence as it stands in a link, where there is room for it."""
    if len(text) > (SHORT if text in TEXTS.values() else ROOM_FOR_TEXTS):
        return None
    try:
        written = _escape(text)
    except UnicodeEncodeError:
        return None
    return written if len(written) <= ROOM_FOR_TEXTS else None


def _escape(value: str) -> str:
    """A value as it may stand in an address."""
    return quote(value, safe=" ~.,!;:'()*-_/?").replace(" ", "+")


def in_letters(query: str) -> str:
    """A query string with letters of every language as they are, everything else still escaped.

    >>> in_letters("text=%E5%B0%8F%E7%8B%97%2B%E3%80%82")
    'text=小狗%2B%E3%80%82'
    """

    def letters(found: re.Match[str]) -> str:
        text = _decode(found[0])
        return "".join(
            sign if sign.isalnum() and not sign.isascii() else quote(sign) for sign in text
        )

    return ESCAPES.sub(letters, query)
