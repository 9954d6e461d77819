"""What every what-if and every derivation must hold to, whatever the layer's settings.

Each exam takes the module that is examined, the real one or one with a mistake in it, and a walk.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.layer import fused_attention
from mha_core.norms import Norm
from mha_core.trace import AttentionTrace
from mha_core.walk import compare, limits

Exam = Callable[[ModuleType, AttentionTrace], None]
# Sizes that one wide head has of its own.
WIDE = {"n_heads", "n_kv_heads", "d_head", "d_value", "scale"}


def functions_of_a_walk(module: ModuleType) -> set[str]:
    """The public functions of a module that take a record first."""
    found = set()
    for name, value in vars(module).items():
        own = inspect.isfunction(value) and value.__module__ == module.__name__
        if own and not name.startswith("_"):
            first = next(iter(inspect.signature(value).parameters.values()), None)
            if first is not None and first.annotation == "AttentionTrace":
                found.add(name)
    return found


def rounding_of(trace: AttentionTrace) -> float:
    """One rounding of the record's float type."""
    return float(torch.finfo(getattr(torch, trace.dtype)).eps)


def assert_close(found: Any, expected: Any, within: float, what: str) -> None:
    """Assert that numbers agree, infinities included."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape, what
    there = np.isfinite(expected)
    assert np.array_equal(found[~there], expected[~there]), what
    assert np.abs(found[there] - expected[there]).max(initial=0.0) <= within, what


def assert_same_walk(again: AttentionTrace, trace: AttentionTrace) -> None:
    """Assert that two records hold the same, field by field, whatever fields there are."""
    steps = set(AttentionTrace.names())
    for each in fields(AttentionTrace):
        name, found, expected = each.name, getattr(again, each.name), getattr(trace, each.name)
        if name in steps:
            assert_close(found, expected, 0.0, name)
        elif name == "weights":
            for kept, value in expected.items():
                assert_close(getattr(found, kept), value, 0.0, kept)
        elif is_dataclass(expected) and name in ("norm", "after"):
            assert_same_record(found, expected, name)
        elif name == "keep":
            shape = trace.pattern.shape
            assert np.array_equal(*(np.broadcast_to(each, shape) for each in (found, expected)))
        else:
            assert np.array_equal(found, expected), name


def assert_same_record(found: Any, expected: Any, what: str) -> None:
    """Assert that two small records, and those inside them, hold the same."""
    assert type(found) is type(expected), what
    for part in fields(expected):
        one, other = getattr(found, part.name), getattr(expected, part.name)
        if is_dataclass(other):
            assert_same_record(one, other, f"{what}.{part.name}")
        else:
            assert np.array_equal(one, other), f"{what}.{part.name}"


def positions_of(trace: AttentionTrace) -> Any:
    return np.arange(trace.n_tokens) if trace.positions is None else trace.positions


def forbidden_by_the_layer(trace: AttentionTrace) -> Any:
    """The cells that causality and window hide, whatever the mask says; bool [query, key]."""
    query, key = np.ogrid[: trace.n_tokens, : trace.n_tokens]
    left, right = trace.config.window
    hidden = (key > query) & trace.config.causal
    hidden = hidden | (query - key > (math.inf if left is None else left))
    return hidden | (key - query > (math.inf if right is None else right))


# What-ifs: nothing changed, the same numbers.


def exam_walk_again(whatif: ModuleType, trace: AttentionTrace) -> None:
    assert_same_walk(whatif.walk_again(trace), trace)
    alone = whatif.walk_again(trace, keep=trace.keep)
    assert_close(alone.out, trace.out, 0.0, "the walk's own mask, given")
    for n_tokens in range(1, trace.n_tokens + 1):
        part = whatif.walk_again(trace, n_tokens=n_tokens)
        first = slice(n_tokens)
        assert_close(part.masked, trace.masked[:, first, first], _near(trace, "masked"), "first")
    # What the layer itself forbids is forbidden no more; what the mask forbids still is.
    free = whatif.walk_again(trace, causal=False, window=(None, None))
    allowed = np.broadcast_to(trace.keep, trace.pattern.shape)
    expected = np.broadcast_to(allowed | forbidden_by_the_layer(trace), trace.pattern.shape)
    assert np.array_equal(np.broadcast_to(free.keep, expected.shape), expected)
    assert_close(free.scores, trace.scores, _near(trace, "scores"), "scores do not know the mask")
    if trace.after is not None and trace.after.beside is not None:
        with pytest.raises(ConfigError, match="An MLP beside attention has read this stream"):
            whatif.walk_again(trace, stream=trace.stream)
    everything = np.ones((trace.n_tokens, trace.n_tokens), dtype=bool)
    assert whatif.walk_again(trace, keep=everything).keep.all()


def exam_look_again(whatif: ModuleType, trace: AttentionTrace) -> None:
    for head in range(trace.config.n_heads):
        within = 2 * rounding_of(trace)
        assert_close(whatif.look_again(trace, head), trace.pattern[head], within, "pattern")
        other = whatif.walk_again(trace, scale=3 * trace.config.scale)
        found = whatif.look_again(trace, head, scale=3 * trace.config.scale)
        assert_close(found, other.pattern[head], within, "another scale")
        turned = whatif.look_again(trace, head, rope=trace.config.rope)
        assert_close(turned, trace.pattern[head], within, "turned as it is")
        flat = whatif.walk_again(trace, rope=None).pattern[head]
        assert_close(whatif.look_again(trace, head, rope=None), flat, within, "nothing turned")
        keep = np.tri(trace.n_tokens, k=1, dtype=bool)
        found = whatif.look_again(trace, head, keep=keep)
        assert_close(found, whatif.walk_again(trace, keep=keep).pattern[head], within, "a mask")
    for head in (-1, trace.config.n_heads):
        with pytest.raises(ConfigError, match=f"head = {head} is not known"):
            whatif.look_again(trace, head)


def exam_turn_again(whatif: ModuleType, trace: AttentionTrace) -> None:
    where, rope = positions_of(trace), trace.config.rope
    order = np.random.default_rng(0).permutation(trace.config.d_head)
    for head in range(trace.config.n_heads):
        found = whatif.turn_again(trace, head, rope, where)
        assert_close(found, trace.scores[head], _near(trace, "scores"), "scores")
        same = whatif.turn_again(trace, head, None, where, order)
        still = whatif.turn_again(trace, head, None, where)
        assert_close(same, still, _near(trace, "scores"), "an order moves nothing by itself")
        if rope is None:
            assert_close(still, trace.scores[head], _near(trace, "scores"), "nothing turned")
            continue
        other = replace(rope, pairing="half" if rope.pairing == "interleaved" else "interleaved")
        order_ = whatif.pair_order(trace.config.d_head, other.pairing, rope.dim)
        found = whatif.turn_again(trace, head, other, where, order_)
        assert_close(found, trace.scores[head], _near(trace, "scores"), "the other pairing")
    with pytest.raises(ConfigError, match="head = -1 is not known"):
        whatif.turn_again(trace, -1, rope, where)


def exam_as_one_head(whatif: ModuleType, trace: AttentionTrace) -> None:
    config = trace.config
    if config.n_heads == 1:
        assert_same_walk(whatif.as_one_head(trace), trace)
        return
    forbids = not (trace.keep | forbidden_by_the_layer(trace)).all()
    refusals = {
        "a sink for each": trace.weights.sinks is not None,
        "cannot be taken over": (forbids and trace.keep.ndim == 3) or np.ndim(trace.bias) == 3,
        "frequencies do not fit": bool(config.rope and config.rope.frequencies)
        and config.rope.dim is None,
    }
    expected = [words for words, refused in refusals.items() if refused]
    if expected:
        with pytest.raises((ConfigError, ShapeError), match="|".join(expected)):
            whatif.as_one_head(trace)
        return
    one = whatif.as_one_head(trace)
    for each in fields(config):
        if each.name not in WIDE:
            assert getattr(one.config, each.name) == getattr(config, each.name), each.name
    usual = config.scale == 1 / math.sqrt(config.d_head)
    scale = 1 / math.sqrt(config.n_heads * config.d_head) if usual else config.scale
    assert (one.config.n_heads, one.config.scale) == (1, scale)
    assert_close(one.q_full, trace.q_full, 0.0, "the same queries")
    for full, width in (("k_full", config.d_head), ("v_full", config.d_value)):
        before = getattr(trace, full).reshape(trace.n_tokens, config.n_kv_heads, width)
        after = getattr(one, full).reshape(trace.n_tokens, config.n_heads, width)
        assert_close(after, before.repeat(config.group, axis=1), _near(trace, full), full)
    # One vector, normed as before; a length grows with what is repeated, a mean does not.
    if config.qk_norm == "whole" and config.rope is None and config.qk_norm_kind != "l2":
        after = one.k[0].reshape(trace.n_tokens, config.n_heads, -1).transpose(1, 0, 2)
        assert_close(after, trace.k.repeat(config.group, axis=0), _near(trace, "k"), "k")
    allowed = limits(one)
    far = {name: apart / allowed[name] for name, apart in compare(one).items() if apart}
    assert max(far.values(), default=0.0) <= 4, "as the article has it"


def exam_count_products(whatif: ModuleType, trace: AttentionTrace) -> None:
    n, width = trace.n_tokens, trace.config.d_head + trace.config.d_value
    matrices = [getattr(trace.weights, name) for name in ("w_q", "w_k", "w_v", "w_o")]
    by_hand = sum(n * len(each) * len(each[0]) for each in matrices)
    assert whatif.count_products(trace) == by_hand + trace.config.n_heads * n * n * width


def exam_score_variance(whatif: ModuleType, trace: AttentionTrace) -> None:
    before, after = whatif.score_variance(trace)
    keys = np.repeat(trace.k_rot, trace.config.group, axis=0).astype(np.float64)
    raw = np.einsum("hqd,hkd->hqk", trace.q_rot.astype(np.float64), keys)
    seen = raw[np.broadcast_to(trace.keep, raw.shape)]
    if not len(seen):
        assert math.isnan(before)
        assert math.isnan(after)
        return
    within = 1e-5 * max(1e-30, float((np.abs(raw).max() + np.abs(seen).max()) ** 2))
    assert before == pytest.approx(float(((seen - seen.mean()) ** 2).mean()), abs=within)
    assert after == pytest.approx(before * trace.config.scale**2, rel=1e-9)


WHATIF: dict[str, Exam] = {
    "walk_again": exam_walk_again,
    "look_again": exam_look_again,
    "turn_again": exam_turn_again,
    "as_one_head": exam_as_one_head,
    "count_products": exam_count_products,
    "score_variance": exam_score_variance,
}


def exam_share_again(grouped: ModuleType, trace: AttentionTrace) -> None:
    assert_same_walk(grouped.share_again(trace, trace.config.n_kv_heads), trace)
    for n in grouped.kv_choices(trace.config.n_kv_heads):
        one = grouped.share_again(trace, n)
        for name, width in (("k_full", trace.config.d_head), ("v_full", trace.config.d_value)):
            before = getattr(trace, name).reshape(trace.n_tokens, n, -1, width).astype(np.float64)
            after = getattr(one, name).reshape(trace.n_tokens, n, width)
            assert_close(after, before.mean(axis=2), 4 * _near(trace, name), f"mean of {name}")
    assert_close(one.q_rot, trace.q_rot, 0.0, "queries stay")
    first = grouped.share_again(trace, 1, n_tokens=1)
    assert_close(first.masked, one.masked[:, :1, :1], _near(trace, "masked"), "the first token")


def exam_decode(grouped: ModuleType, trace: AttentionTrace) -> None:
    if trace.n_tokens > 1:
        ahead = np.tri(trace.n_tokens, k=1, dtype=bool)
        with pytest.raises(ConfigError, match="Token 0 may look at token 1, which comes later"):
            grouped.decode(grouped.share_again(trace, trace.config.n_kv_heads, keep=ahead))
    if np.triu(trace.keep, 1).any():
        with pytest.raises(ConfigError, match="comes later and is not there yet"):
            grouped.decode(trace)
        back = np.tril(trace.keep)
        trace = grouped.share_again(trace, trace.config.n_kv_heads, keep=back)
    read = grouped.decode(trace)
    assert_close(read.pattern, trace.pattern, 8 * rounding_of(trace), "pattern")
    assert_close(read.k_rot, trace.k_rot, _near(trace, "k_rot"), "keys")
    assert_close(read.v, trace.v, _near(trace, "v"), "values")
    assert read.largest == np.abs(trace.out).max()
    assert read.apart.max() <= 16 * rounding_of(trace) * _sizes_behind_out(trace)
    numbers = trace.config.n_kv_heads * (trace.config.d_head + trace.config.d_value)
    assert read.elements.tolist() == [numbers * (n + 1) for n in range(trace.n_tokens)]


def exam_output_moved(grouped: ModuleType, trace: AttentionTrace) -> None:
    assert grouped.output_moved(trace, trace) == 0.0
    if trace.out.any():
        double = replace(trace, out=2 * trace.out)
        assert grouped.output_moved(trace, double) == pytest.approx(1, rel=1e-3)
        assert grouped.output_moved(replace(trace, out=0 * trace.out), trace) == math.inf


GROUPED: dict[str, Exam] = {
    "share_again": exam_share_again,
    "decode": exam_decode,
    "output_moved": exam_output_moved,
}


# Derivations: the terms add up to the number that they explain.


def cells(trace: AttentionTrace, *lengths: int) -> Iterator[tuple[int, ...]]:
    """Some cells of an array of these lengths, the first and the last among them."""
    generator = np.random.default_rng(trace.n_tokens)
    yield tuple(0 for _ in lengths)
    yield tuple(length - 1 for length in lengths)
    for _ in range(3):
        yield tuple(int(generator.integers(length)) for length in lengths)


def exam_derive_weight(derivation: ModuleType, trace: AttentionTrace) -> None:
    config, n = trace.config, trace.n_tokens
    for head, query, key in cells(trace, config.n_heads, n, n):
        row = [derivation.derive_weight(trace, head, query, each) for each in range(n)]
        cell = row[key]
        q, k = trace.q_rot[head, query], trace.k_rot[head // config.group, key]
        _adds_up(cell.products, q, k, cell.raw, 0.0, 1e-5)
        assert cell.scale == config.scale
        score = cell.raw * cell.scale
        if cell.softcap is not None:
            score = cell.softcap * math.tanh(score / cell.softcap)
        assert cell.score == pytest.approx(score, abs=1e-5 * max(1.0, abs(score)))
        keep = np.broadcast_to(trace.keep, trace.pattern.shape)[head, query]
        assert [each.may_look for each in row] == keep.tolist()
        seen = [each.score + each.bias for each in row if each.may_look]
        sink = None if trace.weights.sinks is None else float(trace.weights.sinks[head])
        assert (cell.sink is None) == (sink is None)
        if not seen and sink is None:
            assert cell.exponential == cell.row_sum == cell.weight == 0.0
            continue
        top = max([*seen, *([] if sink is None else [sink])])
        assert cell.row_maximum == pytest.approx(top, abs=1e-5 * max(1.0, abs(top)))
        power = math.exp(cell.score + cell.bias - cell.row_maximum) if cell.may_look else 0.0
        assert cell.exponential == pytest.approx(power, rel=1e-4, abs=1e-30)
        total = sum(each.exponential for each in row) + (cell.sink or 0.0)
        assert cell.row_sum == pytest.approx(total, rel=1e-9)
        if sink is not None:
            assert cell.sink == pytest.approx(math.exp(sink - cell.row_maximum), rel=1e-9)
        within = 1e-5 + rounding_of(trace)
        assert cell.exponential / cell.row_sum == pytest.approx(cell.weight, abs=within)
    for wrong in ((config.n_heads, 0, 0), (0, n, 0), (0, 0, -1)):
        with pytest.raises(ConfigError, match="is not known: expected one of 0 …"):
            derivation.derive_weight(trace, *wrong)


def exam_derive_projection(derivation: ModuleType, trace: AttentionTrace) -> None:
    for name in ("q", "k", "v"):
        matrix, full = getattr(trace.weights, f"w_{name}"), getattr(trace, f"{name}_full")
        given = getattr(trace.weights, f"b_{name}")
        for feature, token in cells(trace, full.shape[1], trace.n_tokens):
            folded, bias = derivation.derive_projection(trace, name, feature, token)
            assert bias == (0.0 if given is None else float(given[feature]))
            result = float(full[token, feature])
            _adds_up(folded, matrix[feature], trace.x[token], result, bias, rounding_of(trace))
        with pytest.raises(ConfigError, match="feature = -1 is not known"):
            derivation.derive_projection(trace, name, -1, 0)


def exam_derive_head_output(derivation: ModuleType, trace: AttentionTrace) -> None:
    config = trace.config
    for head, feature, query in cells(trace, config.n_heads, config.d_value, trace.n_tokens):
        folded = derivation.derive_head_output(trace, head, feature, query)
        values = trace.v[head // config.group, :, feature]
        result = float(trace.heads[head, query, feature])
        _adds_up(folded, trace.pattern[head, query], values, result, 0.0, rounding_of(trace))
    with pytest.raises(ConfigError, match="head = -1 is not known"):
        derivation.derive_head_output(trace, -1, 0, 0)


def exam_derive_output(derivation: ModuleType, trace: AttentionTrace) -> None:
    given = trace.weights.b_o
    for feature, token in cells(trace, trace.config.d_model, trace.n_tokens):
        folded, bias, by_head = derivation.derive_output(trace, feature, token)
        assert bias == (0.0 if given is None else float(given[feature]))
        row, result = trace.weights.w_o[feature], float(trace.out[token, feature])
        _adds_up(folded, row, trace.concat[token], result, bias, rounding_of(trace))
        within = _within(row, trace.concat[token], bias, rounding_of(trace))
        assert float(by_head.sum()) + bias == pytest.approx(result, abs=within)
        parts = derivation.head_contributions(trace)[:, token, feature]
        assert_close(by_head, parts, within, "each head's part")
    with pytest.raises(ConfigError, match="token = -1 is not known"):
        derivation.derive_output(trace, 0, -1)


def exam_derive_residual(derivation: ModuleType, trace: AttentionTrace) -> None:
    after = trace.after
    factor = 1.0 if after is None else after.factor
    added = _normed(None if after is None else after.norm_out, factor * _wide(trace.out))
    beside = None if after is None else after.beside
    normed = None if after is None else after.norm_sum
    total = _wide(trace.stream) + added + (0 if beside is None else beside)
    within = limits(trace)["residual"]
    for feature, token in cells(trace, trace.config.d_model, trace.n_tokens):
        found = derivation.derive_residual(trace, feature, token)
        assert found.stream == float(trace.stream[token, feature])
        assert found.out == float(trace.out[token, feature])
        assert found.residual == float(trace.residual[token, feature])
        assert found.factor == factor
        assert found.added == pytest.approx(added[token, feature], rel=1e-9, abs=1e-12)
        assert found.is_normed == (after is not None and after.norm_out is not None)
        assert found.beside == (None if beside is None else float(beside[token, feature]))
        assert found.total == pytest.approx(total[token, feature], rel=1e-9, abs=1e-9)
        assert found.sum_is_normed == (normed is not None)
        if normed is None:
            assert found.total == pytest.approx(found.residual, abs=within)
    with pytest.raises(ConfigError, match="token = -1 is not known"):
        derivation.derive_residual(trace, 0, -1)


def _wide(value: Any) -> Any:
    return np.asarray(value, np.float64)


def exam_derive_rotation(derivation: ModuleType, trace: AttentionTrace) -> None:
    rope, d_head = trace.config.rope, trace.config.d_head
    width = d_head if rope is None or rope.dim is None else rope.dim
    for which in ("q", "k"):
        before_all, after_all = getattr(trace, which), getattr(trace, f"{which}_rot")
        for head, pair, token in cells(trace, len(before_all), width // 2, trace.n_tokens):
            before, after, places = derivation.derive_rotation(trace, which, head, pair, token)
            assert before == tuple(before_all[head, token, list(places)])
            assert after == tuple(after_all[head, token, list(places)])
            turn = 1.0 + 0.0j
            if rope is not None:
                speed = (
                    rope.base ** (-2 * pair / width)
                    if rope.frequencies is None
                    else rope.frequencies[pair]
                )
                angle = float(positions_of(trace)[token]) * speed
                if rope.angle_dtype == "float32":
                    place = np.float32(positions_of(trace)[token])
                    angle = float(place * np.float32(speed))
                turn = rope.attention_factor * np.exp(1j * angle)
            turned = complex(*before) * turn
            within = 8 * rounding_of(trace) * max(abs(turned), 1e-30)
            assert_close(after, (turned.real, turned.imag), within, "turned by its angle")
        with pytest.raises(ConfigError, match=f"pair = {width // 2} is not known"):
            derivation.derive_rotation(trace, which, 0, width // 2, 0)


def exam_head_contributions(derivation: ModuleType, trace: AttentionTrace) -> None:
    parts = derivation.head_contributions(trace)
    assert parts.shape == (trace.config.n_heads, *trace.out.shape)
    total = parts.astype(np.float64).sum(axis=0) + _b_o(trace)
    assert_close(total, trace.out, 8 * rounding_of(trace) * _sizes_behind_out(trace), "O")


def exam_head_shares(derivation: ModuleType, trace: AttentionTrace) -> None:
    shares = derivation.head_shares(trace)
    out = trace.out.astype(np.float64)
    size = (out**2).sum(axis=1)
    of_bias = (_b_o(trace) * out).sum(axis=1)
    behind = 16 * rounding_of(trace) * _sizes_behind_out(trace) * np.abs(out).sum(axis=1)
    for token in range(trace.n_tokens):
        if size[token]:
            total = shares[:, token].sum() + of_bias[token] / size[token]
            assert total == pytest.approx(1, abs=behind[token] / size[token] + 1e-6)
        else:
            assert not shares[:, token].any()


def exam_head_share(derivation: ModuleType, trace: AttentionTrace) -> None:
    shares = derivation.head_shares(trace)
    for head, token in cells(trace, trace.config.n_heads, trace.n_tokens):
        share = derivation.head_share(trace, head, token)
        size = float((trace.out[token].astype(np.float64) ** 2).sum())
        behind = _sizes_behind_out(trace) * float(np.abs(trace.out[token]).sum())
        within = 1e-6 * max(1.0, behind / size) if size else 0.0
        assert share == pytest.approx(float(shares[head, token]), abs=within)


DERIVATION: dict[str, Exam] = {
    "derive_weight": exam_derive_weight,
    "derive_projection": exam_derive_projection,
    "derive_head_output": exam_derive_head_output,
    "derive_output": exam_derive_output,
    "derive_residual": exam_derive_residual,
    "derive_rotation": exam_derive_rotation,
    "head_contributions": exam_head_contributions,
    "head_shares": exam_head_shares,
    "head_share": exam_head_share,
}


# A record, and the two forms it is held against.


def exam_walk_layer(walk: ModuleType, trace: AttentionTrace) -> None:
    """Not a function of a walk: it makes one. It is given what the record says it was given."""
    held = {each.name for each in fields(trace)} - set(trace.names())
    given = {name: getattr(trace, name) for name in held} | {"dtype": getattr(torch, trace.dtype)}
    again = walk.walk_layer(trace.stream, **given)
    assert_same_walk(again, trace)
    stream = np.asarray(trace.stream, np.float64)
    plain = walk.walk_layer(trace.stream, **given | {"after": None})
    within = 2 * rounding_of(trace) * max(1e-30, np.abs(stream).max(), np.abs(trace.out).max())
    assert_close(plain.residual, stream + trace.out, within, "the stream passes by the norm")
    assert_close(again.residual, _read_next(trace), limits(trace)["residual"], "what is read next")


def _walks_from_heads(walk: ModuleType, trace: AttentionTrace) -> None:
    """From ready queries, keys and values everything after them is the same."""
    part = walk.walk_from_heads(
        trace.stream, trace.q_rot, trace.k_rot, trace.v, trace.weights, trace.config,
        norm=trace.norm, after=trace.after, keep=trace.keep, bias=trace.bias, device="cpu",
        dtype=getattr(torch, trace.dtype),
    )  # fmt: skip
    assert part.absent == ("q_full", "k_full", "v_full", "q", "k")
    for step in part:
        assert_close(step.value, trace[step.name].value, 0.0, step.name)
    apart, allowed = walk.compare(part), walk.limits(part)
    assert apart.keys() == allowed.keys() == set(part.names()) - set(part.absent)
    assert all(each <= 4 * allowed[name] for name, each in apart.items()), apart
    within = 40 * rounding_of(trace) * _sizes_behind_out(trace)
    assert walk.compare_fused(part) <= max(within, 1e-5)
    for ask in (lambda: part.q, lambda: part["k_full"], part.check_whole):
        with pytest.raises(DataError, match="the record begins after them and holds no"):
            ask()


def _read_next(trace: AttentionTrace) -> Any:
    """The residual, written out: factor, norm, stream, what is beside, norm."""
    after, total = trace.after, np.asarray(trace.out, np.float64)
    if after is None:
        return trace.stream + total
    total = _normed(after.norm_out, after.factor * total) + trace.stream
    return _normed(after.norm_sum, total + (0 if after.beside is None else after.beside))


def _normed(norm: Any, rows: Any) -> Any:
    """Each token's features through RMSNorm or LayerNorm, with gain and bias."""
    if norm is None:
        return rows
    if norm.kind == "layer":
        rows = rows - rows.mean(axis=1, keepdims=True)
    size = np.sqrt((rows * rows).mean(axis=1, keepdims=True) + norm.eps)
    gained = rows / size * (1.0 if norm.weight is None else norm.weight)
    return gained + (0.0 if norm.bias is None else norm.bias)


