"""Random words said twice: what previous, induction, duplicate and sink are scored on, and copying.

A repeat is `<bos>` + s + s, the words of s all different, so that each word of the second half
has one earlier place and the measures are those of the field: previous pattern[q, q − 1],
induction pattern[q, q − L + 1] and duplicate pattern[q, q − L] over the second half, L the length
of s (Olsson et al. 2022); the sink pattern[q, 0] over every row from the third on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.heads.measures import MEASURES, Measure, Seen
from mha_core.heads.probe import Floats, pad_ids, patterns_of
from mha_core.language.repeats import LONGEST, SHORTEST, core_words
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.edits import Edits, OpenModel

Repeat = tuple[int, ...]

# The measure that each role on repeats goes by; the sink's rows are all of its measure's, the
# others' are those of the second half.
REPEAT_ROLES: Mapping[str, Measure] = {
    "previous": MEASURES["previous"],
    "induction": MEASURES["induction"],
    "duplicate": MEASURES["duplicate"],
    "sink": MEASURES["first"],
}


@cache
def word_ids() -> tuple[int, ...]:
    """The grammar's own words; those of the longer lists are each too rare in training."""
    tokenizer = load_tokenizer()
    return tuple(tokenizer.id_of(word) for word in core_words())


@cache
def noun_ids() -> tuple[int, ...]:
    """The nouns of both languages."""
    from mha_core.language.lexicon import load_lexicon

    tokenizer = load_tokenizer()
    nouns = [*load_lexicon("english").nouns, *load_lexicon("chinese").nouns]
    return tuple(sorted({tokenizer.id_of(noun.word) for noun in nouns}))


def draw_repeats(
    words: Sequence[int], seed: int, count: int, *, length: int | None = None
) -> list[Repeat]:
    """Repeats of these words; the first ones are the same however many are drawn.

    Args:
        words: token numbers to draw from, each at most once in a half.
        seed: the same seed gives the same repeats on every machine.
        count: how many.
        length: words in a half; drawn anew for each, 5 to 20, if None.

    >>> [first] = draw_repeats([7, 8, 9], 0, 1, length=3)
    >>> len(first), first[1:4] == first[4:], sorted(first[1:4])
    (7, True, [7, 8, 9])
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    bos = load_tokenizer().bos.id
    repeats = []
    for _ in range(count):
        n_words = int(generator.integers(SHORTEST, LONGEST + 1)) if length is None else length
        said = generator.choice(words, n_words, replace=False).tolist()
        repeats.append((bos, *said, *said))
    return repeats


def rows_counted(role: str, repeat: Repeat) -> NDArray[np.bool_]:
    """Which rows a role may count on a repeat, bool [query]."""
    n_words = len(repeat) // 2
    if role == "sink":
        return np.ones(len(repeat), dtype=bool)
    return np.asarray(np.arange(len(repeat)) > n_words)


def _seen(repeat: Repeat) -> Seen:
    """What the patterns on a repeat are made from."""
    return Seen(np.tri(len(repeat), dtype=bool), np.array(repeat))


def repeat_scores(model: OpenModel, repeats: Sequence[Repeat]) -> dict[str, Floats]:
    """Each role's score of every head on every repeat: [repeat, layer, head]."""
    scores: dict[str, list[Floats]] = {role: [] for role in REPEAT_ROLES}
    for repeat, patterns in zip(repeats, patterns_of(model, repeats), strict=True):
        seen = _seen(repeat)
        for role, measure in REPEAT_ROLES.items():
            scores[role].append(measure.score(patterns, seen, rows_counted(role, repeat)))
    return {role: np.stack(values) for role, values in scores.items()}


def repeat_chance(role: str, repeats: Sequence[Repeat]) -> float:
    """What a head scores on average that looks at every key it may see alike."""
    measure = REPEAT_ROLES[role]
    chances = [measure.chance(_seen(repeat), rows_counted(role, repeat)) for repeat in repeats]
    return float(np.mean(chances))


@torch.no_grad()
def copying(model: OpenModel, repeats: Sequence[Repeat], *, edits: Edits | None = None) -> float:
    """The share of the second halves that is predicted, each half's first word left out.

    Nothing tells the first word. A word is predicted when no token is more probable.

    Args:
        model: the model.
        repeats: what it reads.
        edits: what is changed.
    """
    guesses = model.run(pad_ids(repeats), edits=edits).logits.argmax(-1)
    right = []
    for repeat, guess in zip(repeats, guesses, strict=True):
        n_words = len(repeat) // 2
        wanted = torch.tensor(repeat[n_words + 2 :])
        right.append(guess[n_words + 1 :][: len(wanted)] == wanted)
    return float(torch.cat(right).float().mean())
