"""A worker process as seen by its parent: start, messages, end."""

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
    FrameDecoder,
    Job,
    PoolRequest,
    Ready,
    ScoredPages,
    Setup,
    SetupRefused,
    encode_frame,
)

_STDIN, _STDOUT = 0, 1
_MALLOC_SETTINGS = {"MALLOC_TRIM_THRESHOLD_": str(8 << 20), "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
"""Settings of glibc: memory of a batch is retained for the next one, because the kernel would have
to clear it again; memory of large pages is returned (8 MB of HTML left 98 MiB allocated, now 8)."""


END_LIMIT_S = 60.0  # a killed process usually ends at once


class WorkerStartError(Exception):
    """A worker ended before it was ready; the message is the reason."""


class PendingPage:
    """A page in the pool, with the future of its result and the number of its crashes."""

    __slots__ = ("crashes", "future", "job")

    def __init__(self, job: Job, future: asyncio.Future[Page]) -> None:
        self.job = job
        self.future = future
        self.crashes = 0

    def resolve(self, page: Page) -> None:
        """Set the result unless the caller was cancelled."""
        if not self.future.done():
            self.future.set_result(page)


class WorkerOwner(Protocol):
    """Owner of a worker, which receives its results and its end."""

    def handle_results(self, worker: Worker, reply: ScoredPages) -> None:
        """Handle results; raises ValueError if there are too many."""

    def handle_end(self, worker: Worker) -> None:
        """Handle the end of a worker that was ready; all its results were passed on before."""


class Worker(asyncio.SubprocessProtocol):
    """Worker process as seen by its parent.

    batches    pages sent to it without a result, oldest batch first
    last_sign  loop time of its last answer, or of the batch that ended its rest
    reason     why it ended, as far as known
    """

    def __init__(self, owner: WorkerOwner) -> None:
        self.batches: deque[deque[PendingPage]] = deque()
        self.last_reply_at = 0.0
        self.reason = ""
        self._owner = owner
        self._replies = FrameDecoder()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.SubprocessTransport
        self._stdin: asyncio.WriteTransport

    @classmethod
    async def start(cls, owner: WorkerOwner, setup: Setup, timeout_s: float) -> Worker:
        """Start a worker and return it when it is ready; WorkerStartError if it is not in time."""
        loop = asyncio.get_running_loop()
        try:
            starting = asyncio.ensure_future(
                loop.subprocess_exec(
                    lambda: cls(owner),
                    *(sys.executable, "-P", "-m", "focus.workers"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | _MALLOC_SETTINGS | {"PYTHONPATH": os.pathsep.join(sys.path)},
                    start_new_session=True,
                )
            )
            _, worker = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Wait for the start to finish: uvloop would leave the process running.
            await asyncio.wait([starting], timeout=END_LIMIT_S)
            if starting.done() and starting.exception() is None:
                await starting.result()[1].end()
            starting.cancel()
            raise
        except OSError as error:
            raise WorkerStartError(str(error)) from error
        try:
            worker.send(setup)
            async with asyncio.timeout(timeout_s):
                await worker._ready
        except BaseException as error:
            await worker.end()
            if isinstance(error, TimeoutError):
                raise WorkerStartError(f"not ready within {timeout_s:g} s") from error
            raise
        return worker

    def send(self, request: PoolRequest) -> None:
        """Queue a message. It is lost if the worker is dead; `WorkerOwner.handle_end` follows."""
        if not self._stdin.is_closing():
            self._stdin.write(encode_frame(request))

    def kill(self) -> None:
        """Kill the process and the programs that it runs; `connection_lost` follows."""
        with suppress(ProcessLookupError):
            if self._transport.get_returncode() is None:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def has_ended(self) -> bool:
        """Return whether the event loop has noticed the end of the process."""
        return self._ended.done()

    def is_alive(self) -> bool:
        """Return whether the process runs according to the kernel, which knows before the loop."""
        if not hasattr(os, "waitid"):
            return not self.has_ended()
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ChildProcessError):  # the process was reaped already
            return os.waitid(os.P_PID, self._transport.get_pid(), how) is None
        return False

    async def end(self) -> None:
        """Kill the process and wait for its end, at most `END_LIMIT_S`."""
        self.kill()
        await asyncio.wait([self._ended], timeout=END_LIMIT_S)

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(_STDIN))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        try:
            for reply in self._replies.decode(data):
                self._receive(reply)
        except (ValueError, msgspec.MsgspecError) as error:
            self.reason = f"it sent nonsense: {error}"
            self.kill()

    def _receive(self, reply: Ready | SetupRefused | ScoredPages) -> None:
        if isinstance(reply, ScoredPages):
            self._owner.handle_results(self, reply)
        elif isinstance(reply, SetupRefused):
            self.reason = reply.reason
            self.kill()
        elif not self._ready.done():
            self._ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the process; all its output has been read."""
        self.reason = self.reason or _exit_reason(self._transport.get_returncode())
        self._transport.close()
        if not self._ended.done():
            self._ended.set_result(None)
        if self._ready.done():
            self._owner.handle_end(self)
        else:
            self._ready.set_exception(WorkerStartError(self.reason))
            self._ready.exception()  # retrieved here in case the start was cancelled


def _exit_reason(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
