"""The longer word lists: what they hold, what they must not, and what the grammar draws of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import pytest
import torch

from mha_core.heads.antecedents import (
    LANGUAGES,
    tier_rows,
    typed_antecedents,
    typed_lines,
    typed_tokens,
)
from mha_core.language.kinds import load_kinds
from mha_core.language.lexicon import (
    FAR,
    SECTIONS,
    TIERS,
    Chance,
    Language,
    load_lexicon,
    load_long_families,
    load_long_nouns,
    nouns_of,
)
from mha_core.language.mixture import make_documents
from mha_core.language.repeats import held_words
from mha_core.language.tokenizer import load_tokenizer
from mha_core.language.vocabulary import CJK, grammar_words, load_vocabulary
from mha_core.training.embedding import SplitEmbedding

TOKENIZER = load_tokenizer()
FAR_DOCUMENTS = list(make_documents(11, 3000, reach=FAR))


def script_of(sign: str) -> str:
    """The script of a letter, by its Unicode name; Han and kana count as one."""
    name = unicodedata.name(sign, "?").split()[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name


def test_the_vocabulary_holds_ten_to_twelve_thousand_tokens() -> None:
    assert 10_000 <= len(load_vocabulary()) <= 12_000


def test_no_piece_spans_two_scripts() -> None:
    for entry in load_vocabulary():
        scripts = {script_of(sign) for sign in entry.piece if sign.isalpha()}
        assert len(scripts) <= 1, entry


def test_every_character_of_a_chinese_word_is_a_token_too() -> None:
    pieces = {entry.piece for entry in load_vocabulary()}
    words = [e.piece for e in load_vocabulary() if e.script == "cjk" and e.kind == "word"]
    assert all(sign in pieces for word in words for sign in word)


def test_no_longer_word_swallows_what_a_role_looks_for() -> None:
    own = set(grammar_words())
    nouns = {noun.word for noun in load_lexicon("chinese").nouns}
    counted = {classifier for classifier, _ in load_lexicon("chinese").pairs("classifiers")}
    wanted = sorted(nouns | counted | {"的", "了", "很"}, key=len, reverse=True)
    spelt = re.compile(
        "(?:" + "|".join(sorted(filter(CJK.match, own), key=len, reverse=True)) + ")+"
    )
    for entry in load_vocabulary():
        if entry.kind == "word" and entry.script == "cjk" and entry.piece not in own:
            assert not set(entry.piece) & set("他她它我你"), entry
            if len(entry.piece) > 1 and spelt.fullmatch(entry.piece):
                assert not any(word in entry.piece for word in wanted), entry


@pytest.mark.parametrize("tier", ["long", "held", "pieces", "new"])
@pytest.mark.parametrize("section", SECTIONS)
def test_both_languages_have_nouns_of_every_section_and_tier(tier: str, section: str) -> None:
    for language in LANGUAGES:
        nouns = load_long_nouns(language)[tier][section]  # type: ignore[index]
        assert nouns, (language, tier, section)
        assert all(noun.family.section == section for noun in nouns)


def test_both_languages_lists_are_of_one_order_of_size() -> None:
    for section in SECTIONS:
        sizes = [len(nouns_of(language, "long", (section,))) for language in LANGUAGES]
        assert max(sizes) <= 6 * min(sizes), section
    people = [
        Counter(n.pronoun for n in nouns_of(lang, "long", ("people", "names")))
        for lang in LANGUAGES
    ]
    assert all(count[pronoun] > 15 for count in people for pronoun in ("he", "she", "either"))


def test_tiers_share_no_noun() -> None:
    for language in LANGUAGES:
        seen: Counter[str] = Counter()
        for tier in TIERS:
            seen.update({noun.text for noun in nouns_of(language, tier, SECTIONS)})
        assert [word for word, times in seen.items() if times > 1] == []


def test_no_document_of_a_training_run_says_a_held_word() -> None:
    held = set(held_words())
    unsaid = {n.word for lang in LANGUAGES for n in nouns_of(lang, "new", SECTIONS)}
    for document in FAR_DOCUMENTS:
        assert not held.intersection(document.words), document.text
        said = {
            " ".join(document.words[first : last + 1]) for last, first in document.starts.items()
        }
        assert not {word for word in said if word.startswith("#")} & unsaid, document.text


def test_the_classes_have_their_shares_in_the_grammar() -> None:
    draw, said = Chance(3, FAR), Counter[str]()
    names: dict[str, str] = {
        noun.word: tier for tier in TIERS for noun in nouns_of("english", tier, SECTIONS)
    }
    for _ in range(6000):
        said[names[draw.noun("english", *SECTIONS).word]] += 1
    for tier, share in (*FAR.tiers, ("core", 1 - sum(share for _, share in FAR.tiers))):
        assert said[tier] / 6000 == pytest.approx(share, abs=0.03)


def test_documents_with_words_in_pieces_read_back() -> None:
    pieces = [document for document in FAR_DOCUMENTS if document.starts]
    assert len(pieces) > 500
    assert all(document.reads_back for document in pieces)


def test_what_long_families_do_are_words_and_nothing_else_does_it() -> None:
    for language in LANGUAGES:
        families = [
            *{n.family for n in load_lexicon(language).nouns},
            *load_long_families(language).values(),
        ]
        acts = Counter(act.past for f in load_long_families(language).values() for act in f.acts)
        core = {act.past for noun in load_lexicon(language).nouns for act in noun.family.acts}
        assert not core & set(acts)
        assert set(acts.values()) == {1}
        for family in families:
            for word in (*(act.past for act in family.acts), *family.traits, *family.owns):
                assert TOKENIZER.entries[TOKENIZER.id_of(word)].kind == "word"


def test_an_unknown_word_has_the_kinds_its_ending_suggests() -> None:
    kinds = load_kinds()
    ends = {e.display: kinds.shares[e.id] for e in load_vocabulary()}
    assert max(ends["·ist"], key=ends["·ist"].__getitem__) == "people english"
    assert max(ends["·ed"], key=ends["·ed"].__getitem__) == "verb english"
    assert max(ends["员"], key=ends["员"].__getitem__) == "people chinese"
    assert max(ends["鸟"], key=ends["鸟"].__getitem__) == "animals chinese"


def test_the_folded_embedding_is_the_sum_of_its_parts() -> None:
    parts = SplitEmbedding(12, 5)
    folded, known = parts.fold(), load_kinds()
    rows = sorted({end for end in known.endings if end is not None})
    for word in ("zebra", "teacher", "the", "猫", "厨师"):
        number = TOKENIZER.id_of(word)
        by_hand = parts.own[number].clone()
        for kind, share in known.shares[number].items():
            by_hand = by_hand + share * parts.kinds[known.names.index(kind)]
        if (end := known.endings[number]) is not None:
            by_hand = by_hand + parts.endings[rows.index(end)]
        assert torch.allclose(folded[number], by_hand, atol=1e-6)
    ids = torch.tensor([[TOKENIZER.id_of("the"), TOKENIZER.id_of("zebra")]])
    whole = parts(ids, torch.Generator().manual_seed(0), 0.0)
    assert torch.allclose(whole[0], folded[ids[0]], atol=1e-6)
    without = parts(ids, torch.Generator().manual_seed(0), 1.0)
    assert torch.allclose(without[0, 0], folded[ids[0, 0]], atol=1e-6)  # the grammar's own stays
    assert torch.allclose(without[0, 1], (folded - parts.own)[ids[0, 1]], atol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_typed_sentences_fall_into_few_tokens(language: Language) -> None:
    assert len(typed_lines(language)) == 100
    shares = typed_tokens(language)
    assert shares["bytes"] <= 0.01
    if language == "english":
        assert shares["letters"] <= 0.05
        assert shares["tokens a word"] <= 1.5
    else:
        assert shares["tokens a character"] <= 1.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_antecedents_places_are_those_of_its_word(language: Language) -> None:
    entries = TOKENIZER.entries
    for line, one in zip(
        [line for line in typed_lines(language) if len(line) == 3],
        typed_antecedents(language), strict=True,
    ):  # fmt: skip
        _, pronoun, noun = line
        said = "".join(
            entries[number].piece for number in one.row.ids[one.first : one.row.target + 1]
        )
        assert said == noun.replace(" ", "")
        assert entries[one.row.ids[one.row.query]].piece == pronoun
        assert one.row.target < one.row.query


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("tier", TIERS)
def test_rows_of_a_tier_are_about_its_nouns(language: Language, tier: str) -> None:
    rows = tier_rows(language, tier, 4, 20)  # type: ignore[arg-type]
    words = {n.word for n in nouns_of(language, tier, SECTIONS)} | {
        n.plural for n in nouns_of(language, tier, SECTIONS)
    }  # type: ignore[arg-type]
    for one in rows:
        ids = one.row.ids[one.first : one.row.target + 1]
        is_word = len(ids) == 1 and TOKENIZER.entries[ids[0]].kind == "word"
        said = TOKENIZER.entries[ids[0]].piece if is_word else " ".join(f"#{n}" for n in ids)
        assert said in words
        assert one.row.target in one.row.candidates
