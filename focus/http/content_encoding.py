"""Decodes Content-Encoding as a stream, never beyond a limit.

Pieces of the encoded body go in, decoded pieces come out, never more than a limit, however small
the input was (decoding of a "bomb" stops at the limit). Errors of servers that browsers tolerate
are tolerated: raw deflate, several gzip members or zstd frames, garbage after the end, and a body
that is not encoded although the header says so.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import partial
from typing import Protocol

import brotli

from focus.http.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MAX_LAYERS = 3
"""Codings on top of each other ("gzip, gzip") at most; curl's CVE-2023-23916 was a chain."""

_MAX_FRAMES = 1_000  # gzip members or zstd frames in one body; empty ones are cheap to send
_MAX_RETRY_INPUT = 64 * 1024  # input stored for another decoder until there is output
_ZSTD_WINDOW_LOG = 23  # 8 MB, the most that RFC 9659 allows on the web
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class CodingError(Exception):
    """The body is not encoded as its Content-Encoding says; the message is for people."""


def early_end_message(coding: str) -> str:
    """Return the message for a body whose coding (`Decoder.cut_coding`) ended too early."""
    return f"its {coding} data ends too early; what came is kept"


class Decoder:
    """Decodes one body.

    content_encoding  the header's value; later codings were applied later
    max_bytes         limit of the output of every layer
    is_full           the limit was reached; `feed` returns no more
    cut_coding        name of the coding that ended too early, "" if none did; the output is then
                      the beginning of the body
    """

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if len(names) > MAX_LAYERS:
            raise CodingError(f"{len(names)} content codings on top of each other")
        self.cut_coding = ""
        self._layers = [_Layer(name, max_bytes) for name in reversed(names)]
        self._has_input = False

    @property
    def is_full(self) -> bool:
        """Whether a layer has reached the limit of its output."""
        return any(layer.is_full for layer in self._layers)

    @property
    def is_complete(self) -> bool:
        """Whether every layer has reached the end of its coding."""
        return self._has_input and all(layer.is_complete for layer in self._layers)

    def feed(self, data: bytes) -> bytes:
        """Return the decoded bytes of `data` as far as possible; raise CodingError."""
        self._has_input = True
        for layer in self._layers:
            if not data:
                break
            data = layer.feed(data)
        return data

    def finish(self) -> bytes:
        """Return the rest at the end of the body; raise CodingError if there was no output."""
        data = b""
        for layer in self._layers if self._has_input else ():
            data = (layer.feed(data) if data else b"") + layer.finish()
            self.cut_coding = self.cut_coding or layer.cut_coding
        return data


class _Frame(Protocol):
    """The interface that zlib's and zstd's decompressors share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _FramedDecoder:
    """A coding as a sequence of frames; anything after the last one is ignored."""

    def __init__(self, make_frame: Callable[[], _Frame], magic: bytes = b"") -> None:
        self._make_frame, self._magic = make_frame, magic  # no magic: one frame only
        self._frame, self._frame_count = make_frame(), 1

    @property
    def eof(self) -> bool:
        return self._frame.eof

    def decode(self, data: bytes, limit: int) -> bytes:
        out = b""
        while data and len(out) < limit:
            if self._frame.eof:
                if not self._magic or not data.startswith(self._magic):
                    break
                self._frame, self._frame_count = self._make_frame(), self._frame_count + 1
                if self._frame_count > _MAX_FRAMES:
                    raise CodingError(f"more than {_MAX_FRAMES} compressed parts")
            out += self._frame.decompress(data, limit - len(out))
            data = self._frame.unused_data if self._frame.eof else b""
        return out


class _BrotliFrame:
    """Brotli's decompressor with the interface of zlib's."""

    unused_data = b""

    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._inner.is_finished())

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return bytes(self._inner.process(data, output_buffer_limit=max_length))


class _PlainDecoder:
    """No coding at all; raises CodingError if the first bytes are binary."""

    eof = True

    def __init__(self) -> None:
        self._is_checked = False

    def decode(self, data: bytes, limit: int) -> bytes:
        if not self._is_checked and _BINARY.search(data[:256]):
            raise CodingError("not text")
        self._is_checked = True
        return data[:limit]


class _Layer:
    """One layer of coding: tries its decoders in turn until one of them has output."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.is_full = False
        self.cut_coding = ""
        self._name = name
        self._bytes_left = max_bytes
        self._candidates: list[_FramedDecoder | _PlainDecoder] = [
            make() for make in _DECODERS.get(name, ())
        ]
        self._candidates.append(_PlainDecoder())
        self._retry_input: bytes | None = b""  # None once there was output

    @property
    def is_complete(self) -> bool:
        return self._candidates[0].eof

    def feed(self, data: bytes) -> bytes:
        if self.is_full:
            return b""
        if self._retry_input is None:
            return self._limit_output(self._decode(data))
        self._retry_input += data
        out = self._decode_first(data)
        if out or len(self._retry_input) > _MAX_RETRY_INPUT:
            self._retry_input = None
        return self._limit_output(out)

    def finish(self) -> bytes:
        if self.is_full or self._candidates[0].eof:
            return b""
        if self._retry_input is None:
            self.cut_coding = self._name
            return b""
        if not self._retry_input:
            return b""
        self._candidates = self._candidates[-1:]  # no output: perhaps it was never encoded
        return self._limit_output(self._decode(self._retry_input))

    def _decode_first(self, data: bytes) -> bytes:
        while True:
            try:
                return self._decode(data)
            except CodingError:
                if len(self._candidates) == 1:
                    raise
                del self._candidates[0]
                data = self._retry_input or b""

    def _decode(self, data: bytes) -> bytes:
        try:
            return self._candidates[0].decode(data, self._bytes_left + 1)
        except (zlib.error, brotli.error, ZstdError, CodingError) as error:
            known = "broken" if self._name in _DECODERS else "unknown content coding"
            raise CodingError(f"{known} {self._name} data") from error

    def _limit_output(self, out: bytes) -> bytes:
        self.is_full = len(out) > self._bytes_left
        out = out[: self._bytes_left] if self.is_full else out
        self._bytes_left -= len(out)
        return out


def _make_zstd_frame() -> _Frame:
    return ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


_ZLIB = partial(_FramedDecoder, partial(zlib.decompressobj, 15))
# Some servers send the zlib format under the name gzip; curl and wget take it.
_GZIP = (partial(_FramedDecoder, partial(zlib.decompressobj, 31), b"\x1f\x8b"), _ZLIB)
_DECODERS: dict[str, tuple[Callable[[], _FramedDecoder], ...]] = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    # RFC 9110 requires the zlib format, but old servers send the bare stream.
    "deflate": (_ZLIB, partial(_FramedDecoder, partial(zlib.decompressobj, -15))),
    "br": (partial(_FramedDecoder, _BrotliFrame),),
    "zstd": (partial(_FramedDecoder, _make_zstd_frame, b"\x28\xb5\x2f\xfd"),),
}
