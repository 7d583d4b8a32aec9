"""Transports: send tasks to the web or to a recorded web, and return their results.

    LiveTransport     one asyncio task per request: fetch, then score in a worker
    ReplayTransport   a recorded web with a virtual clock, in the same order everywhere

Both take a `Task` and return a `Result`, so the crawl does not know which web it uses.
`cluster.transport` implements the same methods over a message broker.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from focus.engine.body_memory import BodyMemory, Reserve
from focus.html.size_guard import MAX_BYTES
from focus.http.semantics import apply_refresh
from focus.http.sitemap import entries_to_html
from focus.records import FetchResult, Link, Page, Result, SiteTemplate, Task, UrlSource
from focus.workers.messages import Job

if TYPE_CHECKING:
    from focus.fetch import WebFetcher  # loads the HTTP client, which a recorded web does not need

_UTF8_HTML = "text/html; charset=utf-8"
SOURCE_CHUNK = 1000  # links of a sitemap or feed that are scored at once
UNBOUNDED = 1 << 60
MAX_UNSCORED = 64  # pages that may wait for a worker while their hosts are requested again
MAX_DOCUMENTS = 8  # documents with routes that are kept


async def wait_for(ready: asyncio.Event, seconds: float | None) -> None:
    """Clear an event and wait until it is set or the time is over; None waits without limit."""
    ready.clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None if seconds is None else max(0.0, seconds)):
            await ready.wait()


class Scorer(Protocol):
    """Parser and relevance model."""

    async def score(self, job: Job) -> Page:
        """Return the page, with `failure` set if it cannot be read."""

    async def update(self, payload: bytes) -> None:
        """Use a changed topic or model for later pages."""

    async def close(self) -> None:
        """Stop the workers."""


class Transport:
    """Base class of what sends tasks and returns results; what a subclass leaves out does nothing.

    now                returns the time of the crawl's clock in Unix seconds
    in_flight          tasks that were sent and whose results were not received yet
    is_live            whether the clock is real time
    supports_lookups   whether it performs DNS lookups (`Task.is_lookup`)
    window             maximum number of concurrent tasks
    is_remote          whether other processes send the requests, at times known only afterwards
    """

    now: Callable[[], float]
    in_flight: int = 0
    is_live: bool = False
    is_remote: bool = False
    supports_lookups: bool = False

    @property
    def window(self) -> int:
        return UNBOUNDED

    def send(self, task: Task) -> None:
        """Start a task without blocking."""

    async def receive(self, until: float | None) -> list[Result]:
        """Return results as they arrive.

        Returns [] when the time `until` passes, when `wake` is called, or when `sent_tasks` or
        `unscored_answers` have something to return.
        """
        return []

    def sent_tasks(self) -> list[tuple[Task, float]]:
        """Return (task, time) of tasks with `Task.should_report_send` sent since the last call.

        Tasks that will never be sent are included. A transport that sends each task exactly at its
        `start_at` has none.
        """
        return []

    def unscored_answers(self) -> list[tuple[Task, FetchResult]]:
        """Return responses since the last call whose pages still wait to be scored, if any."""
        return []

    async def update(self, payload: bytes) -> None:
        """Send a changed topic or model to the workers; later pages are scored with it."""

    async def score_again(self, url: str, source: bytes, template: SiteTemplate) -> Page | None:
        """Return a page scored with another template of its host; None if it is not possible.

        `source` is the page in UTF-8, empty if it is not stored.
        """
        return None

    def wake(self) -> None:
        """End a waiting `receive`."""

    def cancel(self) -> None:
        """Cancel all tasks in flight; they return no result."""

    async def close(self) -> None:
        """Cancel all tasks and close connections and workers."""


class Clock:
    """Clock in Unix seconds that never jumps: the wall clock at the start plus monotonic time."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


async def _score_response(scorer: Scorer, task: Task, fetch: FetchResult) -> Result:
    if task.id is None or fetch.redirect_to is not None or fetch.is_unchanged:
        return Result(task, fetch)
    if fetch.url_source is not None:
        return Result(task, fetch, await _score_source(scorer, fetch.url, fetch.url_source))
    if fetch.failure:
        return Result(task, *apply_refresh(fetch, None))
    kind, body = fetch.header("content-type"), fetch.body
    if "html" in (kind or ""):
        body = body[:MAX_BYTES]  # the rest would not be parsed
    job = Job(fetch.url, body, kind, task.template, task.software, fetch.fetched_at)
    page = await scorer.score(job)
    return Result(task, *apply_refresh(fetch, page))


async def score_stored_page(
    scorer: Scorer, url: str, source: bytes, template: SiteTemplate
) -> Page | None:
    """Return a page scored from its source in UTF-8; None without it."""
    if not source:
        return None
    return await scorer.score(Job(url, source, _UTF8_HTML, template))


