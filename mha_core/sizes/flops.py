"""Arithmetic of one attention layer: parameters and FLOPs by step, and where S² takes over.

A FLOP is one multiplication or one addition; a product of [a, b] with [b, c] costs 2·a·b·c.
Softmax, scale, mask, RoPE and norms are left out: they grow as h·S² or S·d without the factor
d_head, one to two orders below the products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mha_core.errors import ConfigError

Shape = tuple[int, int]
Chains = Mapping[str, Sequence[Shape]]
STEPS = ("w_q", "w_k", "w_v", "scores", "values", "w_o")


def projection_shapes(
    d_model: int, n_heads: int, n_kv_heads: int, d_head: int, d_value: int | None = None
) -> dict[str, list[Shape]]:
    """Shapes [out, in] of the four matrices of one layer.

    Args:
        d_model: features of a token.
        n_heads: query heads.
        n_kv_heads: key and value heads.
        d_head: features of one query and one key.
        d_value: features of one value; `d_head` unless given.

    >>> projection_shapes(d_model=4096, n_heads=32, n_kv_heads=8, d_head=128)["w_k"]
    [(1024, 4096)]
    """
    d_value = d_head if d_value is None else d_value
    return {
        "w_q": [(n_heads * d_head, d_model)],
        "w_k": [(n_kv_heads * d_head, d_model)],
        "w_v": [(n_kv_heads * d_value, d_model)],
        "w_o": [(d_model, n_heads * d_value)],
    }


def parameters_by_matrix(shapes: Chains, bias: Mapping[str, bool] | None = None) -> dict[str, int]:
    """Learned numbers in each matrix, its bias included where it has one.

    Args:
        shapes: chains of [out, in] by matrix, as `projection_shapes` gives them.
        bias: whether "q", "k", "v", "o" have a bias; none has unless given.

    >>> parameters_by_matrix(projection_shapes(768, 12, 12, 64))
    {'w_q': 589824, 'w_k': 589824, 'w_v': 589824, 'w_o': 589824}
    """
    bias = bias or {}
    return {
        name: sum(rows * columns for rows, columns in chain)
        + (chain[-1][0] if chain and bias.get(name.removeprefix("w_")) else 0)
        for name, chain in shapes.items()
    }


def looked_at(n_tokens: int, *, causal: bool, window: int | None = None) -> int:
    """How many (query, key) pairs are computed for `n_tokens` tokens.

    Args:
        n_tokens: S, tokens.
        causal: a query looks at itself and earlier tokens only.
        window: keys a causal query sees at most, itself counted; None is unbounded.

    >>> looked_at(4, causal=False), looked_at(4, causal=True), looked_at(4, causal=True, window=2)
    (16, 10, 7)
    """
    if not causal:
        return n_tokens * n_tokens
    near = n_tokens if window is None else min(window, n_tokens)
    return near * (near + 1) // 2 + (n_tokens - near) * near


def flops_by_step(
    shapes: Chains,
    *,
    n_tokens: int,
    n_heads: int,
    d_head: int,
    d_value: int | None = None,
    causal: bool = True,
    window: int | None = None,
) -> dict[str, int]:
    """FLOPs of one layer's steps for one sequence.

    Args:
        shapes: chains of [out, in] by matrix, as `projection_shapes` gives them.
        n_tokens: S, tokens.
        n_heads: query heads.
        d_head: features of one query and one key.
        d_value: features of one value; `d_head` unless given.
        causal: count only the pairs that may look; two-way counts S².
        window: keys a causal query sees at most, itself counted.

    Returns:
        FLOPs for w_q, w_k, w_v, scores, values and w_o, in the order they happen.

    Raises:
        ConfigError: fewer than one token.

    >>> shapes = projection_shapes(d_model=6, n_heads=2, n_kv_heads=1, d_head=3)
    >>> flops_by_step(shapes, n_tokens=5, n_heads=2, d_head=3, causal=False)
    {'w_q': 360, 'w_k': 180, 'w_v': 180, 'scores': 300, 'values': 300, 'w_o': 360}
    """
    if n_tokens < 1:
        raise ConfigError("sizes.tokens", n_tokens=n_tokens)
    pairs = looked_at(n_tokens, causal=causal, window=window)
    products = {
        "scores": 2 * pairs * n_heads * d_head,
        "values": 2 * pairs * n_heads * (d_head if d_value is None else d_value),
    }
    matrices = parameters_by_matrix(shapes)
    projections = {name: 2 * n_tokens * number for name, number in matrices.items()}
    return {step: (projections | products)[step] for step in STEPS}


def crossover(
    shapes: Chains,
    *,
    n_heads: int,
    d_head: int,
    d_value: int | None = None,
    causal: bool = True,
    window: int | None = None,
) -> float | None:
    """The S at which score and value products cost as much as the four projections.

    For plain multi-head attention, two-way, that is 4·S²·d = 8·S·d², so S = 2d. A causal layer
    computes half the pairs, S·(S + 1) / 2, and crosses at 4d − 1.

    Args:
        shapes: chains of [out, in] by matrix.
        n_heads: query heads.
        d_head: features of one query and one key.
        d_value: features of one value; `d_head` unless given.
        causal: count only the pairs that may look.
        window: keys a causal query sees at most, itself counted.

    Returns:
        S in tokens, not rounded; None where a window keeps the products below the projections
        for every S.

    >>> crossover(projection_shapes(768, 12, 12, 64), n_heads=12, d_head=64, causal=False)
    1536.0
    """
    d_value = d_head if d_value is None else d_value
    # Pairs a token may cost before its products weigh more than its projections.
    pairs_per_token = sum(parameters_by_matrix(shapes).values()) / (n_heads * (d_head + d_value))
    if not causal:
        return pairs_per_token
    tokens = 2 * pairs_per_token - 1
    if window is None or tokens <= window:
        return tokens
    if pairs_per_token >= window:
        return None
    # w·(w + 1) / 2 + (S − w)·w = S·pairs_per_token
    return math.comb(window, 2) / (window - pairs_per_token)
