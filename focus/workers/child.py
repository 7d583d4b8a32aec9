"""Main loop of a scorer worker: receives pages, scores them, and sends the results.

The worker ends when its standard input does, which includes the death of its parent. It ignores
Ctrl-C and SIGTERM, which the parent handles. Memory is limited, so that a decompression bomb kills
the worker and not the machine. CPU time per page is limited too, so that a worker without a parent
does not compute forever.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import signal
import sys
import time
from contextlib import suppress
from typing import BinaryIO, Protocol

import msgspec

from focus.config import AnalysisConfig
from focus.records import NO_TEMPLATE, FailureKind, Page, SiteTemplate
from focus.workers.messages import (
    Job,
    PoolRequest,
    Ready,
    ScoredPages,
    ScoreJobs,
    ScorerUpdate,
    Setup,
    SetupRefused,
    encode_frame,
)

SCORER = "focus.score.analysis.PageScorer"
MAX_MEMORY_BYTES = 1536 * 1024 * 1024
FLUSH_INTERVAL_S = 0.02
GC_THRESHOLD = 50_000  # new objects between two garbage collections: pages leave no cycles
_PIPE_BYTES = 1 << 20
_MAX_DESCRIPTOR = 4096


class Scorer(Protocol):
    """Scorer of pages. Its class is instantiated with an `AnalysisConfig`."""

    def score(
        self,
        url: str,
        body: bytes,
        content_type: str | None,
        *,
        template: SiteTemplate = NO_TEMPLATE,
        software: str | None = "",
        fetched_at: float = math.inf,
    ) -> Page:
        """Return the scored page. A hostile page can make this raise, hang or crash.

        `software` None detects the application.
        """

    def reconfigure(self, payload: bytes) -> None:
        """Replace topic or model by the encoded one."""


def make_scorer(name: str, config: AnalysisConfig) -> Scorer:
    """Return a new scorer of the class with this dotted name.

    The class is imported here because parsers and dictionaries take long to load.
    """
    module, _, attribute = name.rpartition(".")
    scorer: Scorer = getattr(importlib.import_module(module), attribute)(config)
    return scorer


def score_page(scorer: Scorer, job: Job) -> Page:
    """Return the scored page with its duration; an exception becomes a failed page."""
    started = time.perf_counter()
    try:
        page = scorer.score(
            job.url,
            job.body,
            job.content_type,
            template=job.template,
            software=job.software,
            fetched_at=job.fetched_at,
        )
    except Exception as error:  # no page may end the worker
        page = failed_page(FailureKind.PARSE_CRASH, f"{type(error).__name__}: {error}")
    return msgspec.structs.replace(page, worker_s=time.perf_counter() - started)


def failed_page(kind: FailureKind, detail: str) -> Page:
    """Return a page that could not be parsed, with the reason as one line."""
    return Page(failure=kind, detail=" ".join(detail.split())[:300])


def main() -> None:
    """Serve the parent process over standard input and output."""
    requests, replies = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # output of libraries must not mix with the replies
    _isolate_process(replies)
    with suppress(BrokenPipeError):
        serve_requests(requests, replies)


def serve_requests(requests: BinaryIO, replies: int) -> None:
    """Answer requests until the input ends."""
    decoder = msgspec.msgpack.Decoder(PoolRequest)
    scorer: Scorer | None = None
    limit_s = 0.0
    while prefix := requests.read(4):
        request: PoolRequest = decoder.decode(requests.read(int.from_bytes(prefix, "little")))
        if isinstance(request, Setup):
            limit_s = request.limit_s
            try:
                scorer = make_scorer(request.scorer, request.config)
                gc.freeze()  # dictionaries and patterns stay to the end
                gc.set_threshold(GC_THRESHOLD)
            except Exception as error:  # reported to the parent
                return _send(replies, SetupRefused(f"{type(error).__name__}: {error}"))
            _send(replies, Ready())
        elif scorer is None:
            return None
        elif isinstance(request, ScorerUpdate):
            scorer.reconfigure(request.payload)
        else:
            _score_jobs(request, scorer, replies, limit_s)
    return None


def _score_jobs(work: ScoreJobs, scorer: Scorer, replies: int, cpu_limit_s: float) -> None:
    pages: list[Page] = []
    flushed_at = time.monotonic()
    for job in work.jobs:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, cpu_limit_s)
        pages.append(score_page(scorer, job))
        if time.monotonic() - flushed_at > FLUSH_INTERVAL_S:
            _send(replies, ScoredPages(pages))
            pages, flushed_at = [], time.monotonic()
    if pages:
        _send(replies, ScoredPages(pages))


def _send(replies: int, message: Ready | SetupRefused | ScoredPages) -> None:
    with memoryview(encode_frame(message)) as frame:
        sent = 0
        while sent < len(frame):
            sent += os.write(replies, frame[sent:])


def _isolate_process(replies: int) -> None:
    """Ignore signals, limit memory, close inherited files, and enlarge the pipe for replies."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    import fcntl  # not on Windows
    import resource

    os.closerange(3, replies)  # uvloop passes on some descriptors of the parent
    os.closerange(replies + 1, _MAX_DESCRIPTOR)
    with suppress(OSError, ValueError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(replies, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
