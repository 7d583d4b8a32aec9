"""Answers the requests of pages in the browser with the crawl's own fetcher, within limits.

Scripts, and data that scripts load (XHR, fetch), are requested by GET only, so that no data is
changed. Stylesheets get an empty response without a request, because some scripts wait for theirs.
All other requests (pictures, fonts, media, frames, beacons, uploads) fail. Data obeys the
robots.txt of its host; a script is part of the page. A host gets one request at a time. Responses
are cached for later pages of the crawl, so that resources of all pages of a site are requested
once; a page that requests the same data again gets it from the server.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from focus.fetch import WebFetcher
from focus.http.robots import Robots, robots_from_response
from focus.records import FailureKind, FetchResult
from focus.urls.normal_form import normalise, url_host

MAX_REQUESTS = 100
"""Maximum number of requests of one page."""
MAX_BYTES = 32 * 2**20
"""Maximum number of bytes that one page may receive."""
MAX_CACHED_BYTES = 32 * 2**20
"""Maximum size of the responses that are cached for other pages."""
_MAX_HOPS = 5
_MAX_RULES = 1_000  # hosts whose robots.txt is cached
_MAX_FIELDS, _MAX_VALUE = 30, 4_000
_DATA = ("XHR", "Fetch")
_NOT_SENT = ("host", "user-agent", "cookie", "connection", "content-length", "range", "te")
_NOT_SENT_PREFIXES = ("sec-", "proxy-", "if-", "accept-encoding", "transfer-", "upgrade")
_NOT_PASSED = ("set-cookie", "content-encoding", "content-length", "transfer-encoding", "refresh")


_Key = tuple[str, tuple[tuple[str, str], ...]]
"""URL and headers of a request."""


class Answer(NamedTuple):
    """A server's response in the form that the browser gets."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


_STYLES = Answer(200, (("content-type", "text/css"), ("access-control-allow-origin", "*")))


class Allowance:
    """Number of requests of one page so far, and of bytes received for them.

    loaded   requests for data that were answered
    """

    def __init__(self) -> None:
        self.requests = self.bytes = 0
        self.loaded: set[_Key] = set()

    @property
    def is_used_up(self) -> bool:
        """Whether further requests of the page are refused."""
        return self.requests >= MAX_REQUESTS or self.bytes >= MAX_BYTES


