"""A progress bar for long work, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str) -> Iterator[Callable[[float, float], None]]:
    """A bar on standard error, from the first call with (done, all) to the end of the block."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console  # 60 ms: only where there is something to see
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    name = TextColumn("{task.description}", markup=False)  # `what` is neither markup nor a format
    columns = (name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(what, total=None)

    def move(done: float, total: float) -> None:
        progress.start()
        progress.update(task, completed=done, total=total)

    try:
        yield move
    finally:
        progress.stop()
