"""Messages between the pool and its workers, and their framing."""

from __future__ import annotations

import math

import msgspec

from focus.config import AnalysisConfig
from focus.records import NO_TEMPLATE, Page, SiteTemplate

MAX_FRAME_BYTES = 1 << 30
_PREFIX_BYTES = 4


class Job(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Page to score.

    template  what the pages of its host repeat; it does not count
    software  web application of the host, "" if it has none that is known; None detects it
    fetched_at  Unix seconds; infinite for a page that was scored before, and if unknown
    """

    url: str
    body: bytes
    content_type: str | None
    template: SiteTemplate = NO_TEMPLATE
    software: str | None = ""
    fetched_at: float = math.inf


class Setup(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """First message to a worker: settings, the dotted name of a scorer class, and limits.

    limit_s  maximum seconds of CPU time per page
    """

    config: AnalysisConfig
    scorer: str
    limit_s: float


class ScoreJobs(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Request to score pages in this order."""

    jobs: list[Job]


class ScorerUpdate(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Changed topic or model in the format of the scorer."""

    payload: bytes


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """Reply to `Setup`: the scorer is ready."""


class SetupRefused(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Reply to `Setup`: the scorer cannot be created."""

    reason: str


class ScoredPages(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Results of the next jobs, in their order."""

    pages: list[Page]


PoolRequest = Setup | ScoreJobs | ScorerUpdate
Reply = Ready | SetupRefused | ScoredPages

_encoder = msgspec.msgpack.Encoder()


def encode_frame(message: PoolRequest | Reply) -> bytearray:
    """Return the message as a frame: its length in 4 bytes, little endian, then the message."""
    frame = bytearray(_PREFIX_BYTES)
    _encoder.encode_into(message, frame, _PREFIX_BYTES)
    frame[:_PREFIX_BYTES] = (len(frame) - _PREFIX_BYTES).to_bytes(_PREFIX_BYTES, "little")
    return frame


class FrameDecoder:
    """Decoder of the byte stream of a worker; raises ValueError for invalid bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._decoder = msgspec.msgpack.Decoder(Reply)

    def decode(self, data: bytes) -> list[Reply]:
        """Return the replies that these bytes complete."""
        buffer, replies = self._buffer, []
        buffer += data
        while len(buffer) >= _PREFIX_BYTES:
            end = _PREFIX_BYTES + int.from_bytes(buffer[:_PREFIX_BYTES], "little")
            if end > MAX_FRAME_BYTES:
                raise ValueError(f"a frame of {end} bytes")
            if len(buffer) < end:
                break
            replies.append(self._decoder.decode(buffer[_PREFIX_BYTES:end]))
            del buffer[:end]
        return replies
