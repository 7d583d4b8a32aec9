"""Priority of `focus crawl`: low while `focus serve` works on the same database.

People wait for the pages of the server, and nobody waits for a single page of the crawl. A priority
cannot be raised again without special rights, so the crawl keeps it to its end. The visits of the
server are short, and people wait for them: they keep their priority.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from focus.storage.lock import lock_holder_pid, server_lock_path

NICENESS = 19
CHECK_INTERVAL_S = 5.0  # a server, a worker or a browser may have started meanwhile


@contextmanager
def yield_to_server(database: Path) -> Iterator[None]:
    """Lower the priority of this process whenever a server works on the database."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def check() -> None:
        nonlocal timer
        if lock_holder_pid(server_lock_path(database)) is not None:
            lower_priority(os.getpid())
        timer = loop.call_later(CHECK_INTERVAL_S, check)

    check()
    try:
        yield
    finally:
        timer.cancel()


def lower_priority(pid: int) -> None:
    """Give a process and its children the lowest priority, with all their threads.

    On Linux a priority belongs to a thread, and it counts within a session only: other sessions
    compare the priority of the whole session (autogroup), and each scorer worker has its own.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS))
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # it has ended
            os.setpriority(os.PRIO_PROCESS, int(thread.name), NICENESS)
            for child in (thread / "children").read_text().split():
                lower_priority(int(child))
