"""Starts one worker process, talks to it, and ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import Protocol, cast

import msgspec

from focus.records import Page
from focus.workers.messages import (
    Job,
    PoolRequest,
    Ready,
    Scored,
    Setup,
    SetupRefused,
    Unpacker,
    pack,
)

_STDIN, _STDOUT = 0, 1
_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(8 << 20), "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
"""For glibc: what a batch takes is kept for the next, as the kernel would have to clear it anew;
what a large page takes goes back (8 MB of HTML left 98 MiB behind, now 8)."""


END_LIMIT_S = 60.0  # a killed process is gone at once; this only bounds a kernel that dawdles


class WorkerLost(Exception):
    """A worker that ended before it was ready; the message says why."""


class Waiting:
    """A page on its way through the pool."""

    __slots__ = ("crashes", "future", "job")

    def __init__(self, job: Job, future: asyncio.Future[Page]) -> None:
        self.job = job
        self.future = future
        self.crashes = 0

    def resolve(self, page: Page) -> None:
        """Hand the result over, if anyone still wants it."""
        if not self.future.done():
            self.future.set_result(page)


class Owner(Protocol):
    """The owner of a worker, who is told what becomes of it."""

    def scored(self, worker: Worker, reply: Scored) -> None:
        """Results have come; may raise ValueError."""

    def lost(self, worker: Worker) -> None:
        """A worker that was ready has ended, all it said before has been told."""


class Worker(asyncio.SubprocessProtocol):
    """The parent's side of one child process.

    batches    pages given to it and not yet answered, oldest batch first
    last_sign  loop time of its last answer, or of the batch that ended its rest
    reason     what is known about its end
    """

    def __init__(self, owner: Owner) -> None:
        self.batches: deque[deque[Waiting]] = deque()
        self.last_sign = 0.0
        self.reason = ""
        self._owner = owner
        self._replies = Unpacker()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.SubprocessTransport
        self._stdin: asyncio.WriteTransport

    @classmethod
    async def start(cls, owner: Owner, setup: Setup, limit_s: float) -> Worker:
        """A worker that has answered `Ready`; WorkerLost if none does in time."""
        loop = asyncio.get_running_loop()
        try:
            starting = asyncio.ensure_future(
                loop.subprocess_exec(
                    lambda: cls(owner),
                    *(sys.executable, "-P", "-m", "focus.workers"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | _MALLOC | {"PYTHONPATH": os.pathsep.join(sys.path)},
                    start_new_session=True,
                )
            )
            _, worker = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Half a start cannot be undone, uvloop would leave the process behind.
            await asyncio.wait([starting], timeout=END_LIMIT_S)
            if starting.done() and starting.exception() is None:
                await starting.result()[1].end()
            starting.cancel()
            raise
        except OSError as error:
            raise WorkerLost(str(error)) from error
        try:
            worker.send(setup)
            async with asyncio.timeout(limit_s):
                await worker._ready
        except BaseException as error:
            await worker.end()
            if isinstance(error, TimeoutError):
                raise WorkerLost(f"not ready within {limit_s:g} s") from error
            raise
        return worker

    def send(self, request: PoolRequest) -> None:
        """Queue a message; to a dead worker it is lost, `Owner.lost` will follow."""
        if not self._stdin.is_closing():
            self._stdin.write(pack(request))

    def kill(self) -> None:
        """End the process at once; `connection_lost` follows."""
        with suppress(ProcessLookupError):
            self._transport.kill()

    def has_ended(self) -> bool:
        """Whether the process is gone, as far as the loop has heard."""
        return self._gone.done()

    def is_alive(self) -> bool:
        """Whether the process lives, by the kernel: the loop hears of an end later."""
        if not hasattr(os, "waitid"):
            return not self.has_ended()
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ChildProcessError):  # its end has been collected already
            return os.waitid(os.P_PID, self._transport.get_pid(), how) is None
        return False

    async def end(self) -> None:
        """Kill the process and wait until nothing is left of it, for `END_LIMIT_S` at most."""
        self.kill()
        await asyncio.wait([self._gone], timeout=END_LIMIT_S)

    # Called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(_STDIN))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        try:
            for reply in self._replies.feed(data):
                self._receive(reply)
        except (ValueError, msgspec.MsgspecError) as error:
            self.reason = f"it sent nonsense: {error}"
            self.kill()

    def _receive(self, reply: Ready | SetupRefused | Scored) -> None:
        if isinstance(reply, Scored):
            self._owner.scored(self, reply)
        elif isinstance(reply, SetupRefused):
            self.reason = reply.reason
            self.kill()
        elif not self._ready.done():
            self._ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended and all it wrote has been read."""
        self.reason = self.reason or _how_it_ended(self._transport.get_returncode())
        self._transport.close()
        if not self._gone.done():
            self._gone.set_result(None)
        if self._ready.done():
            self._owner.lost(self)
        else:
            self._ready.set_exception(WorkerLost(self.reason))
            self._ready.exception()  # seen: a start that was cancelled has nobody to look


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
