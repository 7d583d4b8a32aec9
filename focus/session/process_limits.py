"""Holds this process to what the machine has: open files, memory, time spent on garbage."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator

from focus.errors import ConfigError

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
GARBAGE = 15_000
"""New objects between two looks for garbage in circles (700 by default). A page makes hundreds
of objects and hardly a circle; what the crawl knows would be walked through again and again.
A look takes 1 µs for each of them: with 50,000 it was the longest pause of the loop."""
SPARE_FILES = 128  # descriptors for all that is no connection: database, workers, look-ups


def allow_open_files(concurrency: int) -> None:
    """Raise our own limit of open files; ConfigError if the system's is too low.

    A connection for each request, and as many idle ones that wait for their host's next.
    """
    needed = 2 * concurrency + SPARE_FILES
    most = raise_open_files(needed)
    if most < needed:
        fitting = (most - SPARE_FILES) // 2
        instead = f" or give --concurrency {fitting}" if fitting > 0 else ""
        raise ConfigError(
            "--concurrency {concurrency} needs {needed:,} open files and this process may "
            "have {most:,}; raise that (ulimit -n){instead}",
            concurrency=concurrency,
            needed=needed,
            most=most,
            instead=instead,
        )


def raise_open_files(needed: int) -> int:
    """Have the system let us open so many files; how many it lets us open, if fewer."""
    try:
        import resource  # not on Windows, whose sockets are no files
    except ImportError:
        return needed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError):
        return soft if hard == resource.RLIM_INFINITY else hard
    return needed


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Look for garbage in circles less often, and not among what is there already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(GARBAGE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def give_memory_back() -> None:
    """Have glibc give back what large bodies took: else it keeps them for the next ones, and pages
    of 8 MB leave 50 MiB behind.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 1 << 20)
        libc.mallopt(_TRIM_THRESHOLD, 8 << 20)
