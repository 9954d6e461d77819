"""Sentences written by hand, and how a model does on them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import torch

from mha_core.errors import DataError
from mha_core.heads.measures import hits
from mha_core.heads.probe import Row, attention_rows
from mha_core.heads.sample import nearest_candidate
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.edits import Head
from mha_core.model.toy import ToyModel

FILE = "everyday.toml"
Language = Literal["english", "chinese"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A pronoun and the noun it stands for; candidates are the nouns before it."""

    text: str
    row: Row


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a sentence, the right next word and the wrong one."""

    text: str
    right: str
    wrong: str


@cache
def _lines(key: str) -> tuple[tuple[str, ...], ...]:
    """The lines of one list of the file, split at the bars."""
    text = files("mha_core").joinpath("data", FILE).read_text("utf-8")
    lines = tomllib.loads(text)[key].strip().splitlines()
    return tuple(tuple(part.strip() for part in line.split("|")) for line in lines)


def read_sentence(line: tuple[str, ...], nouns: frozenset[str]) -> Sentence:
    """A sentence with the places of its pronoun, of its antecedent and of all nouns before it.

    Raises:
        DataError: the pronoun or the noun is not there exactly once.
    """
    text, pronoun, noun = line
    tokenizer = load_tokenizer()
    tokens = (tokenizer.bos, *tokenizer.encode(text))
    pieces = [token.piece for token in tokens]
    for word in (pronoun, noun):
        if pieces.count(word) != 1:
            raise DataError("everyday.word", word=word, text=text, count=pieces.count(word))
    query, target = pieces.index(pronoun), pieces.index(noun)
    candidates = tuple(
        place for place, piece in enumerate(pieces[:query]) if piece in nouns or place == target
    )
    return Sentence(text, Row(tuple(token.id for token in tokens), query, target, candidates))


@cache
def everyday_sentences(language: Language) -> tuple[Sentence, ...]:
    """The pronoun sentences of a language."""
    from mha_core.language.lexicon import load_lexicon

    nouns = frozenset(
        word for noun in load_lexicon(language).nouns for word in (noun.word, noun.plural) if word
    )
    return tuple(read_sentence(line, nouns) for line in _lines(language))


@cache
def everyday_beginnings() -> tuple[Beginning, ...]:
    """The agreement sentences."""
    return tuple(Beginning(*line) for line in _lines("agreement"))


def found_antecedents(model: ToyModel, sentences: tuple[Sentence, ...], head: Head) -> list[bool]:
    """Whether the head's largest key at the pronoun is the antecedent, sentence by sentence.

    `<bos>` and the pronoun itself are left out of the keys.
    """
    rows = [sentence.row for sentence in sentences]
    seen = attention_rows(model, rows)[:, head[0], head[1]]
    found = hits(seen, [row.target for row in rows], [row.query for row in rows])
    return [bool(value) for value in found]


def guesses(sentences: tuple[Sentence, ...]) -> dict[str, float]:
    """What two simple rules would find: the nearest fitting noun, and the most recent noun."""
    rows = [sentence.row for sentence in sentences]
    recent = nearest_candidate([r.target for r in rows], [r.candidates for r in rows])
    fitting = nearest_candidate([r.target for r in rows], [_fitting(s) for s in sentences])
    return {"nearest candidate": fitting, "most recent noun": recent}


def _fitting(sentence: Sentence) -> tuple[int, ...]:
    """The nouns before the pronoun that could take this pronoun."""
    from mha_core.language.lexicon import load_lexicon

    tokenizer = load_tokenizer()
    row = sentence.row
    pronoun = tokenizer.entries[row.ids[row.query]].piece
    wanted = {"他": "he", "她": "she", "它": "it"}.get(pronoun, pronoun)
    takes: dict[str, set[str]] = {}
    for language in ("english", "chinese"):
        for noun in load_lexicon(language).nouns:
            both = {"he", "she"} if noun.pronoun == "either" else {noun.pronoun}
            takes.setdefault(noun.word, set()).update(both)
            if noun.plural:
                takes.setdefault(noun.plural, set()).add("they")
    fitting = [
        place
        for place in row.candidates
        if place == row.target or wanted in takes.get(tokenizer.entries[row.ids[place]].piece, ())
    ]
    return tuple(fitting)


@torch.no_grad()
def agreement_right(model: ToyModel) -> list[bool]:
    """Whether the right next word is more probable than the wrong one, for each beginning."""
    right = []
    for beginning in everyday_beginnings():
        logits = model(torch.tensor([model.ids_of(beginning.text)]))[0, -1]
        good, bad = (model.tokenizer.id_of(w) for w in (beginning.right, beginning.wrong))
        right.append(bool(logits[good] > logits[bad]))
    return right


def share(found: list[bool]) -> float:
    """The share of true ones."""
    return float(np.mean(found))
