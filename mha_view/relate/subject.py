"""Whose sizes a page shows: a bundled config, a file of the reader's, or numbers set by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from mha_core.errors import DataError, TwelveHeadsError
from mha_core.sizes import (
    Note,
    Sizes,
    decode_bytes,
    from_numbers,
    list_bundled,
    measure,
    read_bundled,
    read_text,
)
from mha_core.sizes.storage import attention_among
from mha_view import heavy, state
from mha_view.processes import in_process
from mha_view.scene import Scene
from mha_view.store import STORE, kept
from mha_view.words import Words

KINDS = ("model", "file", "hand")
FIRST_OF = {"model": Scene().model, "file": "file", "hand": "hand"}
# A box of more characters makes every rerun slow; a longer file is put into it without the names
# of modules that a quantised export lists.
LONGEST_CONFIG = 200_000
MOST_CHARACTERS = 8_000_000
LONG_LIST = 40
MAGIC = b"GGUF"


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, or one part of it.

    Attributes:
        title: what it is called.
        whole: all of its sizes.
        part: the key of the part that is shown, "" for the whole.
    """

    title: str
    whole: Sizes
    part: str = ""

    @property
    def name(self) -> str:
        """The title, with the part where there is one."""
        return f"{self.title} · {self.part}" if self.part else self.title

    @property
    def sizes(self) -> Sizes:
        """The sizes that are shown."""
        return self.whole.entries[self.part] if self.part else self.whole

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd, assumed, or cannot be known; a part's after the whole's."""
        return self.whole.notes + (self.sizes.notes if self.part else ())


@dataclass(frozen=True, eq=False)
class Gguf:
    """The first bytes of a GGUF file.

    Attributes:
        name: of the file.
        data: from its beginning, the whole header among them.
        digest: of the data.
    """

    name: str
    data: bytes
    digest: str


def kind_of(model: str) -> str:
    """Where a model comes from: "model" (bundled), "file" or "hand"."""
    return model if model in ("file", "hand") else "model"


def titles() -> dict[str, str]:
    """What the bundled configs are called, by name."""
    return {config.name: config.title for config in list_bundled()}


@kept
def measure_quickly(source: str, given: str) -> Sizes:
    """A config's sizes without building anything, once; raises DataError as `measure` does.

    Args:
        source: "bundled" for a name, "text" for a config's text.
        given: the name, or the text.
    """
    config, notes = _read(source, given)
    return measure(config, totals=False, notes=notes)


def build(source: str, given: str) -> Iterator[Sizes]:
    """A config's sizes with its class built; for a process of its own. Arguments as above."""
    config, notes = _read(source, given)
    yield measure(config, totals=True, notes=notes)


def _read(source: str, given: str) -> tuple[dict[str, Any], list[Note]]:
    """A config, and what was odd about its text."""
    return read_text(given) if source == "text" else (read_bundled(given), [])


def _build(words: Words, source: str, given: str) -> Sizes:
    """A config's sizes with its class built: in line, in another process, once for all readers."""
    key = ("sizes", source, given)
    if key not in STORE:
        found: Sizes = heavy.wait_for(words, "sizes", key, lambda: in_process(build, source, given))
        return STORE.get(key, lambda: found)
    return STORE.get(key, lambda: next(build(source, given)))


def known_sizes(name: str, words: Words) -> Sizes:
    """A bundled model's sizes: at once in closed form where there is one, else built."""
    quick = measure_quickly("bundled", name)
    if quick.has_shapes:
        return quick
    return _build(words, "bundled", name)


def find_sizes(source: str, given: str) -> Sizes:
    """A config's sizes as far as they are known without building anything now.

    Args:
        source, given: see `measure_quickly`, which raises what this does.
    """
    key = ("sizes", source, given)
    if key in STORE:
        return STORE.get(key, lambda: next(build(source, given)))
    return measure_quickly(source, given)


def open_subject(words: Words) -> Subject:
    """Measure what the scene names; stop with a message where it cannot be."""
    now = state.scene()
    try:
        whole = _measure(now, words)
    except TwelveHeadsError as error:
        st.error(words.error(error))
        st.stop()
    title = titles().get(now.model) or whole.model_type or words(f"sizes.kind.{now.model}")
    return Subject(title, whole, now.part if now.part in whole.entries else "")


