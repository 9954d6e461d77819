"""A text goes on word by word: what comes next, one token chosen, and read in its turn.

`continue_text` works with any model that reads as a `Writer` does: it takes token numbers and what
is kept of those read before, and gives the next token's logits together with the rows of every
head, in which the last token looks at all that is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.errors import ConfigError
from mha_core.values import check_count, check_finite

Head = tuple[int, int]  # layer, head
Edge = tuple[int, int, int, int]  # layer, head, query, key


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen among the probable ones.

    Args:
        temperature: the logits are divided by it; at 0 the most probable token is taken.
        top_k: so many of the most probable tokens may be chosen, 0 for all.
        top_p: the most probable tokens that together first reach this share may be chosen.
        seed: with a token's place, decides the number that is drawn for it.

    Raises:
        ConfigError: a setting outside what it can be.

    Source: top-p is Holtzman et al. 2020; the order, temperature before top-k before top-p, is
    transformers'.

    >>> Sampling(temperature=0.8, top_k=40).top_p
    1.0
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_finite("temperature", self.temperature)
        check_count("top_k", self.top_k)
        check_count("seed", self.seed)
        check_finite("top_p", self.top_p)
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise ConfigError("setting.sampling", temperature=self.temperature, top_p=self.top_p)


@dataclass(frozen=True, eq=False)
class Next:
    """What a model says after the tokens it has read.

    Attributes:
        logits: [vocabulary]; −inf for a token that cannot follow.
        rows: a layer [head, key], in which the last token looks at all tokens, itself included.
        past: what the model keeps of the tokens read, for the next time.
    """

    logits: NDArray[np.float32]
    rows: tuple[NDArray[np.float32], ...]
    past: Any

    __repr__ = brief


class Writer(Protocol):
    """A model with its tokens, as `continue_text` reads and writes with it."""

    @property
    def n_vocabulary(self) -> int:
        """How many tokens it knows."""

    @property
    def ends(self) -> frozenset[int]:
        """The tokens by which it says that the text is over; it goes on after none of them."""

    def encode(self, text: str) -> tuple[int, ...]:
        """The token numbers of a text, with what the model puts before it."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token numbers, without what the model puts before it."""

    def display(self, token: int) -> str:
        """A token in a form a person can read."""

    def read(self, ids: Sequence[int], past: Any = None) -> Next:
        """Say what comes after these tokens.

        Args:
            ids: all tokens so far, at least one.
            past: of an earlier `Next`; what the two have in common from the start is not read
                again.
        """

    def read_without(
        self, ids: Sequence[int], heads: Collection[Head], edge: Edge | None = None
    ) -> NDArray[np.float32]:
        """Say what would come after these tokens if some heads gave nothing.

        Args:
            ids: all tokens so far; every one is read anew.
            heads: (layer, head) pairs whose output is zero before W_o, at every token.
            edge: (layer, head, query, key) that may not be looked along; the rest of the row is
                scaled back to what it was in all.

        Returns:
            [vocabulary], the logits.
        """


@dataclass(frozen=True, eq=False)
class NewToken:
    """A token as it is chosen.

    Attributes:
        id: its number.
        display: how a person reads it.
        drawn: the number from 0 to 1 that chose it; None where no number was asked.
        found: what the model said before the choice.
    """

    id: int
    display: str
    drawn: float | None
    found: Next

    __repr__ = brief


def continue_text(
    writer: Writer,
    text: str,
    n: int,
    *,
    sampling: Sampling | None = None,
    said: Sequence[int] = (),
) -> Iterator[NewToken]:
    """Write on after a text, token by token.

    A token depends on the text, on what was said before it and on the settings alone: whoever
    stops after some tokens, or takes another one by hand, goes on from there as if they had been
    written in one go.

    Args:
        writer: the model.
        text: what is there already.
        n: new tokens at most; fewer where the model says that the text is over.
        sampling: how each is chosen; the most probable if None.
        said: tokens chosen after the text before.

    Yields:
        Each new token with every head's row as it is chosen.

    >>> from mha_core import ToyWriter, load_toy_model
    >>> tokens = list(continue_text(ToyWriter(load_toy_model()), "The cat", 2))
    >>> [row.shape for row in tokens[1].found.rows]
    [(6, 4), (6, 4), (6, 4)]
    """
    sampling = sampling or Sampling(temperature=0)
    ids, past = [*writer.encode(text), *said], None
    for place in range(len(said), len(said) + check_count("n", n)):
        found = writer.read(ids, past)
        past = found.past
        token, drawn = choose(found.logits, sampling, place)
        yield NewToken(token, writer.display(token), drawn, found)
        if token in writer.ends:
            return
        ids.append(token)


def chances(logits: Array, sampling: Sampling | None = None) -> NDArray[np.float64]:
    """The probability of every token of being chosen.

    Args:
        logits: [vocabulary]; at least one is finite.
        sampling: as the model itself has them if None.

    Returns:
        [vocabulary], summing to 1; 0 for what the settings leave out. Of tokens that are equally
        probable, the one with the smaller number comes first.

    >>> chances(np.log([0.5, 0.3, 0.2]), Sampling(top_p=0.6)).round(3)
    array([0.625, 0.375, 0.   ])
    """
    sampling = sampling or Sampling()
    logits = np.asarray(logits, dtype=np.float64)
    if sampling.temperature == 0:
        found = np.zeros(len(logits))
        found[int(logits.argmax())] = 1.0
        return found
    # From the highest first, so that no small temperature can make a number too large.
    found = np.exp((logits - logits.max()) / sampling.temperature)
    found /= found.sum()
    if sampling.top_k == 0 and sampling.top_p == 1:
        return found  # type: ignore[no-any-return]
    order = np.argsort(-found, kind="stable")
    left_out = order[sampling.top_k :] if sampling.top_k else order[:0]
    found[left_out] = 0.0
    found /= found.sum()
    before = np.cumsum(found[order]) - found[order]  # of all that are more probable
    found[order[before >= sampling.top_p]] = 0.0
    shares: NDArray[np.float64] = found / found.sum()
    return shares


def choose(logits: Array, sampling: Sampling, place: int) -> tuple[int, float | None]:
    """Choose the token for a place, always the same for the same seed.

    The tokens' shares lie in a row from 0 to 1, the most probable first; the one on whose share
    the number drawn for this place falls is chosen.

    Args:
        logits: [vocabulary].
        sampling: the settings.
        place: how many new tokens there were before.

    Returns:
        The token, and the number drawn; None at temperature 0, where nothing is drawn.

    >>> choose(np.log([0.2, 0.7, 0.1]), Sampling(temperature=0), place=0)
    (1, None)
    """
    if sampling.temperature == 0:
        return int(np.argmax(logits)), None
    found, drawn = chances(logits, sampling), draw(sampling.seed, place)
    order = np.argsort(-found, kind="stable")
    ends = np.cumsum(found[order])
    nth = int(np.searchsorted(ends, drawn * ends[-1], side="right"))
    last = int(np.count_nonzero(found)) - 1  # what has no share is never chosen
    return int(order[min(nth, last)]), drawn


def draw(seed: int, place: int) -> float:
    """The number from 0 to 1 that is drawn for a place.

    >>> draw(0, 3) == draw(0, 3), draw(0, 3) == draw(0, 4)
    (True, False)
    """
    return float(np.random.Generator(np.random.PCG64([seed, place])).random())
