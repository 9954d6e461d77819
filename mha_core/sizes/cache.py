"""What a decoder keeps for the tokens it has read: the KV cache, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mha_core.errors import ConfigError
from mha_core.sizes.storage import storage_named

# No context is longer; a search for what fits ends here.
LONGEST = 2**34


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


def cache_bytes(
    layers: Sequence[CacheLayers], n_tokens: int, dtype: str = "fp16", n_sequences: int = 1
) -> int:
    """Bytes kept after `n_tokens` tokens of each sequence.

    Args:
        layers: groups of alike layers.
        n_tokens: S, tokens.
        dtype: a key of `storage.STORAGES`; "q4" to "q8" with the scales of their groups.
        n_sequences: sequences kept at once, the batch.

    Raises:
        ConfigError: fewer than one token or sequence, or a float type not in `STORAGES`.

    >>> half_windowed = [CacheLayers(12, 1024, window=128), CacheLayers(12, 1024)]
    >>> cache_bytes(half_windowed, n_tokens=4096)
    103809024
    >>> cache_bytes([CacheLayers(1, 1024)], 1, "q4")
    576
    """
    if n_sequences < 1:
        raise ConfigError("setting.positive", name="n_sequences", value=n_sequences)
    return storage_named(dtype).n_bytes(n_sequences * cache_elements(layers, n_tokens))


def context_that_fits(
    layers: Sequence[CacheLayers], room: int, dtype: str = "fp16", n_sequences: int = 1
) -> int | None:
    """The longest context whose cache takes at most so many bytes.

    Args:
        layers: groups of alike layers.
        room: bytes left for the cache, beside the weights.
        dtype: a key of `storage.STORAGES`.
        n_sequences: sequences kept at once.

    Returns:
        Tokens of each sequence, 0 where not even one fits; None where the cache stops growing
        before the room is full.

    >>> context_that_fits([CacheLayers(1, 512)], room=10_240)
    10
    >>> context_that_fits([CacheLayers(1, 512, window=8)], room=10_240) is None
    True
    """

    def fits(n_tokens: int) -> bool:
        return cache_bytes(layers, n_tokens, dtype, n_sequences) <= room

    if not fits(1):
        return 0
    if fits(LONGEST):
        return None
    low, high = 1, LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
