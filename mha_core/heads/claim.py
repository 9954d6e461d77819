"""A hypothesis about heads, put to the test: does the marked query look at the marked target?

The sentences are split in two by a seed before anything is computed. The first half chooses: of the
heads that beat chance there, the one with the most weight on the target. The second half alone
reports. A head is *called* when it beats chance at `LEVEL` on the first half, and again on the
second after correction for every head looked at, and looks at the target more than a head that
looks everywhere alike on both.

Chance is a target at a random place (`mha_core.heads.random_targets`, with the correction).

Three baselines stand beside the score: a head that looks everywhere alike; the head itself on
random places; and the head itself with the distances of the other sentences' targets, which is what
counting places alone would give. Intervals are at 95 %: the percentile bootstrap over sentences for
means, Wilson's for shares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mha_core.arrays import Floats
from mha_core.brief import brief
from mha_core.errors import ConfigError, DataError
from mha_core.heads.marks import Marked
from mha_core.heads.probe import BATCH, Row, attention_rows, pad_ids
from mha_core.heads.random_targets import (
    DRAWS,
    at_other_distances,
    draw_targets,
    even_mass,
    p_values,
    target_masses,
)
from mha_core.heads.sample import Interval, bootstrap, wilson
from mha_core.model.edits import Edits, Head, OpenModel, check_head

LEVEL = 0.05
LEAST = 10  # sentences
MOST_NUMBERS = 2_000_000  # weights of patterns kept at once
ROLE_MASS = 0.3  # where a head takes part in a role, as the evaluation counts it

# holds: called, with `ROLE_MASS` or more of its weight on the target; weak: called, with less;
# place: called, but counting places alone would give as much; no: not called.
Verdict = Literal["holds", "weak", "place", "no"]
# content: more than the same distances give; place: no more; fixed: all targets are equally far.
Ground = Literal["content", "place", "fixed"]


@dataclass(frozen=True)
class Claim:
    """A hypothesis as it was stated, before anything was computed.

    Args:
        says: the hypothesis in words.
        sentences: where it should show.
        heads: the heads looked at, (layer, head).
        seed: splits the sentences and draws the random targets.

    Raises:
        DataError: fewer than `LEAST` sentences.
        ConfigError: no heads.
    """

    says: str
    sentences: tuple[Marked, ...]
    heads: tuple[Head, ...]
    seed: int = 0

    __repr__ = brief

    def __post_init__(self) -> None:
        if len(self.sentences) < LEAST:
            raise DataError("claim.few", n=len(self.sentences), least=LEAST)
        if not self.heads:
            raise ConfigError("claim.heads")

    @property
    def halves(self) -> tuple[tuple[Marked, ...], tuple[Marked, ...]]:
        """The half that chooses and the half that reports."""
        order = np.random.Generator(np.random.PCG64(self.seed)).permutation(len(self.sentences))
        cut = len(order) // 2
        first, second = order[:cut], order[cut:]
        return (
            tuple(self.sentences[place] for place in first),
            tuple(self.sentences[place] for place in second),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was stated: another hypothesis has another."""
        marks = [(one.ids, one.query, one.targets) for one in self.sentences]
        stated = [self.says, marks, sorted(self.heads), self.seed]
        return hashlib.sha256(json.dumps(stated).encode()).hexdigest()


@dataclass(frozen=True)
class Finding:
    """What one head does on the half that reports.

    Attributes:
        head: (layer, head).
        mass: mean weight on the target, a share of 1.
        argmax: share of sentences whose largest key is a target, `<bos>` and the query left out.
        anywhere: the mean weight on a random place.
        shuffled: the mean weight at the distances of the other sentences' targets.
        p: against random places, corrected for all heads looked at.
        first_p: the same on the half that chooses, not corrected.
        is_called: whether it beats chance on both halves, and a head that looks everywhere alike.
    """

    head: Head
    mass: Interval
    argmax: Interval
    anywhere: float
    shuffled: float
    p: float
    first_p: float
    is_called: bool


