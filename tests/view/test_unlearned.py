"""Words the model has not learned: said on every page, a learned one a click away, never explained
by default."""

from __future__ import annotations

import numpy as np
import pytest

from mha_core.language.kinds import load_kinds
from mha_view import compute, thread
from mha_view.components.plot import escape_label
from mha_view.figures.walk import feature_matrix, head_patterns, one_pattern
from mha_view.grouping import group_tokens
from mha_view.scene import Scene, write_link
from mha_view.texts import TEXTS
from mha_view.unlearned import mark_figure
from mha_view.walk.tokens import say_parts
from mha_view.words import LANGS, Words
from tests.view.test_pages import html, open_app, texts

STRANGE = {
    "en": "The skateboarder met Zoe because he was tired.",
    "zh": "彭伟把书给了小红，因为她喜欢看书。",
}


@pytest.mark.parametrize("page", ["overview", "tokens", "attention"])
@pytest.mark.parametrize("lang", LANGS)
def test_a_page_says_how_many_tokens_the_model_has_not_learned(page: str, lang: str) -> None:
    scene = Scene(lang=lang, text=STRANGE[lang])
    app = open_app(page, scene)
    assert not app.exception
    strange = compute.unlearned_of(scene)
    tokens = sum(len(one.group.places) for one in strange)
    told = Words(lang)(
        "unlearned.tokens",
        words=" · ".join(one.group.text for one in strange),
        n=tokens,
        total=len(compute.read_text(scene.text, with_bos=False)),
    )
    assert tokens >= 2
    assert told in texts(app)


@pytest.mark.parametrize("lang", LANGS)
def test_a_click_puts_a_learned_word_in_its_place(lang: str) -> None:
    scene = Scene(lang=lang, text=STRANGE[lang])
    [one] = compute.unlearned_of(scene)
    app = open_app("tokens", scene)
    app.button(key=f"unlearned_{one.group.first}").click().run()
    assert not app.exception
    changed = app.session_state["scene"]
    assert changed.text == scene.text.replace(one.group.text, one.instead or "")
    assert compute.unlearned_of(changed) == ()


@pytest.mark.parametrize("weights", ["custom", "article"])
def test_weights_that_learned_nothing_are_not_said_to_lack_words(weights: str) -> None:
    scene = Scene(text=STRANGE["en"], weights=weights)  # type: ignore[arg-type]
    assert compute.unlearned_of(scene) == ()


@pytest.mark.parametrize("name", [name for name in TEXTS if not name.startswith("long")])
def test_the_bundled_sentences_are_of_learned_words(name: str) -> None:
    assert compute.unlearned_of(Scene(text=TEXTS[name])) == ()


@pytest.mark.parametrize("head", range(6))
@pytest.mark.parametrize("layer", range(3))
def test_no_page_opens_on_a_part_of_a_word(layer: int, head: int) -> None:
    scene = Scene(text="The skateboarder met 龘 in a roboter.", layer=layer, head=head)
    parts = compute.fragments_of(scene)
    assert len(parts) >= 7
    assert thread.focus_of(scene) not in parts


def test_pieces_of_a_word_stand_together_on_the_tokens_page() -> None:
    app = open_app("tokens", Scene(text="The roboter met 龘."))
    assert html(app).count('class="whole"') == 2
    words = Words("en")
    assert words("tokens.falls.pieces", word="roboter", n=2, pieces="`robot` `·er`") in texts(app)
    plain = open_app("tokens", Scene(text=TEXTS["cat"]))
    assert 'class="whole"' not in html(plain)
    assert words("tokens.falls.whole") in texts(plain)


