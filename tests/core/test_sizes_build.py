"""Building beside other threads, without what Windows lacks, and only what is asked for."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import pytest

from mha_core.sizes import measure, quiet
from mha_core.sizes.quiet import one_at_a_time

SMALL: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 32, "vocab_size": 30, "tie_word_embeddings": False,
}  # fmt: skip


def test_builds_at_once_leave_log_levels_and_warnings_as_they_were() -> None:
    import transformers  # noqa: F401

    logger = logging.getLogger("transformers")
    before, filters = logger.level, list(warnings.filters)
    logger.setLevel(logging.INFO)
    totals: list[int | None] = []
    inside: list[int] = []

    def build(width: int) -> None:
        totals.append(measure({**SMALL, "intermediate_size": width}).parameters.total)

    def enter(seconds: float) -> None:
        with one_at_a_time():
            inside.append(logger.level)
            time.sleep(seconds)

    try:
        threads = [threading.Thread(target=build, args=(width,)) for width in range(8, 14)]
        threads += [threading.Thread(target=enter, args=(0.02 * place,)) for place in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert logger.level == logging.INFO
        assert list(warnings.filters) == filters
    finally:
        logger.setLevel(before)
    assert set(inside) == {logging.CRITICAL}
    # Three matrices of 24 · width in each of two layers.
    ordered = sorted(number for number in totals if number)
    assert [b - a for a, b in itertools.pairwise(ordered)] == [2 * 3 * 24] * 5


def test_one_build_waits_for_another() -> None:
    order: list[str] = []
    entered = threading.Event()

    def hold() -> None:
        with one_at_a_time():
            entered.set()
            time.sleep(0.1)
            order.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    with one_at_a_time():
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_the_command_needs_nothing_that_windows_lacks() -> None:
    code = (
        "import sys, signal; sys.modules['resource'] = None; del signal.SIGALRM;"
        "from mha_core.sizes.__main__ import main;"
        "raise SystemExit(main(['tests/data/configs/llama2-7b-chat.json', '--no-totals']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "KV heads 32" in done.stdout


def test_one_class_is_built_for_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from mha_core.sizes import build

    built: list[str] = []
    attempt = build._attempt

    def watch(kind: Any, config: Any) -> Any:
        built.append(kind.__name__)
        return attempt(kind, config)

    monkeypatch.setattr(build, "_attempt", watch)
    measure(SMALL)
    assert built == ["LlamaForCausalLM"]


def test_only_tensors_that_hold_no_numbers_are_left_without() -> None:
    import torch

    from mha_core.sizes import build

    there: list[float] = []
    with torch.device("meta"), build._without_numbers():
        linear = torch.nn.Linear(3, 5)
        table = torch.nn.Embedding(7, 3, padding_idx=0)
        on_cpu = torch.empty(2, device="cpu").fill_(4)
        thread = threading.Thread(target=lambda: there.append(torch.zeros(1).fill_(2).item()))
        thread.start()
        thread.join()
    assert (linear.weight.shape, table.weight.shape) == ((5, 3), (7, 3))
    assert linear.weight.is_meta
    assert (on_cpu.tolist(), there) == ([4, 4], [2])
    assert torch.empty(2, device="meta").fill_(1).is_meta


@pytest.mark.parametrize(
    ("error", "config", "key"),
    [
        (ImportError("No module", name="timm.models"), {}, "sizes.reason.library"),
        (ImportError("X requires the librosa library but"), {}, "sizes.reason.library"),
        (KeyError("situ"), {"hidden_act": "situ"}, "sizes.reason.key"),
        (ValueError("head_dim must be even"), {"head_dim": 3}, "sizes.reason.key"),
        (RuntimeError("secret text"), {"head_dim": 3}, "sizes.reason.refused"),
    ],
)
def test_what_another_program_raised_is_never_shown(
    error: Exception, config: dict[str, Any], key: str
) -> None:
    reason = quiet.reason_of(error, config)
    assert reason.key == key
    assert "secret" not in str(reason)
