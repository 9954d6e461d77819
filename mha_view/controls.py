"""The controls of the frame: sentence, weights, layer, mask, RoPE, axes, language."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

import streamlit as st

from mha_core.errors import TwelveHeadsError
from mha_view import compute, limits, live, real, state, thread
from mha_view.panel import literal
from mha_view.scene import (
    Axes,
    ColourScale,
    MaskName,
    Pairing,
    WeightsName,
    look_in,
)
from mha_view.texts import TEXTS
from mha_view.unlearned import mark_labels
from mha_view.words import LANGS, Words

if TYPE_CHECKING:
    from mha_core.real.folder import ModelCard

MOST_CHIPS = 40
SAID_AGAIN = "\u200b"  # no letter: it tells the second `the` from the first, and is not seen


def draw_controls(words: Words) -> None:
    """One row: the sentence, its examples, then quietly what it goes through."""
    with st.container(horizontal=True, vertical_alignment="center", key="controls_row"):
        draw_sentence(words)
        with st.popover(words("sentence.examples"), key="examples"):
            _draw_example_buttons(words, "box")
        draw_settings(words)


def draw_sentence(words: Words) -> None:
    """The box for the sentence."""
    st.text_input(
        words("sentence.label"),
        placeholder=words("sentence.placeholder"),
        label_visibility="collapsed",
        **state.bind("text") | {"on_change": _take_sentence, "args": ()},
    )


def _take_sentence() -> None:
    """Put the sentence typed into the scene; a change after the focus token leaves that alone."""
    before, text = state.scene(), st.session_state["text"]
    changes: dict[str, Any] = {}
    if before.focus is not None and text not in TEXTS.values() and compute.is_ready(before):
        with suppress(TwelveHeadsError):  # the page says what is wrong with a text
            now, then = (
                compute.reading_of(before.with_(text=some)) for some in (text, before.text)
            )
            read = thread.focus_of(before) + 1
            if now.labels[:read] == then.labels[:read]:
                changes = {"focus": before.focus, "picked": before.picked}
    state.change(text=text, **changes)


def _draw_example_buttons(words: Words, where: str) -> None:
    """A button a bundled sentence; a long one goes by a name."""
    for name, text in TEXTS.items():
        label = text if len(text) <= 60 else words(f"example.{name}")
        st.button(label, key=f"example_{where}_{name}", **state.setter(text=text, **look_in(text)))


def draw_examples(words: Words) -> None:
    """The bundled sentences as chips."""
    with st.container(horizontal=True, key="example_chips", gap="small"):
        _draw_example_buttons(words, "chips")


def draw_article_button(words: Words) -> None:
    """One click to the article's own sizes: d 768, h 12, S 1024."""
    now = state.scene()
    text = TEXTS[f"long_{now.lang}"]
    st.button(
        words("article.button"),
        disabled=now.weights == "article" and now.text == text,
        **state.setter(weights="article", text=text, **look_in(text)),
    )


def draw_settings(words: Words) -> None:
    """What the sentence goes through: each setting shows its value, and opens on a click."""
    now = state.scene()
    with st.container(horizontal=True, key="settings_row", gap="small"):
        n_layers = compute.n_layers_of(now)
        if n_layers > 1:
            with st.popover(words("layer.button", layer=min(now.layer, n_layers - 1))):
                st.radio(
                    words("layer.label"),
                    range(n_layers),
                    format_func=lambda layer: words("layer.option", layer=layer),
                    **state.bind("layer", shown=min(now.layer, n_layers - 1)),
                )
        if compute.resolve(now).weights != "real":  # which is read with its own
            with st.popover(words("mask.button", name=words(f"mask.{now.mask}"))):
                _draw_mask(words)
            on = words("rope.on" if now.rope else "rope.off")
            with st.popover(words("rope.button", state=on)):
                _draw_rope(words)
        # Seldom touched, so behind one button, which names the weights once they are others.
        with st.popover(_name_weights(words)):
            _draw_weights(words)
            st.radio(
                words("axes.label"),
                get_args(Axes),
                format_func=lambda name: words(f"axes.{name}"),
                **state.bind("axes"),
            )
        st.button(
            words("undo"),
            key="undo",
            type="tertiary",
            disabled=not state.can_undo(),
            on_click=state.undo,
            shortcut="Ctrl+Z",
        )


