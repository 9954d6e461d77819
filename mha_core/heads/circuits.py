"""Which earlier head's output a later head reads, measured: path patching.

On each sentence what one sender adds to the stream is replaced, for one receiver only, by what it
adds on the corrupted twin (or by its mean); all else is computed anew. How far that moves the
margin between the two words, from the sentence's towards the twin's, is the path's *effect*: 0
moves nothing, 1 moves as far as reading the twin itself.

Source: Wang et al. 2022, "Interpretability in the Wild"; the circuit of repeated words is that of
Olsson et al. 2022, "In-context Learning and Induction Heads".
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.errors import ConfigError
from mha_core.heads.probe import pad_ids
from mha_core.heads.prompts import Prompt
from mha_core.heads.sample import bootstrap
from mha_core.model.edits import EMBEDDING, Edits, Head, OpenModel, Path, every_path
from mha_core.values import check_choice

Instead = Literal["corrupted", "mean"]
WORTH = 0.1  # an effect this large is a path of the circuit
ROUTE = 0.15  # another path of the same head with this share of the head's effect is a second route


@dataclass(frozen=True)
class Effect:
    """How far a change moves the margin towards the twin's.

    Attributes:
        mean: over the sentences; 0 is the sentence's own margin, 1 the twin's.
        low, high: its 95 % interval.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Circuit:
    """What was found on some prompts.

    Attributes:
        n: prompts.
        instead: what a sender's contribution was replaced by.
        margin: the mean logit of the right word over that of the wrong one, on the sentences.
        twin: the same margin on the corrupted twins.
        probability: of the right word, on the sentences.
        heads: every sender, the embedding too, replaced for all that read it.
        paths: every path from a sender to all heads of a layer, to an MLP, to the unembedding.
        finer: the paths to single heads of those receivers that read what matters.
        others: by layer and part, all heads that are *not* in the circuit at once: the control.
    """

    n: int
    instead: Instead
    margin: float
    twin: float
    probability: float
    heads: dict[Head, Effect]
    paths: dict[Path, Effect]
    finer: dict[Path, Effect]
    others: dict[Path, Effect]

    __repr__ = brief

    @property
    def edges(self) -> dict[Path, Effect]:
        """The paths that are worth it, the largest effect first."""
        worth = [(path, effect) for path, effect in self.paths.items() if effect.mean >= WORTH]
        return dict(sorted(worth, key=lambda one: -one[1].mean))

    def feeder(self, layer: int, part: str) -> Head | None:
        """The head that moves most through a part of a layer; None where none is worth it."""
        found = [
            (effect.mean, path.sender) for path, effect in self.edges.items()
            if (path.layer, path.part) == (layer, part) and path.sender != EMBEDDING
        ]  # fmt: skip
        return max(found)[1] if found else None

    def routes(self, sender: Head) -> list[tuple[Path, float]]:
        """A sender's paths with the share of its whole effect that each has alone, largest first;
        those after the first with at least `ROUTE` are its second routes."""
        whole = self.heads[sender].mean
        shares = [
            (path, effect.mean / whole) for path, effect in self.paths.items()
            if path.sender == sender and whole >= WORTH
        ]  # fmt: skip
        return sorted(shares, key=lambda one: -one[1])


class Bench:
    """Prompts of one model, read once, on which changes are tried.

    Args:
        model: the model.
        prompts: at least one.
        instead: "corrupted", or "mean": the sender's mean over all these sentences' tokens.

    Raises:
        ConfigError: no prompts, or an unknown `instead`.
    """

    @torch.no_grad()
    def __init__(
        self, model: OpenModel, prompts: Sequence[Prompt], instead: Instead = "corrupted"
    ) -> None:
        check_choice("instead", instead, get_args(Instead))
        if not prompts:
            raise ConfigError("ablation.documents")
        self.model, self.instead, self.n = model, instead, len(prompts)
        self.ids = pad_ids([prompt.ids for prompt in prompts])
        self.at = torch.tensor([prompt.query for prompt in prompts])
        self._right = torch.tensor([prompt.right for prompt in prompts])
        self._wrong = torch.tensor([prompt.wrong for prompt in prompts])
        self._real = torch.zeros(self.ids.shape, dtype=torch.bool)
        for row, prompt in zip(self._real, prompts, strict=True):
            row[: len(prompt.ids)] = True
        self.clean = model.run(self.ids, at=self.at)
        self.twin = model.run(pad_ids([prompt.corrupted for prompt in prompts]), at=self.at)
        self._added: dict[tuple[int, bool], Tensor] = {}
        self.margins = self._margins(self.clean.logits)
        self.twins = self._margins(self.twin.logits)

    def _margins(self, logits: Tensor) -> Tensor:
        """The right word's logit over the wrong one's, [prompt]."""
        rows = torch.arange(self.n)
        return (logits[rows, self._right] - logits[rows, self._wrong]).double()

    @torch.no_grad()
    def sent(self, sender: Head, *, twin: bool = False) -> Tensor:
        """What a sender adds to the stream, [prompt, token, feature]."""
        run = self.twin if twin else self.clean
        if sender == EMBEDDING:
            return run.streams[0]
        layer, head = sender
        if (layer, twin) not in self._added:
            self._added[layer, twin] = self.model.contributions(layer, run.heads[layer])
        return self._added[layer, twin][..., head, :, :]

    def replacement(self, sender: Head) -> Tensor:
        """What is put in the place of what a sender adds."""
        if self.instead == "corrupted":
            return self.sent(sender, twin=True)
        return self.sent(sender)[self._real].mean(0)

    def cut(self, paths: Iterable[Path]) -> Edits:
        """These paths cut."""
        paths = list(paths)
        values = {sender: self.replacement(sender) for sender in {path.sender for path in paths}}
        return Edits(paths={path: values[path.sender] for path in paths})

    @torch.no_grad()
    def logits(self, edits: Edits) -> Tensor:
        """The logits [prompt, vocabulary] at the places asked about."""
        return self.model.run(self.ids, edits=edits, known=self.clean, at=self.at).logits

    def probability(self, edits: Edits | None = None) -> float:
        """The mean probability of the right word."""
        logits = self.clean.logits if edits is None else self.logits(edits)
        chances = logits.double().softmax(-1)
        return float(chances[torch.arange(self.n), self._right].mean())

    def effect(self, edits: Edits) -> Effect:
        """How far edits move the margin towards the twin's.

        Raises:
            ConfigError: the twin's margins are no smaller than the sentences'.
        """
        whole = float((self.margins - self.twins).mean())
        if whole <= 0:
            raise ConfigError("circuit.nothing")
        moved = bootstrap(((self.margins - self._margins(self.logits(edits))) / whole).numpy())
        return Effect(moved.mean, moved.low, moved.high)

    def every_path(self) -> list[Path]:
        """All paths of the model but those into its first layer, which reads one sender only."""
        n = self.model.n_layers
        heads = product(range(n), range(self.model.n_heads))
        return [
            path for sender in (EMBEDDING, *heads) for path in every_path(sender, n)
            if not (sender == EMBEDDING and path.layer == 0)
            and not (path.part == "mlp" and self.clean.mlps[path.layer] is None)
        ]  # fmt: skip