class SubRequests:
    """Answers the requests of all pages of a crawl.

    own, others   fetchers for the page's own host, with the user's credentials, and for others
    agent         product name for robots.txt; None ignores robots.txt
    """

    def __init__(self, own: WebFetcher, others: WebFetcher, *, agent: str | None) -> None:
        self._own, self._others = own, others
        self._agent = agent
        self._host_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._cache: OrderedDict[_Key, Answer] = OrderedDict()
        self._cached_bytes = 0
        self._rules: OrderedDict[str, Robots] = OrderedDict()

    async def answer(
        self, page: str, kind: str, request: Mapping[str, Any], allowance: Allowance
    ) -> Answer | None:
        """Return the response to a request of a page; None lets it fail.

        `kind` and `request` have the form of DevTools.
        """
        url = normalise(str(request.get("url", "")))
        if url is None or not url.startswith(("http://", "https://")):
            return None
        method = request.get("method")
        headers = {str(name).lower(): str(value) for name, value in request["headers"].items()}
        if method == "OPTIONS":
            return _preflight_answer(headers)
        if kind == "Stylesheet":
            return _STYLES
        if method != "GET" or kind not in ("Script", *_DATA) or "sec-purpose" in headers:
            return None  # the last: prefetched for another page
        async with self._host_locks.setdefault(url_host(url), asyncio.Lock()):
            sent = () if kind == "Script" else tuple(_page_headers(headers))
            key = url, tuple(field for field in sent if field[0] != "referer")
            if key not in allowance.loaded and (cached := self._cache.get(key)) is not None:
                self._cache.move_to_end(key)
                allowance.loaded.update([key] if kind in _DATA else [])
                return cached
            if kind in _DATA and not await self._is_allowed(url, allowance):
                return None
            fetch = await self._fetch(page, url, sent or tuple(_page_headers(headers)), allowance)
        answer = None if fetch is None else _to_answer(fetch)
        if kind in _DATA:
            allowance.loaded.add(key)
        if answer is not None and answer.status in (200, 404, 410):
            self._store(key, answer)
        return answer

    async def _fetch(
        self, page: str, url: str, sent: tuple[tuple[str, str], ...], allowance: Allowance
    ) -> FetchResult | None:
        if allowance.is_used_up:
            return None
        allowance.requests += 1
        fetcher = self._own if url_host(page) == url_host(url) else self._others
        fetch = await fetcher.fetch(url, conditions=sent)
        allowance.bytes += fetch.raw_bytes
        return fetch

    async def _is_allowed(self, url: str, allowance: Allowance) -> bool:
        """Return whether the robots.txt of its host allows a URL."""
        if self._agent is None:
            return True
        scheme, _, rest = url.partition("://")
        origin = f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"
        rules = self._rules.get(origin)
        if rules is None:
            rules = self._rules[origin] = await self._read_rules(f"{origin}/robots.txt", allowance)
            if len(self._rules) > _MAX_RULES:
                self._rules.popitem(last=False)
        return rules.allows(url, self._agent)

    async def _read_rules(self, url: str, allowance: Allowance) -> Robots:
        for _ in range(_MAX_HOPS):
            fetch = await self._others.fetch(url, robots=True)
            allowance.bytes += fetch.raw_bytes
            if fetch.redirect_to is None or (url := normalise(fetch.redirect_to) or "") == "":
                break
        if fetch.failure in (FailureKind.HTTP_4XX, FailureKind.EMPTY) or fetch.redirect_to:
            return robots_from_response(404, b"")
        return robots_from_response(None if fetch.failure else fetch.status, fetch.body)

    def _store(self, key: _Key, answer: Answer) -> None:
        """Cache a response for other pages, unless its server forbids it."""
        if "no-store" in dict(answer.headers).get("cache-control", ""):
            return
        old = self._cache.pop(key, None)
        self._cached_bytes += len(answer.body) - (0 if old is None else len(old.body))
        self._cache[key] = answer
        while self._cached_bytes > MAX_CACHED_BYTES:
            self._cached_bytes -= len(self._cache.popitem(last=False)[1].body)

    async def close(self) -> None:
        """Close all connections."""
        await self._own.close()
        await self._others.close()


def _page_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the header fields that are sent as the page set them."""
    for name, value in list(headers.items())[:_MAX_FIELDS]:
        is_ours = name in _NOT_SENT or name.startswith(_NOT_SENT_PREFIXES)
        if not is_ours and len(value) <= _MAX_VALUE and value.isprintable() and name.isascii():
            yield name, value


def _to_answer(fetch: FetchResult) -> Answer | None:
    """Return a response as the browser may see it; None if there was none."""
    if fetch.status is None:
        return None
    headers = tuple((name, value) for name, value in fetch.headers if name not in _NOT_PASSED)
    if fetch.redirect_to is not None:
        fields = tuple(field for field in headers if field[0] != "location")
        return Answer(fetch.status, (*fields, ("location", fetch.redirect_to)))
    if fetch.failure is not None and fetch.failure is not FailureKind.EMPTY and fetch.status < 400:
        return None
    return Answer(fetch.status, headers, fetch.body)


def _preflight_answer(headers: Mapping[str, str]) -> Answer:
    """Return the response to a CORS preflight request, which allows GET only.

    The other host itself decides on the request that follows.
    """
    names = headers.get("access-control-request-headers", "")
    return Answer(
        204,
        (
            ("access-control-allow-origin", headers.get("origin", "*")),
            ("access-control-allow-methods", "GET"),
            ("access-control-allow-headers", names),
            ("access-control-allow-credentials", "true"),
        ),
    )
