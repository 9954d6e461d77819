"""Other people's models: which there are, which one a scene names, and those that are loaded.

Listing reads small files only. A model is loaded once for all readers, in the line for heavy work;
what is loaded is bounded by bytes, and the one used longest ago goes first.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mha_core.errors import TwelveHeadsError
from mha_view import limits
from mha_view.store import STORE, give_back

if TYPE_CHECKING:
    from mha_core.real.chain import Chain
    from mha_core.real.cutter import Cutter
    from mha_core.real.folder import ModelCard
    from mha_core.real.load import RealModel
    from mha_view.scene import Scene


# What one run of a page has found: it asks hundreds of times, and a new folder is to be seen by
# the next run. A run has a thread of its own, so it has this to itself.
_found: ContextVar[tuple[ModelCard, ...] | None] = ContextVar("found", default=None)


@contextmanager
def looking_once() -> Iterator[None]:
    """Look into the server's folder once for all that is asked within."""
    kept = _found.set(_look())
    try:
        yield
    finally:
        _found.reset(kept)


def cards() -> tuple[ModelCard, ...]:
    """Every model of the server's folder, by name, those that cannot be loaded too."""
    found = _found.get()
    return _look() if found is None else found


def _look() -> tuple[ModelCard, ...]:
    """The models as they lie there now."""
    from mha_core.real.folder import models_root

    root = models_root()
    try:
        with os.scandir(root) as found:
            seen = [(each.path, each.stat().st_mtime_ns) for each in found if each.is_dir()]
        return _list(root, (root.stat().st_mtime_ns, *sorted(seen)))
    except OSError:
        return ()


@lru_cache(maxsize=4)
def _list(root: Path, seen: tuple[object, ...]) -> tuple[ModelCard, ...]:
    """The models of a folder, listed anew when a folder in it has changed."""
    from mha_core.real.folder import list_models

    try:
        return list_models(root)
    except (TwelveHeadsError, OSError):
        return ()


def usable() -> tuple[ModelCard, ...]:
    """The models that can be loaded."""
    return tuple(card for card in cards() if card.problem is None)


def card_of(scene: Scene) -> ModelCard | None:
    """The model that a scene with a real model's weights names: the first where it names none."""
    if scene.weights != "real":
        return None
    return next((card for card in usable() if scene.real in ("", card.name)), None)


def second_name(scene: Scene) -> str:
    """The model that a scene's second reading is of: the one it names, else the first that is not
    the scene's own; "" where there is none."""
    if scene.other_real:
        return scene.other_real
    own = card_of(scene)
    every = [card.name for card in usable()]
    others = [name for name in every if own is None or name != own.name]
    return next(iter(others or every), "")


def nearest_to(name: str) -> ModelCard | None:
    """The model whose name has most in common with one that is not there."""
    from difflib import SequenceMatcher

    def likeness(card: ModelCard) -> float:
        return SequenceMatcher(None, card.name.lower(), name.lower()).ratio()

    return max(usable(), key=likeness, default=None)


@dataclass(frozen=True, eq=False)
class Open:
    """A model that is open to changes, and what cuts sentences into its tokens."""

    chain: Chain
    cutter: Cutter


class Shelf:
    """The models that are loaded.

    Args:
        limit: bytes of numbers that they may have together; one is kept whatever its size.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._models: OrderedDict[str, RealModel] = OrderedDict()
        self._digests: dict[str, str] = {}
        self._chains: dict[str, Open | TwelveHeadsError] = {}
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    def find(self, name: str) -> RealModel | None:
        """A model that is loaded."""
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
            return self._models.get(name)

    def digest_of(self, name: str) -> str:
        """What a loaded model's files were, in 16 letters; "" for one that is not loaded."""
        with self._lock:
            return self._digests.get(name, "")

    def load(self, name: str) -> RealModel:
        """A model by name, loaded unless it is.

        Raises:
            TwelveHeadsError: it cannot be; see `load_model`.
        """
        with self._loading:
            found = self.find(name)
            return self._load(name) if found is None else found

    def find_open(self, name: str) -> Open | TwelveHeadsError | None:
        """A model opened before, or why it cannot be; None for one that was not tried."""
        with self._lock:
            return self._chains.get(name)

    def open(self, name: str) -> Open | TwelveHeadsError:
        """A model by name, open to changes of heads, looks and paths, or why it cannot be."""
        from mha_core.real.chain import Chain
        from mha_core.real.cutter import Cutter

        found = self.find_open(name)
        if found is None:
            model = self.load(name)
            try:
                found = Open(Chain(model), Cutter(model))
            except TwelveHeadsError as error:
                found = error
            with self._lock:
                if self._models.get(name) is model:  # else it went meanwhile, for lack of room
                    self._chains[name] = found
        return found

    def _load(self, name: str) -> RealModel:
        """Load a model and make room for it."""
        from mha_core.real.load import load_model

        model = load_model(name, device="cpu")
        with self._lock:
            self._models[name] = model
            self._digests[name] = model.card.digest
            while len(self._models) > 1 and self._n_bytes() > self.limit:
                gone, _ = self._models.popitem(last=False)
                del self._digests[gone]
                self._chains.pop(gone, None)
                STORE.forget(lambda key, gone=gone: is_about(key, gone))  # type: ignore[misc]
        # What came with it stays: a collection need not look through all of it after each run.
        gc.collect()
        gc.freeze()
        give_back()
        return model

    def _n_bytes(self) -> int:
        """The bytes of all their numbers."""
        return sum(n_bytes_of(model) for model in self._models.values())


def n_bytes_of(model: RealModel) -> int:
    """The bytes of a model's numbers."""
    parts = model.network.parameters()
    return sum(part.numel() * part.element_size() for part in parts)


def is_about(key: object, name: str) -> bool:
    """Whether a key of the store is of what a model of that name computed."""
    if not isinstance(key, tuple):
        return False
    return key == ("real", name) or any(is_about(part, name) for part in key)


SHELF = Shelf(limits.value("MODELS_MB") * 2**20)


def find(scene: Scene) -> RealModel | None:
    """The model that a scene names, where it is loaded."""
    card = card_of(scene)
    return None if card is None else SHELF.find(card.name)


def name_of(scene: Scene) -> str:
    """The name of the model that a scene with a real model's weights stands for."""
    card = card_of(scene)
    return scene.real if card is None else card.name


def sizes_stated(scene: Scene) -> tuple[int, int] | None:
    """How many layers and heads a scene's model has, as its folder says until it is loaded; None
    where it is not there."""
    card, model = card_of(scene), find(scene)
    if model is not None:
        layer = min(scene.layer, model.n_layers - 1)
        return model.n_layers, model.n_heads[layer]
    if card is None:
        return None
    return card.n_layers or 1, card.n_heads or 1
