"""FLOPs, crossover and cache against numbers worked by hand, and how the package behaves."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, DataError
from mha_core.sizes import (
    CacheLayers,
    cache_bytes,
    cache_elements,
    crossover,
    flops_by_step,
    list_bundled,
    looked_at,
    measure,
    parameters_by_matrix,
    projection_shapes,
    read_bundled,
)
from mha_core.weights import random_weights

MHA = projection_shapes(d_model=768, n_heads=12, n_kv_heads=12, d_head=64)
sizes = st.integers(1, 40)


def test_the_articles_parameters() -> None:
    assert sum(parameters_by_matrix(MHA).values()) == 4 * 768**2
    with_bias = parameters_by_matrix(MHA, dict.fromkeys("qkvo", True))
    assert sum(with_bias.values()) == 4 * 768**2 + 4 * 768


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 7), st.integers(1, 11), sizes)
def test_shapes_are_those_of_real_weights(
    n_kv_heads: int, group: int, d_head: int, d_value: int, d_model: int
) -> None:
    n_heads = n_kv_heads * group
    config = AttentionConfig(
        d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_head=d_head, d_value=d_value
    )
    weights = random_weights(config, seed=0)
    shapes = projection_shapes(d_model, n_heads, n_kv_heads, d_head, d_value)
    for name, chain in shapes.items():
        assert chain == [getattr(weights, name).shape]


@given(st.integers(1, 30), st.booleans(), st.one_of(st.none(), st.integers(1, 35)))
def test_pairs_are_those_of_a_loop(n_tokens: int, causal: bool, window: int | None) -> None:
    allowed = [
        (query, key)
        for query, key in product(range(n_tokens), repeat=2)
        if not causal or (key <= query and (window is None or query - key < window))
    ]
    assert looked_at(n_tokens, causal=causal, window=window) == len(allowed)


def test_flops_by_hand() -> None:
    # d 6, h 2, KV heads 1, d_head 3, S 5: Q 2·5·6·6, K and V 2·5·6·3, scores 2·25·2·3, O 2·5·6·6.
    shapes = projection_shapes(d_model=6, n_heads=2, n_kv_heads=1, d_head=3)
    two_way = flops_by_step(shapes, n_tokens=5, n_heads=2, d_head=3, causal=False)
    assert two_way == {
        "w_q": 360, "w_k": 180, "w_v": 180, "scores": 300, "values": 300, "w_o": 360
    }  # fmt: skip
    # Causal: 15 of 25 pairs.
    causal = flops_by_step(shapes, n_tokens=5, n_heads=2, d_head=3)
    assert (causal["scores"], causal["values"]) == (180, 180)
    # A window of 2 keys: 1 + 2 + 2 + 2 + 2 = 9 pairs.
    near = flops_by_step(shapes, n_tokens=5, n_heads=2, d_head=3, window=2)
    assert near["scores"] == 2 * 9 * 2 * 3


def test_a_chain_costs_both_its_matrices() -> None:
    shapes = {**MHA, "w_q": [(96, 768), (768, 96)]}
    flops = flops_by_step(shapes, n_tokens=7, n_heads=12, d_head=64)
    assert flops["w_q"] == 2 * 7 * (96 * 768 + 768 * 96)


@given(st.integers(1, 8), st.integers(1, 32))
def test_crossover_of_plain_attention_is_two_d(n_heads: int, d_head: int) -> None:
    d = n_heads * d_head
    shapes = projection_shapes(d, n_heads, n_heads, d_head)
    assert crossover(shapes, n_heads=n_heads, d_head=d_head, causal=False) == 2 * d
    assert crossover(shapes, n_heads=n_heads, d_head=d_head, causal=True) == 4 * d - 1


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 8), sizes, st.booleans(),
    st.one_of(st.none(), st.integers(1, 60)),
)  # fmt: skip
def test_crossover_is_where_the_flops_cross(
    n_kv_heads: int, group: int, d_head: int, d_model: int, causal: bool, window: int | None
) -> None:
    window = window if causal else None
    n_heads = n_kv_heads * group
    shapes = projection_shapes(d_model, n_heads, n_kv_heads, d_head)
    tokens = crossover(shapes, n_heads=n_heads, d_head=d_head, causal=causal, window=window)

    def products_weigh_more(n_tokens: int) -> bool:
        steps = flops_by_step(
            shapes, n_tokens=n_tokens, n_heads=n_heads, d_head=d_head, causal=causal, window=window
        )
        products = steps["scores"] + steps["values"]
        return products > sum(steps.values()) - products

    if tokens is None:
        assert not any(products_weigh_more(n) for n in (1, 10, 1_000, 10**6))
        return
    before, after = int(tokens - 1e-9), int(tokens + 1e-9) + 1
    assert before < 1 or not products_weigh_more(before)
    assert products_weigh_more(after)


def test_cache_of_a_window() -> None:
    layers = [CacheLayers(count=3, elements=10, window=4), CacheLayers(count=1, elements=10)]
    assert cache_elements(layers, n_tokens=3) == 4 * 10 * 3
    assert cache_elements(layers, n_tokens=6) == 3 * 10 * 4 + 10 * 6
    assert cache_bytes(layers, n_tokens=6, dtype="fp32") == 4 * 180


@given(st.integers(1, 8), st.integers(1, 8), sizes, st.integers(1, 500))
def test_gqa_with_all_heads_caches_as_mha_does(
    n_kv_heads: int, group: int, d_head: int, n_tokens: int
) -> None:
    n_heads = n_kv_heads * group
    mha = cache_elements([CacheLayers(1, 2 * n_heads * d_head)], n_tokens)
    gqa = cache_elements([CacheLayers(1, 2 * n_kv_heads * d_head)], n_tokens)
    assert mha == group * gqa


def test_no_tokens_is_refused() -> None:
    with pytest.raises(ConfigError, match="n_tokens = 0: expected at least 1"):
        flops_by_step(MHA, n_tokens=0, n_heads=12, d_head=64)
    with pytest.raises(ConfigError, match="n_tokens = 0: expected at least 1"):
        cache_bytes([], n_tokens=0)
    with pytest.raises(ConfigError, match="dtype = fp12: expected one of fp32"):
        cache_bytes([], n_tokens=1, dtype="fp12")


@pytest.mark.parametrize("bundled", list_bundled(), ids=lambda bundled: bundled.name)
def test_bundled_configs_are_read_fully(bundled: object) -> None:
    name = bundled.name  # type: ignore[attr-defined]
    found = measure(read_bundled(name))
    assert found.d_model
    assert found.n_heads
    assert found.has_shapes
    assert found.parameters.base or found.parameters.total
    flops = found.flops(1024)
    assert flops is not None
    assert all(number > 0 for step, number in flops.items() if step != "w_v")


def test_no_such_bundled_config() -> None:
    with pytest.raises(DataError, match=r"nowhere\.json: no such file"):
        read_bundled("nowhere")


@pytest.mark.parametrize("name", ["llama3.1-8b", "llama2-7b-chat", "mistral-7b-v0.1"])
def test_the_fast_path_says_what_the_built_model_says(name: str) -> None:
    config = read_bundled(name)
    fast, built = measure(config, totals=False), measure(config)
    for key in ("d_model", "n_heads", "n_kv_heads", "d_head", "shapes", "bias", "kv_cache"):
        assert fast.as_json(100)[key] == built.as_json(100)[key]
    assert fast.parameters.base == built.parameters.base
    assert fast.parameters.total == built.parameters.total


def test_the_fast_path_loads_no_library() -> None:
    code = (
        "import sys; from mha_core.sizes import measure, read_bundled;"
        "print(measure(read_bundled('llama3.1-8b'), totals=False).parameters.total);"
        "print(sorted({'torch', 'transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8030261248\n[]\n"
