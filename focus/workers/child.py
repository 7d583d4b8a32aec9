"""The main loop of a scorer worker: it waits for pages, analyses them, and answers.

It ends when its stdin does, that is also when the parent dies. Ctrl-C and SIGTERM are
the parent's business. Memory is capped, so that a bomb kills the worker and not the
machine; and CPU time per page, so that a worker whose parent is gone does not spin on.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import time
from contextlib import suppress
from typing import BinaryIO, Protocol

import msgspec

from focus.config import AnalysisConfig
from focus.records import FailureKind, Page
from focus.workers.messages import (
    Job,
    PoolRequest,
    Ready,
    Scored,
    Setup,
    SetupRefused,
    Update,
    Work,
    pack,
)

ANALYST = "focus.score.analysis.PageScorer"
MEMORY_BYTES = 1536 * 1024 * 1024
FLUSH_S = 0.02
GARBAGE = 50_000  # new objects between two looks for garbage in circles: pages leave none
_PIPE_BYTES = 1 << 20
_DESCRIPTORS = 4096


class Analyst(Protocol):
    """Turns bytes into a scored page. Its class is called with an `AnalysisConfig`."""

    def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The page; may raise, hang or crash on hostile ones."""

    def update(self, payload: bytes) -> None:
        """Take over a changed topic or model."""


def make_analyst(name: str, config: AnalysisConfig) -> Analyst:
    """The analyst of that dotted name. Imported here: parsers and dictionaries are heavy."""
    module, _, attribute = name.rpartition(".")
    analyst: Analyst = getattr(importlib.import_module(module), attribute)(config)
    return analyst


def analyse(analyst: Analyst, job: Job) -> Page:
    """The scored page with its time; an exception becomes a failed page."""
    started = time.perf_counter()
    try:
        page = analyst.score(job.url, job.body, job.content_type, wording=job.wording)
    except Exception as error:  # the border: no page may end the worker
        page = failed(FailureKind.PARSE_CRASH, f"{type(error).__name__}: {error}")
    return msgspec.structs.replace(page, worker_s=time.perf_counter() - started)


def failed(kind: FailureKind, detail: str) -> Page:
    """A page that could not be parsed, with the reason in one line."""
    return Page(failure=kind, detail=" ".join(detail.split())[:300])


def main() -> None:
    """Serve the parent at the other end of stdin and stdout."""
    requests, replies = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what libraries print must not come between the replies
    _shield(replies)
    with suppress(BrokenPipeError):
        serve(requests, replies)


def serve(requests: BinaryIO, replies: int) -> None:
    """Answer requests until there are no more."""
    decoder = msgspec.msgpack.Decoder(PoolRequest)
    analyst: Analyst | None = None
    limit_s = 0.0
    while prefix := requests.read(4):
        request: PoolRequest = decoder.decode(requests.read(int.from_bytes(prefix, "little")))
        if isinstance(request, Setup):
            limit_s = request.limit_s
            try:
                analyst = make_analyst(request.analyst, request.config)
                gc.freeze()  # dictionaries and patterns stay to the end
                gc.set_threshold(GARBAGE)
            except Exception as error:  # the border: told to the parent
                return _send(replies, SetupRefused(f"{type(error).__name__}: {error}"))
            _send(replies, Ready())
        elif analyst is None:
            return None
        elif isinstance(request, Update):
            analyst.update(request.payload)
        else:
            _work(request, analyst, replies, limit_s)
    return None


def _work(work: Work, analyst: Analyst, replies: int, cpu_limit_s: float) -> None:
    done: list[Page] = []
    flushed = time.monotonic()
    for job in work.jobs:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, cpu_limit_s)
        done.append(analyse(analyst, job))
        if time.monotonic() - flushed > FLUSH_S:
            _send(replies, Scored(done))
            done, flushed = [], time.monotonic()
    if done:
        _send(replies, Scored(done))


def _send(replies: int, message: Ready | SetupRefused | Scored) -> None:
    with memoryview(pack(message)) as frame:
        sent = 0
        while sent < len(frame):
            sent += os.write(replies, frame[sent:])


def _shield(replies: int) -> None:
    """Signals, memory, what was inherited, and a pipe that takes a batch at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    import fcntl  # not everywhere
    import resource

    os.closerange(3, replies)  # uvloop lets some of the parent's descriptors through
    os.closerange(replies + 1, _DESCRIPTORS)
    with suppress(OSError, ValueError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(replies, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
