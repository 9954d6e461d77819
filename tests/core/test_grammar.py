"""The grammar: the same documents for a seed, whole words, relations that hold."""

from __future__ import annotations

from collections import Counter

import pytest

from mha_core.language.documents import PIECE, Document
from mha_core.language.lexicon import load_lexicon
from mha_core.language.mixture import hash_documents, make_documents, mixture
from mha_core.language.tokenizer import load_tokenizer
from mha_core.language.vocabulary import load_vocabulary

DOCUMENTS = list(make_documents(7, 4000))
PRONOUNS = {
    "he": {"he"}, "she": {"she"}, "it": {"it"}, "they": {"they"},
    "他": {"he"}, "她": {"she"}, "它": {"it"},
}  # fmt: skip


def nouns_by_word() -> dict[str, set[str]]:
    """Which pronouns may take each noun up."""
    takes: dict[str, set[str]] = {}
    for language in ("english", "chinese"):
        for noun in load_lexicon(language).nouns:
            pronouns = {"he", "she"} if noun.pronoun == "either" else {noun.pronoun}
            takes.setdefault(noun.word, set()).update(pronouns)
            if noun.plural:
                takes.setdefault(noun.plural, set()).add("they")
    return takes


def test_a_seed_gives_the_same_documents_and_another_seed_others() -> None:
    assert [d.words for d in make_documents(7, 50)] == [d.words for d in DOCUMENTS[:50]]
    assert hash_documents(1, 50) == hash_documents(1, 50)
    assert hash_documents(1, 50) != hash_documents(2, 50)


def test_no_word_of_the_grammar_falls_apart() -> None:
    whole = {entry.piece for entry in load_vocabulary() if entry.kind in ("word", "punctuation")}
    for document in DOCUMENTS:
        assert {word for word in document.words if word[0] != PIECE} <= whole


def test_nearly_every_document_reads_back_as_its_own_tokens() -> None:
    tokenizer = load_tokenizer()
    sentences = [d for d in DOCUMENTS if not any(r.kind == "repeat" for r in d.relations)]
    same = [tokenizer.encode(d.text).ids == d.ids for d in sentences]
    # Longest match joins two Chinese words now and then, as it does for any writer.
    assert sum(same) / len(same) > 0.995


def test_every_vocabulary_word_with_a_family_is_said() -> None:
    said = Counter(word for document in DOCUMENTS for word in document.words)
    for language in ("english", "chinese"):
        missing = [n.word for n in load_lexicon(language).nouns if not said[n.word]]
        assert not missing


def test_a_pronoun_fits_its_antecedent_and_stands_after_it() -> None:
    takes = nouns_by_word()
    seen = 0
    for document in DOCUMENTS:
        for relation in document.relations:
            if relation.kind in ("pronoun", "pronoun_zh"):
                pronoun = document.words[relation.query].lower()
                assert PRONOUNS[pronoun] & takes[document.words[relation.target]]
                assert relation.target < relation.query
                assert relation.target in relation.candidates
                seen += 1
    assert seen > 1000


def test_subject_and_object_are_antecedents_about_equally_often() -> None:
    first = [
        r.target == min(r.candidates)
        for d in make_documents(3, 4000, ("reference",))
        for r in d.relations[:1]
        if len(r.candidates) == 2 and d.choices and d.choices[0].task == "reference"
    ]
    assert 0.45 < sum(first) / len(first) < 0.55


def test_the_wrong_continuation_never_is_right() -> None:
    for document in DOCUMENTS:
        for choice in document.choices:
            assert choice.right != choice.wrong
            assert document.words[choice.query + 1] == choice.right


def test_shared_acts_do_not_tell_he_from_she() -> None:
    for language in ("english", "chinese"):
        people = load_lexicon(language).people + load_lexicon(language).names
        he = {n.family.name for n in people if n.pronoun in ("he", "either")}
        she = {n.family.name for n in people if n.pronoun in ("she", "either")}
        assert he == she


def test_shares_sum_to_one() -> None:
    assert sum(share for share, _, _ in mixture()) == pytest.approx(1)


def test_unknown_words_come_as_pieces() -> None:
    document = Document("en")
    document.add("The")
    document.add_unknown("zebu")
    document.add("cat .")
    assert document.text == "The zebu cat."
    chinese = Document("zh", ["小明"])
    chinese.add_unknown("嗨")
    assert chinese.text == "小明嗨"
