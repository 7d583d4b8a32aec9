"""Limits of this process: open files, retained memory, and frequency of garbage collection."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator

from focus.errors import ConfigError

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
GC_THRESHOLD = 15_000
"""New objects between two collections of cyclic garbage (700 by default). A page creates hundreds
of objects and hardly a cycle, and a collection takes 1 µs per new object: with a threshold of
50,000 it was the longest pause of the event loop."""
SPARE_FILES = 128  # descriptors for other uses: database, workers, DNS look-ups


def ensure_open_files(concurrency: int) -> None:
    """Raise the limit of open files as far as `concurrency` needs; ConfigError if it cannot be.

    Each request needs a connection, and as many idle connections are kept for later requests.
    """
    needed = 2 * concurrency + SPARE_FILES
    limit = raise_open_file_limit(needed)
    if limit < needed:
        possible = (limit - SPARE_FILES) // 2
        instead = f" or give --concurrency {possible}" if possible > 0 else ""
        raise ConfigError(
            "--concurrency {concurrency} needs {needed:,} open files, but this process may open "
            "only {most:,}; raise the limit (ulimit -n){instead}",
            concurrency=concurrency,
            needed=needed,
            most=limit,
            instead=instead,
        )


def raise_open_file_limit(needed: int) -> int:
    """Raise the limit of open files to `needed`; return it, or the highest possible limit."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError):
        return soft if hard == resource.RLIM_INFINITY else hard
    return needed


@contextlib.contextmanager
def infrequent_garbage_collection() -> Iterator[None]:
    """Collect cyclic garbage less often, and ignore existing objects."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def return_freed_memory() -> None:
    """Make glibc return freed memory of large bodies to the system.

    By default it retains the memory: pages of 8 MB leave 50 MiB allocated.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 1 << 20)
        libc.mallopt(_TRIM_THRESHOLD, 8 << 20)
