"""Where a number comes from: the terms of a sum, folded so that what is printed adds up.

Each function takes a trace and names one cell; it returns the very numbers that the layer
multiplied and added there. Rounded numbers rarely add up to their rounded sum, so `fold` keeps
the largest terms and gives the rest as what is missing to the total, to the last printed digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mha_core.after import After
from mha_core.arrays import Array
from mha_core.reference import norm_columns
from mha_core.trace import AttentionTrace
from mha_core.values import check_index

Projection = Literal["q", "k", "v"]


@dataclass(frozen=True)
class Term:
    """One product of a sum: `left * right = product`, both factors' place on the summed axis."""

    index: int
    left: float
    right: float
    product: float


@dataclass(frozen=True)
class Folded:
    """A sum as printed: the largest terms, the rest in one number, the total.

    `round(sum of the terms' products + rest, digits) == total` holds exactly on the printed
    numbers; `n_rest` says how many terms the rest stands for (0: only rounding, if `rest` is
    not zero).
    """

    terms: tuple[Term, ...]
    n_rest: int
    rest: float
    total: float


def fold(
    left: Array, right: Array, total: float, *, extra: float = 0.0, shown: int = 6, digits: int = 3
) -> Folded:
    """Sort the products by size, keep the largest, and state the rest.

    Args:
        left: [term], first factors.
        right: [term], second factors.
        total: what the layer computed for the sum (its float32 rounding included).
        extra: a term of its own that is printed elsewhere, such as a bias.
        shown: how many terms are kept.
        digits: decimals printed.

    >>> folded = fold(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), 6.0, shown=2)
    >>> [term.product for term in folded.terms], folded.n_rest, folded.rest, folded.total
    ([3.0, 2.0], 1, 1.0, 6.0)
    """
    products = left.astype(np.float64) * right.astype(np.float64)
    order = np.argsort(-np.abs(products), kind="stable")[:shown]
    terms = tuple(
        Term(int(i), float(left[i]), float(right[i]), round(float(products[i]), digits))
        for i in order
    )
    printed = round(float(total), digits)
    rest = round(printed - round(extra, digits) - sum(term.product for term in terms), digits)
    return Folded(terms, len(products) - len(terms), rest + 0.0, printed)


@dataclass(frozen=True)
class ScoreDerivation:
    """One cell of a head's chain from QᵀK to the pattern.

    Attributes:
        products: q_i · k_i, adding up to `raw`.
        scale: what `raw` is multiplied by.
        softcap: c in score = c · tanh(raw · scale / c), or None: score = raw · scale.
        score: what comes of that.
        bias: what is added to the score, 0 without a bias.
        may_look: whether the mask lets this query see this key.
        row_maximum: the largest of the row's scores with their bias, and of its sink.
        exponential: exp(score + bias − row_maximum); 0 where the mask forbids.
        sink: exp(sink − row_maximum), which takes part in the sum and has no key; None without.
        row_sum: the sum of the row's exponentials, the sink's included.
        weight: exponential / row_sum, the cell of the pattern; 0 where there is nothing to see.
    """

    products: Folded
    raw: float
    scale: float
    softcap: float | None
    score: float
    bias: float
    may_look: bool
    row_maximum: float
    exponential: float
    sink: float | None
    row_sum: float
    weight: float