def exam_compare(walk: ModuleType, trace: AttentionTrace) -> None:
    exam_walk_layer(walk, trace)
    _walks_from_heads(walk, trace)
    allowed = walk.limits(trace)
    far = {name: apart / allowed[name] for name, apart in walk.compare(trace).items() if apart}
    assert max(far.values(), default=0.0) <= 4, far
    for name in trace.names():
        if name in ("stream", "masked"):  # what all else is made from; what holds infinities
            continue
        value = np.array(trace[name].value, np.float64)
        value.flat[0] += 1.0 + np.abs(value).max()
        assert walk.compare(replace(trace, **{name: value}))[name] >= 0.9, name
    bent = np.array(trace.masked)
    bent.flat[0] = 0.0 if np.isinf(bent.flat[0]) else -np.inf
    assert walk.compare(replace(trace, masked=bent))["masked"] == math.inf


def exam_compare_fused(walk: ModuleType, trace: AttentionTrace) -> None:
    asked = []

    def listen(x: torch.Tensor, *given: Any, **options: Any) -> torch.Tensor:
        asked.append(x.dtype)
        return fused_attention(x, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "fused_attention", listen)
        walk.compare_fused(trace)
    assert asked == [getattr(torch, trace.dtype)]
    within = 40 * rounding_of(trace) * _sizes_behind_out(trace)
    assert walk.compare_fused(trace) <= max(within, 1e-5)
    assert walk.compare_fused(replace(trace, out=trace.out + 1)) >= 0.9


