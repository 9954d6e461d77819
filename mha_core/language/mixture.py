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
from collections.abc import Callable, Iterator

from mha_core.language import chinese as zh
from mha_core.language import clauses, everyday, repeats
from mha_core.language import english as en
from mha_core.language.documents import Document
from mha_core.language.lexicon import CORE, FAR, Chance, Reach

Maker = Callable[[Chance], Document]


def mixture() -> list[tuple[float, str, Maker]]:
    """Every kind of document with its share."""
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


def make_documents(
    seed: int, count: int, kinds: tuple[str, ...] = (), reach: Reach = CORE
) -> Iterator[Document]:
    """Documents drawn from the mixture.

    Those with words in pieces are kept only if their text falls into just these tokens again.

    Args:
        seed: the same seed gives the same documents on every machine.
        count: how many.
        kinds: only these kinds of the mixture, in their shares; all of them unless given.
        reach: how far they go beyond the grammar's own words.

    >>> next(make_documents(0, 1)).text == next(make_documents(0, 1)).text
    True
    """
    draw = Chance(seed, reach)
    parts = [part for part in mixture() if not kinds or part[1] in kinds]
    shares = [share for share, _, _ in parts]
    for _ in range(count):
        _, _, make = draw.choices(parts, shares)[0]
        document = make(draw)
        while document.starts and not document.reads_back:
            document = make(draw)
        yield document


def hash_documents(seed: int, count: int = 2000) -> str:
    """SHA-256 of the first documents of a seed, near and far: says which data a model saw."""
    digest = hashlib.sha256()
    for reach in (CORE, FAR):
        for document in make_documents(seed, count, reach=reach):
            digest.update(" ".join(document.words).encode() + b"\n")
    return digest.hexdigest()
