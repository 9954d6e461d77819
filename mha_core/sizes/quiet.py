"""One build at a time, without transformers' advice, and its failures in words of ours."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mha_core.errors import Note
from mha_core.sizes.check import shown

# Log levels and warnings belong to the process: two builds that set them at once would leave
# each other's behind. Building holds the interpreter anyway, so waiting costs nothing.
_ONE = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Build alone, and keep transformers' advice about tokens and float types out of the output."""
    import transformers

    with _ONE:
        logger = logging.getLogger("transformers")
        level = logger.level
        transformers.logging.set_verbosity(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            logger.setLevel(level)


def reason_of(error: BaseException, config: Mapping[str, object]) -> Note:
    """Why transformers did not take a file: a package that is not here, or a key it names.

    Args:
        error: what was raised; its text is another program's and is not shown.
        config: the keys that may be to blame.
    """
    if isinstance(error, ImportError):
        return Note("sizes.reason.library", name=_library(error))
    text = str(error)
    for key, value in config.items():
        if key != "model_type" and re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.])", text):
            return Note("sizes.reason.key", name=key, value=shown(value))
    for key, value in config.items():
        if isinstance(value, str) and value and isinstance(error, KeyError) and value in text:
            return Note("sizes.reason.key", name=key, value=shown(value))
    return Note("sizes.reason.refused")


def _library(error: ImportError) -> str:
    """The package an import error is about."""
    if error.name:
        return error.name.partition(".")[0]
    found = re.search(r"([\w-]+) library", str(error))
    return found[1] if found else "?"