def _measure(now: Scene, words: Words) -> Sizes:
    """The sizes of the scene's model; what is slow of a reader's file only when asked for."""
    if now.model == "hand":
        return from_numbers(
            d_model=now.hand_d,
            n_heads=now.hand_h,
            n_kv_heads=now.hand_kv or None,
            d_head=now.hand_d_head or None,
            n_layers=now.hand_layers,
        )
    if now.model != "file":
        return known_sizes(now.model, words)
    if (gguf := dropped_gguf()) is not None:
        return _measure_gguf(gguf, words)
    if not now.config_text.strip():
        st.info(words("sizes.file.empty"))
        st.stop()
    if st.session_state.get("sizes_build") != now.config_text:
        quick = measure_quickly("text", now.config_text)
        if quick.parameters.total is not None:
            return quick
        st.button(
            words("sizes.build"), key="sizes_build_button", help=words("sizes.build.help"),
            on_click=_ask_to_build, args=(now.config_text,),
        )  # fmt: skip
        return quick
    return _build(words, "text", now.config_text)


def dropped_gguf() -> Gguf | None:
    """The GGUF header that was dropped last, until something else is pasted or dropped."""
    found = st.session_state.get("sizes_dropped")
    return found if isinstance(found, Gguf) and not state.scene().config_text else None


def _measure_gguf(gguf: Gguf, words: Words) -> Sizes:
    """A dropped header's sizes, read once: in a process of its own, for it may claim anything."""
    measured: tuple[str, Sizes] | None = st.session_state.get("sizes_gguf")
    if measured is None or measured[0] != gguf.digest:
        from mha_core.sizes.gguf_file import measured_bytes

        found: Sizes = heavy.wait_for(
            words, "gguf", gguf.digest, lambda: in_process(measured_bytes, gguf.data, gguf.name)
        )
        measured = st.session_state["sizes_gguf"] = (gguf.digest, found)
    return measured[1]


def _ask_to_build(text: str) -> None:
    """Remember that this very text is to be built."""
    st.session_state["sizes_build"] = text


def take_file() -> None:
    """Put a dropped file's text into the box; what is no text is refused and changes nothing."""
    file = st.session_state["sizes_file"]
    st.session_state["sizes_dropped"] = None
    if file is None:
        return
    data = file.getvalue()
    if data.startswith(MAGIC):
        # A link carries no file: the box stands empty, and the page says where its sizes are from.
        digest = hashlib.sha256(data).hexdigest()
        st.session_state["sizes_dropped"] = Gguf(file.name, data, digest)
        state.change(config_text="", part="")
        return
    try:
        text, notes = decode_bytes(data)
        if len(text) > LONGEST_CONFIG:
            text, cut = shorten(text)
            notes = [*notes, cut]
    except DataError as error:
        st.session_state["sizes_dropped"] = error
        return
    st.session_state["sizes_dropped"] = (text, notes)
    state.change(config_text=text, part="")


def take_text() -> None:
    """Take what was pasted; a text too long for the box loses its lists of names and says so."""
    text = st.session_state["config_text"]
    st.session_state["sizes_dropped"] = None
    if len(text) > LONGEST_CONFIG:
        try:
            text, cut = shorten(text)
        except DataError as error:
            st.session_state["sizes_dropped"] = error
            return
        st.session_state["sizes_dropped"] = (text, [cut])
    state.change(config_text=text)


def shorten(text: str) -> tuple[str, Note]:
    """A config whose bulk is lists of names in its quantisation block, without those names.

    Raises:
        DataError: the text is no config, or is as long without them.
    """
    config, _ = read_text(text)
    left_out: list[int] = []
    short = json.dumps(_without_names(config, left_out), ensure_ascii=False, indent=1)
    if len(short) > LONGEST_CONFIG:
        raise DataError("sizes.file.large", size=len(text), limit=LONGEST_CONFIG)
    return short, Note("sizes.note.shortened", count=f"{sum(left_out):,}")


def _without_names(value: Any, left_out: list[int], inside: bool = False) -> Any:
    """Long lists of names in a quantisation block keep those of attention; others are counted."""
    if isinstance(value, dict):
        return {
            key: _without_names(item, left_out, inside or "quant" in key)
            for key, item in value.items()
        }
    if inside and isinstance(value, list) and len(value) > LONG_LIST:
        kept = attention_among(value)
        left_out.append(len(value) - len(kept))
        return kept
    return value


def dropped_notes(text: str) -> list[Note]:
    """What was odd about the bytes this text was read from."""
    dropped = st.session_state.get("sizes_dropped")
    return dropped[1] if isinstance(dropped, tuple) and dropped[0] == text else []
