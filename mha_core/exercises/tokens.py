"""The tokens page's exercises: pieces, ids, and the columns of X_in."""

from __future__ import annotations

from functools import cache

import numpy as np

from mha_core.exercises.exercise import Cell, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, places, whole

PIECES = ("a", "b", "c", "ab", "bc", "ca", "abc", "bca", "cab", "aab", "bcc")


def fewest_pieces(word: str, pieces: tuple[str, ...]) -> tuple[str, ...]:
    """A way to cut a word into the fewest pieces, all of them from the list.

    >>> fewest_pieces("abca", ("a", "b", "c", "ab", "abc"))
    ('abc', 'a')
    """

    @cache
    def cut(start: int) -> tuple[str, ...]:
        if start == len(word):
            return ()
        ways = [
            (piece, *cut(start + len(piece))) for piece in pieces if word.startswith(piece, start)
        ]
        return min(ways, key=len)

    return cut(0)


def longest_first(word: str, pieces: tuple[str, ...]) -> tuple[str, ...]:
    """The cut that takes the longest piece from the left each time.

    >>> longest_first("abcc", ("a", "b", "c", "abc", "bcc"))
    ('abc', 'c')
    """
    made: list[str] = []
    while word:
        made.append(max((p for p in pieces if word.startswith(p)), key=len))
        word = word.removeprefix(made[-1])
    return tuple(made)


def count(rng: Rng, seed: int) -> Exercise:
    """How many columns a word has that falls into pieces."""
    pieces = (*PIECES[:3], *sorted(str(p) for p in rng.permutation(PIECES[3:])[:4]))
    word = "".join(rng.choice(list("abc"), int(rng.integers(6, 9))))
    made = fewest_pieces(word, pieces)
    numbers = np.sort(rng.permutation(np.arange(10, 99))[: len(pieces)]).astype(np.float64)
    return Exercise(
        "tokens.count",
        seed,
        Number(len(made) + 1),
        (
            Miss("no_start", len(made)),
            Miss("greedy", len(longest_first(word, pieces)) + 1),
            Miss("letters", len(word) + 1),
        ),
        (Part("id", numbers[None], ("number", "piece"), ("id",), pieces),),
        values={"word": word},
        hint={"first": made[0], "rest": word.removeprefix(made[0])},
    )


def embed(rng: Rng, seed: int) -> Exercise:
    """X_in from a table and three ids."""
    entries = whole(rng, 5, 3)
    ids = [int(number) for number in rng.integers(1, 5, 3)]
    right = entries[ids].T.copy()
    return Exercise(
        "tokens.embed",
        seed,
        Matrix(Part("X_in", right, ("feature", "token"))),
        (
            Miss("tokens_in_rows", right.T.copy()),
            Miss("ids_from_one", entries[[number - 1 for number in ids]].T.copy()),
            Miss("in_table_order", entries[:3].T.copy()),
        ),
        (Part("E", entries, ("id", "feature")),),
        values={"ids": ", ".join(map(str, ids))},
        hint={"first": ids[0]},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """One feature of one token, among all of X_in."""
    feature, token = (place + 1 for place in places(rng, 2, 3))
    return Exercise(
        "tokens.point",
        seed,
        Cell((0, feature, token)),
        (
            Miss("row_and_column", (0, token, feature)),
            Miss("counted_from_one", (0, feature - 1, token - 1)),
        ),
        (Part("X_in", whole(rng, 4, 4), ("feature", "token")),),
        values={"feature": feature, "token": token},
    )


MAKERS = {"count": count, "embed": embed, "point": point}
