"""Looking at many documents at once: which rows look where, and which continuation wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mha_core.language.documents import Choice, Document, Kind, Relation
from mha_core.language.lexicon import Language, load_lexicon
from mha_core.language.mixture import make_documents
from mha_core.language.tokenizer import load_tokenizer
from mha_core.model.edits import Edits, OpenModel

Floats = NDArray[np.float64]
Patterns = NDArray[np.float32]
Groups = tuple[frozenset[int], ...]  # continuations that are equally right, by number
BATCH = 100  # documents side by side


@dataclass(frozen=True)
class Row:
    """One query of one document that should look at a target. Places count `<bos>`."""

    ids: tuple[int, ...]
    query: int
    target: int
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """One place of one document with a right and a wrong continuation. Places count `<bos>`."""

    ids: tuple[int, ...]
    query: int
    right: int
    wrong: int
    target: int
    distractor: int | None


def ids_of(document: Document) -> tuple[int, ...]:
    """Token numbers with `<bos>`."""
    tokenizer = load_tokenizer()
    return (tokenizer.bos.id, *document.ids)


def row_of(document: Document, relation: Relation) -> Row:
    """A relation of a document as a row of its patterns."""
    candidates = tuple(place + 1 for place in relation.candidates or (relation.target,))
    return Row(ids_of(document), relation.query + 1, relation.target + 1, candidates)


def pair_of(document: Document, choice: Choice) -> Pair:
    """A choice of a document as two continuations."""
    tokenizer = load_tokenizer()
    distractor = None if choice.distractor is None else choice.distractor + 1
    return Pair(
        ids_of(document),
        choice.query + 1,
        tokenizer.id_of(choice.right),
        tokenizer.id_of(choice.wrong),
        choice.target + 1,
        distractor,
    )


def rows_for(kind: Kind, seed: int, count: int, *, candidates: int = 1) -> list[Row]:
    """Rows of one kind, one per document, where at least so many candidates stand."""
    rows: list[Row] = []
    while len(rows) < count:
        for document in make_documents(seed, 1000, KINDS[kind]):
            if len(rows) == count:
                break
            found = [
                r for r in document.relations
                if r.kind == kind and len(r.candidates or (0,)) >= candidates
            ]  # fmt: skip
            if found:
                rows.append(row_of(document, found[0]))
        seed += 1_000_003
    return rows


def pairs_for(task: str, seed: int, count: int) -> list[Pair]:
    """Minimal pairs of one task, one per document."""
    pairs: list[Pair] = []
    while len(pairs) < count:
        for document in make_documents(seed, 1000, TASKS[task]):
            if len(pairs) == count:
                break
            found = [choice for choice in document.choices if choice.task == task]
            if found:
                pairs.append(pair_of(document, found[0]))
        seed += 1_000_003
    return pairs


# Which kinds of documents hold a relation, and which a task.
KINDS: dict[Kind, tuple[str, ...]] = {
    "pronoun": ("reference",),
    "subject": ("agreement",),
    "reflexive": ("reflexive",),
    "receiver": ("receiver",),
    "measure": ("measure",),
    "pronoun_zh": ("reference_zh",),
    "classifier_zh": ("classifier_zh",),
}
TASKS: dict[str, tuple[str, ...]] = {
    "reference": ("reference",),
    "reference_same": ("reference",),
    "agreement_phrase": ("agreement",),
    "agreement_clause": ("agreement",),
    "predicate": ("agreement",),
    "reflexive": ("reflexive",),
    "possessive": ("reflexive",),
    "receiver": ("receiver",),
    "measure": ("measure",),
    "reference_zh": ("reference_zh",),
    "reference_zh_same": ("reference_zh",),
    "classifier_zh": ("classifier_zh",),
}
TASK_RELATION: dict[str, Kind] = {
    "reference": "pronoun",
    "reference_same": "pronoun",
    "agreement_phrase": "subject",
    "agreement_clause": "subject",
    "predicate": "subject",
    "reflexive": "reflexive",
    "possessive": "reflexive",
    "receiver": "receiver",
    "measure": "measure",
    "reference_zh": "pronoun_zh",
    "reference_zh_same": "pronoun_zh",
    "classifier_zh": "classifier_zh",
}


def pad_ids(sequences: Sequence[tuple[int, ...]]) -> Tensor:
    """[sequence, token], filled up on the right, where causality hides it."""
    width = max(map(len, sequences))
    return torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in sequences])


def _batches(count: int) -> Iterator[slice]:
    """Slices of at most BATCH items."""
    for start in range(0, count, BATCH):
        yield slice(start, min(start + BATCH, count))


@torch.no_grad()
def patterns_of(model: OpenModel, documents: Sequence[tuple[int, ...]]) -> Iterator[Patterns]:
    """Every head's pattern on each document, [layer, head, query, key]."""
    for part in _batches(len(documents)):
        chosen = documents[part]
        patterns = torch.stack(model.run(pad_ids(chosen)).patterns).numpy()
        for number, ids in enumerate(chosen):
            yield patterns[:, number, :, : len(ids), : len(ids)]


