# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Bodies without end, bodies that drip, bombs in every coding, and types that lie."""

import gzip
import zlib
from functools import cache

import brotli

from focus.http import zstd
from tests.hostile.case import (
    CHUNKED,
    HEAD,
    MIB,
    START,
    Case,
    Expect,
    Script,
    Talk,
    dropped,
    endless,
    failed,
    markup,
    raw,
    reply,
)

SMALL = 512 * 1024
BOMBS = ("gzip", "deflate", "br", "zstd")
_CUT = Expect(failed("too-large"))
_LATE = Expect(failed("timeout", "too-slow"), bytes=SMALL)
_BROKEN = Expect(failed("protocol", "reset"), bytes=SMALL)
_BOMB = Expect(failed("too-large"), bytes=SMALL)


@cache
def bomb(coding: str) -> bytes:
    """64 MiB of a page in as few bytes as may be."""
    unit, last = START + b" " * MIB, 64
    if coding == "br":
        packer = brotli.Compressor(quality=5, lgwin=22)
        return b"".join([*(packer.process(unit) for _ in range(last)), packer.finish()])
    if coding == "zstd":
        return zstd.compress(unit * last, 3)
    packed = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    return b"".join([*(packed.compress(unit) for _ in range(last)), packed.flush()])


def coded(body: bytes, coding: str) -> Script:
    return reply(body, headers=[f"Content-Encoding: {coding}"])


def _lazy(coding: str, *around: str) -> Script:
    """A bomb that is made when it is asked for, in further wrappings."""

    async def script(talk: Talk) -> None:
        body = bomb(coding)
        for wrap in around:
            body = {"gzip": gzip.compress, "br": brotli.compress}[wrap](body)
        await coded(body, ", ".join((coding, *around)))(talk)

    return script


_WIDE: dict[int, int] = {
    zstd.CompressionParameter.window_log: 27,
    zstd.CompressionParameter.compression_level: 1,
}