def exam_limits(walk: ModuleType, trace: AttentionTrace) -> None:
    allowed = walk.limits(trace)
    assert set(allowed) == set(trace.names())
    assert allowed["pattern"] == max(1e-5, 40 * rounding_of(trace))
    largest = np.abs(trace.out).max()
    assert allowed["out"] == pytest.approx(allowed["pattern"] * largest)
    assert allowed["residual"] >= allowed["pattern"] * np.abs(trace.residual).max() * (1 - 1e-9)


WALK: dict[str, Exam] = {
    "compare": exam_compare,
    "compare_fused": exam_compare_fused,
    "limits": exam_limits,
}


def exam_masks(masks: ModuleType) -> None:
    """Not of a walk: every cell of every mask, by its rule."""
    for n, window, prefix, sinks in ((6, 2, 3, 2), (5, 3, 0, 1)):
        for name in masks.MASK_NAMES:
            keep = masks.named_mask(name, n, window=window, prefix=prefix, sinks=sinks)
            for query, key in np.ndindex(n, n):
                back = key <= query
                near = back and query - key < window
                expected = {
                    "causal": back,
                    "two_way": True,
                    "window": near,
                    "prefix": back or max(query, key) < prefix,
                    "sink_window": near or (back and key < sinks),
                }[name]
                assert keep[query, key] == expected, (name, query, key)
    offsets = torch.tensor([0, 2])
    both = masks.keep_mask(3, 6, offset=offsets, left=1, right=0, causal=False)
    assert both.shape == (2, 1, 3, 6)
    for sentence, query, key in np.ndindex(2, 3, 6):
        ahead = key - query - int(offsets[sentence])
        assert bool(both[sentence, 0, query, key]) == (-1 <= ahead <= 0)


