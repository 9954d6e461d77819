"""What one stranger, and all of them together, may ask of a server.

Every bound stands in one table. An environment variable of its own name sets it; the open
internet's values take the place of a lab's with `TWELVE_HEADS_PUBLIC=1`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mha_core.errors import ConfigError

PREFIX = "TWELVE_HEADS_"
PUBLIC = f"{PREFIX}PUBLIC"


@dataclass(frozen=True)
class Limit:
    """One bound.

    Attributes:
        name: the environment variable, without `TWELVE_HEADS_`.
        lab: the value among people who know each other.
        public: the value on the open internet.
        unit: what is counted.
        least: the smallest value that makes sense.
    """

    name: str
    lab: int
    public: int
    unit: str
    least: int = 1

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name


TABLE = (
    Limit("MOST_TOKENS", 1024, 512, "tokens of a sentence"),
    Limit("MOST_TEXT", 100_000, 20_000, "characters of a sentence"),
    Limit("MOST_FEATURES", 16_384, 1024, "features of weights of one's own: d, and h · d_head"),
    Limit("MOST_LIVE_FEATURES", 96, 48, "features of a model trained in a session", least=32),
    Limit("CACHE_MB", 256, 256, "MiB kept of what was computed", least=16),
    Limit("REAL_CELLS", 2**24, 2**23, "cells of all patterns of another people's model"),
    Limit("MODELS_MB", 6144, 2048, "MiB of the numbers of loaded models of other people"),
    Limit("UPLOAD_MB", 2, 2, "MiB of an uploaded file"),
    Limit("WORKERS", 1, 1, "heavy jobs at a time"),
    Limit("QUEUE", 64, 24, "heavy jobs that wait", least=0),
    Limit("JOB_SECONDS", 300, 60, "seconds a heavy job may take"),
    Limit("SESSIONS", 400, 200, "readers at a time"),
)
_BY_NAME = {limit.name: limit for limit in TABLE}


def is_public(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this server is open to strangers.

    >>> is_public({"TWELVE_HEADS_PUBLIC": "1"}), is_public({"TWELVE_HEADS_PUBLIC": "0"})
    (True, False)
    """
    return environment.get(PUBLIC, "").strip().lower() not in ("", "0", "no", "false")


def read(name: str, environment: Mapping[str, str] = os.environ) -> int:
    """A bound's value: what the environment says, else the table's.

    Raises:
        ConfigError: the variable holds something other than a whole number that makes sense.

    >>> read("QUEUE", {}), read("QUEUE", {"TWELVE_HEADS_QUEUE": "3"})
    (64, 3)
    """
    limit = _BY_NAME[name]
    given = environment.get(limit.variable, "").strip()
    if not given:
        return limit.public if is_public(environment) else limit.lab
    if not given.isascii() or not given.isdecimal() or int(given) < limit.least:
        raise ConfigError("limit.value", name=limit.variable, value=given, least=limit.least)
    return int(given)


@cache
def value(name: str) -> int:
    """A bound's value in this process, read once.

    Raises:
        ConfigError: see `read`.
    """
    return read(name)


def list_limits(environment: Mapping[str, str] = os.environ) -> str:
    """Every bound with its value, its variable and what it counts, as lines of text.

    Raises:
        ConfigError: see `read`.

    >>> print(list_limits({}).splitlines()[0])
    TWELVE_HEADS_PUBLIC = 0              (1: the open internet's values)
    """
    rows = [(PUBLIC, int(is_public(environment)), "(1: the open internet's values)")]
    rows += [(limit.variable, read(limit.name, environment), limit.unit) for limit in TABLE]
    return "\n".join(f"{f'{name} = {number}':36} {unit}" for name, number, unit in rows)