@torch.no_grad()
def attention_rows(model: OpenModel, rows: Sequence[Row]) -> Floats:
    """The query's attention in every head: [row, layer, head, key], zero beyond the query."""
    width = max(len(row.ids) for row in rows)
    found = np.zeros((len(rows), model.n_layers, model.n_heads, width))
    for part in _batches(len(rows)):
        chosen = rows[part]
        steps = model.run(pad_ids([row.ids for row in chosen]))
        queries = torch.tensor([row.query for row in chosen])
        for layer, pattern in enumerate(steps.patterns):
            picked = pattern[torch.arange(len(chosen)), :, queries]
            found[part, layer, :, : picked.shape[-1]] = picked.numpy()
    return found


Knock = Callable[
    [int, Pair], tuple[list[int] | slice, list[int]]
]  # layer, pair -> heads, keys to forbid


@torch.no_grad()
def query_logits(
    model: OpenModel,
    pairs: Sequence[Pair],
    *,
    knock: Knock | None = None,
    edits: Edits | None = None,
) -> Tensor:
    """The logits at every pair's query: [pair, vocabulary].

    Args:
        model: the model.
        pairs: places with two continuations.
        knock: which edges from the query are forbidden, by layer: these heads, these keys.
        edits: what is changed besides.
    """
    found = []
    for part in _batches(len(pairs)):
        chosen = pairs[part]
        ids = pad_ids([pair.ids for pair in chosen])
        here = Edits() if edits is None else edits
        if knock is not None:
            here = here | _knocked(model, ids, chosen, knock)
        queries = torch.tensor([pair.query for pair in chosen])
        found.append(model.run(ids, edits=here, at=queries).logits)
    return torch.cat(found)


def choose(
    model: OpenModel,
    pairs: Sequence[Pair],
    *,
    knock: Knock | None = None,
    edits: Edits | None = None,
) -> NDArray[np.bool_]:
    """Whether the right continuation is more probable than the wrong one, for every pair.

    Chance is .5. The arguments are those of `query_logits`.
    """
    logits = query_logits(model, pairs, knock=knock, edits=edits)
    return prefer_right(logits, pairs)


def prefer_right(logits: Tensor, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
    """Whether the right continuation beats the wrong one: bool [pair]."""
    at = torch.arange(len(pairs))
    good = logits[at, [pair.right for pair in pairs]]
    bad = logits[at, [pair.wrong for pair in pairs]]
    return np.asarray((good > bad).numpy())


def find_exact(logits: Tensor, pairs: Sequence[Pair], groups: Groups) -> NDArray[np.bool_]:
    """Whether the most probable of *all* continuations of the kind is a right one: bool [pair].

    Args:
        logits: [pair, vocabulary].
        pairs: the places; `right` says which group is right.
        groups: the continuations that belong together, such as the acts of one family. Chance is
            about one by their number.
    """
    options = sorted({word for group in groups for word in group})
    best = torch.tensor(options)[logits[:, options].argmax(-1)].tolist()
    return np.array([
        any(pair.right in group and word in group for group in groups)
        for pair, word in zip(pairs, best, strict=True)
    ])  # fmt: skip


def groups_for(task: str) -> Groups:
    """What a task chooses from: the acts of each family, each name, each pronoun, each noun.

    Empty where the task is about number only.
    """
    tokenizer = load_tokenizer()

    def ids(words: Iterable[str]) -> frozenset[int]:
        return frozenset(tokenizer.id_of(word) for word in words if word)

    if task in ("reference", "reference_same", "predicate", "reference_zh", "reference_zh_same"):
        language: Language = "chinese" if "zh" in task else "english"
        families = {noun.family.name: noun.family for noun in load_lexicon(language).nouns}
        forms = [
            [form for act in family.acts for form in (act.base, act.third, act.past)]
            for family in families.values()
        ]
        return tuple(ids(words) for words in forms)
    if task == "receiver":
        lexicon = load_lexicon("english")
        return tuple(ids([noun.word]) for noun in lexicon.names + lexicon.people)
    if task == "reflexive":
        return tuple(ids([word]) for word in ("himself", "herself", "itself", "themselves"))
    if task == "possessive":
        return tuple(ids([word]) for word in ("his", "her", "its", "their"))
    if task == "measure":
        return tuple(ids(contents) for _, contents in load_lexicon("english").pairs("measures"))
    if task == "classifier_zh":
        return tuple(ids(nouns) for _, nouns in load_lexicon("chinese").pairs("classifiers"))
    return ()


def _knocked(model: OpenModel, ids: Tensor, pairs: Sequence[Pair], knock: Knock) -> Edits:
    """The forbidden edges of a batch, [pair, head, query, key] for each layer that has any."""
    n_tokens = ids.shape[1]
    masks = {}
    for layer in range(model.n_layers):
        mask = torch.zeros(len(pairs), model.n_heads, n_tokens, n_tokens, dtype=torch.bool)
        for number, pair in enumerate(pairs):
            heads, keys = knock(layer, pair)
            for key in keys:
                mask[number, heads, pair.query, key] = True
        if mask.any():
            masks[layer] = mask
    return Edits(forbidden=masks)