def find_circuit(bench: Bench) -> Generator[float, None, Circuit]:
    """Measure every path of a model on some prompts, piece by piece; stop by not asking on.

    Yields:
        The share that is done, before each piece.

    Returns:
        What was found.
    """
    model, paths = bench.model, bench.every_path()
    senders = [EMBEDDING, *product(range(model.n_layers), range(model.n_heads))]
    pieces = len(senders) + len(paths)
    total, done = pieces + pieces // 2, 0  # the finer ones are about half as many
    heads: dict[Head, Effect] = {}
    for sender in senders:
        yield done / total
        done += 1
        heads[sender] = bench.effect(bench.cut(every_path(sender, model.n_layers)))
    found: dict[Path, Effect] = {}
    for path in paths:
        yield done / total
        done += 1
        found[path] = bench.effect(bench.cut([path]))
    worth = [path for path, effect in found.items() if effect.mean >= WORTH]
    finer: dict[Path, Effect] = {}
    for path in worth:
        if path.part in ("mlp", "out"):
            continue
        for head in range(model.n_heads):
            yield min(done / total, 0.99)
            done += 1
            one = path._replace(head=head)
            finer[one] = bench.effect(bench.cut([one]))
    others: dict[Path, Effect] = {}
    for layer, part in dict.fromkeys((path.layer, path.part) for path in worth):
        yield min(done / total, 0.99)
        done += 1
        rest = [
            path for path in paths
            if (path.layer, path.part) == (layer, part)
            and path not in worth and path.sender != EMBEDDING
        ]  # fmt: skip
        if rest:
            others[Path(EMBEDDING, layer, part)] = bench.effect(bench.cut(rest))
    return Circuit(
        bench.n, bench.instead, float(bench.margins.mean()), float(bench.twins.mean()),
        bench.probability(), heads, found, finer, others,
    )  # fmt: skip


def find_circuit_at_once(bench: Bench) -> Circuit:
    """The circuit without a stop on the way; see `find_circuit`."""
    search = find_circuit(bench)
    while True:
        try:
            next(search)
        except StopIteration as end:
            circuit: Circuit = end.value
            return circuit


def as_json(circuit: Circuit) -> dict[str, Any]:
    """A circuit as plain lists and numbers; `from_json` reads it."""

    def listed(effects: dict[Any, Effect]) -> list[list[Any]]:
        return [
            [*_flat(place), effect.mean, effect.low, effect.high]
            for place, effect in effects.items()
        ]

    return {
        "n": circuit.n, "instead": circuit.instead, "margin": circuit.margin,
        "twin": circuit.twin, "probability": circuit.probability,
        "heads": listed(circuit.heads), "paths": listed(circuit.paths),
        "finer": listed(circuit.finer), "others": listed(circuit.others),
    }  # fmt: skip


def from_json(found: dict[str, Any]) -> Circuit:
    """Read what `as_json` wrote."""

    def paths(name: str) -> dict[Path, Effect]:
        return {
            Path((a, b), layer, part, head): Effect(*effect)
            for a, b, layer, part, head, *effect in found[name]
        }

    heads = {(a, b): Effect(*effect) for a, b, *effect in found["heads"]}
    plain = {name: found[name] for name in ("n", "instead", "margin", "twin", "probability")}
    return Circuit(
        **plain, heads=heads, paths=paths("paths"), finer=paths("finer"), others=paths("others")
    )


def _flat(place: Head | Path) -> list[Any]:
    """A head or a path as a list of plain values."""
    if isinstance(place, Path):
        return [*place.sender, place.layer, place.part, place.head]
    return list(place)