def exam_after(after: ModuleType) -> None:
    """Not of a walk: what follows the output, each part alone and all together."""
    random = np.random.default_rng(0)
    stream, out, beside = (random.standard_normal((5, 6)) for _ in range(3))
    gain, shift = random.random(6) + 0.5, random.standard_normal(6)
    parts = {
        "factor": 0.3,
        "norm_out": Norm("rms", gain, None, 1e-3),
        "norm_sum": Norm("layer", gain, shift, 1e-3),
        "beside": beside,
    }
    for chosen in ({}, *({name: part} for name, part in parts.items()), parts):
        made = after.After(**chosen)
        added = _normed(chosen.get("norm_out"), chosen.get("factor", 1.0) * out)
        total = stream + added + chosen.get("beside", 0.0)
        found = made.apply(torch.tensor(stream), torch.tensor(out)).numpy()
        assert_close(found, _normed(chosen.get("norm_sum"), total), 1e-12, str(made))
    first = after.After(**parts).first(3)
    assert_close(first.beside, beside[:3], 0.0, "cut")
    assert after.After(0.3).first(3).factor == 0.3
    with pytest.raises(ShapeError, match=r"beside has shape \(2, 6\)"):
        after.After(beside=beside[:2]).apply(torch.tensor(stream), torch.tensor(out))


