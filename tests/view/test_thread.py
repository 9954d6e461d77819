"""One head and one token run through all pages, whatever they are chosen by."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_view import compute, thread
from mha_view.scene import (
    HEADED,
    TOKEN_AXIS,
    TOKENS_BEFORE,
    Picked,
    Scene,
    look_in,
    read_link,
    write_link,
)
from mha_view.texts import TELLING, TELLING_FILE, TEXTS
from mha_view.walk.choose import clearest_key, clearest_look
from mha_view.walk.telling import SHOWN, find_look, write_looks
from tests.view.test_scene import scenes

cells = st.builds(
    Picked,
    st.sampled_from(sorted(TOKEN_AXIS)),
    st.integers(0, 5),
    st.integers(0, 11),
    st.integers(0, 11),
)


def test_the_looks_are_those_of_the_shipped_weights() -> None:
    assert TELLING_FILE.read_text("utf-8") == write_looks()


def test_every_example_has_a_look() -> None:
    assert TELLING.keys() == SHOWN.keys() == TEXTS.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_each_look_shows_what_the_sentence_is_there_for(name: str) -> None:
    look, weight = find_look(name)
    assert weight > 0.5
    tokens = compute.read_text(TEXTS[name], with_bos=False).tokens
    query, key = SHOWN[name]
    assert tokens[look.focus].display == query
    assert tokens[look.key].display == key


@pytest.mark.parametrize("name", TEXTS)
def test_the_cell_explained_first_is_the_telling_one(name: str) -> None:
    scene = Scene().turn_to(text=TEXTS[name]).with_(**look_in(TEXTS[name]))
    pattern = compute.layer_of(scene).pattern[thread.head_of(scene)]
    assert thread.focus_of(scene) == TELLING[name].focus + 1
    assert clearest_key(pattern, thread.focus_of(scene)) == TELLING[name].key + 1


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_example_brings_its_look_from_wherever_it_is_chosen(name: str, lang: str) -> None:
    before = Scene(lang=lang, text="something else", layer=1, head=4, focus=0)
    after = before.turn_to(text=TEXTS[name])
    look = TELLING[name]
    assert (after.layer, after.head, after.focus) == (look.layer, look.head, look.focus)
    kept = after.turn_to(text=TEXTS[name], head=5)
    assert (kept.head, kept.focus) == (5, look.focus)


def test_a_sentence_of_ones_own_is_about_the_clearest_look() -> None:
    scene = Scene().turn_to(text="The dog ran because it was late.")
    assert scene.focus is None
    query, key = clearest_look(compute.layer_of(scene).pattern[scene.head])
    assert thread.focus_of(scene) == query
    assert clearest_key(compute.layer_of(scene).pattern[scene.head], query) == key


def test_the_focus_token_is_the_same_word_with_and_without_bos() -> None:
    for weights in ("toy", "custom", "article"):
        scene = Scene(weights=weights, focus=7)
        assert compute.reading_of(scene).labels[thread.focus_of(scene)] == "it"
    assert thread.focus_of(Scene(focus=-1)) == 0
    assert thread.focus_of(Scene(focus=-1, weights="custom")) == 0
    assert thread.focus_of(Scene(focus=9_999)) == 11


@given(scenes, cells)
def test_a_picked_cell_brings_its_token_and_its_head(scene: Scene, cell: Picked) -> None:
    after = scene.turn_to(picked=cell)
    before = TOKENS_BEFORE[scene.weights]
    assert after.picked == cell
    assert after.focus == getattr(cell, TOKEN_AXIS[cell.figure]) - before
    assert after.head == (cell.head if cell.figure in HEADED else scene.head)


@given(scenes, cells, st.integers(0, 5), st.integers(-1, 11))
def test_the_cell_follows_the_head_and_the_token(
    scene: Scene, cell: Picked, head: int, focus: int
) -> None:
    scene = scene.turn_to(picked=cell)
    other = scene.turn_to(head=head)
    assert other.focus == scene.focus
    assert other.picked == (replace(cell, head=head) if cell.figure in HEADED else cell)
    moved = scene.turn_to(focus=focus)
    assert (moved.head, moved.focus) == (scene.head, focus)
    if cell.figure == "pattern":
        assert moved.picked is None or focus == scene.focus
    else:
        assert moved.picked is not None
        assert moved.picked.row == cell.row


@given(scenes, st.sampled_from(["causal", "two_way", "window", "prefix", "sink_window"]))
def test_another_mask_changes_neither_cell_nor_token_nor_head(scene: Scene, mask: str) -> None:
    assert scene.turn_to(mask=mask) == scene.with_(mask=mask)


@given(scenes, cells)
def test_a_link_from_before_there_was_a_focus_token_opens_its_cell(
    scene: Scene, cell: Picked
) -> None:
    link = write_link(scene.with_(picked=cell, focus=None))
    opened, refused = read_link(link)
    assert refused == []
    assert opened.picked == cell
    assert opened == scene.with_(picked=cell).turn_to(picked=cell)


def test_a_cell_does_not_outlive_a_change_that_renumbers_the_tokens() -> None:
    scene = Scene().turn_to(picked=Picked("pattern", 2, 8, 2))
    other = scene.turn_to(weights="article")
    assert (other.head, other.focus, other.picked) == (2, 7, None)
    assert scene.turn_to(weights="live").picked == scene.picked


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_cell_in_a_link_without_a_sentence_is_opened(lang: str) -> None:
    opened, _ = read_link({"lang": lang, "weights": "custom", "cell": "pattern.3.5.1"})
    assert (opened.picked, opened.head, opened.focus) == (Picked("pattern", 3, 5, 1), 3, 5)


def test_an_old_link_without_a_cell_opens_the_look_it_opened() -> None:
    opened, _ = read_link({"v": "1", "lang": "en", "s": "ming", "layer": "1", "head": "3"})
    pattern = compute.layer_of(opened).pattern[3]
    assert (opened.layer, opened.head, opened.focus) == (1, 3, None)
    assert thread.focus_of(opened) == clearest_look(pattern)[0]
