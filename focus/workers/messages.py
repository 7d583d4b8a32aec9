"""Defines the messages between the pool and its workers, and their framing."""

from __future__ import annotations

import msgspec

from focus.config import AnalysisConfig
from focus.records import Page

MAX_FRAME_BYTES = 1 << 30
_PREFIX = 4


class Job(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One page to score."""

    url: str
    body: bytes
    content_type: str | None
    wording: bool = True


class Setup(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A worker's task. analyst: dotted name of a class made from the config."""

    config: AnalysisConfig
    analyst: str
    limit_s: float


class Work(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Pages to score, in this order."""

    jobs: list[Job]


class Update(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A changed topic or model; the analyst knows what the bytes mean."""

    payload: bytes


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """The analyst is there."""


class SetupRefused(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The analyst cannot be made."""

    reason: str


class Scored(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Results of the next jobs."""

    pages: list[Page]


PoolRequest = Setup | Work | Update
Reply = Ready | SetupRefused | Scored

_encoder = msgspec.msgpack.Encoder()


def pack(message: PoolRequest | Reply) -> bytearray:
    """A frame: the length in 4 bytes, little endian, then the message."""
    frame = bytearray(_PREFIX)
    _encoder.encode_into(message, frame, _PREFIX)
    frame[:_PREFIX] = (len(frame) - _PREFIX).to_bytes(_PREFIX, "little")
    return frame


class Unpacker:
    """Turns the bytes of a worker into replies; ValueError for anything else."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._decoder = msgspec.msgpack.Decoder(Reply)

    def feed(self, data: bytes) -> list[Reply]:
        """The replies that are complete with these bytes."""
        buffer, replies = self._buffer, []
        buffer += data
        while len(buffer) >= _PREFIX:
            end = _PREFIX + int.from_bytes(buffer[:_PREFIX], "little")
            if end > MAX_FRAME_BYTES:
                raise ValueError(f"a frame of {end} bytes")
            if len(buffer) < end:
                break
            replies.append(self._decoder.decode(buffer[_PREFIX:end]))
            del buffer[:end]
        return replies