@dataclass(frozen=True)
class Cut:
    """How far the next word's probabilities move without an edge: total variation, 0 to 1.

    Attributes:
        edge: without query → target in the chosen head.
        other_key: in the same head, without the key it looks at most besides.
        other_head: without the same edge in another head of the layer, drawn by the seed.
        more: the edge minus the mean of its controls, sentence by sentence.
    """

    edge: Interval
    other_key: Interval | None
    other_head: Interval | None
    more: Interval | None

    @property
    def matters(self) -> bool:
        """Whether the edge carries more than its controls do."""
        return self.more is not None and self.more.low > 0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out.

    Attributes:
        claim: what was stated.
        findings: each head looked at, in the order stated.
        chosen: the head that the first half chose.
        chance: what a head that looks everywhere alike puts on the target.
        sentences: the half that reports.
        masses: [sentence], the chosen head's weight on the target.
        looked: [sentence], the place it looks at most, `<bos>` and the query left out.
        above_shuffled: the chosen head's weight minus `shuffled`, sentence by sentence.
        ground: what the chosen head may go by.
        cut: the chosen head's edge forbidden.
    """

    claim: Claim
    findings: tuple[Finding, ...]
    chosen: Head
    chance: float
    sentences: tuple[Marked, ...]
    masses: Floats
    looked: NDArray[np.int64]
    above_shuffled: Interval
    ground: Ground
    cut: Cut

    __repr__ = brief

    @property
    def finding(self) -> Finding:
        """The chosen head's."""
        return next(one for one in self.findings if one.head == self.chosen)

    @property
    def verdict(self) -> Verdict:
        """Whether the hypothesis holds for the chosen head."""
        if not self.finding.is_called:
            return "no"
        if self.ground == "place":
            return "place"
        return "holds" if self.finding.mass.mean >= ROLE_MASS else "weak"

    @property
    def failing(self) -> tuple[int, ...]:
        """The sentences whose largest key is no target, the least weight on it first."""
        missed = [
            place
            for place, (one, key) in enumerate(zip(self.sentences, self.looked, strict=True))
            if key not in one.targets
        ]
        return tuple(sorted(missed, key=lambda place: float(self.masses[place])))


@dataclass(frozen=True)
class Progress:
    """How far a test is.

    Attributes:
        part: what is done next: read, draw, or cut.
        share: how much is done, from 0 to 1.
    """

    part: str
    share: float


def examine(model: OpenModel, claim: Claim) -> Outcome:
    """Put a hypothesis to the test at one go; see `examine_parts`."""
    parts = examine_parts(model, claim)
    while True:
        try:
            next(parts)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def examine_parts(model: OpenModel, claim: Claim) -> Generator[Progress, None, Outcome]:
    """Put a hypothesis to the test piece by piece; stop by not asking for the next one.

    Args:
        model: whose heads are looked at.
        claim: the hypothesis.

    Yields:
        How far it is.

    Raises:
        ConfigError: a head that the model does not have.
    """
    for layer, head in claim.heads:
        check_head(layer, head, model.n_layers, model.n_heads)
    layers, heads = np.array(claim.heads).T
    seen = list[list[Floats]]()
    for half in claim.halves:
        read = list[Floats]()
        for part in _batches(model, half):
            done = sum(map(len, seen)) + len(read)
            yield Progress("read", 0.3 * done / len(claim.sentences))
            rows = attention_rows(model, [_row(one) for one in part])[:, layers, heads]
            read += [row[:, : one.query + 1].T for one, row in zip(part, rows, strict=True)]
        seen.append(read)
    weighed = yield from weigh(claim, (seen[0], seen[1]))
    chosen, reports = weighed.chosen, claim.halves[1]
    looks = [row[:, chosen] for row in seen[1]]
    cut = yield from cut_parts(model, reports, claim.heads[chosen], looks, claim.seed)
    return _outcome(claim, seen[1], weighed, cut)


