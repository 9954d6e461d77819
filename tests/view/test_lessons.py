"""The lessons: the same parts in both languages, and every line of code in them true."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from mha_core.config import AttentionConfig
from mha_core.layer import AttentionSteps, attention
from mha_core.rope import Rope, pair_frequencies
from mha_core.weights import random_weights
from mha_view.classroom.facts import facts_of
from mha_view.classroom.route import PLANS
from mha_view.scene import Scene
from mha_view.words import FOLDER, LANGS, PLACEHOLDER, Words, lesson

WALK = (
    "overview",
    "tokens",
    "projection",
    "heads",
    "rope",
    "attention",
    "concat",
    "output",
    "why_heads",
)
WALK_PARTS = {"title", "says", "picture", "torch", "article", "trip", "ask", "why", "more"}
PAGE_PARTS = {"title", "says", "picture", "trip", "more"}
# What a teacher reads at each station of a route.
STATIONS = {station.page for route in PLANS.values() for station in route.stations}
STATION_PARTS = {f"{part}_{page}" for part in ("show", "ask", "answer") for page in STATIONS}
# What a page fills in: on every page, and in the question of one page.
SIZES = {"d_model", "n_heads", "n_kv_heads", "d_head", "d_value", "rows", "n_tokens"}
SIZES |= {"head", "last_head", "root"}
ASKED = {
    "overview": {"square", "feature", "weights"},
    "tokens": {"words", "characters", "tokens"},
    "heads": {"some", "square"},
    "rope": {"change"},
    "attention": {"root_d", "entropy", "entropy_d", "token"},
    "concat": {"row", "answer"},
    "output": {"token", "answer", "share"},
}
OPTIONS = {
    "overview": {"square", "feature", "weights"},
    "tokens": {"words", "characters", "tokens"},
    "projection": {"weights", "result", "both"},
    "heads": {"none", "some", "square"},
    "rope": {"same", "grow", "shrink"},
    "attention": {"up", "down", "same"},
    "concat": set(),
    "output": set(),
    "why_heads": {"same", "more", "fewer"},
}
NAMES = sorted(path.stem for path in (FOLDER / "lessons" / "en").glob("*.md"))
EVERY = [(name, lang) for name in NAMES for lang in LANGS]
CHINESE = r"[\u3400-\u9fff]"
# Mathematics and code are the same in every language.
NOT_PROSE = re.compile(r"`[^`]*`|\$[^$]*\$")


def placeholders(text: str) -> set[str]:
    """The names of the placeholders in a text."""
    return set(PLACEHOLDER.findall(text))


def prose(name: str, lang: str) -> dict[str, str]:
    """A lesson's parts without code and mathematics."""
    return {
        part: NOT_PROSE.sub(" ", text)
        for part, text in lesson(name, lang).items()
        if part not in ("torch", "article")
    }


def stray_punctuation(text: str) -> list[str]:
    """Half-width punctuation that touches a Chinese character where full-width belongs.

    >>> stray_punctuation("行,列；再看 0, 1。"), stray_punctuation("头:blue[查询]")
    (['行,'], [])
    """
    return re.findall(rf"{CHINESE}\s*[,;!?]|[,;!?]\s*{CHINESE}|{CHINESE}:(?![a-z]+\[)", text)


