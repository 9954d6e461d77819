"""A limit on what this process may hold, where the system has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bounded_memory(n_bytes: int) -> Iterator[None]:
    """Bound the data this process may hold; Windows has no such thing.

    Args:
        n_bytes: beyond which asking for memory raises MemoryError.
    """
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
