"""Words the model has not learned: said on every page, a learned one a click away, never explained
by default."""

from __future__ import annotations

import pytest

from mha_view import compute, thread
from mha_view.scene import Scene
from mha_view.texts import TEXTS
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
