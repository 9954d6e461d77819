"""Both languages say the same things, and every word a page asks for is there."""

import re
from pathlib import Path

import pytest

from mha_core.errors import MESSAGES, ShapeError
from mha_view.words import LANGS, Words, catalogue

ROOT = Path(__file__).parents[2]
FIELD = re.compile(r"\{(\w+)[^}]*\}")


def placeholders(text: str) -> list[str]:
    return sorted(set(FIELD.findall(text)))


def test_both_languages_have_the_same_keys() -> None:
    english, chinese = catalogue("en").keys(), catalogue("zh").keys()
    only_chinese = {key for key in chinese - english if not key.startswith("error.")}
    assert english - chinese == set()
    assert only_chinese == set()


@pytest.mark.parametrize("lang", LANGS)
def test_no_key_stands_twice_as_the_later_text_would_be_the_only_one(lang: str) -> None:
    files = (ROOT / "mha_view" / "locales" / lang).glob("*.po")
    found = [
        key for path in files for key in re.findall(r'^msgid "(.+)"', path.read_text("utf-8"), re.M)
    ]
    assert sorted({key for key in found if found.count(key) > 1}) == []


@pytest.mark.parametrize("key", sorted(catalogue("en")))
def test_both_languages_fill_the_same_placeholders(key: str) -> None:
    assert placeholders(catalogue("en")[key]) == placeholders(catalogue("zh")[key])


@pytest.mark.parametrize("key", sorted(MESSAGES))
def test_every_error_is_told_in_chinese_with_the_same_values(key: str) -> None:
    chinese = catalogue("zh")[f"error.{key}"]
    assert placeholders(chinese) == placeholders(MESSAGES[key])
    assert re.search(r"[\u4e00-\u9fff]", chinese)


def test_no_error_text_is_left_over() -> None:
    told = {key.removeprefix("error.") for key in catalogue("zh") if key.startswith("error.")}
    assert told == set(MESSAGES)


@pytest.mark.parametrize("lang", LANGS)
def test_every_key_a_page_names_exists(lang: str) -> None:
    words = Words(lang)
    named = set()
    for folder in ("pages", "mha_view"):
        for path in (ROOT / folder).rglob("*.py"):
            named |= set(re.findall(r'\bwords\(\s*"([a-z_.]+)"', path.read_text("utf-8")))
    assert len(named) > 60
    assert {key for key in named if not words.has(key)} == set()


def test_an_error_names_what_it_got_in_both_languages() -> None:
    error = ShapeError("heads.divide", d_model=10, n_heads=4)
    for lang in LANGS:
        told = Words(lang).error(error)
        assert "10" in told
        assert "4" in told
    assert Words("en").error(error) == str(error)


def test_a_missing_word_is_an_error() -> None:
    with pytest.raises(KeyError, match="no such key"):
        Words("en")("no such key")
