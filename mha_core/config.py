"""The sizes and settings of one attention layer, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from mha_core.errors import ShapeError
from mha_core.masks import Window, check_window
from mha_core.rope import Rope
from mha_core.values import (
    check_choice,
    check_finite,
    check_not_negative,
    check_positive,
    check_size,
)

QkNorm = Literal["head", "each", "whole"]
QkNormKind = Literal["rms", "layer", "l2"]
SoftmaxType = Literal["float32", "float64"]


@dataclass(frozen=True)
class AttentionConfig:
    """What one attention layer is, apart from its learned weights.

    Sizes left out are filled in, so that they are numbers afterwards. `dataclasses.replace` hands
    the filled-in numbers on; give `d_head=None` (and so on) there to have one derived anew.

    Args:
        d_model: features of one token, the article's d.
        n_heads: query heads, the article's h.
        n_kv_heads: key and value heads; `n_heads` unless given. Fewer is GQA, 1 is MQA.
        d_head: features of one query and of one key; d_model / n_heads unless given.
        d_value: features of one value; `d_head` unless given.
        rope: how queries and keys are turned by position; None turns nothing.
        causal: whether a query may look at itself and earlier tokens only.
        window: (left, right), how many tokens before and after itself a query may look at,
            the query not counted; None is unbounded.
        scale: what Qᵀ K is multiplied by; 1 / √d_head unless given.
        softcap: c in c · tanh(scores / c), applied before the mask; None leaves scores alone.
        qk_norm: a norm of queries and keys before RoPE: "head" norms each head on its own, with
            one gain for all; "each" gives every head a gain of its own; "whole" norms the whole
            vector before it is split.
        qk_norm_kind: RMSNorm, LayerNorm, or "l2", which divides by the length.
        qk_norm_eps: added to the mean square there, to the variance, or to the square of the
            length.
        softmax_dtype: "float32" or "float64", the float type of the softmax; None is that of the
            scores. Models in bfloat16 take float32 here.

    Raises:
        ShapeError: sizes do not fit together.
        ConfigError: a setting is outside what it can be.

    Source: Vaswani et al. 2017, section 3.2.2; GQA: Ainslie et al. 2023, section 2.2. The softcap
    is Gemma 2's, the norms are Qwen3's ("head"), Cohere's ("each", "layer") and OLMo 2's
    ("whole").

    >>> config = AttentionConfig(d_model=768, n_heads=12)
    >>> config.n_kv_heads, config.d_head, config.d_value, config.scale
    (12, 64, 64, 0.125)
    """

    d_model: int
    n_heads: int
    # None is welcome in these four at run time; reading them always gives a number.
    n_kv_heads: int = None  # type: ignore[assignment]
    d_head: int = None  # type: ignore[assignment]
    d_value: int = None  # type: ignore[assignment]
    rope: Rope | None = None
    causal: bool = True
    window: Window = (None, None)
    scale: float = None  # type: ignore[assignment]
    softcap: float | None = None
    qk_norm: QkNorm | None = None
    qk_norm_kind: QkNormKind = "rms"
    qk_norm_eps: float = 1e-6
    softmax_dtype: SoftmaxType | None = None

    def __post_init__(self) -> None:
        self._check_sizes("d_model", "n_heads")
        self._fill("n_kv_heads", self.n_heads)
        self._fill("d_head", self.d_model // self.n_heads, checked=self._divides)
        self._fill("d_value", self.d_head)
        self._check_sizes("n_kv_heads", "d_head", "d_value")
        self._fill("scale", 1 / math.sqrt(self.d_head))
        if self.n_heads % self.n_kv_heads:
            raise ShapeError("heads.groups", n_heads=self.n_heads, n_kv_heads=self.n_kv_heads)
        if self.rope is not None:
            self.rope.width(self.d_head)
        object.__setattr__(self, "window", check_window(self.window))
        self._check_settings()

    def _check_sizes(self, *names: str) -> None:
        """Refuse a size that is not a positive whole number."""
        for name in names:
            object.__setattr__(self, name, check_size(name, getattr(self, name)))

    def _check_settings(self) -> None:
        """Refuse a number or a word that means nothing."""
        check_choice("causal", self.causal, (True, False))
        check_finite("scale", self.scale)
        if self.softcap is not None:
            check_positive("softcap", self.softcap)
        check_choice("qk_norm", self.qk_norm, (None, *get_args(QkNorm)))
        check_choice("qk_norm_kind", self.qk_norm_kind, get_args(QkNormKind))
        check_not_negative("qk_norm_eps", self.qk_norm_eps)
        check_choice("softmax_dtype", self.softmax_dtype, (None, *get_args(SoftmaxType)))

    def _fill(self, name: str, value: float, checked: bool = True) -> None:
        """Give a field left out its derived value."""
        if getattr(self, name) is None:
            if not checked:
                raise ShapeError("heads.divide", d_model=self.d_model, n_heads=self.n_heads)
            object.__setattr__(self, name, value)

    @property
    def _divides(self) -> bool:
        """Whether d_model is shared equally by the heads."""
        return self.d_model % self.n_heads == 0

    @property
    def group(self) -> int:
        """How many query heads read one KV head.

        >>> AttentionConfig(d_model=64, n_heads=8, n_kv_heads=2).group
        4
        """
        return self.n_heads // self.n_kv_heads
