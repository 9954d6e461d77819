"""What is kept between two answers: every byte counted once, and bounded all together."""

from __future__ import annotations

import ast
import gc
import threading
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mha_core.weights
from mha_core.errors import ConfigError
from mha_core.trace import KEPT_BYTES, Later
from mha_view import compute, limits
from mha_view.explore import checkpoints
from mha_view.footprint import footprint
from mha_view.scene import Scene
from mha_view.store import STORE, Store
from mha_view.walk import rope

VIEW = Path(compute.__file__).parent
MIB = 2**20


def blocks_of(root: object) -> dict[int, int]:
    """The blocks of numbers that an object keeps alive, found by the interpreter's own list of
    what refers to what: address → bytes."""
    seen: dict[int, object] = {}
    waiting, found = [root], {}
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen[id(each)] = each
        if isinstance(each, FunctionType):
            waiting.extend(each.__closure__ or ())
            continue
        if isinstance(each, torch.Tensor):
            storage = each.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        elif isinstance(each, np.ndarray):
            if each.base is None:
                found[each.__array_interface__["data"][0]] = each.nbytes
            else:
                waiting.append(each.base)
            continue
        waiting.extend(gc.get_referents(each))
    return {address: n_bytes for address, n_bytes in found.items() if n_bytes}


@st.composite
def walked_scenes(draw: st.DrawFn) -> Scene:
    """Scenes with any weights but the session's own, small enough to walk."""
    n_kv_heads = draw(st.sampled_from([0, 1, 2, 4]))
    return Scene(
        text=" ".join(draw(st.lists(st.sampled_from(["the", "cat", "小", "ž"]), min_size=1))),
        weights=draw(st.sampled_from(["toy", "article", "custom"])),
        mask=draw(st.sampled_from(["causal", "two_way", "window", "prefix", "sink_window"])),
        rope=draw(st.booleans()),
        shift=draw(st.sampled_from([0, 7])),
        d_model=draw(st.sampled_from([4, 8, 48])),
        n_kv_heads=n_kv_heads,
        d_head=draw(st.sampled_from([0, 2, 6])),
        seed=draw(st.integers(0, 3)),
    )


@given(walked_scenes())
@settings(max_examples=40)
def test_a_walks_bytes_are_all_that_it_keeps_alive(scene: Scene) -> None:
    STORE.clear()
    walk = compute.walk_of(scene)
    blocks = blocks_of(walk)
    counted = {-piece: size for piece, size in footprint(walk).items() if piece < 0}
    assert counted == blocks
    for layer in walk.layers:
        for step in layer:
            step.value.sum()  # looked at, which may keep it
    assert sum(blocks_of(walk).values()) <= sum(footprint(walk).values())


def test_an_array_that_looking_will_keep_is_counted_beforehand() -> None:
    later = Later((4, 5), lambda: np.zeros((4, 5)))
    before = sum(footprint(later).values())
    later.read()
    assert 160 <= sum(blocks_of(later).values()) <= before
    never = Later((KEPT_BYTES,), lambda: np.zeros(KEPT_BYTES, np.float64))
    assert never.read().nbytes > KEPT_BYTES
    assert not blocks_of(never)


@given(st.lists(st.tuples(st.integers(0, 9), st.sets(st.integers(0, 5))), max_size=40))
def test_what_is_counted_is_the_union_of_what_is_kept(asked: list[tuple[int, set[int]]]) -> None:
    shared = [np.zeros(1000 * (place + 1), np.uint8) for place in range(6)]
    store = Store(limit=12_000)
    for name, places in asked:
        store.get(name, lambda places=places: [shared[place] for place in places])
        union: dict[int, int] = {}
        for key, entry in store._entries.items():
            union |= footprint(key, entry.value)
        assert store.n_bytes == sum(union.values()) <= store.limit


def test_what_was_used_longest_ago_goes_first_and_what_it_refers_to_stays() -> None:
    store = Store(limit=50_000)
    weights = store.get("weights", lambda: bytes(20_000))
    walk = partial(lambda n: (weights, bytes(n)), 8_000)
    for place in range(20):
        store.get(("walk", place), walk, uses=["weights"])
        assert "weights" in store
        assert ("walk", place) in store
    assert ("walk", 0) not in store
    assert len(store) == 4, "20,000 for the weights once, three walks of 8,000"