def derive_weight(
    trace: AttentionTrace, head: int, query: int, key: int, *, shown: int = 6
) -> ScoreDerivation:
    """Derive one cell of one head's attention matrix.

    Raises:
        ConfigError: there is no such head or token.

    Source: Vaswani et al. 2017, equation 1.
    """
    trace.check_head(head)
    check_index("query", query, trace.n_tokens)
    check_index("key", key, trace.n_tokens)
    config, sinks = trace.config, trace.weights.sinks
    raw = float(trace.raw[head, query, key])
    q, k = trace.q_rot[head, query], trace.k_rot[head // config.group, key]
    masked = trace.masked[head, query].astype(np.float64)
    sink = -np.inf if sinks is None else float(sinks[head])
    row_maximum = max(float(masked.max()), sink)
    row_maximum = row_maximum if np.isfinite(row_maximum) else 0.0
    exponentials = np.exp(masked - row_maximum)
    sink_part = float(np.exp(sink - row_maximum))
    bias = np.zeros(()) if trace.bias is None else trace.bias
    return ScoreDerivation(
        products=fold(q, k, raw, shown=shown, digits=3),
        raw=raw,
        scale=config.scale,
        softcap=config.softcap,
        score=float(trace.scores[head, query, key]),
        bias=float(np.broadcast_to(bias, trace["pattern"].shape)[head, query, key]),
        may_look=bool(np.isfinite(masked[key])),
        row_maximum=row_maximum,
        exponential=float(exponentials[key]),
        sink=None if sinks is None else sink_part,
        row_sum=float(exponentials.sum()) + sink_part,
        weight=float(trace.pattern[head, query, key]),
    )


def derive_projection(
    trace: AttentionTrace, projection: Projection, feature: int, token: int, *, shown: int = 6
) -> tuple[Folded, float]:
    """Derive one cell of Q, K or V: a row of W times a column of X. Also gives the bias.

    The cell is that of the whole projection, before it is split and, in some layers, normed.

    Raises:
        ConfigError: there is no such feature or token.
    """
    weights = trace.weights
    matrix = {"q": weights.w_q, "k": weights.w_k, "v": weights.w_v}[projection]
    bias = {"q": weights.b_q, "k": weights.b_k, "v": weights.b_v}[projection]
    result = {"q": trace.q_full, "k": trace.k_full, "v": trace.v_full}[projection]
    check_index("feature", feature, result.shape[1])
    check_index("token", token, trace.n_tokens)
    added = 0.0 if bias is None else float(bias[feature])
    total = float(result[token, feature])
    return fold(np.asarray(matrix)[feature], trace.x[token], total, extra=added, shown=shown), added


def derive_head_output(
    trace: AttentionTrace, head: int, feature: int, query: int, *, shown: int = 6
) -> Folded:
    """Derive one cell of head_k: the query's weights times one feature of the values.

    Raises:
        ConfigError: there is no such head, feature or token.
    """
    trace.check_head(head)
    check_index("feature", feature, trace.config.d_value)
    check_index("query", query, trace.n_tokens)
    kv_head = head // trace.config.group
    return fold(
        trace.pattern[head, query],
        trace.v[kv_head, :, feature],
        float(trace.heads[head, query, feature]),
        shown=shown,
    )


def derive_output(
    trace: AttentionTrace, feature: int, token: int, *, shown: int = 6
) -> tuple[Folded, float, Array]:
    """Derive one cell of O: a row of W_o times a column of Concat.

    Returns:
        The folded sum, the bias b_o, and what each head adds, [head].

    Raises:
        ConfigError: there is no such feature or token.
    """
    check_index("feature", feature, trace.config.d_model)
    check_index("token", token, trace.n_tokens)
    w_o, b_o = np.asarray(trace.weights.w_o), trace.weights.b_o
    added = 0.0 if b_o is None else float(b_o[feature])
    folded = fold(
        w_o[feature], trace.concat[token], float(trace.out[token, feature]),
        extra=added, shown=shown,
    )  # fmt: skip
    products = w_o[feature].astype(np.float64) * trace.concat[token]
    return folded, added, products.reshape(trace.config.n_heads, -1).sum(axis=1)


@dataclass(frozen=True)
class ResidualDerivation:
    """One number of what is read next: the stream, and what of the output is added to it.

    Attributes:
        stream: what came in.
        out: the output.
        factor: what the output is multiplied by; 1 where it is not.
        added: what is added for it: `out`, multiplied, and normed where the layer norms it.
        is_normed: whether the layer norms the output before it is added.
        beside: what an MLP beside attention adds, or None.
        total: stream + added + beside.
        residual: what is read next: `total`, or, where the layer norms the sum, its norm.
        sum_is_normed: whether it does.
    """

    stream: float
    out: float
    factor: float
    added: float
    is_normed: bool
    beside: float | None
    total: float
    residual: float
    sum_is_normed: bool


def derive_residual(trace: AttentionTrace, feature: int, token: int) -> ResidualDerivation:
    """Derive one number of the stream that is read next.

    Raises:
        ConfigError: there is no such feature or token.
    """
    check_index("feature", feature, trace.config.d_model)
    check_index("token", token, trace.n_tokens)
    after = After() if trace.after is None else trace.after
    added = after.factor * trace.out[token].astype(np.float64)
    norm = after.norm_out
    if norm is not None:
        added = norm_columns(added[:, None], norm.kind, norm.weight, norm.bias, norm.eps)[:, 0]
    beside = None if after.beside is None else float(after.beside[token, feature])
    stream = float(trace.stream[token, feature])
    return ResidualDerivation(
        stream=stream,
        out=float(trace.out[token, feature]),
        factor=after.factor,
        added=float(added[feature]),
        is_normed=norm is not None,
        beside=beside,
        total=stream + float(added[feature]) + (beside or 0.0),
        residual=float(trace.residual[token, feature]),
        sum_is_normed=after.norm_sum is not None,
    )


def derive_rotation(
    trace: AttentionTrace, which: Literal["q", "k"], head: int, pair: int, token: int
) -> tuple[tuple[float, float], tuple[float, float], tuple[int, int]]:
    """Give one pair of features before and after RoPE, and where the two sit in the head.

    Args:
        trace: a walk; without RoPE the pairs are those that halves would make.
        which: queries or keys.
        head: a query head, or a KV head for keys.
        pair: which pair of those that are turned.
        token: which token.

    Raises:
        ConfigError: there is no such head, pair or token.
    """
    rope = trace.config.rope
    before, after = (trace.q, trace.q_rot) if which == "q" else (trace.k, trace.k_rot)
    width = before.shape[-1] if rope is None else rope.width(before.shape[-1])
    check_index("head", head, len(before))
    check_index("pair", pair, width // 2)
    check_index("token", token, trace.n_tokens)
    halves = rope is None or rope.pairing == "half"
    first, second = (pair, pair + width // 2) if halves else (2 * pair, 2 * pair + 1)
    places = [first, second]
    old, new = before[head, token, places], after[head, token, places]
    return (float(old[0]), float(old[1])), (float(new[0]), float(new[1])), (first, second)


def head_contributions(trace: AttentionTrace) -> Array:
    """What each head adds to O: W_o[:, its columns] · head_k.

    Returns:
        [head, token, feature]; summed over heads, and with b_o, it is `out`.

    Source: Elhage et al. 2021, "Attention heads are independent and additive".
    """
    config = trace.config
    w_o = np.asarray(trace.weights.w_o).reshape(config.d_model, config.n_heads, config.d_value)
    added: Array = np.einsum("fhv,htv->htf", w_o, trace.heads, optimize=True)
    return added


def head_shares(trace: AttentionTrace) -> Array:
    """Each head's share of O: ⟨contribution, O⟩ / ‖O‖².

    Returns:
        [head, token], no unit; with the share of b_o a token's shares sum to 1. A share may be
        negative: that head pulls against what comes out.
    """
    norms = (trace.out.astype(np.float64) ** 2).sum(axis=-1)
    products = np.einsum("htf,tf->ht", head_contributions(trace), trace.out, optimize=True)
    shares: Array = products / np.where(norms > 0, norms, 1.0)
    return shares


def head_share(trace: AttentionTrace, head: int, token: int) -> float:
    """One head's share of O at one token, as `head_shares` gives it for all."""
    config = trace.config
    w_o = np.asarray(trace.weights.w_o).reshape(config.d_model, config.n_heads, config.d_value)
    out = trace.out[token].astype(np.float64)
    added = w_o[:, head].astype(np.float64) @ trace.heads[head, token]
    norm = float(out @ out)
    return float(added @ out) / norm if norm > 0 else 0.0
