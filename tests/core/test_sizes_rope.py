"""Wavelengths of scaled RoPE from a file's own fields, against transformers' frequencies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mha_core.sizes import RopeWaves, measure, measure_file
from mha_core.sizes.rope_waves import read_rope

CONFIGS = Path(__file__).parents[1] / "data" / "configs"
SIZES: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 1,
    "vocab_size": 10, "intermediate_size": 8, "max_position_embeddings": 4096,
    "rope_theta": 50_000.0,
}  # fmt: skip
SCALINGS: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 3.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 1024},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    "yarn set": {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 512,
                 "beta_fast": 20.0, "beta_slow": 2.0, "truncate": False},
    "longrope": {"rope_type": "longrope", "original_max_position_embeddings": 1024,
                 "short_factor": [1.0 + i / 50 for i in range(32)],
                 "long_factor": [1.0 + i for i in range(32)]},
}  # fmt: skip


def transformers_waves(scaling: dict[str, Any], n_tokens: int | None) -> np.ndarray:
    """Wavelengths by transformers' own functions."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig.from_dict({**SIZES, "rope_scaling": scaling})
    speeds, _ = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, None, seq_len=n_tokens)
    return 2 * math.pi / speeds.double().numpy()


@pytest.mark.parametrize("n_tokens", [256, 4096, 9000])
@pytest.mark.parametrize("name", SCALINGS)
def test_scaled_waves_are_transformers(name: str, n_tokens: int) -> None:
    scaling = SCALINGS[name]
    [waves] = read_rope({**SIZES, "rope_scaling": scaling}, d_head=64)
    ours = waves.scaled(n_tokens)
    assert ours is not None
    assert ours == pytest.approx(transformers_waves(scaling, n_tokens), rel=1e-4)
    assert waves.plain() == pytest.approx(2 * math.pi * 50_000 ** (np.arange(32) / 32))


def test_zones_of_llama_by_hand() -> None:
    waves = RopeWaves("llama3", 10_000.0, 64, 8192, 1024, fields=SCALINGS["llama3"])
    plain, scaled = np.array(waves.plain()), np.array(waves.scaled())
    stay, stretched = plain < 1024 / 4, plain > 1024
    assert scaled[stay] == pytest.approx(plain[stay])
    assert scaled[stretched] == pytest.approx(8 * plain[stretched])
    between = ~stay & ~stretched
    assert between.any()
    assert np.all((plain[between] < scaled[between]) & (scaled[between] < 8 * plain[between]))


@pytest.mark.parametrize(
    ("config", "d_head", "width"),
    [
        ({"rope_theta": 1e4, "partial_rotary_factor": 0.25}, 64, 16),
        ({"rope_theta": 1e4, "rotary_pct": 0.5}, 64, 32),
        ({"rope_theta": 1e4, "rotary_dim": 24}, 64, 24),
        ({"rope_theta": 1e4, "qk_rope_head_dim": 16}, 96, 16),
        ({"rotary_emb_base": 10_000, "rotary_pct": 1.0}, 64, 64),
    ],
)
def test_the_width_that_turns(config: dict[str, Any], d_head: int, width: int) -> None:
    [waves] = read_rope(config, d_head)
    assert (waves.width, len(waves.plain())) == (width, width // 2)


@pytest.mark.parametrize(
    ("config", "d_head"),
    [({}, 64), ({"rope_theta": 1e4}, None), ({"rope_theta": "warm"}, 64), ({"rope_theta": 0}, 64)],
)
def test_what_a_file_does_not_say_is_not_drawn(config: dict[str, Any], d_head: int | None) -> None:
    assert read_rope(config, d_head) == ()


@pytest.mark.parametrize(
    "fields", [{"type": "brand_new", "factor": 2.0}, {"type": "linear"}, {"type": "llama3"},
               {"type": "longrope", "short_factor": [1.0]}, {"type": "yarn"}],
)  # fmt: skip
def test_a_kind_that_is_not_known_or_not_whole_has_no_scaled_waves(fields: dict[str, Any]) -> None:
    [waves] = read_rope({"rope_theta": 1e4, "rope_scaling": fields}, 64)
    assert waves.scaled(100) is None
    assert len(waves.plain()) == 32


def test_layers_with_settings_of_their_own() -> None:
    sizes = measure_file(CONFIGS / "gemma4-26b-a4b.json", totals=True)
    found = {waves.layers: waves for waves in sizes.rope}
    assert found.keys() == {"full_attention", "sliding_attention"}
    assert (found["full_attention"].kind, found["full_attention"].base) == ("proportional", 1e6)
    scaled = found["full_attention"].scaled()
    assert scaled is not None
    # A quarter of the pairs of a head of 512 turns.
    assert np.isfinite(scaled).sum() == 512 // 2 // 4


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_every_file_says_what_it_says_or_nothing(path: Path) -> None:
    try:
        config = json.loads(path.read_text("utf-8-sig"))
    except ValueError:
        return
    for waves in read_rope(config, 64) if isinstance(config, dict) else ():
        scaled = waves.scaled(5000)
        assert scaled is None or (min(scaled) > 0 and len(scaled) == len(waves.plain()))


def test_the_report_names_the_longest_wave() -> None:
    report = measure({**SIZES, "rope_scaling": SCALINGS["linear"]}, totals=False).as_json(4096)
    [rope] = report["rope"]  # type: ignore[misc]
    longest = 2 * math.pi * 50_000 ** (62 / 64)
    assert rope["longest_wavelength"] == pytest.approx(longest)  # type: ignore[index]
    assert rope["longest_wavelength_scaled"] == pytest.approx(4 * longest)  # type: ignore[index]