def test_what_is_too_large_is_not_kept_and_drives_nothing_out() -> None:
    class Big:
        def __init__(self) -> None:
            self.numbers = np.zeros(100_000, np.uint8)

    store = Store(limit=50_000)
    store.get("small", lambda: b"x" * 1000)
    big = store.get("big", Big)
    assert "small" in store
    assert "big" not in store
    assert store.get("big", Big) is big, "found again while somebody holds it"
    del big
    gc.collect()
    assert store.get("big", lambda: None) is None


def test_two_readers_who_ask_at_once_wait_for_one_computation() -> None:
    store, calls, begun = Store(limit=50_000), [], threading.Event()

    def make() -> list[int]:
        calls.append(threading.get_ident())
        begun.wait(60)
        return [1]

    found: list[Any] = []
    readers = [
        threading.Thread(target=lambda: found.append(store.get("same", make))) for _ in range(8)
    ]
    for reader in readers:
        reader.start()
    begun.set()
    for reader in readers:
        reader.join()
    assert len(calls) == 1
    assert len(found) == 8
    assert all(each is found[0] for each in found)


def test_a_failure_is_told_and_not_kept() -> None:
    store = Store(limit=50_000)
    with pytest.raises(ConfigError, match="TWELVE_HEADS_CACHE_MB"):
        store.get("a", lambda: limits.read("CACHE_MB", {"TWELVE_HEADS_CACHE_MB": "5.5"}))
    assert store.get("a", lambda: 3) == 3


def test_the_bound_is_a_setting() -> None:
    assert STORE.limit == limits.value("CACHE_MB") * MIB


def test_a_slider_step_draws_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    STORE.clear()
    drawn: list[object] = []
    for name in ("random_weights", "random_embedding"):
        real = getattr(mha_core.weights, name)

        def count(*args: Any, real: Any = real) -> Any:
            drawn.append(args)
            return real(*args)

        monkeypatch.setattr(mha_core.weights, name, count)
    scene = Scene(weights="article", text="the cat sat")
    first = compute.walk_of(scene)
    others = [scene.with_(shift=3), scene.with_(rope=False), scene.with_(text="a b", mask="window")]
    for other in others:
        walk = compute.walk_of(other)
        assert walk is not first
        assert walk.layers[0].weights.w_q is first.layers[0].weights.w_q
    assert len(drawn) == 2
    compute.walk_of(scene.with_(seed=1))
    assert len(drawn) == 4


def test_all_caches_together_stay_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    STORE.clear()
    monkeypatch.setattr(STORE, "limit", 24 * MIB)
    scene = Scene(weights="article")
    kept: set[int] = set()
    for place in range(30):
        text = " ".join(["the cat"] * (place + 1))
        for each in (scene, scene.with_(shift=place + 1), Scene(), scene.with_(seed=place)):
            now = each.with_(text=text)
            compute.differences_of(now)
            rope.judge_shift(compute.layer_of(now), 5)
            kept.add(STORE.n_bytes)
        checkpoints.load_step(checkpoints.list_steps()[place % len(checkpoints.list_steps())])
    assert max(kept) <= 24 * MIB
    held: dict[int, int] = {}
    for entry in STORE._entries.values():
        held |= blocks_of(entry.value)
    assert 12 * MIB < sum(held.values()) <= STORE.n_bytes, "the blocks themselves, counted anew"


# Cached by what the program has, not by what a reader asks for: languages, lessons, its own files,
# the names of its limits.
FIXED = {"catalogue", "lesson", "_group", "_spellings", "_list", "_load", "value"}


def test_nothing_a_reader_asks_for_is_kept_outside_the_store() -> None:
    found = set()
    for path in VIEW.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.args.args:
                told = " ".join(ast.unparse(each) for each in node.decorator_list)
                if "cache" in told and "property" not in told:
                    found.add(node.name)
    assert found == FIXED
