"""Documents in two languages with gold relations, the same ones for the same seed.

Every document is a list of words and the relations that hold in it: which noun a pronoun stands
for, which noun a verb belongs to, and so on. The rules that make heads necessary:

- He and she share acts and traits, and what follows a pronoun or a verb depends on the noun it
  belongs to, so the model has to look at that noun.
- The two candidates of a reference take different pronouns and the antecedent is the subject
  half of the time; in a small share both take "it" or 它, and animacy decides.
- Between a subject and its verb stands a distractor of the other number or another family.
- A subject may say nothing ("those near the wolves"), so that the next best noun is needed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from mha_core.tokenizer import load_tokenizer

PIECE = "#"  # before the number of a piece that is no word of the vocabulary

Kind = Literal[
    "pronoun", "subject", "reflexive", "receiver", "measure",
    "pronoun_zh", "classifier_zh", "repeat",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """A pair of places that belong together, as places in the document's words.

    Attributes:
        kind: what the target is to the query.
        query: the word whose row should look there: the pronoun itself, else the word *before*
            the one that has to be predicted.
        target: the word it should look at.
        candidates: the places of all nouns that could stand in the target's place, itself too.
    """

    kind: Kind
    query: int
    target: int
    candidates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A place where a right and a wrong continuation differ: one half of a minimal pair.

    Attributes:
        task: what is tested.
        query: the word after which the choice falls.
        right, wrong: the two continuations.
        target: the word that decides.
        distractor: the word that would decide for `wrong`, or None.
    """

    task: str
    query: int
    right: str
    wrong: str
    target: int
    distractor: int | None


@dataclass
class Document:
    """Words in the making, with what holds between them."""

    language: Literal["en", "zh"]
    words: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    skip_loss: int = 0  # the first words of a random repeat cannot be predicted

    def add(self, *words: str) -> int:
        """Append words; returns the place of the last one."""
        for word in words:
            self.words.extend(word.split())
        return len(self.words) - 1

    @property
    def last(self) -> int:
        """The place of the last word."""
        return len(self.words) - 1

    def add_unknown(self, word: str) -> int:
        """Append a word the vocabulary lacks, as its pieces; returns the place of the last."""
        around = " " if self.language == "en" else ""
        pieces = load_tokenizer().encode(f"{around}{word}{around}")
        self.words.extend(PIECE + str(number) for number in pieces.ids)
        return self.last

    @property
    def ids(self) -> tuple[int, ...]:
        """The token numbers of the words, without `<bos>`."""
        tokenizer = load_tokenizer()
        return tuple(
            int(word[1:]) if word[0] == PIECE else tokenizer.id_of(word) for word in self.words
        )

    @property
    def text(self) -> str:
        """The document as a person writes it."""
        return load_tokenizer().decode(self.ids)


Maker = Callable[[random.Random], Document]


def mixture() -> list[tuple[float, str, Maker]]:
    """Every kind of document with its share."""
    from mha_core import grammar_chinese as zh
    from mha_core import grammar_clauses as clauses
    from mha_core import grammar_english as en
    from mha_core import grammar_everyday as everyday
    from mha_core import grammar_repeats as repeats

    return [
        (0.17, "reference", en.make_reference),
        (0.09, "everyday", everyday.make_everyday),
        (0.08, "reflexive", clauses.make_reflexive),
        (0.15, "agreement", clauses.make_agreement),
        (0.13, "repeat", repeats.make_repeat),
        (0.02, "names", repeats.make_names),
        (0.11, "receiver", clauses.make_receiver),
        (0.02, "measure", clauses.make_measure),
        (0.18, "reference_zh", zh.make_reference),
        (0.05, "classifier_zh", zh.make_classifier),
    ]


def make_documents(seed: int, count: int, kinds: tuple[str, ...] = ()) -> Iterator[Document]:
    """Documents drawn from the mixture.

    Args:
        seed: the same seed gives the same documents on every machine.
        count: how many.
        kinds: only these kinds of the mixture, in their shares; all of them unless given.

    >>> next(make_documents(0, 1)).text == next(make_documents(0, 1)).text
    True
    """
    draw = random.Random(seed)
    parts = [part for part in mixture() if not kinds or part[1] in kinds]
    shares = [share for share, _, _ in parts]
    for _ in range(count):
        _, _, make = draw.choices(parts, shares)[0]
        yield make(draw)


def hash_documents(seed: int, count: int = 2000) -> str:
    """SHA-256 of the first documents of a seed: says which data a model saw."""
    digest = hashlib.sha256()
    for document in make_documents(seed, count):
        digest.update(" ".join(document.words).encode() + b"\n")
    return digest.hexdigest()
