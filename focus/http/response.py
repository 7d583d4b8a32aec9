"""Reads a response: headers, first bytes, and as much of the body as is needed.

The body of a 2xx response is read piece by piece, decoded within its limit, and checked by its
first bytes, so that a video or a bomb costs no more than those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote_from_bytes

from focus.config import FetchConfig
from focus.http.connection import Exchange
from focus.http.content_encoding import CodingError, Decoder, early_end_message
from focus.http.network_errors import NETWORK_ERRORS, classify_error
from focus.http.requests import ResponseHead
from focus.http.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from focus.http.semantics import SNIFF_BYTES, is_html, redirect_target
from focus.http.sitemap import MAX_BYTES as MAX_SOURCE_BYTES
from focus.http.sitemap import UrlSourceReader, is_url_source
from focus.i18n import msg
from focus.records import FailureKind, UrlSource

_ROBOTS_LIMIT_FACTOR = 2  # times the bytes read of a robots.txt, as more may be buffered
_SOURCE_STEP = 64 * 1024  # bytes of a sitemap or feed that are read at once
_HEADER_NAMES: dict[bytes, str] = {}  # raw -> lower case; most responses use the same few


class FetchFailed(Exception):
    """Ends a fetch from within its steps; never leaves the fetcher."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


FETCH_ERRORS = (FetchFailed, CodingError, *NETWORK_ERRORS)
"""Exceptions of a request and of reading its response that the server or network causes."""


def classify_failure(error: Exception) -> tuple[FailureKind, str]:
    """Return failure kind and detail of one of `FETCH_ERRORS`."""
    if isinstance(error, FetchFailed):
        return error.kind, error.detail
    if isinstance(error, CodingError):
        return FailureKind.PROTOCOL, str(error)
    return classify_error(error)


