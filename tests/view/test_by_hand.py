"""Links that a person wrote: all of it is read, and what cannot be is answered."""

from __future__ import annotations

from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from mha_view import by_hand
from mha_view.by_hand import find_token, in_letters, split_query, write
from mha_view.link import link_of, refuse_missing
from mha_view.menu import page_file
from mha_view.scene import LONGEST_LINK, Scene, read_link, write_link
from mha_view.texts import DEFAULT_TEXT, TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_pages import SHELL
from tests.view.test_scene import scenes

PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def typed(text: str) -> str:
    """What a browser sends of a text typed into its address bar, a `#` aside: it escapes spaces,
    quotes and letters beyond ASCII, and leaves the rest."""
    return quote(text, safe="!$%&'()*+,-./:;=?@[]^_`{|}~")


@given(PLAIN)
def test_an_escaped_sentence_is_read_as_it_is(text: str) -> None:
    for escape in (quote, quote_plus):
        query = f"text={escape(text)}&head=2"
        assert split_query(query) == {"text": text, "head": "2"}
        assert by_hand.read(split_query(query))[0].text == text


ODD = st.text("ab &+%=;?/#'\"<>é猫。", max_size=15)


# There is a space in it: without one, a + is the space of a form.
@given(st.tuples(ODD, ODD).map(" ".join), st.sampled_from(["head=2", "lang=zh"]))
def test_nothing_typed_is_lost(text: str, more: str) -> None:
    query = f"text={typed(text).replace('#', '%23')}&{more}"
    scene, refused = by_hand.read(split_query(query))
    found = scene.text + "".join(f"&{part.name}={part.value}" for part in refused)
    for letter in set(text) - {" ", "&", "="}:
        assert found.count(letter) >= text.count(letter), (scene.text, refused)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("text=Tom%20&%20Jerry%20ran.&head=1", "Tom & Jerry ran."),
        ("text=Tom%20&&%20Jerry&head=1", "Tom && Jerry"),
        ("text=x%20=%203%20&%20y%20=%204&head=1", "x = 3 & y = 4"),
        ("text=C++%20is%20fun&head=1", "C++ is fun"),
        ("text=The+dog+ran.&head=1", "The dog ran."),
        ("text=1%2B1&head=1", "1+1"),
        ("text=100%%20of%2050%25&head=1", "100% of 50%"),
        ("text=a%20%ff%20b&head=1", "a %ff b"),
        ("text=%E5%B0%8F%E7%8B%97。&head=1", "小狗。"),
        ("%E5%8F%A5%E5%AD%90=%E5%B0%8F%E7%8B%97&%E5%A4%B4=1", "小狗"),
        ("TEXT=The%20dog&Head=1", "The dog"),
        ("text=<b>%22hi%22</b>%20🐕&head=1", '<b>"hi"</b> 🐕'),
        ("text=line%0Abreak&head=1&", "line\nbreak"),
        ("text=Hi&&head=1", "Hi"),
        ("head=1&text=what?%20why?", "what? why?"),
    ],
)
def test_what_people_type(query: str, text: str) -> None:
    scene, refused = by_hand.read(split_query(query))
    assert (scene.text, scene.head, refused) == (text, 1, [])


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("mask=two-way", "mask", "two_way"), ("mask=Sink%20%2B%20Window", "mask", "sink_window"),
        ("mask=双向", "mask", "two_way"), ("掩码=因果", "mask", "causal"),
        ("rope=off", "rope", False), ("rope=关", "rope", False), ("rope=On", "rope", True),
        ("lang=zh-CN", "lang", "zh"), ("lang=中文", "lang", "zh"), ("lang=EN", "lang", "en"),
        ("play=attention", "play", 5), ("play=拼接", "play", 6), ("步=RoPE", "play", 4),
        ("present=yes", "present", True), ("projector=1", "present", True),
        ("layer=%202%20", "layer", 2),
    ],
)  # fmt: skip
def test_words_for_numbers(query: str, field: str, value: object) -> None:
    scene, refused = by_hand.read(split_query(query))
    assert refused == []
    assert getattr(scene, field) == value


