"""What the modules round one attention call read and gave, kept while a model runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.real.capture import MOST_CELLS, Call, watching

# A tensor larger than this is no activation of a layer that is looked at.
MOST_NUMBERS = 2**25


@dataclass(eq=False)
class Event:
    """One module that ran.

    Args:
        module: which.
        name: its path in the model.
        given: the first tensor it was given, a copy.
        out: the first tensor it gave, a copy.
        later: whether it ran after the attention call.
    """

    module: Any
    name: str
    given: Tensor
    out: Tensor
    later: bool

    __repr__ = brief


@dataclass(eq=False)
class Scene:
    """One attention call, and what ran between the call before it and the call after it.

    Args:
        call: the call, with the library's own pattern where the text is short enough.
        concat: [token, concat_feature], the heads' outputs side by side.
        events: in the order in which modules finished.
    """

    call: Call
    concat: Tensor
    events: list[Event] = field(default_factory=list)

    __repr__ = brief


class _EnoughError(Exception):
    """All that is looked at has run."""


class _Recorder:
    """Sorts what runs to the calls that are looked at."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = set(numbers)
        self.scenes: dict[int, Scene] = {}
        self.before: list[Event] = []
        self.n_calls = 0

    def run(self, call: Call) -> Tensor:
        """Compute a call's heads, and keep it if it is looked at.

        Raises:
            _EnoughError: everything round the last call that is looked at has run.
        """
        if call.number > max(self.numbers, default=call.number):
            raise _EnoughError
        asked = call.number in self.numbers
        whole = asked and call.n_cells <= MOST_CELLS
        heads = call.heads_by_the_library() if whole else call.heads()
        self.n_calls = call.number + 1
        if asked:
            concat = heads[0].transpose(0, 1).flatten(1)
            self.scenes[call.number] = Scene(call, concat, self.before)
        self.before = []
        return heads

    def hook(self, name: str) -> Any:
        """What a module's hook does: keep what went in and what came out."""

        def seen(module: Any, given: tuple[Any, ...], named: dict[str, Any], out: Any) -> None:
            ahead, behind = self.n_calls in self.numbers, self.n_calls - 1 in self.numbers
            if not (ahead or behind):
                return
            first = _tensor_in([*given, *named.values()])
            last = _tensor_in(out if isinstance(out, (tuple, list)) else [out])
            if first is None or last is None:
                return
            if max(first.numel(), last.numel()) > MOST_NUMBERS:
                return
            kept = first.clone(), last.clone()
            if ahead:
                self.before.append(Event(module, name, *kept, later=False))
            if behind:
                self.scenes[self.n_calls - 1].events.append(Event(module, name, *kept, later=True))

        return seen


def _tensor_in(values: Iterable[Any]) -> Tensor | None:
    """The first tensor of floats among some values."""
    for value in values:
        if isinstance(value, Tensor) and value.is_floating_point() and value.ndim >= 2:
            return value
    return None


@contextmanager
def _listening(network: Any, recorder: _Recorder) -> Iterator[None]:
    """Listen to every module but those that know the vocabulary."""
    tables = {id(network.get_input_embeddings()), id(network.get_output_embeddings())}
    with ExitStack() as stack:
        for name, module in network.named_modules():
            if name and id(module) not in tables:
                handle = module.register_forward_hook(recorder.hook(name), with_kwargs=True)
                stack.callback(handle.remove)
        yield


def look_on(network: Any, ids: Tensor, numbers: Iterable[int]) -> dict[int, Scene]:
    """Run a model once, as far as is needed, and look on at some of its attention calls.

    Args:
        network: a model switched to this project's attention function.
        ids: [1, token].
        numbers: of calls.
    """
    recorder = _Recorder(numbers)
    with (
        torch.no_grad(),
        _listening(network, recorder),
        watching(recorder.run),
        suppress(_EnoughError),
    ):
        network(input_ids=ids)
    return recorder.scenes
