"""Tokens: nothing of a text is lost, and everyday words stay whole."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import DataError
from mha_core.language.groups import fragments, group_tokens, joins
from mha_core.language.tokenizer import Tokenizer, load_tokenizer
from mha_core.language.vocabulary import BYTES, LEANING, load_vocabulary

TOKENIZER = load_tokenizer()
WORDS = [entry.piece for entry in load_vocabulary() if entry.kind in ("word", "punctuation")]

any_text = st.text(st.characters(codec=None, exclude_categories=()))
PIECES = [entry.piece for entry in load_vocabulary() if entry.kind in ("piece", "character")]
near_text = st.lists(
    st.sampled_from(
        [
            *WORDS[::23],
            *PIECES[::29],
            *LEANING,
            " ",
            "  ",
            "\n",
            "\t",
            "z",
            "'",
            "’",
            "é",
            "ḍ",
            "世",
            "🙂",
            "\ud800",
        ]
    )
).map("".join)


@given(any_text | near_text)
def test_decoding_gives_the_text_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.decode(list(TOKENIZER.encode(text).ids)) == text


@given(any_text | near_text)
def test_offsets_cover_the_text_but_for_implied_spaces(text: str) -> None:
    tokens = TOKENIZER.encode(text).tokens
    covered = 0
    for token in tokens:
        assert text[covered : token.start] in ("", " ") or token.start < covered
        assert token.kind == "byte" or text[token.start : token.end] == token.piece
        covered = max(covered, token.end)
    assert covered == len(text)


@pytest.mark.parametrize(
    ("text", "displays"),
    [
        ("The cat sat on the mat.", "The cat sat on the mat ."),
        ("a cat, a dog", "a cat , a dog"),
        ("a  cat", "a ␣ ␣ cat"),
        ("cat.The", "cat . ⁀ The"),
        ("the cat's mat", "the cat 's mat"),
        ("she didn't", "she did n't"),
        ("I like zebra", "I like zebra"),
        ("a robotics class", "a robot ·ics class"),
        ("CAT", "C ·A ·T"),
        ("we're, we’re", "we 're , we ’re"),
        ("I can't, I can’t", "I ca n't , I ca n’t"),
        ("Don't", "Do n't"),
        ("她把书给了小明，因为他喜欢看书。", "她 把 书 给 了 小明 ， 因为 他 喜欢 看书 。"),
        ("cat 猫 cat", "cat ␣ 猫 ␣ cat"),
        ("café", "c ·af ·é"),
        ("ḍ", "ḍ¹ ḍ² ḍ³"),
        ("龘", "龘¹ 龘² 龘³"),
        ("\x00", "0x00"),
        ("\u200f", "U+200F¹ U+200F² U+200F³"),
        ("e\u0302", "e ◌\u0302¹ ◌\u0302²"),
        ("彭伟😀", "彭 伟 😀"),
        (" \n", "␣ ↵"),
    ],
)
def test_the_rules_by_hand(text: str, displays: str) -> None:
    assert " ".join(TOKENIZER.encode(text).displays) == displays


@pytest.mark.parametrize("gap", ["", " ", "  ", "\n", "\t", "\u3000"])
def test_every_gap_between_two_words_comes_back(gap: str) -> None:
    encoding = TOKENIZER.encode(f"cat{gap}猫{gap}dog{gap},{gap}dog")
    assert TOKENIZER.decode(encoding) == encoding.text


def test_every_token_has_its_own_number_and_can_be_told_apart() -> None:
    entries = load_vocabulary()
    assert [entry.id for entry in entries] == list(range(len(entries)))
    assert len({(e.display, e.kind) for e in entries}) == len(entries)
    assert all(entry.display.strip() for entry in entries)


def test_every_byte_of_utf8_has_a_token() -> None:
    seen: set[int] = set()
    for code in [*range(0x800), *range(0x800, 0x110000, 61)]:
        seen.update(chr(code).encode("utf-8", "surrogatepass"))
    assert seen - set(range(0x20, 0x7F)) == set(BYTES)


def test_bytes_that_are_no_text_read_as_the_replacement_sign() -> None:
    lead = next(entry.id for entry in load_vocabulary() if entry.byte == 0xE4)
    assert TOKENIZER.decode([lead]) == "\ufffd"


def test_numbers_and_words_outside_the_vocabulary_are_named() -> None:
    with pytest.raises(DataError, match="Token -1 is outside"):
        TOKENIZER.decode([-1])
    with pytest.raises(DataError, match="“zebu” is not a word"):
        TOKENIZER.id_of("zebu")


def test_a_hundred_thousand_characters_of_any_kind_come_back() -> None:
    for unit in ("a世", "the cat ", "x", "é", "猫", "🙂 "):
        text = unit * (100_000 // len(unit))
        assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_tokenizing_needs_neither_torch_nor_numpy() -> None:
    code = (
        "import sys; from mha_core.language.tokenizer import load_tokenizer; "
        "load_tokenizer().encode('a'); "
        "sys.exit(bool({'torch', 'numpy', 'streamlit', 'plotly'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(any_text | near_text)
def test_every_token_is_in_one_group_and_groups_spell_the_text(text: str) -> None:
    tokens = TOKENIZER.encode(text).tokens
    groups = group_tokens(tokens, text)
    assert [place for group in groups for place in group.places] == list(range(len(tokens)))
    for group in groups:
        whole = text[tokens[group.first].start : tokens[group.last].end]
        assert group.text == (tokens[group.first].display if group.is_single else whole)
    for before, after in itertools.pairwise(groups):
        assert not joins(tokens[before.last], tokens[after.first], text)


def test_pieces_of_a_word_and_bytes_of_a_character_are_one_group() -> None:
    encoding = TOKENIZER.encode("The roboter met 龘, the 3D cat and 彭伟.")
    shown = [group.text for group in group_tokens(encoding.tokens, encoding.text)]
    assert [text for text in shown if text != "␣"] == [
        "The", "roboter", "met", "龘", ",", "the", "3D", "cat", "and", "彭", "伟", ".",
    ]  # fmt: skip
    cut = fragments(encoding.tokens, encoding.text)
    assert {encoding[place].display for place in cut} == {
        "robot", "·er", "龘¹", "龘²", "龘³", "3", "D",
    }  # fmt: skip


@given(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCXYZéñ"), min_size=1, max_size=24))
def test_a_run_of_letters_is_cut_into_the_fewest_pieces(run: str) -> None:
    pieces = TOKENIZER.encode(run).tokens
    assert "".join(token.piece for token in pieces) == run
    assert [token.goes_on for token in pieces] == [place > 0 for place in range(len(pieces))]
    # No two neighbours could be one piece, or the cut would have taken it.
    starts = {e.piece for e in load_vocabulary() if e.script == "latin"}
    joined = {e.piece for e in load_vocabulary() if e.script == "joined"}
    for place, (one, two) in enumerate(itertools.pairwise(pieces)):
        assert one.piece + two.piece not in (joined if place else starts)


def test_a_tokenizer_crosses_processes() -> None:
    assert pickle.loads(pickle.dumps(TOKENIZER)) is TOKENIZER
    assert len(pickle.dumps(TOKENIZER)) < 200
    other = Tokenizer((*TOKENIZER.entries,))
    again = pickle.loads(pickle.dumps(other))
    assert again.encode("a zebu").ids == other.encode("a zebu").ids