class IncomingResponse:
    """One response while it arrives, with the fields of `FetchResult`.

    reserve_bytes  called with the size of each piece; an awaitable result delays reading
    on_sent        called when the request is about to be sent
    """

    def __init__(
        self,
        config: FetchConfig,
        is_robots: bool,
        conditions: Mapping[str, str] | None = None,
        reserve_bytes: Callable[[int], Awaitable[None] | None] | None = None,
        on_sent: Callable[[], object] | None = None,
    ) -> None:
        self._config = config
        self._reserve_bytes = reserve_bytes
        self._is_robots = is_robots
        self.conditions = conditions or {}
        self.is_unchanged = False
        self.exchange = Exchange(config, on_sent)
        if is_robots:
            self.exchange.raise_byte_limit(_ROBOTS_LIMIT_FACTOR * MAX_ROBOTS_BYTES)
        self.status: int | None = None
        self.status_line = b""
        self.request = b""
        self.headers: tuple[tuple[str, str], ...] = ()
        self.body = b""
        self.raw_bytes = 0
        self.redirect_to: str | None = None
        self.retry_after_s: float | None = None
        self.is_truncated = False
        self.remark = ""
        self._reader: UrlSourceReader | None = None

    @property
    def url_source(self) -> UrlSource | None:
        """Parsed sitemap or feed; None for any other body."""
        return None if self._reader is None else self._reader.finish()

    def read_head(self, response: ResponseHead) -> None:
        """Store status line and headers."""
        self.status = response.status
        self.status_line = self.exchange.status_line
        self.headers = tuple(
            [(_header_name(key), _header_text(value)) for key, value in response.raw_headers]
        )

    async def read_body(self, response: ResponseHead) -> None:
        """Read, decode and check the body of a 2xx response; raise FetchFailed or CodingError."""
        limit = MAX_ROBOTS_BYTES if self._is_robots else self._config.max_body_bytes
        coding = ",".join(response.headers.getall("Content-Encoding", ()))
        decoder = Decoder(coding, limit) if coding else None
        pieces: list[bytes] = []
        length = response.content_length
        size, is_checked = 0, self._is_robots
        ended = False
        while not ended:
            piece = await response.content.readany()
            self.raw_bytes += len(piece)
            ended = not piece
            if decoder is not None:
                piece = decoder.finish() if ended else decoder.feed(piece)
                if decoder.is_complete and self.raw_bytes < size + len(piece) == length:
                    self.exchange.complete()  # its length is that of the decoded body
                    ended = True
            if (
                self._reserve_bytes is not None
                and (room := self._reserve_bytes(len(piece))) is not None
            ):
                await self.exchange.pause_during(room)
            pieces.append(piece)
            size += len(piece)
            if not is_checked and (size >= SNIFF_BYTES or ended):
                piece = b"".join(pieces)
                self._check_start(response, piece)
                is_checked = True
            if self._reader is not None:
                if await self._feed_reader(self._reader, piece):
                    break
                if size > limit:
                    pieces = []  # too large to store; its entries are read nevertheless
            elif size > limit or (decoder is not None and decoder.is_full):
                self._handle_overflow(limit)
                break
        if decoder is not None and decoder.cut_coding:
            self.is_truncated, self.remark = True, early_end_message(decoder.cut_coding)
        self.body = b"".join(pieces)[:limit]

    def _check_start(self, response: ResponseHead, head: bytes) -> None:
        """Raise FetchFailed if the headers or first bytes show that the body is not needed."""
        if self._config.any_type:
            return
        if not head:
            raise FetchFailed(
                FailureKind.EMPTY, msg("{status} without a body", status=response.status)
            )
        kind = response.headers.get("Content-Type")
        if self._config.sitemaps and is_url_source(head):
            self._reader = UrlSourceReader()
            self.exchange.raise_byte_limit(MAX_SOURCE_BYTES)
            return
        if not is_html(kind, head, self._config.content_types):
            raise FetchFailed(FailureKind.NOT_HTML, kind or msg("no Content-Type, and no HTML"))
        length = response.content_length or 0
        if length > self._config.max_raw_bytes:
            raise FetchFailed(FailureKind.TOO_LARGE, msg("{length} bytes announced", length=length))

    @staticmethod
    async def _feed_reader(reader: UrlSourceReader, piece: bytes) -> bool:
        """Feed a sitemap or feed in steps that let other tasks run; return whether to stop."""
        for start in range(0, len(piece), _SOURCE_STEP):
            reader.feed(piece[start : start + _SOURCE_STEP])
            await asyncio.sleep(0)
        return reader.is_full

    def _handle_overflow(self, limit: int) -> None:
        self.is_truncated = True
        if not self._is_robots:
            raise FetchFailed(
                FailureKind.TOO_LARGE, msg("over {limit} bytes after decoding", limit=limit)
            )
        self.exchange.complete()


def resolve_redirect(url: str, response: ResponseHead) -> str:
    """Return the absolute http(s) URL of a redirect; raise FetchFailed if it has none."""
    raw = next((value for key, value in response.raw_headers if key.lower() == b"location"), b"")
    location = _decode_location(raw).strip()
    target = redirect_target(url, location)
    if target is not None:
        return target
    status = response.status
    detail = (
        msg("{status} to {target}", status=status, target=location)
        if location
        else msg("{status} without a usable Location", status=status)
    )
    raise FetchFailed(FailureKind.REDIRECT, detail)


def _decode_location(raw: bytes) -> str:
    """Decode a Location header; bytes that are not UTF-8 are escaped, as in browsers."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return quote_from_bytes(raw, safe="".join(map(chr, range(0x21, 0x7F))))


def _header_name(raw: bytes) -> str:
    name = _HEADER_NAMES.get(raw)
    if name is None:
        name = raw.decode("latin-1").lower()
        if len(_HEADER_NAMES) < 1_000 and len(raw) <= 64:
            _HEADER_NAMES[raw] = name
    return name


def _header_text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
