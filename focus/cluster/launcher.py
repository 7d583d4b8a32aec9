"""Runs all roles on one machine, as processes that are started again when they die.

    with LocalCluster(…) as cluster: cluster.run()

It ends when the crawl has ended, or by a signal; no role outlives it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Self

from focus.errors import ClusterError

END_S = 20.0
LOOK_S = 0.2
PAUSE_S = 1.0  # before a role that died is started anew
NOT_A_PAGE = 3
_NO_USE = (2, 5, 7)  # exit codes that another start would end with, too


class _Role:
    """One process, and how to start it again."""

    def __init__(self, name: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "focus", *arguments]
        self._environment = environment
        self.code: int | None = None
        self.starts = 0
        self.start()

    def start(self) -> None:
        self.code = None
        self.starts += 1
        self.died_at = 0.0
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )

    def look(self) -> bool:
        """Whether it has ended, since the last look."""
        if self.code is None and (code := self.process.poll()) is not None:
            self.code, self.died_at = code, time.monotonic()
            return True
        return False

    @property
    def has_died(self) -> bool:
        """Whether it was killed, or broke down."""
        return self.code is not None and (self.code < 0 or self.code in (1, *_NO_USE))

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


class LocalCluster:
    """Frontiers and workers of one cluster on this machine."""

    def __init__(
        self,
        frontiers: Sequence[Sequence[str]],
        workers: Sequence[Sequence[str]],
        *,
        password: str | None,
        say: Callable[[str], object],
    ) -> None:
        self._say = say
        self._is_stopping = False
        environment = dict(os.environ)
        if password is not None:
            environment["FOCUS_AMQP_PASSWORD"] = password  # not for the list of processes
        self.frontiers = [
            _Role(f"frontier {number}", each, environment)
            for number, each in enumerate(frontiers, 1)
        ]
        self.workers = [
            _Role(f"worker {number}", each, environment) for number, each in enumerate(workers, 1)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for roles in (self.frontiers, self.workers):
            self._end(roles)

    def _end(self, roles: Sequence[_Role]) -> None:
        for role in roles:
            role.signal(signal.SIGTERM)
        deadline = time.monotonic() + END_S
        for role in roles:
            try:
                role.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                role.process.kill()
                role.process.wait()

    def run(self) -> int:
        """Until all frontiers have ended; their exit code, the worst if they differ.

        A shard without a page (3) is none the worse for it if another has one.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        while any(role.code is None or role.has_died for role in self.frontiers):
            time.sleep(LOOK_S)
            for role in (*self.frontiers, *self.workers):
                self._see_to(role)
        codes = {abs(role.code or 0) for role in self.frontiers}
        return max(codes - {NOT_A_PAGE}, default=NOT_A_PAGE)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._is_stopping = True
        for role in self.frontiers:
            role.signal(number)

    def _see_to(self, role: _Role) -> None:
        has_ended = role.look()
        if self._is_stopping:
            return
        if has_ended and role.code in _NO_USE and role.starts == 1:
            raise ClusterError(
                "{name} ended with {code}; its line above says why", name=role.name, code=role.code
            )
        if has_ended and role.has_died:
            self._say(f"{role.name} died ({role.code}) and is started anew")
        if role.has_died and time.monotonic() - role.died_at > PAUSE_S:
            role.start()


def databases(folder: Path, shards: int) -> list[Path]:
    """Where the shards of one machine keep their crawls."""
    return [folder / f"shard{number}.db" for number in range(1, shards + 1)]
