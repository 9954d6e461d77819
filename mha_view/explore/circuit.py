"""A circuit for the page: shipped with the weights, or measured in the line, and then kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, get_args

import streamlit as st

from mha_core.errors import ConfigError, DataError
from mha_view import compute, live
from mha_view.explore.bench import token_after
from mha_view.heavy import wait_for
from mha_view.scene import CircuitName, Scene
from mha_view.store import kept
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.heads.circuits import Circuit
    from mha_core.heads.composition import Composition
    from mha_core.heads.prompts import Prompt

KIND = "circuit"
MOST_KEPT = 32  # of about 20 kB each
_lock = Lock()
_kept: OrderedDict[Hashable, Circuit] = OrderedDict()


@dataclass(frozen=True)
class Asked:
    """The reader's own pair of sentences as a prompt, and the words it asks for."""

    prompt: Prompt
    right: str
    wrong: str
    after: str


def weights_name(scene: Scene) -> str:
    """The name of the scene's trained weights."""
    kept = live.find(scene)
    return compute.load_weights().metadata["sha256"] if kept is None else kept.name


def tasks_of(scene: Scene) -> list[CircuitName]:
    """The tasks the scene's model can be asked about."""
    return list(get_args(CircuitName)) if live.find(scene) is None else ["copying", "own"]


def as_asked(scene: Scene) -> Scene:
    """The scene with a task that its model can be asked about."""
    return scene if scene.circuit in tasks_of(scene) else scene.with_(circuit="copying")


def name_task(scene: Scene, words: Words) -> str:
    """What the scene's task is called."""
    own = scene.circuit in ("copying", "own")
    return words(f"circuits.task.{scene.circuit}" if own else f"task.{scene.circuit}")


@lru_cache(maxsize=1)
def shipped() -> dict[str, Circuit]:
    """The circuits that ship with these weights; none where they are of others."""
    from mha_core.heads.circuit_report import read_circuits

    try:
        return read_circuits(compute.load_weights())
    except DataError:
        return {}


def _key(scene: Scene, asked: Asked | None) -> Hashable:
    """What a measured circuit is kept under."""
    return weights_name(scene), scene.circuit, scene.instead, asked


def known(scene: Scene, asked: Asked | None = None) -> Circuit | None:
    """The circuit that the scene asks about where it ships or has been measured here."""
    is_live = live.find(scene) is not None
    if asked is None and not is_live and scene.instead == "corrupted":
        found = shipped().get(scene.circuit)
        if found is not None:
            return found
    key = _key(scene, asked)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
        return _kept.get(key)


def circuit_of(words: Words, scene: Scene, asked: Asked | None) -> Circuit:
    """The circuit that the scene asks about; where it is not known yet, waited for in line."""
    found = known(scene, asked)
    if found is not None:
        return found
    is_live = live.find(scene) is not None
    key = _key(scene, asked)
    model = compute.model_of(scene)

    def make() -> Iterator[Any]:
        from mha_core.heads.circuit_report import CIRCUIT_COUNT, CIRCUIT_SEED
        from mha_core.heads.circuits import Bench, find_circuit
        from mha_core.heads.prompts import copying_prompts, cut_after, task_prompts
        from mha_core.training.live import pool_ids

        if asked is not None:
            prompts = [asked.prompt]
        elif is_live:
            prompts = copying_prompts(CIRCUIT_SEED, CIRCUIT_COUNT, pool_ids())
        else:
            prompts = task_prompts(scene.circuit, CIRCUIT_SEED, CIRCUIT_COUNT)
        bench = Bench(model, [cut_after(prompt) for prompt in prompts], scene.instead)
        try:
            found = yield from find_circuit(bench)
        except ConfigError as nothing:  # no fault: such a model, or such a pair, has no circuit
            yield nothing
            return
        with _lock:
            _kept[key] = found
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
        yield found

    def tell(found: Any) -> tuple[float, str]:
        share = found if isinstance(found, float) else 1.0
        return share, words("circuits.measuring", share=f"{share:.0%}")

    ended = wait_for(words, KIND, key, make, tell)
    if isinstance(ended, ConfigError):
        st.warning(words.error(ended))
        st.stop()
    circuit: Circuit = ended
    return circuit


@kept
def _composition(name: str, model: Any) -> Composition:
    """The composition scores of a model, once."""
    from mha_core.heads.composition import measure_composition

    return measure_composition(model)


def composition_of(scene: Scene) -> Composition:
    """The composition scores of the scene's model."""
    return _composition(weights_name(scene), compute.model_of(scene))


def ask_pair(scene: Scene, twin: str, place: int) -> Asked:
    """The reader's two sentences as a prompt.

    Asked for is the word that the model expects most after each; where both expect the same, the
    twin's is the one that it makes most more probable.

    Args:
        scene: whose sentence is the first.
        twin: the second.
        place: the token after which the next word is asked for.

    Raises:
        ConfigError: the sentences are not as long as one another, or are the same.
    """
    import torch

    from mha_core.heads.prompts import Prompt

    model = compute.model_of(scene)
    first, second = compute.reading_of(scene), compute.reading_of(scene.with_(text=twin))
    if len(first) != len(second):
        raise ConfigError("circuit.lengths", first=len(first), second=len(second))
    ids = [tuple(token.id for token in reading.tokens) for reading in (first, second)]
    if ids[0] == ids[1]:
        raise ConfigError("circuit.same")
    with torch.no_grad():
        one, two = model.run(torch.tensor(ids)).logits[:, place].log_softmax(-1)
    right, wrong = int(one.argmax()), int(two.argmax())
    if right == wrong:
        wrong = int((two - one).argmax())
    entries = model.tokenizer.entries
    return Asked(
        Prompt(ids[0], ids[1], place, right, wrong),
        entries[right].display, entries[wrong].display, first.labels[place],
    )  # fmt: skip


def asked_of(scene: Scene) -> Asked:
    """The pair that a scene asks about; raises ConfigError as `ask_pair` does."""
    twin = scene.twin or suggest_twin(scene)
    return ask_pair(scene, twin, token_after(scene, compute.reading_of(scene)))


def suggest_twin(scene: Scene) -> str:
    """A second sentence to begin with: the first, with its first noun become another one."""
    from mha_core.language.lexicon import Language, load_lexicon

    tokenizer = compute.load_weights().tokenizer
    pieces = [tokenizer.entries[token.id].piece for token in compute.reading_of(scene).tokens]
    languages: tuple[Language, ...] = ("english", "chinese")
    for language in languages:
        nouns = [noun.word for noun in load_lexicon(language).nouns]
        for piece in pieces:
            if piece in nouns:
                other = nouns[(nouns.index(piece) + 1) % len(nouns)]
                return scene.text.replace(piece, other, 1)
    return scene.text
