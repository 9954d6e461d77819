"""The mathematics of multi-head attention, step by step. Loads neither Streamlit nor Plotly.

The names listed here can be had from the package itself, and each loads what it needs when it is
first asked for: `import mha_core` alone loads no torch. `__init__.pyi` tells a type checker where
they come from.

>>> from mha_core import AttentionConfig, random_embedding, random_weights, walk_layer
>>> config = AttentionConfig(d_model=48, n_heads=4)
>>> trace = walk_layer(random_embedding(5, 48, seed=0), random_weights(config, seed=0), config)
>>> trace["q"].article_shape, trace["pattern"].shape
((12, 5), (4, 5, 5))
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "layer": ("attention", "fused_attention", "join_heads", "scaled_dot_product", "split_heads"),
    "config": ("AttentionConfig",),
    "weights": ("AttentionWeights", "from_torch", "random_embedding", "random_weights"),
    "rope": ("Rope", "rotate", "rotate_with"),
    "masks": ("keep_mask", "named_mask"),
    "cache": ("KVCache",),
    "steps": ("AttentionSteps",),
    "trace": ("AttentionTrace", "ModelTrace", "Step"),
    "walk": ("compare", "compare_fused", "walk_layer"),
    "model.checkpoint": ("load_toy_model",),
    "model.toy": ("ToyModel",),
    "model.writer": ("ToyWriter",),
    "continuing": ("Sampling", "continue_text"),
    "language.tokenizer": ("load_tokenizer",),
    "exercises.own_code": (
        "check_join_heads",
        "check_rotate",
        "check_softmax_with_mask",
        "check_split_heads",
    ),
    "errors": ("ConfigError", "DataError", "DeviceError", "ShapeError", "TwelveHeadsError"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name where it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names beside what is loaded already."""
    return sorted({*globals(), *__all__})
