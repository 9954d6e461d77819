"""Check functions that a learner has written against the library, and say what went wrong.

Each check calls the function with arrays of many sizes, compares what comes back with what the
library computes, and where the two differ, with what classic mistakes give. It runs where the
learner's code runs: in their own Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mha_core.arrays import Array
from mha_core.brief import brief
from mha_core.errors import Note
from mha_core.layer import join_heads, split_heads
from mha_core.rope import Rope, rotate
from mha_core.scores import block, softmax_or_zero

N_CASES = 12
CLOSE = 1e-6
LARGE_SCORE = 2_000.0


@dataclass(frozen=True)
class Checked:
    """What a check has found.

    Attributes:
        is_right: whether the function agrees with the library everywhere.
        finding: what is to be said; in English as it stands.
    """

    is_right: bool
    finding: Note

    def __str__(self) -> str:
        return f"{'✓' if self.is_right else '✗'} {self.finding}"


@dataclass(frozen=True, eq=False)
class _Case:
    """One call: its arguments, what is right, and what each classic mistake would give."""

    arguments: Mapping[str, Any]
    right: Array
    axes: tuple[str, ...]
    mistakes: tuple[tuple[str, Array], ...]

    __repr__ = brief

    @property
    def given(self) -> str:
        """The arguments in a few words: names with shapes or values."""
        return ", ".join(f"{name} {_brief(value)}" for name, value in self.arguments.items())


def _brief(value: Any) -> str:
    """An array's shape, a few whole numbers, or the value itself."""
    if not isinstance(value, np.ndarray):
        return f"= {value}"
    if value.ndim == 1:
        return f"= {value.tolist()}"
    return str(list(value.shape))


def check_split_heads(function: Callable[..., Any]) -> Checked:
    """Check `split_heads(x, n_heads)`: [token, feature] to [head, token, d_head].

    Args:
        function: the learner's, with NumPy arrays in and out.

    Returns:
        Whether it agrees with the library's `split_heads`, and if not, the likely mistake.

    >>> def mine(x, n_heads):
    ...     return x.reshape(n_heads, len(x), -1)
    >>> print(check_split_heads(mine).finding.key)
    own.split.no_transpose
    """
    cases = []
    for rng, n_heads, n_tokens, d_head in _sizes():
        x = rng.standard_normal((n_tokens, n_heads * d_head))
        cut = x.reshape(n_tokens, n_heads, d_head)
        dealt = x.reshape(n_tokens, d_head, n_heads)
        mistakes = (
            ("split.no_transpose", x.reshape(n_heads, n_tokens, d_head)),
            ("split.interleaved", dealt.transpose(2, 0, 1)),
            ("split.token_first", cut),
            ("split.turned", cut.transpose(1, 2, 0)),
            ("split.whole", x),
        )
        right = split_heads(torch.from_numpy(x), n_heads).numpy()
        axes = ("head", "token", "d_head")
        cases.append(_Case({"x": x, "n_heads": n_heads}, right, axes, mistakes))
    return _check("split_heads", function, cases)


def check_join_heads(function: Callable[..., Any]) -> Checked:
    """Check `join_heads(heads)`: [head, token, d_value] to [token, feature].

    Args:
        function: the learner's, with NumPy arrays in and out.

    Returns:
        Whether it agrees with the library's `join_heads`, and if not, the likely mistake.

    >>> check_join_heads(lambda heads: heads.sum(axis=0)).finding.key
    'own.join.added'
    """
    cases = []
    for rng, n_heads, n_tokens, d_value in _sizes():
        heads = rng.standard_normal((n_heads, n_tokens, d_value))
        right = join_heads(torch.from_numpy(heads)).numpy()
        mistakes = (
            ("join.no_transpose", heads.reshape(n_tokens, -1)),
            ("join.interleaved", heads.transpose(1, 2, 0).reshape(n_tokens, -1)),
            ("join.reversed", heads[::-1].transpose(1, 0, 2).reshape(n_tokens, -1)),
            ("join.added", heads.sum(0)),
            ("join.added", heads.mean(0)),
            ("join.turned", right.T),
            ("join.more_tokens", heads.reshape(-1, d_value)),
            ("join.not_joined", heads.transpose(1, 0, 2)),
        )
        cases.append(_Case({"heads": heads}, right, ("token", "feature"), mistakes))
    return _check("join_heads", function, cases)


