"""What is seen of a model's attention is what the model computes, whatever family it is of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from mha_core.real import capture as captured
from mha_core.real.capture import NAME, Call, TileMask, capture_calls, watching
from mha_core.sizes.quiet import one_at_a_time
from tests.core.real_families import FAMILIES, N_TOKENS, Family, build

NEAR = 1e-5
IDS = torch.randint(3, 99, (2, N_TOKENS), generator=torch.Generator().manual_seed(1))
WHOLE = torch.ones_like(IDS)
LEFT, RIGHT = WHOLE.clone(), WHOLE.clone()
LEFT[1, :5] = 0
RIGHT[1, -5:] = 0
PADDINGS = {"no padding": WHOLE, "padding before": LEFT, "padding after": RIGHT}
BY_NAME = {family.name: family for family in FAMILIES}


def last_of(found: Any) -> torch.Tensor:
    return found.logits if "logits" in found else found.last_hidden_state


def apart(model: Any, padding: torch.Tensor) -> tuple[int, int, float, float]:
    """Calls seen, calls that eager reports, and how far patterns and output are from eager's."""
    with torch.no_grad(), one_at_a_time():
        model.set_attn_implementation("eager")
        eager = model(input_ids=IDS, attention_mask=padding, output_attentions=True)
        model.set_attn_implementation(NAME)
        calls = capture_calls(model, input_ids=IDS, attention_mask=padding)
        ours = model(input_ids=IDS, attention_mask=padding)
    patterns = [each for each in eager.attentions if each is not None]
    valid = padding.bool()
    worst = 0.0
    for call, pattern in zip(calls, patterns, strict=False):
        worst = max(worst, float((call.rows() - pattern).abs().amax((1, 3))[valid].max()))
    out = (last_of(eager) - last_of(ours)).abs()[valid].max() / last_of(eager).abs()[valid].max()
    return len(calls), len(patterns), worst, float(out)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_patterns_are_those_of_eager_attention(family: Family) -> None:
    model = build(family)
    for name, padding in PADDINGS.items():
        n_calls, n_eager, patterns, out = apart(model, padding)
        assert n_calls == n_eager > 0, name
        assert patterns <= NEAR, name
        assert out <= NEAR, name


def test_thirty_kinds_are_tried() -> None:
    assert len({family.kind for family in FAMILIES}) >= 30


@contextmanager
def without_the_mask_function() -> Iterator[None]:
    from transformers import AttentionMaskInterface

    registered = AttentionMaskInterface._global_mapping.pop(NAME)
    try:
        yield
    finally:
        AttentionMaskInterface._global_mapping[NAME] = registered


@pytest.mark.parametrize("name", ["llama", "bert", "mistral", "gemma2", "modernbert"])
def test_without_a_mask_function_the_patterns_are_wrong(name: str) -> None:
    """The comparison above would notice: this is the mistake it is there for."""
    model = build(BY_NAME[name])
    with without_the_mask_function():
        assert apart(model, LEFT)[2] > 0.1


@pytest.mark.parametrize(
    ("name", "part"), [("gemma2", "softcap"), ("gpt-oss", "sinks"), ("granite", "scale")]
)
def test_a_setting_left_out_is_noticed(
    name: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Call.rows

    def forgetful(call: Call, *which: int) -> torch.Tensor:
        setattr(call, part, call.q.shape[-1] ** -0.5 if part == "scale" else None)
        return rows(call, *which)

    family = BY_NAME[name]
    if part == "softcap":  # small enough to bend these scores
        family = Family(name, family.kind, family.settings | {"attn_logit_softcapping": 1.0})
    assert apart(build(family), WHOLE)[2] <= NEAR
    monkeypatch.setattr(Call, "rows", forgetful)
    assert apart(build(family), WHOLE)[2] > 1e-3


@pytest.mark.parametrize("family", [BY_NAME["llama"], BY_NAME["gpt-oss"], BY_NAME["bert"]])
def test_the_librarys_own_function_gives_the_same(family: Family) -> None:
    model = build(family)
    model.set_attn_implementation(NAME)
    ours = capture_calls(model, input_ids=IDS)
    theirs = capture_calls(model, input_ids=IDS, patterns=True)
    assert [call.number for call in ours] == [0, 1]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.pattern is None
        assert other.pattern is not None
        assert float((mine.rows() - other.pattern).abs().max()) <= NEAR


def test_strips_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(BY_NAME["gpt-oss"])
    model.set_attn_implementation(NAME)
    call = capture_calls(model, input_ids=IDS, attention_mask=LEFT)[1]
    whole = call.collect(call.rows())
    monkeypatch.setattr(captured, "ROWS", 7)
    assert torch.allclose(call.heads(), whole, atol=1e-6)
    assert torch.allclose(call.rows(3, 9), call.rows()[:, :, 3:9], atol=1e-6)
    assert isinstance(call.mask, TileMask)
    whole_mask = call.mask.tile(0, N_TOKENS, 0, N_TOKENS)
    assert torch.equal(call.mask.tile(5, 9, 2, 11), whole_mask[..., 5:9, 2:11])


def test_albert_calls_one_module_for_every_layer() -> None:
    model = build(BY_NAME["albert"])
    model.set_attn_implementation(NAME)
    first, second = capture_calls(model, input_ids=IDS)
    assert first.module is second.module
    assert (first.number, second.number) == (0, 1)
    assert not torch.equal(first.q, second.q)


def test_a_mask_of_numbers_hides_and_adds() -> None:
    """Old classes hide by −10,000, and some hand a bias over as a mask."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(1, 2, 5, 20, generator=generator) for _ in range(3))
    mask = torch.randn(1, 1, 5, 5, generator=generator)
    mask[..., 1:, 0] = -10_000.0
    call = Call(0, None, q, k, v, mask, 0.3)
    expected = (0.3 * q @ k.transpose(2, 3) + mask).softmax(-1)
    assert torch.allclose(call.rows(), expected, atol=1e-6)
    assert torch.allclose(call.rows(2, 4), expected[:, :, 2:4], atol=1e-6)
    keep = call.keep()
    assert keep is not None
    assert keep[0, 0, :, 0].tolist() == [True, False, False, False, False]
    assert Call(0, None, q, k, v, torch.zeros(1, 1, 5, 5), 0.3).added() is None


def test_nobody_watches_another_thread() -> None:
    """Two readers with one model: each sees the calls of its own text."""
    from concurrent.futures import ThreadPoolExecutor

    model = build(BY_NAME["llama"])
    model.set_attn_implementation(NAME)
    with watching(lambda call: pytest.fail("another thread's call")), ThreadPoolExecutor(1) as pool:
        calls = pool.submit(capture_calls, model, input_ids=IDS).result()
    assert len(calls) == 2
