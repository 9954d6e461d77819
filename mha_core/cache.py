"""The KV cache: keys and values of the tokens read so far."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.brief import brief


@dataclass(frozen=True, eq=False)
class KVCache:
    """What is kept so that the next token need not read the sentence again.

    A cache is never changed: `attention` hands back a longer one, as `steps.cache`.

    Args:
        k_rot: [..., kv_head, key, d_head], keys already turned by their positions.
        v: [..., kv_head, key, d_value].

    >>> one_token = torch.zeros(2, 1, 3)
    >>> KVCache(one_token, one_token).extend(one_token, one_token).n_tokens
    2
    """

    k_rot: Tensor
    v: Tensor

    __repr__ = brief

    @property
    def n_tokens(self) -> int:
        """How many tokens are kept, which is also the position of the next one."""
        return self.k_rot.shape[-2]

    def extend(self, k_rot: Tensor, v: Tensor) -> KVCache:
        """Give the cache with these tokens appended."""
        return KVCache(torch.cat((self.k_rot, k_rot), dim=-2), torch.cat((self.v, v), dim=-2))
