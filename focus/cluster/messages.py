"""Defines the messages between frontiers and workers, and their encoding.

A message is one byte of version, then MessagePack packed by zstd: a tuple of one or more
letters. Tasks carry durations, never instants, so that no two clocks need agree. The parts that
a role of another version must understand are in the AMQP properties alone (`connection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from focus.config import AnalysisConfig, FetchConfig
from focus.http import zstd
from focus.i18n import decode_message, encode_message
from focus.records import FetchResult, Page, Result, Task

VERSION = 7
MAX_BYTES = 256 * 1024 * 1024  # of a message, unpacked
_LEVEL = 1


class WrongVersion(ValueError):
    """A message of another version of focus."""


class SentTask(msgspec.Struct, frozen=True, array_like=True):
    """A task on its way to a worker, without what only the frontier knows of it.

    lease     under which the frontier knows it
    """

    lease: int
    task: Task


class TaskBundle(msgspec.Struct, frozen=True, array_like=True):
    """Tasks of one shard. `setup` names the settings they are to be done by."""

    setup: bytes
    tasks: list[SentTask]


class TaskResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of a task; of `fetch`, what the frontier knows or does not read is left out.

    age_s  seconds from the start of the request to the sending of this
    """

    lease: int
    age_s: float
    fetch: FetchResult
    page: Page | None = None


class WorkerReport(msgspec.Struct, frozen=True, array_like=True):
    """From a worker to a shard.

    answers   results
    sent      leases whose requests have just gone out
    lost      leases that another worker had when it died or was cut off
    unbegun   leases that were held too long before their turn came
    held      leases that this worker still has, of those it was asked for
    """

    worker: str
    answers: list[TaskResult] = []
    sent: list[int] = []
    lost: list[int] = []
    unbegun: list[int] = []
    held: list[int] = []


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """A worker's sign of life, every `HEARTBEAT_INTERVAL_S`.

    setup   the settings it is ready to work by, b"" as yet none
    slots   requests it makes at once; 0: it takes no more
    held    tasks it has
    """

    worker: str
    setup: bytes
    slots: int
    held: int = 0
    pages: int = 0
    host: str = ""


class WorkerSetup(msgspec.Struct, frozen=True, array_like=True):
    """The settings that a worker needs for its tasks."""

    shards: int
    fetch: FetchConfig
    analysis: AnalysisConfig
    parse_limit_s: float
    update: bytes | None = None


class LeaseQuery(msgspec.Struct, frozen=True, array_like=True):
    """To all workers: which of these leases have you? Answered by `WorkerReport.held`."""

    shard: int
    leases: list[int]


class ModelUpdate(msgspec.Struct, frozen=True, array_like=True):
    """To all workers: a changed topic or model."""

    setup: bytes
    payload: bytes


class ClusterCommand(msgspec.Struct, frozen=True, array_like=True):
    """From a user: `stop` everything, or `drain` workers (of that name, "" all)."""

    what: str
    worker: str = ""


class ShardStatus(msgspec.Struct, frozen=True, array_like=True):
    """Status of a shard; every shard tells all others every `HEARTBEAT_INTERVAL_S`.

    birth        of its process, a number drawn by chance
    activity     grows with everything that happens there
    is_idle      nothing waits, nothing is under way, nothing came that was not taken in
    idle_others  the other shards that told it they were idle: (birth, activity) of each
    priorities   of its best waiting URLs, see `slot_share`
    quantiles    (rank, priority) of its waiting URLs, see `shared_budget`; [] without a limit
    ended        why it ended, "" as yet
    """

    shard: int
    of: int
    birth: int
    activity: int = 0
    is_idle: bool = False
    idle_others: dict[int, tuple[int, int]] = {}
    priorities: list[float] = []
    digest: bytes = b""
    name: str = ""
    totals: dict[str, float] = {}
    states: dict[str, int] = {}
    in_flight: int = 0
    window: int = 0
    workers: int = 0
    slots: int = 0
    outbox: int = 0
    lost: int = 0
    ended: str = ""
    quantiles: list[tuple[int, float]] = []


T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder(enc_hook=encode_message)
_packer = zstd.ZstdCompressor(level=_LEVEL)
_decoders: dict[object, msgspec.msgpack.Decoder[object]] = {}


def pack(message: object) -> bytes:
    """A message as bytes."""
    return bytes((VERSION,)) + zstd.compress_frame(_packer, _encoder.encode(message))


def unpack(body: bytes, kind: type[T]) -> T:
    """The message in `body`; WrongVersion, ValueError if that is none of this kind."""
    if not body or body[0] != VERSION:
        raise WrongVersion(f"format {body[0] if body else 'none'}, this one knows {VERSION}")
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    try:
        plain = zstd.decompress_bounded(memoryview(body)[1:], MAX_BYTES)
        return decoder.decode(plain)  # type: ignore[return-value]
    except (zstd.ZstdError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error


HEADERS = ("content-type", "etag", "last-modified", "x-robots-tag")
"""What the frontier reads of an answer's headers."""


def answer_of(lease: int, result: Result, now: float) -> TaskResult:
    """A worker's result as it travels; `now` by the clock of `fetched_at`."""
    fetch, is_page = result.fetch, result.task.id is not None
    sent = replace(
        fetch,
        url="",
        fetched_at=0.0,
        headers=tuple(pair for pair in fetch.headers if pair[0] in HEADERS),
        body=b"" if is_page else fetch.body,
    )
    return TaskResult(lease, max(0.0, now - fetch.fetched_at), sent, result.page)


def result_of(answer: TaskResult, task: Task, now: float) -> Result:
    """The same as the crawl knows it, by the frontier's clock."""
    detail, fetched_at = decode_message(answer.fetch.detail), now - answer.age_s
    fetch = replace(answer.fetch, url=task.url, fetched_at=fetched_at, detail=detail)
    return Result(task, fetch, answer.page)


def digest(setup: WorkerSetup) -> bytes:
    """What tells settings apart, 8 bytes; what changes on the way is left out."""
    sent = _encoder.encode(replace(setup, update=None))
    came = msgspec.msgpack.decode(sent, type=WorkerSetup)  # 10 is 10.0 after the way
    return hashlib.sha256(_encoder.encode(came)).digest()[:8]


def chunks(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Items in parts of at most `size`."""
    return [items[start : start + size] for start in range(0, len(items), size)]
