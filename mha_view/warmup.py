"""What the server does while the first reader is still reading: load torch and the weights."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mha_view import limits

if TYPE_CHECKING:
    from streamlit import App

# NumPy's own threads are fixed when it is first imported, so this comes before.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


# Loading torch beside the first page would slow that page's first words down, so it waits for
# them; but not for ever, as the first reader may come later.
LONGEST_WAIT = 1.5
_first_words = threading.Event()


def tell_first_words() -> None:
    """Say that a reader has something to read; called by every page, heard once."""
    _first_words.set()


def warm_up() -> None:
    """Import torch and read the trained weights, in one thread for torch itself."""
    _first_words.wait(LONGEST_WAIT)
    from mha_core.language.kinds import load_kinds
    from mha_core.language.known import learned_ids
    from mha_view import assets
    from mha_view.compute import load_weights

    load_weights()
    assets.warm()
    learned_ids()
    load_kinds()
    # What is loaded now stays for good: a collection need not look through all of it again.
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[None]:
    """Start warming up as soon as the server is there, without holding up the first page."""
    from streamlit import config

    config.set_option("server.maxUploadSize", limits.value("UPLOAD_MB"))
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    yield
