"""Marked sentences and patterns: what is read, and what is said of what cannot be."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import DataError
from mha_core.heads.marks import MOST_SENTENCES, MOST_TOKENS, Marked, read_marked, write_marked
from mha_core.heads.ready_claims import READY
from mha_core.language.patterns import Line, draw_lines, fill, has_slots, list_slots
from mha_core.language.tokenizer import load_tokenizer

TOKENIZER = load_tokenizer()


def read(text: str, **settings: int) -> Marked:
    reading = read_marked(text, TOKENIZER, **settings)
    assert not reading.faults, [str(fault) for fault in reading.faults]
    [one] = reading.sentences
    return one


def words_at(one: Marked) -> tuple[str, list[str]]:
    return one.labels[one.query], [one.labels[place] for place in one.targets]


@pytest.mark.parametrize(
    ("text", "plain", "query", "targets"),
    [
        ("The {cat} sat because [it] ran.", "The cat sat because it ran.", "it", ["cat"]),
        ("她把{书}给了小明，因为[他]喜欢。", "她把书给了小明，因为他喜欢。", "他", ["书"]),
        ("｛小狗｝追小红，因为［它］很饿。", "小狗追小红，因为它很饿。", "它", ["小狗"]),
        ("{The cat} ran and [sat].", "The cat ran and sat.", "sat", ["The", "cat"]),
        ("{Tom} saw {Anna} as [they] ran.", "Tom saw Anna as they ran.", "they", ["Tom", "Anna"]),
        ("The { cat } sat because [ it ] ran.", None, "it", ["cat"]),
        (r"\[a\] {cat} and \{b\} [it]", "[a] cat and {b} it", "it", ["cat"]),
        (r"C:\\[it]", None, "it", None),
        (r"a {cat} \< b \\ [it] \d", "a cat < b \\ it \\d", "it", ["cat"]),
        ("[It]", None, None, None),
    ],
)
def test_marks_are_read_as_they_stand(
    text: str, plain: str | None, query: str | None, targets: list[str] | None
) -> None:
    reading = read_marked(text, TOKENIZER)
    if targets is None:
        assert [fault.key for fault in reading.faults] == ["marks.target"]
        return
    one = read(text)
    assert plain is None or one.text == plain
    assert words_at(one) == (query, targets)
    assert one.ids == (TOKENIZER.bos.id, *TOKENIZER.encode(one.text).ids)


def test_a_word_in_pieces_looks_by_its_last_and_is_looked_at_in_all() -> None:
    one = read("The {zebrafish} saw a [flibbert].")
    pieces = TOKENIZER.encode("The zebrafish saw a flibbert.")
    whole = tuple(n for n, token in enumerate(pieces, 1) if 4 <= token.start < 13)
    assert len(whole) > 1
    assert one.targets == whole
    assert pieces[one.query - 1].end == one.text.index("flibbert") + len("flibbert")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("The {cat} sat.", r"^Line 2 has no query\. Put square brackets"),
        ("The {cat} [sat] and [ran].", r"^Line 2 has 2 queries in square brackets; expected one"),
        ("The cat [sat].", r"^Line 2 has no target\. Put braces \{ \} round"),
        ("The {cat} sat because [it.", r"^Line 2: “\[” is not closed\. Put “\]” behind"),
        ("The {cat sat because", r"^Line 2: “\{” is not closed\. Put “\}” behind"),
        ("The cat} sat because [it].", r"^Line 2: “\}” closes no mark"),
        ("The {cat] sat because [it}.", r"^Line 2: “\]” closes no mark"),
        ("The {[cat]} sat.", r"^Line 2: “\[” stands inside “\{”"),
        ("The [{cat}] sat.", r"^Line 2: “\{” stands inside “\[”"),
        ("The {} sat because [it] ran.", r"^Line 2: \{\} stands round nothing"),
        ("The {cat} sat because [ ] ran.", r"^Line 2: \[\] stands round nothing"),
        ("The {c}at sat because [it] ran.", r"^Line 2: a mark cuts through “cat”"),
        ("The {cat} sat be[cause] it.", r"^Line 2: a mark cuts through “because”"),
        ("因为{小}明跑，[他]很累。", r"^Line 2: a mark cuts through “小明”"),
        ("[It] saw the {cat}.", r"^Line 2: the target “cat” does not stand before the query"),
        ("{It} saw [the] {cat}.", r"^Line 2: the target “cat” does not stand before"),
        ("The <elephant> {cat} [sat].", r"^Line 2: <elephant> names no kind of word.*<animal>"),
        ("The <she {cat} [sat].", r"^Line 2: a “<” or “>” stands alone"),
        ("The {cat} > [sat].", r"^Line 2: a “<” or “>” stands alone"),
        ("{cat} [it] " + "and " * MOST_TOKENS, rf"^Line 2 has \d+ tokens; at most {MOST_TOKENS}"),
        ("因为<她>{<她>}[<龙>]", r"^Line 2: <龙> names no kind of word\. Choose one of <他>, <她>"),
    ],
)
def test_what_is_wrong_is_said_by_line(line: str, said: str) -> None:
    text = f"The {{cat}} sat because [it] ran.\n{line}\n\nThe {{dog}} sat because [it] ran."
    reading = read_marked(text, TOKENIZER)
    assert [one.line for one in reading.sentences] == [1, 4]
    [fault] = reading.faults
    with pytest.raises(DataError, match=said):
        raise fault


def test_every_bad_line_is_told_in_order() -> None:
    text = "[a]\n{b}\nThe {cat} sat because [it] ran.\n<nothing>\n{c} [d"
    reading = read_marked(text, TOKENIZER)
    assert [fault.values["line"] for fault in reading.faults] == [1, 2, 4, 5]
    assert len(reading.sentences) == 1


def test_too_many_are_refused_and_the_same_counts_once() -> None:
    line = "The {cat} sat because [it] ran."
    with pytest.raises(DataError, match=f"There are 501 sentences; at most {MOST_SENTENCES}"):
        read_marked("\n".join([line] * 501), TOKENIZER)
    with pytest.raises(DataError, match="There are 9999 sentences"):
        read_marked("The {<she>} saw [<he>]", TOKENIZER, count=9999)
    reading = read_marked("\n".join([line] * 500), TOKENIZER)
    assert (len(reading.sentences), reading.repeated) == (1, 499)
    # The same words with other marks are another sentence.
    assert len(read_marked(f"{line}\nThe {{cat}} sat [because] it ran.", TOKENIZER).sentences) == 2


SIGNS = st.text(st.sampled_from("[]{}<>\\［］｛｝ ab狗,.猫它🙂\t"), max_size=12)


@given(SIGNS, SIGNS, SIGNS)
def test_a_sentence_written_with_its_marks_reads_the_same(a: str, b: str, c: str) -> None:
    """Whatever stands round the marks, brackets and backslashes too."""

    def plain(text: str) -> str:
        return "".join(f"\\{s}" if s in "[]{}<>\\［］｛｝" else s for s in text)

    text = f"{plain(a)} {{dog}} {plain(b)} [it] {plain(c)}"
    reading = read_marked(text, TOKENIZER)
    one = reading.sentences[0]
    assert one.text == f"{a} dog {b} it {c}".strip()
    assert words_at(one)[0] == "it"
    again = read(write_marked(one, TOKENIZER))
    assert again == one


@given(st.text(st.sampled_from("[]{}<>|=1\\ she cat狗它"), max_size=40))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    reading = read_marked(text, TOKENIZER)
    for fault in reading.faults:
        assert "Line 1" in str(fault)
    for one in reading.sentences:
        assert 0 < min(one.targets) <= max(one.targets) < one.query < len(one.ids)


# --- Patterns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["english", "chinese"])
def test_every_slot_has_words_the_model_reads(lang: str) -> None:
    for name, words in list_slots(lang).items():  # type: ignore[arg-type]
        assert len(words) >= 7, name
        line = f"The <{name}>." if lang == "english" else f"是<{name}>。"
        sentences, faults = draw_lines(line, 500, 0)
        assert not faults
        assert len(sentences) > 0.9 * len(set(words))


def test_a_pattern_fills_as_it_says() -> None:
    lines, faults = draw_lines("The {<she>} saw the <he> and the <he> so [she] ran.", 60, 1)
    assert not faults
    assert len({line.text for line in lines}) == 60
    for line in lines:
        words = line.text.replace("{", "").replace("}", "").split()
        assert words[1] in list_slots("english")["she"]
        assert words[4] in list_slots("english")["he"]
        assert words[7] in list_slots("english")["he"]
        assert words[4] != words[7]
    again, _ = draw_lines("The {<she>} saw the <he> and the <he> so [she] ran.", 60, 1)
    assert again == lines
    other, _ = draw_lines("The {<she>} saw the <he> and the <he> so [she] ran.", 60, 2)
    assert other != lines


def test_a_remembered_word_is_said_again() -> None:
    lines, _ = draw_lines("<1=animal> and <2=animal> and <2> and <1>", 30, 0)
    for line in lines:
        first, second, third, fourth = line.text.split(" and ")
        assert (first, second) == (fourth, third)
        assert first != second


def test_plain_lines_stay_and_patterns_share_what_is_left() -> None:
    text = "A plain line.\n<a|b> one <c|d>\n\n<e|f> two <g|h|i|j>\nA plain line."
    lines, faults = draw_lines(text, 9, 0)
    assert not faults
    assert [line.text for line in lines if line.number in (1, 5)] == ["A plain line."] * 2
    assert sum(line.number == 2 for line in lines) in (3, 4)
    assert len(lines) == 9
    everything, _ = draw_lines(text, 500, 0)
    assert len(everything) == 2 + 4 + 8


def test_a_kind_that_has_run_out_says_so() -> None:
    line = "的" + "<形容词>" * 40
    _, faults = draw_lines(line, 5, 0)
    with pytest.raises(DataError, match="Line 1: <形容词> has no word left: its kind has"):
        raise faults[0]


def test_escaped_signs_are_no_slots() -> None:
    assert not has_slots(r"a \< b \> c")
    assert fill(r"a \< b", random.Random(0)) == "a < b"
    assert draw_lines(r"a \< b", 5, 0)[0] == [Line(1, "a < b")]


def test_sentences_where_two_words_become_one_are_left_out_and_counted() -> None:
    reading = read_marked("给<妈|爸>{<妈|书>}和[它]", TOKENIZER, count=50)
    assert reading.left_out == 1  # 妈妈 is one token
    assert not reading.faults
    assert len(reading.sentences) == 3


@pytest.mark.parametrize("name", READY)
def test_both_languages_of_a_ready_hypothesis_mark_alike(name: str) -> None:
    texts = READY[name]  # type: ignore[index]
    shapes = {
        lang: [(len(line.split("<")), line.count("{"), line.count("[")) for line in t.splitlines()]
        for lang, t in texts.items()
    }
    assert [s[1:] for s in shapes["en"]] == [s[1:] for s in shapes["zh"]]
    for text in texts.values():
        reading = read_marked(text, TOKENIZER, count=200)
        assert not reading.faults
        assert len(reading.sentences) > 195