@pytest.mark.parametrize(
    ("text", "typed_token", "label"),
    [
        ("The dog ran.", "4", "."), ("The dog ran.", "0", "<bos>"), ("The dog ran.", "dog", "dog"),
        ("The dog ran.", "the", "The"), ("小狗追小红，因为它很饿。", "它", "它"),
        ("The dog ran.", "5", None),
        ("The dog ran.", "cat", None), ("The dog ran.", "-1", None), ("", "dog", None),
        ("The dog ran.", "", None), ("The dog ran.", "٢", None),
    ],
)  # fmt: skip
def test_a_token_by_its_place_or_its_text(text: str, typed_token: str, label: str | None) -> None:
    from mha_view import compute

    for weights in ("toy", "article"):
        scene = Scene(text=text, weights=weights)
        labels = compute.reading_of(scene).labels
        place = find_token(scene, typed_token)
        if weights == "toy":
            assert (None if place is None else labels[place]) == label
        link = {"text": text, "weights": weights, "token": typed_token}
        read, refused = by_hand.read(link)
        assert [part.name for part in refused] == ([] if place is not None else ["token"])
        if place is not None:
            from mha_view.thread import focus_of

            assert focus_of(read) == place


@given(scenes)
def test_what_is_written_to_be_read_restores_the_scene(scene: Scene) -> None:
    query = write(scene)
    assert query.isascii()
    assert " " not in query
    assert len(query) <= LONGEST_LINK
    shown, missing = refuse_missing(*read_link(link_of(scene))[:1], link_of(scene))
    assert missing == []
    for written in (query, in_letters(query)):
        assert by_hand.read(split_query(written)) == (shown, [])


@pytest.mark.parametrize("text", ["The dog ran.", "小狗追小红，因为它很饿。", TEXTS["cat"]])
def test_a_copied_link_can_be_read(text: str) -> None:
    query = in_letters(write(Scene(text=text, head=2, focus=3)))
    assert query.startswith("text=")
    words = text.replace(".", "").replace("，", " ").replace("。", "").split()
    assert all(word in query for word in words)
    assert "&head=2&token=4" in query


def test_a_sentence_too_long_for_letters_is_packed() -> None:
    for text in (TEXTS["long_en"], "猫狗" * 100):
        query = split_query(write(Scene(text=text)))
        assert "text" not in query
        assert by_hand.read(query)[0].text == text


REFUSED = {
    "head=9": ("0", "5", "9"), "layer=7": ("0", "2", "7"), "head=two": ("two",),
    "token=zebra": ("zebra", "1 The", "4 ."), "token=12": ("12", "2 dog"),
    "mask=sideways": ("sideways", "causal", "two\\_way"), "rope=maybe": ("maybe",),
    "lang=fr": ("fr", "en", "zh"), "play=9": ("9", "0", "8"), "hed=2": ("hed", "head"),
    "zzz=1": ("zzz", "%26"), "s=dog": ("dog", "cat", "ming"), "t=%%": ("t",),
    "cell=x": ("cell",), "D=fun": ("D\\=fun",),
}  # fmt: skip


@pytest.mark.parametrize("lang", LANGS)
def test_what_cannot_be_read_is_answered_in_a_sentence(lang: str) -> None:
    for wrong, said in REFUSED.items():
        query = f"text=The%20dog%20ran.&lang={lang}&{wrong}"
        scene, [refused] = by_hand.read(split_query(query))
        assert scene.text == "The dog ran."
        sentence = refused.say(Words(lang))
        assert "{" not in sentence
        for part in said:
            assert part.replace("\\", "") in sentence.replace("\\", ""), (wrong, sentence)


def test_a_page_opens_from_a_hand_written_link_and_keeps_what_was_typed() -> None:
    app = AppTest.from_file(SHELL, default_timeout=120)
    for name, value in {"text": "The dog ran.", "head": "2", "token": "4", "hed": "1"}.items():
        app.query_params[name] = value
    app.switch_page(str(page_file("attention")))
    app.run()
    assert not app.exception
    scene = app.session_state["scene"]
    assert (scene.text, scene.head, scene.focus) == ("The dog ran.", 2, 3)
    assert app.text_input[0].value == "The dog ran."
    assert any("hed" in item.value and "head" in item.value for item in app.warning)
    app.run()
    assert app.session_state["scene"] == scene, "the address it wrote itself changes nothing"


def test_what_a_browser_keeps_to_itself_is_read_when_it_is_told() -> None:
    from mha_view import state

    app = AppTest.from_function(_rest)
    app.run()
    assert not app.exception
    assert app.session_state["scene"].text == "I am #1 & you"
    assert app.session_state["scene"].head == 3
    assert state.MOST_UNDO > 0


def _rest() -> None:
    import streamlit as st

    from mha_view import state

    st.session_state["asked"] = "text=I%20am%20"
    state.take_rest("#1%20&%20you&head=3")


def test_old_links_still_open() -> None:
    old = urlencode(write_link(Scene(text="A + B & C", head=3, focus=2)))
    assert by_hand.read(split_query(old)) == (Scene(text="A + B & C", head=3, focus=2), [])
    assert by_hand.read(split_query("lang=zh"))[0].text == DEFAULT_TEXT["zh"]