CASES = [
    Case("endless-body", "sends a body without length that never ends",
         endless(HEAD + b"\r\n" + START, b"word " * 3000), _CUT),
    Case("endless-chunks", "sends chunks for ever", endless(CHUNKED, b"1000\r\n" + b"w" * 4096 + b"\r\n"), _CUT),
    Case("endless-spaces", "sends a page of white space for ever", endless(HEAD + b"\r\n", b" " * 16384), _CUT),
    Case("endless-one-line", "sends one line for ever", endless(HEAD + b"\r\n" + START, b"x" * 16384), _CUT),
    Case("endless-film", "sends a film for ever, and says so",
         endless(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n\0\0\0\x18ftypmp42", b"\0" * 9999),
         Expect(dropped("not-html"), bytes=5 * MIB)),
    Case("endless-film-as-html", "sends a film for ever, as text/html",
         endless(HEAD + b"\r\n\0\0\0\x18ftypmp42", b"\0" * 9999), Expect(dropped("not-html"), bytes=5 * MIB)),
    Case("endless-404", "sends a 404 with a body that never ends",
         endless(b"HTTP/1.1 404 Not Found\r\n\r\n", b"no " * 3000), Expect(failed("http-4xx"))),
    Case("endless-500", "sends a 500 with a body that never ends",
         endless(b"HTTP/1.1 500 Oh\r\n\r\n", b"no " * 3000), Expect(failed("http-5xx"))),
    Case("endless-redirect", "sends a redirect with a body that never ends",
         endless(b"HTTP/1.1 302 Found\r\nLocation: /after\r\n\r\n", b"go " * 3000),
         Expect(dropped("redirected"))),
    Case("drip-body", "sends a byte of its page every 50 ms", endless(HEAD + b"\r\n" + START, b"w", 0.05),
         _LATE),
    Case("drip-chunks", "sends a chunk of a byte every 50 ms", endless(CHUNKED, b"1\r\nw\r\n", 0.05), _LATE),
    Case("drip-headers", "sends a header line every 50 ms",
         endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", 0.05), _LATE),
    Case("drip-status", "sends its status line a byte at a time",
         raw(*[bytes([b]) for b in b"HTTP/1.1 200 OK" * 20], pause_s=0.05), _LATE),
    Case("drip-404", "drips the body of a 404", endless(b"HTTP/1.1 404 Not Found\r\n\r\n", b"n", 0.05),
         Expect(failed("http-4xx"))),
    Case("silent", "takes the request and says nothing", raw(b"", then="hang"), _LATE),
    Case("silent-after-head", "sends headers and no body",
         raw(HEAD + b"Content-Length: 99\r\n\r\n", then="hang"), _LATE),
    Case("silent-mid-body", "stops in the middle of the body",
         raw(HEAD + b"Content-Length: 9999\r\n\r\n" + START, then="hang"), _LATE),
    Case("slow-but-honest", "sends its page in three pieces, half a second apart",
         raw(HEAD + b"\r\n" + b"<title>slow</title>" + b"w " * 2000, b"x " * 2000, b"y " * 2000, pause_s=0.4),
         Expect(title="slow")),
    Case("announced-terabyte", "announces a terabyte",
         endless(HEAD + b"Content-Length: 1099511627776\r\n\r\n" + START + b"w" * 2000, b"w" * 9999),
         Expect(failed("too-large"))),
    Case("empty-page", "sends a page of no bytes", reply(b""), Expect(failed("empty"))),
    Case("no-content", "answers 204", raw(b"HTTP/1.1 204 No Content\r\n\r\n"), Expect(failed("empty"))),
    Case("reset-content", "answers 205 without length", raw(b"HTTP/1.1 205 Reset Content\r\n\r\n"),
         Expect(failed("empty", "reset"))),
    *[Case(f"bomb-{coding}", f"sends 64 MiB as a few KB of {coding}", _lazy(coding), _BOMB) for coding in BOMBS],
    Case("bomb-gzip-gzip", "packs a bomb twice", _lazy("gzip", "gzip"), _BOMB),
    Case("bomb-br-gzip", "packs a brotli bomb in gzip", _lazy("br", "gzip"), _BOMB),
    Case("bomb-zstd-br-gzip", "packs a bomb three times", _lazy("zstd", "br", "gzip"), _BOMB),
    Case("bomb-four-layers", "packs a page four times",
         coded(gzip.compress(gzip.compress(gzip.compress(gzip.compress(START)))), "gzip, gzip, gzip, gzip"),
         _BROKEN),
    Case("bomb-hundred-layers", "names a hundred codings", coded(START, ", ".join(["gzip"] * 100)), _BROKEN),
    Case("bomb-in-404", "sends a bomb with a 404",
         reply(gzip.compress(b"no" * MIB), status="404 No", headers=["Content-Encoding: gzip"]),
         Expect(failed("http-4xx"), bytes=SMALL)),
    Case("gzip-members", "sends 20,000 empty gzip members", coded(gzip.compress(b"", mtime=0) * 20_000, "gzip"),
         _BROKEN),
    Case("zstd-wide-window", "asks for a window of 128 MiB",
         coded(zstd.compress(START + b"w" * 4096, options=_WIDE), "zstd"),
         Expect(("done", *failed("protocol")), bytes=SMALL)),
    Case("gzip-cut", "breaks its gzip off",
         coded(gzip.compress(markup("cut").encode() + bytes(range(256)) * 40)[:-40], "gzip"),
         Expect(title="cut")),
    Case("coding-unknown", "names a coding that nobody knows", coded(markup("odd").encode(), "x-rot13"),
         Expect(("done", *failed("protocol")))),
    Case("image-as-html", "calls a picture text/html", reply(b"\x89PNG\r\n\x1a\n" + b"\0" * 500),
         Expect(dropped("not-html"))),
    Case("pdf-as-html", "calls a PDF text/html", reply(b"%PDF-1.7\n" + b"x" * 500), Expect(dropped("not-html"))),
    Case("html-as-image", "calls a page image/png", reply(markup("hidden"), kind="image/png"),
         Expect(title="hidden")),
    Case("html-as-nothing", "does not say what it sends", reply(markup("untyped"), kind=None),
         Expect(title="untyped")),
    Case("type-nonsense", "calls a page by a type that is none", reply(markup("nonsense"), kind=";;=,\"html"),
         Expect(title="nonsense")),
    Case("type-endless", "gives a Content-Type of 20 KB",
         reply(markup("long type"), kind="text/html; " + "a=b; " * 4000), Expect(title="long type")),
    Case("location-and-body", "sends a page with 200 and a Location",
         reply(markup("both"), headers=["Location: file:///etc/passwd"]), Expect(title="both")),
    Case("twice-typed", "sends two Content-Types", reply(markup("twice"), headers=["Content-Type: image/png"]),
         Expect(title="twice")),
    Case("slow-redirect", "sends a redirect line by line",
         raw(b"HTTP/1.1 302 Found\r\n", b"Location: /after\r\n", b"Content-Length: 0\r\n", b"\r\n", pause_s=0.1),
         Expect(dropped("redirected"))),
]  # fmt: skip
