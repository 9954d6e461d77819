"""Every hand-made mistake is noticed, so the agreement with the article can be trusted."""

from __future__ import annotations

import pytest

from mha_core.config import AttentionConfig
from mha_core.rope import Rope
from tests.core.layers import distances, layer_of
from tests.core.mutants import MUTANTS, Mutant, loaded

# h · d_head = h · d_value = d, so that every mistake still gives the right shapes.
LAYERS = (
    layer_of(
        AttentionConfig(d_model=24, n_heads=6, n_kv_heads=3, rope=Rope(base=100.0)),
        n_tokens=7,
        seed=1,
        biases=True,
    ),
    layer_of(
        AttentionConfig(
            d_model=24, n_heads=6, n_kv_heads=6, window=(2, None), softcap=2.0, rope=Rope()
        ),
        n_tokens=6,
        seed=2,
        bias=True,
    ),
)


def test_without_a_mistake_the_layers_agree():
    with loaded(None) as module:
        for layer in LAYERS:
            assert max(distances(layer, module.attention).values()) < 1e-12


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mistake_is_noticed(mutant: Mutant):
    with loaded(mutant) as module:
        apart = [max(distances(layer, module.attention).values()) for layer in LAYERS]
    assert max(apart) > 1e-2