def check_rotate(function: Callable[..., Any]) -> Checked:
    """Check `rotate(x, positions, base)`: RoPE with the pairing by halves.

    Args:
        function: the learner's; x is [head, token, d_head], positions [token], whole numbers.

    Returns:
        Whether it agrees with the library's `rotate`, and if not, the likely mistake.

    >>> check_rotate(lambda x, positions, base: x).finding.key
    'own.rotate.not_turned'
    """
    cases = []
    for rng, n_heads, n_tokens, half in _sizes():
        x = rng.standard_normal((n_heads, n_tokens, 2 * half))
        positions = rng.integers(1, 5) + np.cumsum(rng.integers(1, 4, n_tokens))
        base = float(rng.choice([100.0, 500.0, 50_000.0]))
        pairs, width = np.arange(half), 2 * half
        angles = positions[:, None] * base ** (-2 * pairs / width)
        mistakes = (
            ("rotate.not_turned", x),
            ("rotate.other_way", _turn(x, -angles)),
            ("rotate.interleaved", _turn_neighbours(x, angles)),
            ("rotate.no_minus", _turn(x, angles, sign=1.0)),
            ("rotate.from_one", _turn(x, (positions[:, None] + 1) * base ** (-2 * pairs / width))),
            (
                "rotate.own_positions",
                _turn(x, np.arange(n_tokens)[:, None] * base ** (-2 * pairs / width)),
            ),
            ("rotate.fixed_base", _turn(x, positions[:, None] * 10_000.0 ** (-2 * pairs / width))),
            ("rotate.exponent", _turn(x, positions[:, None] * base ** (-pairs / width))),
            ("rotate.faster", _turn(x, positions[:, None] * base ** (2 * pairs / width))),
        )
        right = rotate(torch.from_numpy(x), Rope(base=base), torch.from_numpy(positions)).numpy()
        given = {"x": x, "positions": positions, "base": base}
        cases.append(_Case(given, right, ("head", "token", "d_head"), mistakes))
    return _check("rotate", function, cases)


def check_softmax_with_mask(function: Callable[..., Any]) -> Checked:
    """Check `softmax_with_mask(scores, keep)`: rows of weights where the mask lets look.

    Args:
        function: the learner's; scores are [head, query, key], keep is bool [query, key], True
            where a query may look, at one key at least.

    Returns:
        Whether it agrees with the library, also where scores are large, and if not, the likely
        mistake.

    >>> def mine(scores, keep):
    ...     weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    ...     return weights * keep
    >>> check_softmax_with_mask(mine).finding.key
    'own.softmax.mask_after'
    """
    cases = []
    for rng, n_heads, n_tokens, _ in _sizes():
        scores = rng.standard_normal((n_heads, n_tokens, n_tokens))
        keep = np.tril(rng.random((n_tokens, n_tokens)) < 0.7)
        np.fill_diagonal(keep, val=True)
        keep[-1] = np.arange(n_tokens) != 0  # no column and no other mask that is all True
        free = np.exp(scores)
        seen = free * keep
        zeroed = np.exp(scores * keep)
        hidden = free * ~keep
        mistakes = (
            ("softmax.mask_after", _shared(free) * keep),
            ("softmax.zero_scores", _shared(zeroed)),
            ("softmax.over_queries", seen / seen.sum(-2, keepdims=True)),
            ("softmax.over_all", seen / seen.sum()),
            ("softmax.reversed", _shared(hidden)),
            ("softmax.no_mask", _shared(free)),
            ("softmax.not_shared", seen),
        )
        given = {"scores": scores, "keep": keep}
        axes = ("head", "query", "key")
        cases.append(_Case(given, _softmax(scores, keep), axes, mistakes))
    found = _check("softmax_with_mask", function, cases)
    return _check_extremes(function, cases[0]) if found.is_right else found


def _check_extremes(function: Callable[..., Any], case: _Case) -> Checked:
    """Call with a score so large that only the largest survives: seen, then hidden."""
    name, keep = "softmax_with_mask", case.arguments["keep"]
    for key, place in (("overflow", (0, -1, -1)), ("hidden_score", (0, 0, -1))):
        scores = case.arguments["scores"].copy()
        scores[place] = LARGE_SCORE
        argument = next(iter(case.arguments))
        given = f"{argument}{list(place)} = {LARGE_SCORE:.0f}"
        extreme = _Case(
            {"scores": scores, "keep": keep}, _softmax(scores, keep), ("head", "query", "key"), ()
        )
        fault = _fault(name, function, extreme)
        if fault is not None and fault.key in ("own.not_finite", "own.differs"):
            fault = Note(f"own.softmax.{key}", name=name, given=given, largest=f"{LARGE_SCORE:.0f}")
        if fault is not None:
            return Checked(False, fault)
    return _right(name)