async def _score_source(scorer: Scorer, url: str, listing: UrlSource) -> Page:
    """Score a sitemap or feed as a page of links only, in parts of a page's size."""
    links: list[Link] = []
    page = Page()
    entries = [] if listing.kind == "index" else listing.entries
    for start in range(0, len(entries), SOURCE_CHUNK):
        body = entries_to_html(entries[start : start + SOURCE_CHUNK])
        page = await scorer.score(Job(url, body, _UTF8_HTML))
        links += page.links
    return Page(links=links, relevance=page.relevance, failure=page.failure, detail=page.detail)


class SendNotice:
    """Tells once when a request has gone out."""

    def __init__(self, task: Task, tell: Callable[[Task], None]) -> None:
        self._task, self._tell = task, tell
        self._is_notified = False

    def notify_soon(self) -> None:
        """Notify in the next round of the event loop, when the request has been written."""
        asyncio.get_running_loop().call_soon(self.notify_now)

    def notify_now(self) -> None:
        """Notify now, since the request was sent or its fetch has ended."""
        if not self._is_notified:
            self._is_notified = True
            self._tell(self._task)


class LiveTransport(Transport):
    """Requests over the network.

    locate   resolves the IP address for a URL, "" if there is none
    bodies   limits the memory of response bodies; None sets no limit
    render   renders scored pages in a browser; None renders none
    tells    report responses whose pages wait for a worker, up to `MAX_UNSCORED` at a time
    """

    is_live = True

    def __init__(
        self,
        fetcher: WebFetcher,
        scorer: Scorer,
        *,
        clock: Callable[[], float],
        observe: Callable[[FetchResult], object] | None = None,
        locate: Callable[[str], Awaitable[str]] | None = None,
        bodies: BodyMemory | None = None,
        render: Callable[[Result], Awaitable[Result]] | None = None,
        tells: bool = False,
    ) -> None:
        self.now = clock
        self._reports_answers = tells and render is None  # a browser sends further requests
        self._unscored = 0
        self._render = render
        self._bodies = bodies
        self.supports_lookups = locate is not None
        self._locate = locate
        self.in_flight = 0
        self._departed: list[tuple[Task, float]] = []
        self._answered: list[tuple[Task, FetchResult]] = []
        self._fetcher = fetcher
        self._scorer = scorer
        self._observe = observe
        self._documents: dict[str, FetchResult] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: list[Result] = []
        self._ready = asyncio.Event()
        self._failed: BaseException | None = None

    def send(self, task: Task) -> None:
        """Start a request."""
        self.in_flight += 1
        running = asyncio.create_task(self._run_task(task))
        self._tasks.add(running)
        running.add_done_callback(self._finish_task)

    async def _run_task(self, task: Task) -> None:
        if task.is_lookup and self._locate is not None:
            asked_at, address = self.now(), await self._locate(task.url)
            self._done.append(Result(task, FetchResult(task.url, asked_at, address=address)))
            return
        wait_s = task.start_at - self.now()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        if self._bodies is None:
            result = await self._result(task, None)
        else:
            owner = object()
            try:
                result = await self._result(task, partial(self._bodies.reserve, owner))
            finally:
                self._bodies.free(owner)
        self._done.append(result)  # `receive` may have replaced the list meanwhile

    async def _result(self, task: Task, grow: Reserve | None) -> Result:
        fetch = await self._fetch_document(task, grow)
        result = await self._score(task, fetch)
        if task.id is None:
            return result
        if self._render is not None:
            result = await self._render(result)
        return Result(
            task, msgspec.structs.replace(result.fetch, body=b"", request=b""), result.page
        )

    async def _score(self, task: Task, fetch: FetchResult) -> Result:
        if (
            not self._reports_answers
            or task.id is None
            or fetch.failure
            or self._unscored >= MAX_UNSCORED
        ):
            return await _score_response(self._scorer, task, fetch)
        self._answered.append((task, fetch))
        self._ready.set()
        self._unscored += 1
        try:
            return await _score_response(self._scorer, task, fetch)
        finally:
            self._unscored -= 1

    async def _fetch_document(self, task: Task, grow: Reserve | None) -> FetchResult:
        """Return the response to a task; routes (`#/route`) of one document need one request."""
        document, is_route, _ = task.url.partition("#")
        if is_route and (known := self._documents.get(document)) is not None:
            if task.should_report_send:
                self._record_sent(task)
            return msgspec.structs.replace(
                known, url=task.url, fetched_at=self.now(), elapsed_s=0.0, raw_bytes=0
            )
        fetch = await self._fetch(task, grow)
        if self._observe is not None:
            self._observe(fetch)
        if is_route and fetch.status == 200 and fetch.redirect_to is None and not fetch.failure:
            if len(self._documents) >= MAX_DOCUMENTS:
                self._documents.pop(next(iter(self._documents)))
            self._documents[document] = fetch
        return fetch

    async def _fetch(self, task: Task, grow: Reserve | None) -> FetchResult:
        fetch = partial(
            self._fetcher.fetch,
            task.url,
            robots=task.id is None,
            conditions=task.conditional_headers,
        )
        if grow is not None:
            fetch = partial(fetch, grow=grow)
        if not task.should_report_send:
            return await fetch()
        going = SendNotice(task, self._record_sent)
        try:
            return await fetch(sent=going.notify_soon)
        finally:
            going.notify_now()

    def _record_sent(self, task: Task) -> None:
        self._departed.append((task, self.now()))
        self._ready.set()

    def _finish_task(self, running: asyncio.Task[None]) -> None:
        self._tasks.discard(running)
        if running.cancelled():
            self.in_flight -= 1  # nothing will be received
        elif running.exception() is not None:
            self._failed = running.exception()
        self._ready.set()

    async def receive(self, until: float | None) -> list[Result]:
        """Return all results, waiting for at least one unless the wait is ended."""
        if not (self._done or self._departed or self._answered):
            await wait_for(self._ready, None if until is None else until - self.now())
        if self._failed is not None:
            raise self._failed
        done, self._done = self._done, []
        self.in_flight -= len(done)
        return done

    def sent_tasks(self) -> list[tuple[Task, float]]:
        """Return the tasks whose requests were sent since the last call."""
        departed, self._departed = self._departed, []
        return departed

    def unscored_answers(self) -> list[tuple[Task, FetchResult]]:
        """Return the responses since the last call."""
        answered, self._answered = self._answered, []
        return answered

    async def update(self, payload: bytes) -> None:
        """Pass it on to the workers."""
        await self._scorer.update(payload)

    async def score_again(self, url: str, source: bytes, template: SiteTemplate) -> Page | None:
        """Return the page as a worker scores it; None without its source."""
        return await score_stored_page(self._scorer, url, source, template)

    def wake(self) -> None:
        """End a waiting `receive`."""
        self._ready.set()

    def cancel(self) -> None:
        """Cancel the tasks under way."""
        for running in tuple(self._tasks):
            running.cancel()

    async def close(self) -> None:
        """Cancel what is under way and close fetcher and scorer."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._fetcher.close()
        await self._scorer.close()


class RecordedWeb(Protocol):
    """A recorded web: answers by URL, at once."""

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """Return the stored response; 404 for an unknown URL."""


def latency_s(url: str) -> float:
    """Virtual seconds a request takes: 0.05 to 0.15, the same for a URL everywhere."""
    return 0.05 + 0.1 * zlib.crc32(url.encode("utf-8", "replace")) / 2**32


class ReplayTransport(Transport):
    """Requests to a recorded web. Time is virtual: waiting costs nothing, but counts.

    A request takes 50 to 150 ms of virtual time, by a hash of its URL, so that
    results come in the same order on every machine and at any number of workers.

    score_again  scores a page of the recorded web with a template, where no sources are stored
    """

    def __init__(
        self,
        world: RecordedWeb,
        scorer: Scorer,
        *,
        start: float = 0.0,
        score_again: Callable[[str, SiteTemplate], Awaitable[Page]] | None = None,
    ) -> None:
        self.in_flight = 0
        self._score_again = score_again
        self._world = world
        self._scorer = scorer
        self._clock = start
        self._sent = 0
        self._running: list[tuple[float, int, Task]] = []

    def now(self) -> float:
        """Return the virtual time in Unix seconds."""
        return self._clock

    def send(self, task: Task) -> None:
        """Start a request; its response is due after its virtual latency."""
        ends_at = max(self._clock, task.start_at) + latency_s(task.url)
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (ends_at, self._sent, task))

    async def receive(self, until: float | None) -> list[Result]:
        """Return the next result, or [] if `until` comes first; the clock jumps to that time."""
        if not self._running or (until is not None and until < self._running[0][0]):
            self._clock = max(self._clock, until or 0.0)
            return []
        ends_at, _, task = heapq.heappop(self._running)
        self._clock = max(self._clock, ends_at)
        self.in_flight -= 1
        elapsed_s = latency_s(task.url)
        fetch = self._world.lookup(
            task.url, robots=task.id is None, fetched_at=ends_at - elapsed_s, elapsed_s=elapsed_s
        )
        return [await _score_response(self._scorer, task, fetch)]

    async def update(self, payload: bytes) -> None:
        """Send a changed topic or model to the scorer."""
        await self._scorer.update(payload)

    async def score_again(self, url: str, source: bytes, template: SiteTemplate) -> Page | None:
        """Return the page as the scorer scores it; None without its source."""
        if self._score_again is not None:
            return await self._score_again(url, template)
        return await score_stored_page(self._scorer, url, source, template)

    def cancel(self) -> None:
        """Cancel all tasks in flight."""
        self._running.clear()
        self.in_flight = 0

    async def close(self) -> None:
        """Close the scorer."""
        await self._scorer.close()
