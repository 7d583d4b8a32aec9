"""Decodes Content-Encoding as a stream, never beyond a cap.

Pure and streaming: pieces of the coded body in, decoded pieces out, never more
than a cap, however small the input was (a "bomb" is given up after the cap's
worth of work). What servers do wrong and browsers tolerate is tolerated: raw
deflate, several gzip members or zstd frames, rubbish after the end, and a body
that is not coded at all although the header says so.
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
"""Codings on top of each other ("gzip, gzip"); curl's CVE-2023-23916 was a chain."""

_MAX_FRAMES = 1_000  # gzip members or zstd frames in one body; empty ones are cheap to send
_MAX_HELD = 64 * 1024  # input kept for a second try while nothing has come out
_ZSTD_WINDOW_LOG = 23  # 8 MB, the most that RFC 9659 allows on the web
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class CodingError(Exception):
    """The body is not what its Content-Encoding says; the message is for people."""


def ends_early(coding: str) -> str:
    """What is said of a body whose coding (`Decoder.cut`) ended too early."""
    return f"its {coding} data ends too early; what came is kept"


class Decoder:
    """Decodes one body.

    content_encoding  the header's value; later codings were applied later
    max_bytes         cap on what comes out (of every layer)
    full              the cap was hit; what `feed` returned so far is all there is
    cut               the name of the coding that ended too early, "" if none did: what came out
                      of it is the beginning of the body
    """

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        names = [name.strip().lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if len(names) > MAX_LAYERS:
            raise CodingError(f"{len(names)} content codings on top of each other")
        self.cut = ""
        self._stages = [_Stage(name, max_bytes) for name in reversed(names)]
        self._fed = False

    @property
    def full(self) -> bool:
        return any(stage.full for stage in self._stages)

    def feed(self, data: bytes) -> bytes:
        """What `data` decodes to, as far as can be said yet; raises CodingError."""
        self._fed = True
        for stage in self._stages:
            if not data:
                break
            data = stage.feed(data)
        return data

    def finish(self) -> bytes:
        """The rest, at the end of the body; raises CodingError if nothing ever came out."""
        data = b""
        for stage in self._stages if self._fed else ():
            data = (stage.feed(data) if data else b"") + stage.finish()
            self.cut = self.cut or stage.cut
        return data


class _Frame(Protocol):
    """The interface that zlib's and zstd's decompressors share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Framed:
    """A coding as a run of frames; anything after the last one is ignored."""

    def __init__(self, make: Callable[[], _Frame], magic: bytes = b"") -> None:
        self._make, self._magic = make, magic  # no magic: one frame only
        self._frame, self._frames = make(), 1

    @property
    def eof(self) -> bool:
        return self._frame.eof

    def decode(self, data: bytes, limit: int) -> bytes:
        out = b""
        while data and len(out) < limit:
            if self._frame.eof:
                if not self._magic or not data.startswith(self._magic):
                    break
                self._frame, self._frames = self._make(), self._frames + 1
                if self._frames > _MAX_FRAMES:
                    raise CodingError(f"more than {_MAX_FRAMES} compressed parts")
            out += self._frame.decompress(data, limit - len(out))
            data = self._frame.unused_data if self._frame.eof else b""
        return out


class _Brotli:
    """Brotli's decompressor in the manner of zlib's."""

    unused_data = b""

    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._inner.is_finished())

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        out: bytes = self._inner.process(data, output_buffer_limit=max_length)
        while len(out) < max_length and not self._inner.can_accept_more_data():
            more: bytes = self._inner.process(b"", output_buffer_limit=max_length - len(out))
            if not more:
                break
            out += more
        return out


class _Plain:
    """No coding at all; raises CodingError if the first bytes are no text."""

    eof = True

    def __init__(self) -> None:
        self._seen = False

    def decode(self, data: bytes, limit: int) -> bytes:
        if not self._seen and _BINARY.search(data[:256]):
            raise CodingError("not text")
        self._seen = True
        return data[:limit]


class _Stage:
    """One layer: tries its decoders in turn until one of them gives something."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.full = False
        self.cut = ""
        self._name = name
        self._left = max_bytes
        self._tries: list[_Framed | _Plain] = [make() for make in _DECODERS.get(name, ())]
        self._tries.append(_Plain())
        self._held: bytes | None = b""  # None once something came out

    def feed(self, data: bytes) -> bytes:
        if self.full:
            return b""
        if self._held is None:
            return self._cut(self._decode(data))
        self._held += data
        out = self._first(data)
        if out or len(self._held) > _MAX_HELD:
            self._held = None
        return self._cut(out)

    def finish(self) -> bytes:
        if self.full or self._tries[0].eof:
            return b""
        if self._held is None:
            self.cut = self._name
            return b""
        if not self._held:
            return b""
        self._tries = self._tries[-1:]  # nothing came out: perhaps it was never coded
        return self._cut(self._decode(self._held))

    def _first(self, data: bytes) -> bytes:
        while True:
            try:
                return self._decode(data)
            except CodingError:
                if len(self._tries) == 1:
                    raise
                del self._tries[0]
                data = self._held or b""

    def _decode(self, data: bytes) -> bytes:
        try:
            return self._tries[0].decode(data, self._left + 1)
        except (zlib.error, brotli.error, ZstdError, CodingError) as error:
            known = "broken" if self._name in _DECODERS else "unknown content coding"
            raise CodingError(f"{known} {self._name} data") from error

    def _cut(self, out: bytes) -> bytes:
        self.full = len(out) > self._left
        out = out[: self._left] if self.full else out
        self._left -= len(out)
        return out


def _zstd() -> _Frame:
    return ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


_GZIP = (partial(_Framed, partial(zlib.decompressobj, 31), b"\x1f\x8b"),)
_DECODERS: dict[str, tuple[Callable[[], _Framed], ...]] = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    # RFC 9110 says zlib's format; servers that send the bare stream are as old as it.
    "deflate": (
        partial(_Framed, partial(zlib.decompressobj, 15)),
        partial(_Framed, partial(zlib.decompressobj, -15)),
    ),
    "br": (partial(_Framed, _Brotli),),
    "zstd": (partial(_Framed, _zstd, b"\x28\xb5\x2f\xfd"),),
}
