"""A document in the making: its words, and the gold relations that hold between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mha_core.language.lexicon import PIECE, spell
from mha_core.language.tokenizer import load_tokenizer

Kind = Literal[
    "pronoun", "owner", "subject", "reflexive", "receiver", "measure",
    "pronoun_zh", "classifier_zh", "repeat",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """A pair of places that belong together, as places in the document's words.

    Attributes:
        kind: what the target is to the query.
        query: the word whose row should look there: the pronoun itself, else the word *before*
            the one that has to be predicted.
        target: the word it should look at; of a word in pieces, the last.
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
    starts: dict[int, int] = field(default_factory=dict)  # last → first piece of a word in pieces

    def add(self, *words: str) -> int:
        """Append words; returns the place of the last one."""
        for word in words:
            parts = word.split()
            self.words.extend(parts)
            if parts and parts[-1].startswith(PIECE):
                pieces = sum(part.startswith(PIECE) for part in parts)
                self.starts[self.last] = self.last - pieces + 1
        return self.last

    @property
    def last(self) -> int:
        """The place of the last word."""
        return len(self.words) - 1

    def add_unknown(self, word: str) -> int:
        """Append a word the vocabulary lacks, as its pieces; returns the place of the last."""
        return self.add(spell(word, "english" if self.language == "en" else "chinese"))

    @property
    def ids(self) -> tuple[int, ...]:
        """The token numbers of the words, without `<bos>`."""
        tokenizer = load_tokenizer()
        return tuple(
            int(word[1:]) if word[0] == PIECE else tokenizer.id_of(word) for word in self.words
        )

    @property
    def reads_back(self) -> bool:
        """Whether its text falls into just these tokens, and not into others across words."""
        return load_tokenizer().encode(self.text).ids == self.ids

    @property
    def text(self) -> str:
        """The document as a person writes it."""
        return load_tokenizer().decode(self.ids)
