"""Errors that a reader can act on.

An error carries a *key* and *values*. `str(error)` is its English text; a page shows the
same key in the reader's language (`mha_view/locales/zh` holds `error.<key>` for every key here).
Every text says what was given, what was expected, and what to do.
"""

from __future__ import annotations

MESSAGES: dict[str, str] = {
    "heads.divide": (
        "d_model = {d_model} cannot be shared equally by {n_heads} heads: d must be divisible "
        "by h. Choose an h that divides {d_model}, or set d_head yourself."
    ),
}


class TwelveHeadsError(ValueError):
    """The root of every error this project raises on purpose.

    Args:
        key: which message, a key of `MESSAGES`.
        values: what the message names, by placeholder.

    >>> str(ShapeError("heads.divide", d_model=10, n_heads=4))
    'd_model = 10 cannot be shared equally by 4 heads: d must be divisible by h. Choose an h that divides 10, or set d_head yourself.'
    """  # noqa: E501

    def __init__(self, key: str, **values: object) -> None:
        self.key = key
        self.values = values
        super().__init__(MESSAGES[key].format(**values))


class ShapeError(TwelveHeadsError):
    """Sizes that do not fit together."""


class ConfigError(TwelveHeadsError):
    """A setting outside what it can be."""


class DataError(TwelveHeadsError):
    """A file or a text that cannot be used as it is."""


class DeviceError(TwelveHeadsError):
    """A device that is not there, or lacks a float type."""
