"""What is said of a learner's functions: right ones pass, each mistake is called by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mha_core import (
    Rope,
    check_join_heads,
    check_rotate,
    check_softmax_with_mask,
    check_split_heads,
    join_heads,
    rotate,
    split_heads,
)
from mha_core.own_code_messages import OWN_CODE_MESSAGES

CHECKS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "split": check_split_heads,
    "rotate": check_rotate,
    "softmax": check_softmax_with_mask,
    "join": check_join_heads,
}


def split(x: Any, h: int) -> Any:
    return x.reshape(len(x), h, -1).swapaxes(0, 1)


def split_in_columns(x: Any, h: int) -> Any:
    return [x[:, k * (x.shape[1] // h) : (k + 1) * (x.shape[1] // h)] for k in range(h)]


def join(heads: Any) -> Any:
    return np.concatenate(list(heads), axis=1)


def turned(
    x: Any, positions: Any, base: float, *, step: float = -2.0, minus: float = -1.0, way: int = 1
) -> Any:
    half = x.shape[-1] // 2
    angles = way * positions[:, None] * base ** (step * np.arange(half) / x.shape[-1])
    rotated = np.concatenate([minus * x[..., half:], x[..., :half]], axis=-1)
    return x * np.tile(np.cos(angles), 2) + rotated * np.tile(np.sin(angles), 2)


def turned_as_complex(x: Any, positions: Any, base: float) -> Any:
    first, second = np.split(x, 2, axis=-1)
    angles = np.outer(positions, base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    numbers = (first + 1j * second) * np.exp(1j * angles)
    return np.concatenate([numbers.real, numbers.imag], axis=-1)


def neighbours(x: Any, positions: Any, base: float) -> Any:
    rope = Rope(base=base, pairing="interleaved")
    return rotate(torch.from_numpy(x), rope, torch.from_numpy(positions))


def softmax(scores: Any, axis: int | tuple[int, ...] = -1) -> Any:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def masked(scores: Any, keep: Any) -> Any:
    return np.where(keep, scores, -np.inf)


def largest_of_all(scores: Any, keep: Any) -> Any:
    """Takes away the largest score, whether it may be seen or not."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * keep
    return powers / powers.sum(axis=-1, keepdims=True)


RIGHT = {
    "split": (split, split_in_columns, lambda x, h: split_heads(torch.from_numpy(x), h)),
    "rotate": (
        turned,
        turned_as_complex,
        lambda x, at, base: rotate(torch.from_numpy(x), Rope(base=base), torch.from_numpy(at)),
    ),
    "softmax": (
        lambda scores, keep: softmax(masked(scores, keep)),
        lambda scores, keep: torch.softmax(torch.from_numpy(masked(scores, keep)), -1),
    ),
    "join": (
        join,
        lambda heads: heads.swapaxes(0, 1).reshape(heads.shape[1], -1),
        lambda heads: join_heads(torch.from_numpy(heads)),
    ),
}


def writes(x: Any, h: int) -> Any:
    x *= 1.5
    return split(x, h)


def bent(x: Any, h: int) -> Any:
    heads = split(x, h).copy()
    heads[-1, -1, -1] += 1
    return heads


