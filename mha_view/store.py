"""What the process keeps between two answers: one store for all readers, bounded by bytes.

Traces refer to the random weights they went through, and many refer to the same ones. So bytes
are counted by piece of memory, each once however many entries hold it, and the bound is on all
that is kept together. What was used longest ago goes first.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from mha_view import limits
from mha_view.footprint import footprint

# Memory that is free is given back each time this share of the bound was taken in.
TRIMS = 8
Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Entry:
    """A value that is kept, and the pieces of memory it keeps alive with its key."""

    value: Any
    pieces: dict[int, int]


class Store:
    """Values by key, the least used forgotten beyond a number of bytes.

    A value larger than all of that is not kept, but found again while somebody still holds it.
    Two threads that ask for the same at once compute it once.

    Args:
        limit: bytes that all entries may keep alive together.

    >>> store = Store(limit=10_000)
    >>> store.get("a", lambda: b"x" * 6_000) is store.get("a", lambda: b"other")
    True
    >>> _ = store.get("b", lambda: b"y" * 6_000)
    >>> "a" in store, "b" in store, store.n_bytes < store.limit
    (False, True, True)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.n_bytes = 0
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()
        # piece → its bytes, and how many entries keep it alive
        self._pieces: dict[int, tuple[int, int]] = {}
        self._alive: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._taken_in = 0  # since memory was last given back
        self._coming: dict[Hashable, Future[Any]] = {}
        self._lock = threading.RLock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, make: Callable[[], Made], uses: Sequence[Hashable] = ()) -> Made:
        """The value under a key, made if it is not kept.

        Args:
            key: what decides the value.
            make: gives the value; what it raises is raised, and nothing is kept.
            uses: keys of entries that the value refers to; they must not go before it.
        """
        while True:
            with self._lock:
                if key in self._entries:
                    self._refresh(key, uses)
                    return self._entries[key].value  # type: ignore[no-any-return]
                if (alive := self._alive.get(key)) is not None:
                    return alive  # type: ignore[no-any-return]
                coming = self._coming.get(key)
                if coming is None:
                    mine = self._coming[key] = Future()
                    break
            coming.exception()  # wait; who failed tells its own reader, others try themselves
            if coming.exception() is None:
                return coming.result()  # type: ignore[no-any-return]
        try:
            value = make()
            self._keep(key, value)
            self._refresh(key, uses)
        except BaseException as error:
            self._arrive(key)
            mine.set_exception(error)
            raise
        self._arrive(key)
        mine.set_result(value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        self.forget(lambda key: True)

    def forget(self, is_meant: Callable[[Hashable], bool]) -> None:
        """Forget the entries whose keys are meant."""
        with self._lock:
            for key in [key for key in self._entries if is_meant(key)]:
                self._let_go(key)
            for key in [key for key in self._alive if is_meant(key)]:
                del self._alive[key]

    def _arrive(self, key: Hashable) -> None:
        """Nobody needs to wait for a key any more."""
        with self._lock:
            del self._coming[key]

    def _refresh(self, key: Hashable, uses: Sequence[Hashable]) -> None:
        """Note that a value was used just now, and with it what it refers to."""
        with self._lock:
            for each in (key, *uses):
                if each in self._entries:
                    self._entries.move_to_end(each)

    def _keep(self, key: Hashable, value: Any) -> None:
        """Take a value in, and let go of what there is no room for."""
        entry = Entry(value, footprint(key, value))
        with self._lock:
            if hasattr(value, "__weakref__"):
                self._alive[key] = value
            if sum(entry.pieces.values()) > self.limit:
                return
            self._entries[key], before = entry, self.n_bytes
            for piece, n_bytes in entry.pieces.items():
                size, holders = self._pieces.get(piece, (n_bytes, 0))
                self._pieces[piece] = size, holders + 1
                self.n_bytes += 0 if holders else size
            self._taken_in += self.n_bytes - before
            while self.n_bytes > self.limit:
                self._let_go(next(iter(self._entries)))
            is_much = self._taken_in > self.limit // TRIMS
            self._taken_in = 0 if is_much else self._taken_in
        if is_much:
            give_back()

    def _let_go(self, key: Hashable) -> None:
        """Let go of an entry."""
        for piece in self._entries.pop(key).pieces:
            size, holders = self._pieces.pop(piece)
            if holders > 1:
                self._pieces[piece] = size, holders - 1
            else:
                self.n_bytes -= size


@cache
def _trim() -> Callable[[int], object]:
    """The C library's way to give freed memory back; nothing where it has none."""
    try:
        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda least: None
    return trim


def give_back() -> None:
    """Give memory that is free back to the system: the C library keeps what many small arrays have
    left behind, half as much again as what is in use."""
    _trim()(0)


STORE = Store(limits.value("CACHE_MB") * 2**20)


class kept(Generic[Given, Made]):  # noqa: N801  (a decorator)
    """Keep what a function gives in the process's store, by its arguments.

    >>> @kept
    ... def draw(seed: int) -> list[int]:
    ...     return [seed]
    >>> draw(3) is draw(3)
    True
    """

    def __init__(self, make: Callable[Given, Made]) -> None:
        self._make = make
        update_wrapper(self, make)

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Made:
        key = (self, *args, *sorted(kwargs.items()))
        return STORE.get(key, lambda: self._make(*args, **kwargs))

    def cache_clear(self) -> None:
        """Forget what this function gave."""
        STORE.forget(lambda key: isinstance(key, tuple) and key[0] is self)