def _name_weights(words: Words) -> str:
    """What the button over the weights says."""
    now = state.scene()
    card = real.card_of(now)
    if card is None and now.weights == "toy":
        return words("more.button")
    name = words(f"weights.{now.weights}") if card is None else literal(card.name)
    return words("more.named", name=name)


def _draw_weights(words: Words) -> None:
    """Whose learned parameters, and the reader's own sizes."""
    has_real = bool(real.usable()) or state.scene().weights == "real"
    names = [name for name in get_args(WeightsName) if has_real or name != "real"]
    st.radio(
        words("weights.label"),
        names,
        format_func=lambda name: words(f"weights.{name}"),
        captions=[words(f"weights.{name}.caption") for name in names],
        **state.bind("weights"),
    )
    if not has_real:
        st.caption(words("real.none"))
    if state.scene().weights == "real":
        _draw_models(words)
    if state.scene().weights == "live":
        st.caption(live.describe(live.settings_of(state.scene()), words))
    if compute.is_trained(state.scene()):
        return
    if state.scene().weights == "custom":
        left, right = st.columns(2)
        sizes = {
            "d_model": (left, 1, 1024),
            "n_heads": (right, 1, 64),
            "n_kv_heads": (left, 0, 64),
            "d_head": (right, 0, 256),
        }
        for field, (column, least, most) in sizes.items():
            column.number_input(
                words(f"size.{field}"),
                least,
                most,
                step=1,
                help=words(f"size.{field}.help"),
                **state.bind(field),
            )
    st.number_input(words("size.seed"), 0, 2**31 - 1, step=1, **state.bind("seed"))


def _draw_models(words: Words) -> None:
    """Which of other people's models, what is known of it, and those that are refused."""
    card = real.card_of(state.scene())
    by_name = {each.name: each for each in real.usable()}
    if by_name:
        chosen = None if card is None else card.name
        st.session_state["real_model"] = chosen
        st.selectbox(
            words("real.label"), list(by_name), key="real_model", placeholder=words("real.choose"),
            on_change=lambda: state.change(real=st.session_state["real_model"]),
        )  # fmt: skip
    if card is not None:
        st.caption(describe_model(card, words))
        st.caption(words("real.as_made"))
    for refused in real.cards():
        if refused.problem is not None:
            st.caption(f"✗ {words.error(refused.problem)}")


def describe_model(card: ModelCard, words: Words) -> str:
    """What is known of a model, in one line."""
    known = [
        card.kind,
        words("real.sizes", layers=card.n_layers, heads=card.n_heads) if card.n_layers else "",
        f"{card.n_bytes / 1e6:,.0f} MB",
        words("real.quantised", how=card.quantised) if card.quantised else "",
        card.licence,
    ]
    return " · ".join(literal(part) for part in known if part)


def draw_model_notice(words: Words) -> None:
    """Where a scene names a model that is not here, or has changed, say so; offer the nearest."""
    now = state.scene()
    if now.weights != "real":
        return
    card = real.card_of(now)
    if card is None:
        draw_gone(words, "real", now.real)
    else:
        draw_changed(words, card.name, now.digest)


def draw_gone(words: Words, field: str, name: str) -> None:
    """Say that a link's model is not here, and offer the nearest.

    Args:
        words: the reader's words.
        field: of the scene, which names the model.
        name: the model's.
    """
    nearest = real.nearest_to(name)
    key = "real.gone" if nearest else "real.gone.none"
    st.warning(words(key, name=literal(name or "?")))
    if nearest is not None:
        st.button(
            words("real.nearest", name=nearest.name), key=f"{field}_nearest", type="primary",
            **state.setter(**{field: nearest.name}),
        )  # fmt: skip


def draw_changed(words: Words, name: str, digest: str) -> None:
    """Say so where a link's model was made of other files than those that are loaded."""
    known = real.SHELF.digest_of(name)
    if digest and known and digest != known:
        st.warning(words("real.changed", name=literal(name)))


