"""How far apart RoPE's pairs repeat, as a file scales them for longer contexts.

Pair i of a head turns by base^(-2i/d) radians a token and is back after 2π times as many tokens:
its wavelength. Scaled RoPE makes long wavelengths longer, so that positions never seen in
training look like ones that were. Formulas: linear (position interpolation), dynamic (NTK), YaRN
(arXiv 2309.00071), LongRoPE (arXiv 2402.13753), and Llama 3.1's three zones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mha_core.sizes.read import Json

Waves = tuple[float, ...]
PLAIN = ("default", "mrope", "none")
OLDER = {"su": "longrope", "ntk": "dynamic"}
FRACTIONS = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction", "rope_pct")


@dataclass(frozen=True)
class RopeWaves:
    """RoPE as one file sets it, for one kind of layer.

    Args:
        kind: "default", "linear", "dynamic", "yarn", "longrope", "llama3" or "proportional";
            any other name is kept as the file writes it and has no scaled wavelengths.
        base: θ base.
        width: features of a head that are turned.
        trained: positions the file allows, None where it does not say.
        original: positions the model was first trained with, None where it does not say.
        layers: the kind of layer, "" where all are alike.
        fields: the file's own settings.
    """

    kind: str
    base: float
    width: int
    trained: int | None = None
    original: int | None = None
    layers: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def factor(self) -> float | None:
        """By how much a context grows: stated, or the ratio of the two contexts."""
        stated = _number(self.fields.get("factor"))
        if stated is not None:
            return stated
        if self.trained and self.original:
            return self.trained / self.original
        return None

    @property
    def is_scaled(self) -> bool:
        """Whether the file asks for other wavelengths than the base gives."""
        return self.kind not in PLAIN

    def plain(self) -> Waves:
        """Wavelengths of the pairs as they would be unscaled, in tokens, shortest first.

        >>> [round(wave, 1) for wave in RopeWaves("default", 10_000.0, 4).plain()]
        [6.3, 628.3]
        """
        return _waves_of(self.base, self.width)

    def scaled(self, n_tokens: int | None = None) -> Waves | None:
        """Wavelengths as the file scales them, in tokens; infinite for a pair that never turns.

        Args:
            n_tokens: S; "dynamic" and "longrope" depend on it. The longest context if None.

        Returns:
            One number a pair; None where the kind is not known here or a field is missing.
        """
        if self.kind in PLAIN:
            return self.plain()
        make = {
            "linear": self._linear,
            "dynamic": self._dynamic,
            "yarn": self._yarn,
            "longrope": self._longrope,
            "llama3": self._llama3,
            "proportional": self._proportional,
        }.get(self.kind)
        return None if make is None else make(n_tokens or self.trained or 0)

    def _linear(self, n_tokens: int) -> Waves | None:
        factor = self.factor
        return None if factor is None else tuple(wave * factor for wave in self.plain())

    def _proportional(self, n_tokens: int) -> Waves:
        """Only a share of the pairs turns, at the wavelengths of a whole head."""
        share = _number(self.fields.get("partial_rotary_factor")) or 1.0
        factor = _number(self.fields.get("factor")) or 1.0
        n_turning = int(share * self.width // 2)
        return tuple(
            wave * factor if pair < n_turning else math.inf
            for pair, wave in enumerate(self.plain())
        )

    def _dynamic(self, n_tokens: int) -> Waves | None:
        """The base grows with the context once it is longer than the trained one."""
        if self.factor is None or not self.trained or self.width < 4:
            return None
        grown = self.factor * max(n_tokens, self.trained) / self.trained - (self.factor - 1)
        base = self.base * grown ** (self.width / (self.width - 2))
        return _waves_of(base, self.width)

    def _yarn(self, n_tokens: int) -> Waves | None:
        """Short waves stay, long ones are stretched, with a ramp between two pairs."""
        original = self.original or self.trained
        if self.factor is None or not original or self.base <= 1:
            return None
        fast = _number(self.fields.get("beta_fast")) or 32.0
        slow = _number(self.fields.get("beta_slow")) or 1.0
        low, high = (self._pair_that_turns(times, original) for times in (fast, slow))
        if self.fields.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.width - 1)
        high += 0.001 * (low == high)
        factor, found = self.factor, []
        for pair, wave in enumerate(self.plain()):
            stretched = min(max((pair - low) / (high - low), 0.0), 1.0)
            found.append(1 / (stretched / (wave * factor) + (1 - stretched) / wave))
        return tuple(found)

    def _pair_that_turns(self, times: float, context: int) -> float:
        """The pair that makes so many turns within a context, between two whole pairs."""
        return self.width * math.log(context / (times * 2 * math.pi)) / (2 * math.log(self.base))

    def _longrope(self, n_tokens: int) -> Waves | None:
        """One factor a pair: a short list within the original context, a long one beyond."""
        original = self.original or 0
        name = "long_factor" if n_tokens > original else "short_factor"
        factors = self.fields.get(name)
        if not isinstance(factors, list) or len(factors) != self.width // 2:
            return None
        if not all(_number(factor) for factor in factors):
            return None
        return tuple(wave * factor for wave, factor in zip(self.plain(), factors, strict=True))

    def _llama3(self, n_tokens: int) -> Waves | None:
        """Waves that fit the original context often stay; those that do not fit are stretched."""
        low, high = (_number(self.fields.get(f"{name}_freq_factor")) for name in ("low", "high"))
        if not self.factor or not self.original or not low or not high:
            return None
        factor, original, found = self.factor, self.original, []
        for wave in self.plain():
            if high == low:
                share = float(wave <= original / low)
            else:
                share = min(max((original / wave - low) / (high - low), 0.0), 1.0)
            found.append(wave / ((1 - share) / factor + share))
        return tuple(found)


def _waves_of(base: float, width: int) -> Waves:
    """2π · base^(2i/d) for each pair i."""
    return tuple(2 * math.pi * base ** (place / width) for place in range(0, width, 2))


def read_rope(config: Json, d_head: int | None) -> tuple[RopeWaves, ...]:
    """RoPE as a file sets it, one for each kind of layer that has its own.

    Args:
        config: the object that states the language model's sizes.
        d_head: features of a head, None where it is not known.

    Returns:
        Nothing where the file states no base or the head's size is not known.

    >>> [waves.kind for waves in read_rope({"rope_theta": 1e4, "rope_scaling": {"type": "linear",
    ...     "factor": 2.0}}, 64)]
    ['linear']
    """
    set_here = config.get("rope_parameters") or config.get("rope_scaling")
    settings = set_here if isinstance(set_here, dict) else {}
    by_layer = {
        name: value
        for name, value in settings.items()
        if isinstance(value, dict) and ("rope_theta" in value or "rope_type" in value)
    }
    if by_layer:
        found = [_waves(config, value, d_head, name) for name, value in by_layer.items()]
    else:
        found = [_waves(config, settings, d_head, "")]
    return tuple(waves for waves in found if waves is not None)


def _waves(config: Json, fields: Json, d_head: int | None, layers: str) -> RopeWaves | None:
    base = _number(fields.get("rope_theta")) or _base(config)
    kind = str(fields.get("rope_type") or fields.get("type") or "default")
    kind = OLDER.get(kind, kind)
    width = _width(config, fields, d_head, layers, kind)
    if base is None or width is None or width < 2:
        return None
    original = fields.get("original_max_position_embeddings")
    original = original or config.get("original_max_position_embeddings")
    trained = config.get("max_position_embeddings") or config.get("max_sequence_length")
    return RopeWaves(
        kind=kind,
        base=base,
        width=width - width % 2,
        trained=trained if type(trained) is int else None,
        original=original if type(original) is int else None,
        layers=layers,
        fields=fields,
    )


def _base(config: Json) -> float | None:
    for name in ("rope_theta", "rotary_emb_base", "rope_base"):
        base = _number(config.get(name))
        if base is not None and base > 0:
            return base
    return None


def _width(config: Json, fields: Json, d_head: int | None, layers: str, kind: str) -> int | None:
    """Features of a head that turn: a part of it, for MLA the rotary key's."""
    rotary = config.get("qk_rope_head_dim")
    if type(rotary) is int:
        return rotary
    rotary_dim = config.get("rotary_dim")
    if type(rotary_dim) is int:
        return rotary_dim
    own = config.get("global_head_dim") if layers == "full_attention" else None
    d_head = own if type(own) is int else d_head
    if d_head is None or kind == "proportional":
        return d_head
    for name in FRACTIONS:
        share = _number(fields.get(name)) or _number(config.get(name))
        if share is not None:
            return int(d_head * share)
    return d_head


def _number(value: object) -> float | None:
    """A finite number above zero, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None
