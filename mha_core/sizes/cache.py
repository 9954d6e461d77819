"""What a decoder keeps for the tokens it has read: the KV cache, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mha_core.errors import ConfigError

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}


@dataclass(frozen=True)
class CacheLayers:
    """Layers that keep the same thing for each token.

    Args:
        count: how many such layers.
        elements: numbers one layer keeps for one token: h_kv · (d_head + d_value); for MLA the
            latent and the shared rotary key.
        window: tokens it keeps at most; None keeps all.
        kind: "full", "window", "chunk" or "latent".
    """

    count: int
    elements: int
    window: int | None = None
    kind: str = "full"

    def kept(self, n_tokens: int) -> int:
        """Tokens one of these layers holds after `n_tokens`."""
        return n_tokens if self.window is None else min(self.window, n_tokens)


def elements_per_token(layers: Sequence[CacheLayers]) -> int:
    """Numbers one more token adds while no window is full yet.

    >>> elements_per_token([CacheLayers(count=32, elements=2 * 8 * 128)])
    65536
    """
    return sum(group.count * group.elements for group in layers)


def cache_elements(layers: Sequence[CacheLayers], n_tokens: int) -> int:
    """Numbers kept after `n_tokens` tokens; a full window forgets its oldest token.

    Raises:
        ConfigError: fewer than one token.
    """
    if n_tokens < 1:
        raise ConfigError("sizes.tokens", n_tokens=n_tokens)
    return sum(group.count * group.elements * group.kept(n_tokens) for group in layers)


def cache_bytes(layers: Sequence[CacheLayers], n_tokens: int, dtype: str = "fp16") -> int:
    """Bytes kept after `n_tokens` tokens for one sequence.

    Args:
        layers: groups of alike layers.
        n_tokens: S, tokens.
        dtype: a key of `BYTES`.

    Raises:
        ConfigError: fewer than one token, or a float type not in `BYTES`.

    >>> half_windowed = [CacheLayers(12, 1024, window=128), CacheLayers(12, 1024)]
    >>> cache_bytes(half_windowed, n_tokens=4096)
    103809024
    """
    return cache_elements(layers, n_tokens) * bytes_of(dtype)


def bytes_of(dtype: str) -> int:
    """Bytes of one number.

    Raises:
        ConfigError: not a key of `BYTES`.
    """
    if dtype not in BYTES:
        raise ConfigError("sizes.dtype", dtype=dtype, known=", ".join(BYTES))
    return BYTES[dtype]