def test_the_walk_and_both_languages_have_the_same_lessons() -> None:
    in_chinese = sorted(path.stem for path in (FOLDER / "lessons" / "zh").glob("*.md"))
    assert in_chinese == NAMES
    assert set(WALK) <= set(NAMES)


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_a_lesson_has_its_parts(name: str, lang: str) -> None:
    parts = lesson(name, lang)
    expected = PAGE_PARTS
    if name in WALK:
        expected = WALK_PARTS | {f"option_{option}" for option in OPTIONS[name]}
    extra = {
        "overview": {"what", "limits"},
        "sizes": {"counted", "picture_flops", "picture_cache"},
    }.get(name, set())
    if name == "class":
        expected = PAGE_PARTS | STATION_PARTS
    optional = set() if name in WALK else {"limits"}
    optional |= {f"{part}_real" for part in expected | optional}  # of other people's models
    optional |= {f"{part}_unnormed" for part in expected}  # of layers with no norm before them
    assert expected | extra <= set(parts) <= expected | extra | optional
    assert all(parts.values()), "no part is empty"


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_every_heading_is_read_as_a_part(name: str, lang: str) -> None:
    lines = Path(FOLDER / "lessons" / lang / f"{name}.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("#")]
    assert lines[0] == "## title"
    assert headings == list(lesson(name, lang)), "one level, no heading twice"


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_placeholders_are_ones_the_page_fills(name: str, lang: str) -> None:
    filled = dict.fromkeys(SIZES, 7)
    asked = dict.fromkeys(ASKED.get(name, set()), "7")
    words = Words(lang)
    facts = facts_of(Scene())
    for part in lesson(name, lang):
        of_the_question = part in ("ask", "why") or part.startswith("option_")
        values = {**filled, **(asked if of_the_question else {})}
        values = facts if part.removesuffix("_real") in STATION_PARTS else values
        text = words.lesson(name, part, **values)
        assert "[[" not in text.replace("[[[", "["), part


@pytest.mark.parametrize("name", WALK)
def test_a_question_uses_what_the_page_computes_for_it(name: str) -> None:
    for lang in LANGS:
        parts = lesson(name, lang)
        asked = [text for part, text in parts.items() if part in ("ask", "why") or "option" in part]
        assert ASKED.get(name, set()) <= placeholders(" ".join(asked)), lang


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_name_the_same_numbers(name: str) -> None:
    english, chinese = lesson(name, "en"), lesson(name, "zh")
    assert list(english) == list(chinese)
    for part in english:
        assert placeholders(english[part]) == placeholders(chinese[part]), part


@pytest.mark.parametrize("name", WALK)
def test_code_and_formula_are_one_line_and_the_same_in_both_languages(name: str) -> None:
    for part in ("torch", "article"):
        english, chinese = lesson(name, "en")[part], lesson(name, "zh")[part]
        assert english == chinese
        assert "\n" not in english
        assert "$" not in english
    assert len(ast.parse(lesson(name, "en")["torch"]).body) == 1
    article = lesson(name, "en")["article"]
    assert article.count("{") == article.count("}")
    assert article.count(r"\left(") == article.count(r"\right)")


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_markdown_holds_no_html_and_closes_what_it_opens(name: str, lang: str) -> None:
    for part, text in lesson(name, lang).items():
        if part in ("torch", "article"):
            continue
        assert text.count("`") % 2 == 0, part
        assert text.count("$") % 2 == 0, part
        assert not re.search(r"</?[a-zA-Z]", NOT_PROSE.sub("", text)), part
        roles = re.findall(r":(\w+)\[", NOT_PROSE.sub("", text))
        assert set(roles) <= {"blue", "orange", "green", "violet", "red", "gray"}, part


@pytest.mark.parametrize("name", NAMES)
def test_chinese_has_no_half_width_punctuation(name: str) -> None:
    for part, text in prose(name, "zh").items():
        assert not stray_punctuation(text), part
        assert "--" not in text, part


@pytest.mark.parametrize("name", NAMES)
def test_english_is_english(name: str) -> None:
    for part, text in prose(name, "en").items():
        assert not re.search(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]", text), part


@pytest.mark.parametrize("lang", LANGS)
def test_a_page_that_labels_heads_says_what_attention_does_not_show(lang: str) -> None:
    said = {"en": "not why the model decided", "zh": "说明不了模型为什么这样判断"}[lang]
    for name in ("overview", "gallery", "specialisation", "training", "compare", "vit"):
        assert said in " ".join(lesson(name, lang).values()), name


def walked(n_kv_heads: int) -> tuple[dict[str, Any], AttentionSteps]:
    """What a line of code in a lesson may name, and the layer it must agree with."""
    config = AttentionConfig(d_model=15, n_heads=6, d_head=4, n_kv_heads=n_kv_heads, rope=Rope())
    weights = random_weights(config, seed=3).to_torch()
    x = torch.randn(7, 15, generator=torch.Generator().manual_seed(3))
    steps = attention(x, weights, config)
    frequencies = torch.tensor(pair_frequencies(Rope(), 4), dtype=torch.float32)
    named: dict[str, Any] = {
        name: getattr(steps, name)
        for name in ("x", "q_full", "k_full", "v_full", "q", "k", "v", "q_rot", "k_rot",
                     "keep", "heads", "concat")
    }  # fmt: skip
    named |= {name: getattr(weights, name) for name in ("w_q", "w_k", "w_v", "w_o")}
    named |= {
        "torch": torch, "F": functional, "S": 7, "n_heads": 6, "d_head": 4,
        "k_shared": steps.k_rot.repeat_interleave(6 // n_kv_heads, dim=0),
        "first": steps.q[..., :2], "second": steps.q[..., 2:],
        "angle": torch.arange(7)[:, None] * frequencies,
        "stream": 2 * x, "ids": torch.tensor([2, 0, 1]), "embedding": torch.nn.Embedding(3, 15),
    }  # fmt: skip
    return named, steps


def expected_of(named: dict[str, Any], steps: AttentionSteps) -> dict[str, dict[str, Tensor]]:
    """What the line of each lesson must give, by the name it assigns."""
    embedding = named["embedding"].weight
    return {
        "overview": {"out": steps.out},
        "tokens": {"stream": torch.stack([embedding[2], embedding[0], embedding[1]])},
        "projection": {"q_full": steps.q_full, "k_full": steps.k_full, "v_full": steps.v_full},
        "heads": {"q": steps.q},
        "rope": {"turned": torch.complex(steps.q_rot[..., :2], steps.q_rot[..., 2:])},
        "attention": {"pattern": steps.pattern},
        "concat": {"concat": steps.concat},
        "output": {"residual": named["stream"] + steps.out},
        "why_heads": {"n_parameters": torch.tensor(2 * 15 * 4 * (6 + steps.k.shape[0]))},
    }


@pytest.mark.parametrize("n_kv_heads", [6, 2])
@pytest.mark.parametrize("name", WALK)
def test_the_line_of_code_gives_what_the_layer_gives(name: str, n_kv_heads: int) -> None:
    named, steps = walked(n_kv_heads)
    expected = expected_of(named, steps)[name]
    given = {key: value for key, value in named.items() if key not in expected or key == "stream"}
    exec(lesson(name, "en")["torch"], given)
    for key, value in expected.items():
        torch.testing.assert_close(torch.as_tensor(given[key]), value, rtol=1e-5, atol=1e-6)


def test_the_wrong_ways_that_the_lessons_warn_of_are_wrong() -> None:
    _, steps = walked(6)
    split, joined = steps.q_full.view(6, 7, 4), steps.heads.reshape(7, -1)
    assert (split.shape, joined.shape) == (steps.q.shape, steps.concat.shape)
    assert not torch.allclose(split, steps.q)
    assert not torch.allclose(joined, steps.concat)


@pytest.mark.parametrize(("lang", "least", "unit"), [("en", 1_100, r"\w+"), ("zh", 1_800, CHINESE)])
def test_a_long_text_is_one_long_paragraph_that_repeats_no_sentence(
    lang: str, least: int, unit: str
) -> None:
    text = (FOLDER / "bundled" / f"long.{lang}.txt").read_text(encoding="utf-8").strip()
    assert "\n" not in text
    assert len(re.findall(unit, text)) >= least
    sentences = [part for part in re.split(r"(?<=[.?。？])\s*", text) if part]
    assert len(sentences) == len(set(sentences))