def _draw_mask(words: Words) -> None:
    """Which keys a query may look at."""
    names = get_args(MaskName)
    st.radio(
        words("mask.label"),
        names,
        format_func=lambda name: words(f"mask.{name}"),
        captions=[words(f"mask.{name}.caption") for name in names],
        **state.bind("mask"),
    )
    mask = state.scene().mask
    if mask in ("window", "sink_window"):
        st.number_input(words("mask.width"), 1, 1024, **state.bind("window"))
    if mask == "prefix":
        st.number_input(words("mask.first"), 0, 1024, **state.bind("prefix"))
    if mask == "sink_window":
        st.number_input(words("mask.sinks"), 0, 64, **state.bind("sinks"))


def _draw_rope(words: Words) -> None:
    """Whether queries and keys are turned, and by what, where the weights are the reader's own."""
    st.toggle(words("rope.label"), **state.bind("rope"))
    if state.scene().weights == "custom":
        st.number_input(words("rope.base"), 1, 10_000_000, step=1, **state.bind("base"))
        st.radio(
            words("rope.pairing"),
            get_args(Pairing),
            format_func=lambda name: words(f"rope.pairing.{name}"),
            **state.bind("pairing"),
        )


def draw_heads(words: Words, n_heads: int) -> None:
    """One chip a head; the chosen one is what the page's details are about."""
    st.pills(
        words("head.label"),
        range(n_heads),
        required=True,
        label_visibility="collapsed",
        format_func=lambda head: words("head.chip", head=head),
        **state.bind("head", shown=min(state.scene().head, n_heads - 1)),
    )


def draw_focus(words: Words, labels: Sequence[str], focus: int) -> None:
    """One chip a token, or a list where they are many; the chosen one is the focus token."""
    st.session_state["focus"] = focus
    choose: dict[str, Any] = {
        "key": "focus",
        "on_change": lambda: thread.place_focus(st.session_state["focus"]),
    }
    places = range(len(labels))
    labels = mark_labels(labels, compute.strange_places(state.scene()))
    if len(labels) > MOST_CHIPS:
        st.selectbox(
            words("focus.label"),
            places,
            format_func=lambda place: f"{place} · {labels[place]}",
            **choose,
        )
        return
    # What comes back from the browser is the label, so a word said twice must not be one label.
    said = [literal(label) + SAID_AGAIN * labels[:n].count(label) for n, label in enumerate(labels)]
    st.pills(
        words("focus.label"),
        places,
        required=True,
        label_visibility="collapsed",
        format_func=said.__getitem__,
        **choose,
    )


def draw_reader(words: Words) -> None:
    """Language and presenting, at the foot of the menu."""
    now = state.scene()
    st.session_state["language"] = now.lang
    st.segmented_control(
        words("language.label"),
        LANGS,
        required=True,
        format_func=lambda lang: {"en": "English", "zh": "中文"}[lang],
        key="language",
        on_change=lambda: state.switch_language(st.session_state["language"]),
    )
    st.toggle(words("present.label"), help=words("present.help"), **state.bind("present"))


def check_text(words: Words) -> None:
    """Stop with a message where there is no sentence; say what of a long one is used."""
    text = state.scene().text
    if not text.strip():
        st.info(words("sentence.empty"))
        st.stop()
    most = limits.value("MOST_TEXT")
    if len(text) > most:
        st.warning(words("sentence.too_long", n=len(text), most=most))
        st.stop()
    left_out = compute.reading_of(state.scene()).n_left_out
    if left_out:
        st.warning(words("sentence.cut", most=compute.MOST_TOKENS, n=left_out))


def draw_merging(words: Words) -> None:
    """Whether pieces of a word are taken as one, on every page."""
    st.toggle(words("gallery.merge"), help=words("gallery.merge.help"), **state.bind("whole_words"))


def draw_scale(words: Words) -> None:
    """How weights become colours."""
    st.segmented_control(
        words("scale.label"),
        get_args(ColourScale),
        required=True,
        label_visibility="collapsed",
        format_func=lambda name: words(f"scale.{name}"),
        **state.bind("scale"),
    )
