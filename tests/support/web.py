"""A tiny web for tests, drawn in a few lines and fetched in memory or over real sockets.

A picture of a web in a few lines, then fetched in memory or over real sockets:

    web = TinyWeb()
    web.page("http://a.test/", links=["/b", ("http://b.test/", "more")], title="A")
    web.redirect("http://a.test/old", "http://a.test/")
    web.robots("a.test", "User-agent: *\\nDisallow: /private")

    result = await web.fetch("http://a.test/")      # the Fetcher's own signature
    async with web.serve() as address:              # FetchConfig(connect_to=address)
        ...
    assert web.urls() == ["http://a.test/", ...]

What was not drawn answers 404, and so does a robots.txt.
"""

import asyncio
import html
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from aiohttp import web as aiohttp_web
from aiohttp.test_utils import TestServer

from focus.http.semantics import (
    HTML_TYPES,
    classify_status,
    is_html,
    parse_retry_after,
    redirect_target,
)
from focus.records import FailureKind, FetchResult


class Hit(NamedTuple):
    """One request: its URL and when it came (by the web's clock)."""

    url: str
    at: float


@dataclass
class Answer:
    """What the tiny web says to one URL."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    failure: FailureKind | None = None


class TinyWeb:
    """Pages by URL, and a log of who asked for what.

    clock  Unix seconds of the log and of `fetched_at`
    sleep  how a slow answer waits; give both for a virtual time
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.log: list[Hit] = []
        self.unchanged: list[str] = []  # answered by 304
        self.answers: dict[str, Answer] = {}
        self.in_flight = 0
        self.most_in_flight = 0
        self._clock = clock
        self._sleep = sleep

    def page(
        self,
        url: str,
        *,
        links: Sequence[str | tuple[str, str]] = (),
        title: str = "",
        text: str = "",
        keywords: str = "",
        charset: str = "utf-8",
        head: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """An HTML page; a link is its address, or (address, anchor text)."""
        pairs = [(link, link) if isinstance(link, str) else link for link in links]
        anchors = "\n".join(
            f'<p><a href="{html.escape(to)}">{html.escape(anchor)}</a></p>' for to, anchor in pairs
        )
        markup = (
            f"<!doctype html><html><head><meta charset={charset}>"
            f'<title>{html.escape(title)}</title><meta name="keywords" '
            f'content="{html.escape(keywords)}">{head}</head>'
            f"<body><p>{html.escape(text)}</p>\n{anchors}</body></html>"
        )
        content_type = f"text/html; charset={charset}"
        self._put(
            url,
            Answer(
                headers={"content-type": content_type, **(headers or {})},
                body=markup.encode(charset, "xmlcharrefreplace"),
            ),
        )

    def redirect(self, url: str, target: str, status: int = 301) -> None:
        """`url` sends on to `target`, which stands in Location as given."""
        self._put(url, Answer(status=status, headers={"location": target}))

    def status(
        self, url: str, status: int, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """`url` answers with a bare status."""
        self._put(url, Answer(status=status, headers=dict(headers or {}), body=body))

    def robots(self, host: str, text: str, status: int = 200) -> None:
        """The robots.txt of a host (http and https alike)."""
        for scheme in ("http", "https"):
            answer = Answer(status, {"content-type": "text/plain"}, text.encode())
            self._put(f"{scheme}://{host}/robots.txt", answer)

    def slow(self, url: str, seconds: float) -> None:
        """`url`, drawn before or not, answers only after so many seconds."""
        answer = self.answers.setdefault(url, Answer(status=404))
        answer.delay_s = seconds

    def fail(self, url: str, failure: FailureKind) -> None:
        """`url` cannot be fetched at all; over sockets its connection is cut."""
        self._put(url, Answer(failure=failure))

    def urls(self, *, robots: bool = False) -> list[str]:
        """What was asked for, in order; robots.txt only on request."""
        return [hit.url for hit in self.log if robots or not hit.url.endswith("/robots.txt")]

    async def fetch(
        self,
        url: str,
        *,
        robots: bool = False,
        sent: Callable[[], object] | None = None,
        conditions: Sequence[tuple[str, str]] = (),
    ) -> FetchResult:
        """As `WebFetcher.fetch`, without a network."""
        if sent is not None:
            sent()
        asked_at = self._clock()
        answer = await self._ask(url)
        if ("If-None-Match", answer.headers.get("etag")) in conditions:
            return FetchResult(url, asked_at, status=304, is_unchanged=True)
        return self._result(url, answer, asked_at, robots)

    async def close(self) -> None:
        """As `WebFetcher.close`: nothing to do."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """A real server on loopback; gives "ADDR:PORT" for `connect_to`."""
        app = aiohttp_web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        server = TestServer(app)
        await server.start_server()
        try:
            yield f"{server.host}:{server.port}"
        finally:
            await server.close()

    async def _serve(self, request: aiohttp_web.Request) -> aiohttp_web.StreamResponse:
        target = f"{request.host}{request.raw_path}"
        scheme = "http" if f"http://{target}" in self.answers else "https"
        if f"{scheme}://{target}" not in self.answers:
            scheme = "http"
        answer = await self._ask(f"{scheme}://{target}")
        if answer.failure is not None:
            if request.transport is not None:
                request.transport.close()
            return aiohttp_web.Response()
        etag = answer.headers.get("etag")
        if etag is not None and request.headers.get("If-None-Match") == etag:
            self.unchanged.append(f"{scheme}://{target}")
            return aiohttp_web.Response(status=304)
        return aiohttp_web.Response(
            status=answer.status, headers=answer.headers, body=answer.body or None
        )

    async def _ask(self, url: str) -> Answer:
        self.log.append(Hit(url, self._clock()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self.answers.get(url) or Answer(status=404, body=b"not drawn")
            if answer.delay_s:
                await self._sleep(answer.delay_s)
            return answer
        finally:
            self.in_flight -= 1

    def _result(self, url: str, answer: Answer, asked_at: float, robots: bool) -> FetchResult:
        retry_after = answer.headers.get("retry-after")
        wait_s = parse_retry_after(retry_after, asked_at) if retry_after else None
        failure = answer.failure or classify_status(answer.status, wait_s is not None)
        target = None
        if failure is None and answer.status >= 300:
            target = redirect_target(url, answer.headers.get("location"))
            failure = FailureKind.REDIRECT if target is None else None
        elif failure is None and not robots:
            failure = _judge(answer)
        has_answer = answer.failure is None
        return FetchResult(
            url=url, fetched_at=asked_at, status=answer.status if has_answer else None,
            headers=tuple(answer.headers.items()) if has_answer else (),
            body=answer.body if failure is None and target is None else b"",
            raw_bytes=len(answer.body), elapsed_s=self._clock() - asked_at, failure=failure,
            detail=str(answer.status) if has_answer else "drawn to fail", redirect_to=target,
            retry_after_s=wait_s, address="192.0.2.1" if has_answer else None,
        )  # fmt: skip

    def _put(self, url: str, answer: Answer) -> None:
        assert urlsplit(url).path, f"{url} needs a path, as every normal URL has one"
        before = self.answers.get(url)
        answer.delay_s = before.delay_s if before else 0.0
        self.answers[url] = answer


def _judge(answer: Answer) -> FailureKind | None:
    if not answer.body:
        return FailureKind.EMPTY
    kind = answer.headers.get("content-type")
    return None if is_html(kind, answer.body, HTML_TYPES) else FailureKind.NOT_HTML
