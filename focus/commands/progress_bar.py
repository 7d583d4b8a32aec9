"""A progress bar on a terminal, for long work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from focus.records import ReportProgress, ignore_progress


@contextmanager
def show_progress(title: str) -> Iterator[ReportProgress]:
    """Show a bar on standard error; the block calls the result with (done, total)."""
    if not sys.stderr.isatty():
        yield ignore_progress
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
    console = Console(stderr=True)
    if console.is_dumb_terminal:
        yield ignore_progress
        return
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(title, total=None)

    def move(done: float, total: float) -> None:
        progress.start()
        progress.update(task, completed=done, total=total)

    try:
        yield move
    finally:
        progress.stop()