def _batches(model: OpenModel, half: Sequence[Marked]) -> Iterator[Sequence[Marked]]:
    """The sentences as they are read side by side: fewer where a model has many heads, whose
    patterns are all kept meanwhile."""
    longest = max(len(one.ids) for one in half)
    numbers = model.n_layers * model.n_heads * longest**2
    size = max(1, min(BATCH, MOST_NUMBERS // numbers))
    for start in range(0, len(half), size):
        yield half[start : start + size]


@dataclass(frozen=True, eq=False)
class Weighed:
    """Every head looked at against random targets.

    Attributes:
        first_p: [head], on the half that chooses, not corrected.
        p: [head], on the half that reports, corrected for all of them.
        called: [head], which beat chance on both halves.
        chosen: which of them the first half chooses: of those that beat chance there the one with
            the most weight on the target; of all, where none does.
    """

    first_p: Floats
    p: Floats
    called: NDArray[np.bool_]
    chosen: int

    __repr__ = brief


def weigh(
    claim: Claim, seen: tuple[Sequence[Floats], Sequence[Floats]]
) -> Generator[Progress, None, Weighed]:
    """Choose on one half, and hold every head against random targets on both.

    Args:
        claim: the hypothesis.
        seen: for each half, each sentence's weights at its query, [key, head].

    Yields:
        How far it is.
    """
    generator = np.random.Generator(np.random.PCG64([claim.seed, 1]))
    found, done = list[tuple[Floats, Floats]](), 0
    for half, read in zip(claim.halves, seen, strict=True):
        draws = np.zeros((DRAWS, len(claim.heads)))
        for one, row in zip(half, read, strict=True):
            if done % 20 == 0:
                yield Progress("draw", 0.3 + 0.5 * done / len(claim.sentences))
            draws += draw_targets(one, row, generator)
            done += 1
        found.append(p_values(half, read, draws / len(half)))
    beats = []
    for half, read, ps in zip(claim.halves, seen, (found[0][0], found[1][1]), strict=True):
        masses = target_masses(half, read).mean(0)
        beats.append((ps <= LEVEL) & (masses > even_mass(half)))
    first = target_masses(claim.halves[0], seen[0]).mean(0)
    chosen = int(np.where(beats[0] | ~beats[0].any(), first, -1.0).argmax())
    return Weighed(found[0][0], found[1][1], beats[0] & beats[1], chosen)


def _row(one: Marked) -> Row:
    """A marked sentence as a row of patterns."""
    return Row(one.ids, one.query, one.targets[-1], ())


def _outcome(claim: Claim, read: Sequence[Floats], weighed: Weighed, cut: Cut) -> Outcome:
    """What the half that reports says; `read` is its sentences' weights, [key, head]."""
    half, chosen = claim.halves[1], weighed.chosen
    masses = target_masses(half, read)
    looked = np.stack([
        one.candidates[row[one.candidates].argmax(0)] for one, row in zip(half, read, strict=True)
    ])  # fmt: skip
    hits = np.stack([
        np.isin(places, one.targets) for one, places in zip(half, looked, strict=True)
    ])  # fmt: skip
    shuffled, is_fixed = at_other_distances(half, read)
    anywhere = np.stack([
        len(one.targets) * row[one.candidates].mean(0) for one, row in zip(half, read, strict=True)
    ]).mean(0)  # fmt: skip
    findings = tuple(
        Finding(
            (int(layer), int(number)),
            bootstrap(masses[:, at]),
            wilson(int(hits[:, at].sum()), len(half)),
            float(anywhere[at]),
            float(shuffled[:, at].mean()),
            float(weighed.p[at]),
            float(weighed.first_p[at]),
            bool(weighed.called[at]),
        )
        for at, (layer, number) in enumerate(claim.heads)
    )
    above = bootstrap(masses[:, chosen] - shuffled[:, chosen])
    ground: Ground = "fixed" if is_fixed else "content" if above.low > 0 else "place"
    return Outcome(
        claim=claim,
        findings=findings,
        chosen=claim.heads[chosen],
        chance=even_mass(half),
        sentences=half,
        masses=masses[:, chosen],
        looked=looked[:, chosen],
        above_shuffled=above,
        ground=ground,
        cut=cut,
    )


def cut_parts(
    model: OpenModel, half: Sequence[Marked], head: Head, rows: Sequence[Floats], seed: int
) -> Generator[Progress, None, Cut]:
    """Forbid query → target in one head, and two control edges, each on its own.

    Args:
        model: the model.
        half: the sentences.
        head: (layer, head).
        rows: the head's weights at each query, [key].
        seed: draws the other heads.

    Yields:
        How far it is.
    """
    layer, number = head
    generator = np.random.Generator(np.random.PCG64([seed, 2]))
    others = [other for other in range(model.n_heads) if other != number]
    edges = [(number, one.targets) for one in half]
    keys = list[tuple[int, tuple[int, ...]]]()
    for one, row in zip(half, rows, strict=True):
        besides = np.setdiff1d(one.candidates, one.targets)
        keys.append((number, (int(besides[row[besides].argmax()]),) if len(besides) else ()))
    heads = [
        (int(generator.choice(others)), one.targets) if others else (number, ()) for one in half
    ]
    wanted = {"edge": edges, "other_key": keys, "other_head": heads}
    found = {name: list[Floats]() for name in wanted}
    done = 0
    for part in _batches(model, half):
        own = slice(done, done + len(part))
        done += len(part)
        yield Progress("cut", 0.8 + 0.2 * own.start / len(half))
        intact = _next_words(model, part, layer, [(number, ()) for _ in part])
        for name, cut in wanted.items():
            words = _next_words(model, part, layer, cut[own])
            found[name].append(np.abs(words - intact).sum(-1) / 2)
    moved = {name: np.concatenate(each) for name, each in found.items()}
    moved["other_key"][[not cut for _, cut in keys]] = np.nan
    moved["other_head"][[not cut for _, cut in heads]] = np.nan
    controls = np.stack([moved["other_key"], moved["other_head"]])
    has_control = ~np.isnan(controls).all(0)
    more = moved["edge"][has_control] - np.nanmean(controls[:, has_control], axis=0)

    def told(values: Floats) -> Interval | None:
        values = values[~np.isnan(values)]
        return bootstrap(values) if len(values) else None

    return Cut(
        bootstrap(moved["edge"]), told(moved["other_key"]), told(moved["other_head"]), told(more)
    )


@torch.no_grad()
def _next_words(
    model: OpenModel,
    part: Sequence[Marked],
    layer: int,
    forbidden: Sequence[tuple[int, tuple[int, ...]]],
) -> Floats:
    """The next word's probabilities after each query, [sentence, vocabulary], with some keys
    forbidden to it in one head of a layer."""
    ids = pad_ids([one.ids for one in part])
    mask = torch.zeros(len(part), model.n_heads, *2 * ids.shape[1:], dtype=torch.bool)
    for place, (number, keys) in enumerate(forbidden):
        mask[place, number, part[place].query, list(keys)] = True
    queries = torch.tensor([one.query for one in part])
    logits = model.run(ids, edits=Edits(forbidden={layer: mask}), at=queries).logits
    found: Floats = logits.double().softmax(-1).numpy()
    return found
