"""Reads a response: headers, first bytes, and as much of the body as is wanted.

The body of a 2xx answer is read piece by piece, decoded within its cap, and judged
by its first bytes, so that a film or a bomb costs no more than those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote_from_bytes

from focus.config import FetchConfig
from focus.http.connection import Exchange
from focus.http.content_encoding import CodingError, Decoder, ends_early
from focus.http.network_errors import SERVER_FAULTS, explain
from focus.http.requests import ServerAnswer
from focus.http.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from focus.http.semantics import SNIFF_BYTES, is_html, redirect_target
from focus.http.sitemap import MAX_BYTES as MAX_LISTING_BYTES
from focus.http.sitemap import ListingReader, is_listing
from focus.i18n import msg
from focus.records import FailureKind, UrlSource

_ROBOTS_ALLOWANCE = 2  # times what is read of a robots.txt: more may lie in buffers when we stop
_LISTING_STEP = 64 * 1024  # bytes of a listing that are read in one go
_HEADER_NAMES: dict[bytes, str] = {}  # raw -> lower case; most answers use the same few


class FetchFailed(Exception):
    """Ends a fetch from within its steps; never leaves the fetcher."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


FETCH_ERRORS = (FetchFailed, CodingError, *SERVER_FAULTS)
"""What a request and the reading of its answer can raise through no fault of ours."""


def failure_of(error: Exception) -> tuple[FailureKind, str]:
    """The kind of failure that one of `FETCH_ERRORS` is, and its reason for people."""
    if isinstance(error, FetchFailed):
        return error.kind, error.detail
    if isinstance(error, CodingError):
        return FailureKind.PROTOCOL, str(error)
    return explain(error)


class IncomingResponse:
    """One answer as it comes in, in the fields of `FetchResult`."""

    def __init__(
        self,
        config: FetchConfig,
        robots: bool,
        conditions: Mapping[str, str] | None = None,
        grow: Callable[[int], Awaitable[None] | None] | None = None,
        sent: Callable[[], object] | None = None,
    ) -> None:
        self._config = config
        self._grow = grow
        self._robots = robots
        self.conditions = conditions or {}
        self.unchanged = False
        self.exchange = Exchange(config, sent)
        if robots:
            self.exchange.allow(_ROBOTS_ALLOWANCE * MAX_ROBOTS_BYTES)
        self.status: int | None = None
        self.status_line = b""
        self.request = b""
        self.headers: tuple[tuple[str, str], ...] = ()
        self.body = b""
        self.raw_bytes = 0
        self.redirect_to: str | None = None
        self.retry_after_s: float | None = None
        self.truncated = False
        self.remark = ""
        self._reader: ListingReader | None = None

    @property
    def listing(self) -> UrlSource | None:
        """What a sitemap or feed lists, once it was read."""
        return None if self._reader is None else self._reader.finish()

    def take_head(self, response: ServerAnswer) -> None:
        self.status = response.status
        self.status_line = response.status_line
        self.headers = tuple([(_name(key), _text(value)) for key, value in response.raw_headers])

    async def read(self, response: ServerAnswer) -> None:
        """Read, decode and judge the body of a 2xx answer; raises FetchFailed, CodingError."""
        limit = MAX_ROBOTS_BYTES if self._robots else self._config.max_body_bytes
        coding = response.headers.get("Content-Encoding")
        decoder = Decoder(coding, limit) if coding else None
        pieces: list[bytes] = []
        size, judged = 0, self._robots
        ended = False
        while not ended:
            piece = await response.content.readany()
            self.raw_bytes += len(piece)
            ended = not piece
            if decoder is not None:
                piece = decoder.finish() if ended else decoder.feed(piece)
            if self._grow is not None and (room := self._grow(len(piece))) is not None:
                await self.exchange.halted(room)
            pieces.append(piece)
            size += len(piece)
            if not judged and (size >= SNIFF_BYTES or ended):
                piece = b"".join(pieces)
                self._judge(response, piece)
                judged = True
            if self._reader is not None:
                if await self._list(self._reader, piece):
                    break
                if size > limit:
                    pieces = []  # too large to be kept; it was read all the same
            elif size > limit or (decoder is not None and decoder.full):
                self._overflow(limit)
                break
        if decoder is not None and decoder.cut:
            self.truncated, self.remark = True, ends_early(decoder.cut)
        self.body = b"".join(pieces)[:limit]

    def _judge(self, response: ServerAnswer, head: bytes) -> None:
        """Whether it is worth going on, once the first bytes are there."""
        if self._config.any_type:
            return
        if not head:
            raise FetchFailed(
                FailureKind.EMPTY, msg("{status} without a body", status=response.status)
            )
        kind = response.headers.get("Content-Type")
        if self._config.sitemaps and is_listing(head):
            self._reader = ListingReader()
            self.exchange.allow(MAX_LISTING_BYTES)
            return
        if not is_html(kind, head, self._config.content_types):
            raise FetchFailed(FailureKind.NOT_HTML, kind or msg("no Content-Type, and no HTML"))
        length = response.content_length or 0
        if length > self._config.max_raw_bytes:
            raise FetchFailed(FailureKind.TOO_LARGE, msg("{length} bytes announced", length=length))

    @staticmethod
    async def _list(reader: ListingReader, piece: bytes) -> bool:
        """Read on in a listing, letting others have their turn; whether that is enough."""
        for start in range(0, len(piece), _LISTING_STEP):
            reader.feed(piece[start : start + _LISTING_STEP])
            await asyncio.sleep(0)
        return reader.full

    def _overflow(self, limit: int) -> None:
        self.truncated = True
        if not self._robots:
            raise FetchFailed(
                FailureKind.TOO_LARGE, msg("over {limit} bytes after decoding", limit=limit)
            )
        self.exchange.settle()


def redirect(url: str, response: ServerAnswer) -> str:
    """Where a redirect leads, absolute and http(s); raises FetchFailed."""
    raw = next((value for key, value in response.raw_headers if key.lower() == b"location"), None)
    target = redirect_target(url, None if raw is None else _location(raw))
    if target is None:
        raise FetchFailed(
            FailureKind.REDIRECT, msg("{status} without a usable Location", status=response.status)
        )
    if not target.lower().startswith(("http://", "https://")):
        raise FetchFailed(
            FailureKind.REDIRECT, msg("{status} to {target}", status=response.status, target=target)
        )
    return target


def _location(raw: bytes) -> str:
    """Location as text; bytes that are no UTF-8 become escapes, as in browsers."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return quote_from_bytes(raw, safe="".join(map(chr, range(0x21, 0x7F))))


def _name(raw: bytes) -> str:
    name = _HEADER_NAMES.get(raw)
    if name is None:
        name = raw.decode("latin-1").lower()
        if len(_HEADER_NAMES) < 1_000 and len(raw) <= 64:
            _HEADER_NAMES[raw] = name
    return name


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
