"""How does an HTTP payload become its content again?

Transfer and content codings undone for stored answers: lenient where archives
are sloppy, bounded where a payload is a bomb.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

import zstandard

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Longest body that any coding is unpacked to; the rest is cut off."""

_MAX_CODINGS = 4  # gzip in gzip in gzip…
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")


def decode_body(payload: bytes, codings: list[str]) -> bytes:
    """Undoes codings, the last one first, up to `MAX_BODY_BYTES` each.

    A payload that plainly is not in its coding is left as it is: many archives
    keep the header of a coding that they have undone. ValueError if broken.
    """
    known = [coding for coding in codings if coding not in ("", "identity")]
    if len(known) > _MAX_CODINGS:
        raise ValueError(f"{len(known)} content codings on top of each other")
    for coding in reversed(known):
        decode = _CODINGS.get(coding)
        if decode is None:
            raise ValueError(f"content coding {coding[:20]!r} is not known")
        try:
            payload = decode(payload)
        except (zlib.error, zstandard.ZstdError) as error:
            raise ValueError(f"broken {coding}: {error}") from error
    return payload


def _dechunk(payload: bytes) -> bytes:
    """Undoes chunked transfer coding (RFC 9112 section 7.1); a cut tail is kept."""
    parts, at = [], 0
    while line := _CHUNK.match(payload, at):
        size = int(line[1], 16)
        parts.append(payload[line.end() : line.end() + size])
        at = line.end() + size
        if size == 0:
            return b"".join(parts)
    return b"".join(parts) if at else payload


def _gunzip(payload: bytes) -> bytes:
    """gzip (RFC 1952); a cut tail is kept."""
    if not payload.startswith(b"\x1f\x8b"):
        return payload
    return zlib.decompressobj(31).decompress(payload, MAX_BODY_BYTES + 1)


def _inflate(payload: bytes) -> bytes:
    """deflate: zlib wrapped by the RFC, bare in the wild; plain if neither."""
    for window in (15, -15):
        try:
            return zlib.decompressobj(window).decompress(payload, MAX_BODY_BYTES + 1)
        except zlib.error:
            continue
    return payload


def _unbrotli(payload: bytes) -> bytes:
    """br (RFC 7932), which has no magic: what is no brotli is taken as plain."""
    try:
        import brotli  # of aiohttp[speedups]; seldom needed
    except ImportError as error:
        raise ValueError("content coding 'br' needs the package brotli") from error
    try:
        data: bytes = brotli.Decompressor().process(payload, output_buffer_limit=MAX_BODY_BYTES + 1)
    except brotli.error:
        return payload
    return data


def _unzstd(payload: bytes) -> bytes:
    """zstd (RFC 8878; its window limit of 8 MB for the web is RFC 9659)."""
    if not payload.startswith(b"\x28\xb5\x2f\xfd"):
        return payload
    reader = zstandard.ZstdDecompressor(max_window_size=2**23).stream_reader(payload)
    return reader.read(MAX_BODY_BYTES + 1)


_CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "chunked": _dechunk,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