def _sizes() -> list[tuple[np.random.Generator, int, int, int]]:
    """A generator, heads, tokens, features a head: all different, so no two axes are mixed up."""
    drawn = []
    for seed in range(N_CASES):
        rng = np.random.default_rng([seed, 1809])
        n_heads, n_tokens, d_head = rng.permutation([2, 3, 4, 5, 7])[:3].tolist()
        drawn.append((rng, n_heads, n_tokens, d_head))
    return drawn


def _softmax(scores: Array, keep: Array) -> Array:
    """The library's masked softmax."""
    looks, allowed = torch.tensor(scores), torch.from_numpy(keep)  # which is overwritten
    masked = block(looks, allowed, None)
    weights: Array = softmax_or_zero(masked, allowed, None, None, None).numpy()
    return weights


def _shared(exponentials: Array) -> Array:
    """Each row divided by its sum; NaN where there is nothing."""
    with np.errstate(invalid="ignore"):
        weights: Array = exponentials / exponentials.sum(-1, keepdims=True)
    return weights


def _turn(x: Array, angles: Array, sign: float = -1.0) -> Array:
    """Turn pairs made by halves; with the sign of a common slip, not quite."""
    first, second = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos + sign * second * sin, second * cos + first * sin], axis=-1)


def _turn_neighbours(x: Array, angles: Array) -> Array:
    """Turn pairs made of neighbours."""
    numbers = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    turned: Array = np.stack([numbers.real, numbers.imag], axis=-1).reshape(x.shape)
    return turned


def _right(name: str) -> Checked:
    """Nothing is to be said against it."""
    return Checked(True, Note("own.right", name=name, n_cases=N_CASES))


def _check(name: str, function: Callable[..., Any], cases: Sequence[_Case]) -> Checked:
    """Call a function with every case; the first that is not right is explained."""
    for case in cases:
        finding = _fault(name, function, case)
        if finding is not None:
            return Checked(False, finding)
    return _right(name)


def _fault(name: str, function: Callable[..., Any], case: _Case) -> Note | None:
    """What is wrong with one call; None where it is right."""
    expected = list(case.right.shape)
    common = {"name": name, "given": case.given, "expected": expected}
    arguments = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in case.arguments.items()
    }
    try:
        with np.errstate(all="ignore"):
            found = function(*arguments.values())
    except NotImplementedError:
        found = None
    except Exception as error:  # whatever a learner's code may raise is to be told
        told = f"{type(error).__name__}: {error}"[:160]
        return Note("own.raised", error=told, **common)
    if found is None:
        return Note("own.nothing", **common)
    try:
        result = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        return Note("own.no_array", kind=type(found).__name__, **common)
    for key, value in case.arguments.items():
        if isinstance(value, np.ndarray) and not np.array_equal(value, arguments[key]):
            return Note("own.changed", **common | {"given": key})
    if result.shape == case.right.shape and np.allclose(result, case.right, atol=CLOSE):
        return None
    return _mistake(result, case, common)


def _mistake(result: Array, case: _Case, common: Mapping[str, Any]) -> Note:
    """Which mistake gives these numbers; else what is wrong with the shape, or where."""
    shape = list(result.shape)
    for key, wrong in case.mistakes:
        same = result.shape == wrong.shape
        if same and np.allclose(result, wrong, atol=CLOSE, equal_nan=True):
            return Note(f"own.{key}", shape=shape, **common)
    if result.shape != case.right.shape:
        axes = f"[{', '.join(case.axes)}]"
        return Note("own.shape", shape=shape, axes=axes, **common)
    if not np.isfinite(result).all():
        return Note("own.not_finite", **common)
    place = np.unravel_index(int(np.abs(result - case.right).argmax()), result.shape)
    return Note(
        "own.differs",
        place=[int(at) for at in place],
        found=f"{result[place]:.4g}",
        right=f"{case.right[place]:.4g}",
        **common,
    )
