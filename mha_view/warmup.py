"""What the server does while the first reader is still reading: load torch and the weights."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlit import App

# NumPy's own threads are fixed when it is first imported, so this comes before.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def warm_up() -> None:
    """Import torch and read the trained weights, in one thread for torch itself."""
    from mha_view import assets
    from mha_view.compute import load_weights

    load_weights()
    assets.warm()


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[None]:
    """Start warming up as soon as the server is there, without holding up the first page."""
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    yield