EXAMS: dict[str, dict[str, Exam]] = {
    "whatif": WHATIF,
    "grouped": GROUPED,
    "derivation": DERIVATION,
    "walk": WALK,
}


def _near(trace: AttentionTrace, name: str) -> float:
    """How far two ways to one step may round apart."""
    value = trace[name].value
    largest = float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
    behind = max(largest, 1e-30)
    if name in ("scores", "masked"):
        q, k = (np.abs(array).max(initial=0.0) for array in (trace.q_rot, trace.k_rot))
        behind += float(q) * float(k) * trace.config.d_head * trace.config.scale
    return 16 * max(rounding_of(trace), 1e-7) * behind


def _b_o(trace: AttentionTrace) -> Any:
    return 0.0 if trace.weights.b_o is None else np.asarray(trace.weights.b_o, np.float64)


def _sizes_behind_out(trace: AttentionTrace) -> float:
    """The largest sum of sizes that an output was added up from."""
    w_o = np.abs(np.asarray(trace.weights.w_o, np.float64))
    values = np.repeat(np.abs(trace.v), trace.config.group, axis=0).max(axis=1)
    return float((w_o * values.reshape(-1)).sum(axis=1).max() + np.abs(_b_o(trace)).max()) + 1e-30


def _within(left: Any, right: Any, extra: float, rounding: float) -> float:
    """How far a sum of products may be rounded off."""
    left, right = np.asarray(left, np.float64), np.asarray(right, np.float64)
    steps = 6e-8 * (len(left) + 1) if rounding > 5e-4 else 1e-12  # float16's smallest step
    return 4 * max(rounding, 1e-7) * (float(np.abs(left * right).sum()) + abs(extra)) + steps


def _adds_up(folded: Any, left: Any, right: Any, result: float, extra: float, r: float) -> None:
    """Assert that what is printed adds up to the number, and is what was multiplied."""
    printed = sum(term.product for term in folded.terms) + folded.rest + round(extra, 3)
    assert round(printed, 3) == folded.total == round(result, 3)
    left, right = np.asarray(left, np.float64), np.asarray(right, np.float64)
    assert len(folded.terms) + folded.n_rest == len(left)
    for term in folded.terms:
        assert (term.left, term.right) == (left[term.index], right[term.index])
        assert term.product == round(left[term.index] * right[term.index], 3)
    kept = {term.index for term in folded.terms}
    sizes = np.abs(left * right)
    rest = [size for index, size in enumerate(sizes) if index not in kept]
    assert min(sizes[list(kept)]) >= max(rest, default=0.0), "the largest are shown"
    assert float(left @ right) + extra == pytest.approx(result, abs=_within(left, right, extra, r))
