"""Messages between the frontier and its workers, and their encoding.

A message is one byte of version followed by MessagePack compressed with zstd. Tasks and results
carry durations instead of times, so that the clocks of the machines need not agree.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from focus.config import AnalysisConfig, FetchConfig
from focus.http import zstd
from focus.i18n import decode_message, encode_message
from focus.records import FetchResult, Page, Result, Task

VERSION = 10
MAX_BYTES = 256 * 1024 * 1024  # of a decompressed message
HEADERS = ("content-type", "etag", "last-modified", "x-robots-tag")
"""Response headers that the frontier reads; a worker sends no others."""
_LEVEL = 1


class WorkerSetup(msgspec.Struct, frozen=True, array_like=True):
    """Settings that a worker needs for the tasks of a run.

    run     id of the frontier's run; tasks and results of other runs are ignored
    queue   name of the queue of its tasks
    update  the latest changed topic or model, None if there is none
    greeting  number of the greeting that this answers
    """

    run: str
    fetch: FetchConfig
    analysis: AnalysisConfig
    parse_limit_s: float
    update: bytes | None = None
    greeting: int = 0
    queue: str = ""


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """A worker that asks for the setup.

    slots   its number of concurrent requests
    number  number of the greeting, counted by the worker
    """

    worker: str
    slots: int
    number: int


class TaskMessage(msgspec.Struct, frozen=True, array_like=True):
    """A task for a worker. `number` identifies it within the run."""

    run: str
    number: int
    task: Task


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """The question whether a redelivered task still waits for a result, and its answer."""

    run: str
    number: int
    is_open: bool = False


class ResultMessage(msgspec.Struct, frozen=True, array_like=True):
    """The result of a task. `age_s` is the time from the start of the request to the sending."""

    run: str
    number: int
    age_s: float
    fetch: FetchResult
    page: Page | None = None


T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder(enc_hook=encode_message)
_compressor = zstd.ZstdCompressor(level=_LEVEL)


def pack(message: object) -> bytes:
    """Return a message as bytes."""
    return bytes((VERSION,)) + zstd.compress_frame(_compressor, _encoder.encode(message))


def unpack(body: bytes, kind: type[T]) -> T:
    """Return the message in `body`; raise ValueError if it is not of this kind and version."""
    if not body or body[0] != VERSION:
        raise ValueError(f"message of version {body[0] if body else 'none'}, expected {VERSION}")
    try:
        data = zstd.decompress_bounded(memoryview(body)[1:], MAX_BYTES)
        return msgspec.msgpack.decode(data, type=kind)
    except (zstd.ZstdError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error


def to_message(run: str, number: int, result: Result, now: float) -> ResultMessage:
    """Return the message for a result; `now` is the worker's clock."""
    fetch = replace(
        result.fetch,
        url="",
        fetched_at=0.0,
        headers=tuple(pair for pair in result.fetch.headers if pair[0] in HEADERS),
        body=b"" if result.task.id is not None else result.fetch.body,
    )
    return ResultMessage(run, number, max(0.0, now - result.fetch.fetched_at), fetch, result.page)


def to_result(message: ResultMessage, task: Task, now: float) -> Result:
    """Return the result in a message; `now` is the frontier's clock."""
    detail, fetched_at = decode_message(message.fetch.detail), now - message.age_s
    fetch = replace(message.fetch, url=task.url, fetched_at=fetched_at, detail=detail)
    return Result(task, fetch, message.page)
