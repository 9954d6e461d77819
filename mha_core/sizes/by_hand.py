"""Sizes that come from no file: a decoder of so many alike layers, from its numbers."""

from __future__ import annotations

from mha_core.errors import ConfigError
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.flops import parameters_by_matrix, projection_shapes
from mha_core.sizes.report import Layer, Parameters, Sizes


def from_numbers(
    *,
    d_model: int,
    n_heads: int,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    n_layers: int = 1,
) -> Sizes:
    """Give the sizes of a causal model without biases whose layers are all alike.

    Args:
        d_model: features of a token.
        n_heads: query heads.
        n_kv_heads: key and value heads; `n_heads` unless given.
        d_head: features of one head; d_model / n_heads unless given.
        n_layers: how many layers.

    Raises:
        ShapeError: the sizes do not fit together.
        ConfigError: fewer than one layer.

    >>> sizes = from_numbers(d_model=768, n_heads=12, n_layers=12)
    >>> sizes.parameters.attention_per_layer == 4 * 768**2, sizes.crossover(causal=False)
    (True, 1536.0)
    """
    # NumPy comes with it, which reading a file does without.
    from mha_core.config import AttentionConfig

    checked = AttentionConfig(d_model, n_heads, n_kv_heads, d_head)  # type: ignore[arg-type]
    if n_layers < 1:
        raise ConfigError("setting.positive", name="n_layers", value=n_layers)
    shapes = projection_shapes(d_model, n_heads, checked.n_kv_heads, checked.d_head)
    n_parameters = sum(parameters_by_matrix(shapes).values())
    layer = Layer(
        n_heads=n_heads,
        n_kv_heads=checked.n_kv_heads,
        d_head=checked.d_head,
        d_value=checked.d_head,
        shapes={name: tuple(chain) for name, chain in shapes.items()},
        bias=dict.fromkeys("qkvo", False),
        n_parameters=n_parameters,
        count=n_layers,
    )
    return Sizes(
        d_model=d_model,
        n_heads=n_heads,
        n_layers=n_layers,
        first=layer,
        layers=(layer,),
        parameters=Parameters(attention_per_layer=n_parameters, attention=n_layers * n_parameters),
        cache=(CacheLayers(n_layers, 2 * checked.n_kv_heads * checked.d_head),),
        causal=True,
    )