@pytest.mark.parametrize("text", ["The roboter saw a zebu.", "彭伟去了龘岭。", "<b>zebu</b> & 龘"])
@pytest.mark.parametrize("merge", [False, True])
def test_axes_carry_the_mark_where_the_sentence_names_words_not_learned(
    text: str, merge: bool
) -> None:
    scene = Scene(text=text, whole_words=merge)
    reading, strange = compute.reading_of(scene), compute.strange_places(scene)
    grouping = group_tokens(reading.tokens, text, whole_words=merge)
    assert strange
    words, trace = Words("en"), compute.layer_of(scene)
    for picture in (
        head_patterns(trace, reading.labels, words, grouping=grouping),
        one_pattern(trace, 0, reading.labels, words, grouping=grouping),
        feature_matrix(trace["q_full"], reading.labels, words),
    ):
        rows = picture.grouping or group_tokens(reading.tokens, text)
        figure = mark_figure(picture.figure, strange, rows.labels, rows)
        wanted = [
            label + "°" * (not strange.isdisjoint(group))
            for label, group in zip(rows.labels, rows.groups, strict=True)
        ]
        assert figure["data"][0]["meta"]["columns"] == wanted
        ticks = figure["layout"]["xaxis"].get("ticktext")
        assert ticks in (None, [escape_label(label) for label in wanted])
        assert picture.figure["data"][0]["meta"]["columns"] == list(rows.labels), "as it was"
    assert mark_figure(picture.figure, (), reading.labels) is picture.figure


@pytest.mark.parametrize("page", ["attention", "why_heads", "rope", "overview", "compare"])
@pytest.mark.parametrize("lang", LANGS)
def test_pieces_are_merged_on_every_page_of_attention(page: str, lang: str) -> None:
    scene = Scene(lang=lang, text="The roboter met 龘.", whole_words=True)
    app = open_app(page, scene)
    assert not app.exception
    told = Words(lang)("merged.columns" if page == "overview" else "merged.weights")
    assert told in texts(app)
    assert app.toggle(key="whole_words").value
    app.toggle(key="whole_words").set_value(False).run()
    assert told not in texts(app)
    assert "merge" not in write_link(app.session_state["scene"])


def test_columns_of_numbers_stay_apart_and_say_so() -> None:
    scene = Scene(text="The roboter met 龘.", whole_words=True)
    for page in ("projection", "output"):
        assert Words("en")("merged.columns") in texts(open_app(page, scene))
    whole = open_app("attention", Scene(whole_words=True))
    assert Words("en")("merged.weights") not in texts(whole), "nothing fell into pieces"


def test_a_click_into_a_merged_cell_opens_its_largest_weight() -> None:
    scene = Scene(text="The roboter met 龘 roboter.", whole_words=True)
    reading, trace = compute.reading_of(scene), compute.layer_of(scene)
    grouping = group_tokens(reading.tokens, scene.text, whole_words=True)
    shown = grouping.apply(trace.pattern)
    assert np.allclose(shown.sum(-1), 1, atol=1e-5)
    picture = head_patterns(trace, reading.labels, Words("en"), grouping=grouping)
    assert picture.whole is not None
    n = len(grouping.groups)
    for head in range(len(trace.pattern)):
        for row, column in ((r, c) for r in range(n) for c in range(r + 1)):
            query, key = grouping.largest(
                picture.whole[head], slice(row, row + 1), slice(column, column + 1)
            )
            block = trace.pattern[head][np.ix_(grouping.groups[row], grouping.groups[column])]
            assert trace.pattern[head, query, key] == block.max()
            assert shown[head, row, column] == pytest.approx(block.sum(1).mean(), abs=1e-6)
            assert (grouping.find(query), grouping.find(key)) == (row, column)


@pytest.mark.parametrize("lang", LANGS)
def test_a_column_names_the_kinds_and_the_ending_it_was_trained_with(lang: str) -> None:
    words, known = Words(lang), load_kinds()
    told = {name: words(f"sort.{name.split()[0]}") for name in known.names}
    assert len(set(told.values())) == len({name.split()[0] for name in told}), "one word a kind"
    for text, place in (("The zebra saw a roboter.", 2), ("小猫喜欢龘。", 1)):
        scene = Scene(lang=lang, text=text, focus=place - 1)
        token = compute.reading_of(scene).tokens[place]
        said = say_parts(token, words)
        assert all(told[kind] in said for kind in known.shares[token.id])
        app = open_app("tokens", scene)
        assert said in texts(app)
        column = compute.layer_of(scene).stream[place]
        assert app.code[0].value.startswith(f"[{column[0]:.3f}, {column[1]:.3f}, ")
    random = open_app("tokens", Scene(lang=lang, weights="custom"))
    assert words("tokens.parts", kinds="|", ending="|").split("|")[0][:8] not in texts(random)