WRONG: dict[str, Callable[..., Any]] = {
    "own.nothing": lambda x, h: None,
    "own.raised": lambda x, h: x.reshape(h + 1, -1),
    "own.no_array": lambda x, h: "heads",
    "own.changed": writes,
    "own.shape": lambda x, h: split(x, h)[:, :, :1],
    "own.not_finite": lambda x, h: split(x, h) / 0.0,
    "own.differs": bent,
    "own.split.no_transpose": lambda x, h: x.reshape(h, len(x), -1),
    "own.split.interleaved": lambda x, h: [x[:, k::h] for k in range(h)],
    "own.split.token_first": lambda x, h: x.reshape(len(x), h, -1),
    "own.split.turned": lambda x, h: np.stack(np.split(x.T, h)),
    "own.split.whole": lambda x, h: x,
    "own.rotate.not_turned": lambda x, at, base: x + 0,
    "own.rotate.other_way": lambda x, at, base: turned(x, at, base, way=-1),
    "own.rotate.interleaved": neighbours,
    "own.rotate.no_minus": lambda x, at, base: turned(x, at, base, minus=1.0),
    "own.rotate.from_one": lambda x, at, base: turned(x, at + 1, base),
    "own.rotate.own_positions": lambda x, at, base: turned(x, np.arange(len(at)), base),
    "own.rotate.fixed_base": lambda x, at, base: turned(x, at, 10_000.0),
    "own.rotate.exponent": lambda x, at, base: turned(x, at, base, step=-1.0),
    "own.rotate.faster": lambda x, at, base: turned(x, at, base, step=2.0),
    "own.softmax.mask_after": lambda scores, keep: softmax(scores) * keep,
    "own.softmax.zero_scores": lambda scores, keep: softmax(scores * keep),
    "own.softmax.over_queries": lambda scores, keep: softmax(masked(scores, keep), axis=-2),
    "own.softmax.over_all": lambda scores, keep: softmax(masked(scores, keep), axis=(0, 1, 2)),
    "own.softmax.reversed": lambda scores, keep: softmax(masked(scores, ~keep)),
    "own.softmax.no_mask": lambda scores, keep: softmax(scores),
    "own.softmax.not_shared": lambda scores, keep: np.exp(masked(scores, keep)),
    "own.softmax.overflow": lambda scores, keep: (
        np.exp(masked(scores, keep)) / np.exp(masked(scores, keep)).sum(-1, keepdims=True)
    ),
    "own.softmax.hidden_score": largest_of_all,
    "own.join.no_transpose": lambda heads: heads.reshape(heads.shape[1], -1),
    "own.join.interleaved": lambda heads: np.stack(list(heads), -1).reshape(heads.shape[1], -1),
    "own.join.reversed": lambda heads: join(heads[::-1]),
    "own.join.added": lambda heads: sum(heads),
    "own.join.turned": lambda heads: join(heads).T,
    "own.join.more_tokens": lambda heads: np.vstack(list(heads)),
    "own.join.not_joined": lambda heads: heads.swapaxes(0, 1),
}


@pytest.mark.parametrize(
    ("check", "function"),
    [(name, function) for name, functions in RIGHT.items() for function in functions],
)
def test_what_is_right_passes_however_it_is_written(
    check: str, function: Callable[..., Any]
) -> None:
    checked = CHECKS[check](function)
    assert checked.is_right, str(checked)
    assert str(checked).startswith("✓ ")
    assert checked.finding.key == "own.right"


@pytest.mark.parametrize("key", WRONG)
def test_each_classic_mistake_is_called_by_its_name(key: str) -> None:
    part = key.split(".")[1]
    checked = CHECKS.get(part, check_split_heads)(WRONG[key])
    assert (checked.is_right, checked.finding.key) == (False, key), str(checked)
    assert str(checked).startswith("✗ ")
    assert len(str(checked)) > 60, "what it got, what was expected, what to do"


def test_every_message_is_for_a_mistake_that_is_tried() -> None:
    assert set(OWN_CODE_MESSAGES) == {*WRONG, "own.right"}


def test_the_mean_of_the_heads_is_no_stack_either_and_sizes_are_named() -> None:
    checked = check_join_heads(lambda heads: heads.mean(axis=0))
    assert checked.finding.key == "own.join.added"
    assert str(checked.finding.values["shape"]) in str(checked)
    told = str(check_split_heads(WRONG["own.raised"]))
    assert "ValueError: cannot reshape array" in told
    assert "n_heads = " in told


def test_what_is_not_written_yet_is_no_mistake_of_its_own() -> None:
    def later(*given: Any) -> Any:
        raise NotImplementedError

    assert {check(later).finding.key for check in CHECKS.values()} == {"own.nothing"}


@pytest.mark.parametrize("part", CHECKS)
def test_a_mistake_that_shows_in_few_cases_is_found(part: str) -> None:
    """Right but for arrays of one size, and nothing is remembered between two checks."""
    right, calls = RIGHT[part][0], []

    def nearly(x: Any, *others: Any) -> Any:
        calls.append(x.shape)
        result = np.array(right(x, *others))
        return result * (1 + 1e-3) if len(calls) == 9 else result

    assert not CHECKS[part](nearly).is_right
    assert len(set(calls)) >= 4
    assert CHECKS[part](right).is_right
