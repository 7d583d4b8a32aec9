"""Carries tasks from the frontier to the web or to a recorded one, and their results back.

    LiveTransport     one asyncio task per request: fetch, then score in the pool
    ReplayTransport   a recorded web under a virtual clock: the same order everywhere

Both take a `Task` and give a `Result` back, so the crawl does not know which web it
is on. A third body behind the same methods is `cluster.transport`: over a message broker.
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

from focus.engine.bodies import Bodies, Grow
from focus.html.size_guard import MAX_BYTES
from focus.http.semantics import refreshed
from focus.http.sitemap import as_html
from focus.records import FetchResult, Link, Listing, Page, Result, Task

if TYPE_CHECKING:
    from focus.fetch import WebFetcher  # loads the HTTP client, which a recorded web does not need

LISTING_PART = 1000  # links of a listing that are scored at once
UNBOUNDED = 1 << 60
AHEAD = 16  # pages that wait for a worker while their hosts are asked on: what a kill may cost more


async def ready_within(ready: asyncio.Event, seconds: float | None) -> None:
    """Wait until an event happens anew or the time is over; None: however long."""
    ready.clear()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None if seconds is None else max(0.0, seconds)):
            await ready.wait()


class Scorer(Protocol):
    """Parses and scores pages."""

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """A page, or one whose `failure` says why there is none. `wording`: fill that in."""

    async def update(self, payload: bytes) -> None:
        """A changed topic or model for later pages."""

    async def close(self) -> None:
        """End the workers."""


class Transport(Protocol):
    """Takes tasks away and brings results back.

    in_flight   tasks sent whose results were not received yet
    is_live     the clock is the world's, not a replayed one
    locates     takes look-ups (`Task.lookup`), so that a host's address is known before it is asked
    window      tasks that it takes at once
    expects     more URLs may come by themselves: an empty frontier is no end
    """

    in_flight: int
    is_live: bool
    locates: bool

    @property
    def window(self) -> int: ...

    @property
    def expects(self) -> bool: ...

    def now(self) -> float:
        """The crawl's clock, Unix seconds."""

    def send(self, task: Task) -> None:
        """Start a task; never blocks."""

    async def receive(self, until: float | None) -> list[Result]:
        """Results as they come; [] when `until` passes, `wake` is called or there is something to
        be told of (`departed`, `answered`) first."""

    def departed(self) -> list[tuple[Task, float]]:
        """Tasks to be told of (`Task.tell`) whose requests have gone out, or never will, since
        the last call, and when. A replayed one goes out exactly at its `start_at`: none."""

    def answered(self) -> list[tuple[Task, FetchResult]]:
        """Answers since the last call whose pages wait to be judged, if that is done here."""

    async def update(self, payload: bytes) -> None:
        """Tell the scorers of a changed topic or model; pages fetched later are judged by it."""

    def wake(self) -> None:
        """End a `receive` that waits."""

    def cancel(self) -> None:
        """Drop what is under way; nothing comes of it."""

    async def close(self) -> None:
        """Cancel, and give up connections and workers."""


class Clock:
    """Unix seconds that never jump: the wall clock at the start plus monotonic time."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


async def _scored(scorer: Scorer, task: Task, fetch: FetchResult) -> Result:
    if task.id is None or fetch.redirect_to is not None or fetch.unchanged:
        return Result(task, fetch)
    if fetch.listing is not None:
        return Result(task, fetch, await _scored_listing(scorer, fetch.url, fetch.listing))
    if fetch.failure:
        return Result(task, *refreshed(fetch, None))
    kind, body = fetch.header("content-type"), fetch.body
    if "html" in (kind or ""):
        body = body[:MAX_BYTES]  # the rest would not be parsed
    page = await scorer.score(fetch.url, body, kind, wording=task.wording)
    return Result(task, *refreshed(fetch, page))


async def _scored_listing(scorer: Scorer, url: str, listing: Listing) -> Page:
    """A sitemap or feed as a page of nothing but links, scored in parts of a page's size."""
    links: list[Link] = []
    page = Page()
    entries = [] if listing.kind == "index" else listing.links
    for start in range(0, len(entries), LISTING_PART):
        body = as_html(entries[start : start + LISTING_PART])
        page = await scorer.score(url, body, "text/html; charset=utf-8", wording=False)
        links += page.links
    return Page(links=links, relevance=page.relevance, failure=page.failure, detail=page.detail)


class Departure:
    """Tells once when a request has gone out."""

    def __init__(self, task: Task, tell: Callable[[Task], None]) -> None:
        self._task, self._tell = task, tell
        self._is_told = False

    def soon(self) -> None:
        """The request is handed to the event loop, which writes it before its next round."""
        asyncio.get_running_loop().call_soon(self.now)

    def now(self) -> None:
        """The request is out, or its fetch has ended."""
        if not self._is_told:
            self._is_told = True
            self._tell(self._task)


class LiveTransport:
    """Requests over the network, as many at once as were sent.

    locate   finds the address at which a URL will be asked for, "" if there is none
    bodies   bounds what answers take of memory; None: nothing does
    render   makes of a scored page what its scripts make of it; None: nothing does
    tells    of answers whose pages wait for a worker (`answered`), of `AHEAD` at a time
    """

    is_live = True
    window = UNBOUNDED
    expects = False

    def __init__(
        self,
        fetcher: WebFetcher,
        scorer: Scorer,
        *,
        clock: Callable[[], float],
        observe: Callable[[FetchResult], object] | None = None,
        locate: Callable[[str], Awaitable[str]] | None = None,
        bodies: Bodies | None = None,
        render: Callable[[Result], Awaitable[Result]] | None = None,
        tells: bool = False,
    ) -> None:
        self.now = clock
        self._tells = tells and render is None  # a browser goes on asking
        self._told = 0
        self._render = render
        self._bodies = bodies
        self.locates = locate is not None
        self._locate = locate
        self.in_flight = 0
        self._departed: list[tuple[Task, float]] = []
        self._answered: list[tuple[Task, FetchResult]] = []
        self._fetcher = fetcher
        self._scorer = scorer
        self._observe = observe
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: list[Result] = []
        self._ready = asyncio.Event()
        self._failed: BaseException | None = None

    def send(self, task: Task) -> None:
        """Start a request."""
        self.in_flight += 1
        running = asyncio.create_task(self._work(task))
        self._tasks.add(running)
        running.add_done_callback(self._ended)

    async def _work(self, task: Task) -> None:
        if task.lookup and self._locate is not None:
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
                result = await self._result(task, partial(self._bodies.grow, owner))
            finally:
                self._bodies.drop(owner)
        self._done.append(result)  # the list of now: `receive` has swapped it meanwhile

    async def _result(self, task: Task, grow: Grow | None) -> Result:
        fetch = await self._fetch(task, grow)
        if self._observe is not None:
            self._observe(fetch)
        result = await self._judged(task, fetch)
        if task.id is None:
            return result
        if self._render is not None:
            result = await self._render(result)
        return Result(task, msgspec.structs.replace(result.fetch, body=b""), result.page)

    async def _judged(self, task: Task, fetch: FetchResult) -> Result:
        if not self._tells or task.id is None or fetch.failure or self._told >= AHEAD:
            return await _scored(self._scorer, task, fetch)
        self._answered.append((task, fetch))
        self._ready.set()
        self._told += 1
        try:
            return await _scored(self._scorer, task, fetch)
        finally:
            self._told -= 1

    async def _fetch(self, task: Task, grow: Grow | None) -> FetchResult:
        fetch = partial(
            self._fetcher.fetch, task.url, robots=task.id is None, conditions=task.conditions
        )
        if grow is not None:
            fetch = partial(fetch, grow=grow)
        if not task.tell:
            return await fetch()
        going = Departure(task, self._departs)
        try:
            return await fetch(sent=going.soon)
        finally:
            going.now()

    def _departs(self, task: Task) -> None:
        self._departed.append((task, self.now()))
        self._ready.set()

    def _ended(self, running: asyncio.Task[None]) -> None:
        self._tasks.discard(running)
        if running.cancelled():
            self.in_flight -= 1  # nothing will be received
        elif running.exception() is not None:
            self._failed = running.exception()
        self._ready.set()

    async def receive(self, until: float | None) -> list[Result]:
        """All results that are there, at least one unless something cuts it short."""
        if not (self._done or self._departed or self._answered):
            await ready_within(self._ready, None if until is None else until - self.now())
        if self._failed is not None:
            raise self._failed
        done, self._done = self._done, []
        self.in_flight -= len(done)
        return done

    def departed(self) -> list[tuple[Task, float]]:
        """What has gone out since the last call."""
        departed, self._departed = self._departed, []
        return departed

    def answered(self) -> list[tuple[Task, FetchResult]]:
        """What was answered since the last call."""
        answered, self._answered = self._answered, []
        return answered

    async def update(self, payload: bytes) -> None:
        """Pass it on to the workers."""
        await self._scorer.update(payload)

    def wake(self) -> None:
        """End a `receive` that waits."""
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


class World(Protocol):
    """A recorded web: answers by URL, at once."""

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """The stored answer; an unknown URL is a 404."""


def latency_s(url: str) -> float:
    """Virtual seconds a request takes: 0.05 to 0.15, the same for a URL everywhere."""
    return 0.05 + 0.1 * zlib.crc32(url.encode("utf-8", "replace")) / 2**32


class ReplayTransport:
    """Requests to a recorded web. Time is virtual: waiting costs nothing, but counts.

    A request takes 50 to 150 ms of virtual time, by a hash of its URL, so that
    results come in the same order on every machine and at any number of workers.
    """

    is_live = False
    locates = False
    window = UNBOUNDED
    expects = False

    def __init__(self, world: World, scorer: Scorer, *, start: float = 0.0) -> None:
        self.in_flight = 0
        self._world = world
        self._scorer = scorer
        self._clock = start
        self._sent = 0
        self._running: list[tuple[float, int, Task]] = []

    def now(self) -> float:
        """Virtual Unix seconds."""
        return self._clock

    def send(self, task: Task) -> None:
        """Start a request; its answer is due after its virtual latency."""
        ends_at = max(self._clock, task.start_at) + latency_s(task.url)
        self._sent += 1
        self.in_flight += 1
        heapq.heappush(self._running, (ends_at, self._sent, task))

    async def receive(self, until: float | None) -> list[Result]:
        """The next result, unless `until` comes first; the clock jumps there."""
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
        return [await _scored(self._scorer, task, fetch)]

    def departed(self) -> list[tuple[Task, float]]:
        """Nothing that its `start_at` would not tell."""
        return []

    def answered(self) -> list[tuple[Task, FetchResult]]:
        """Nothing: results come with their answers."""
        return []

    async def update(self, payload: bytes) -> None:
        """Pass it on to the scorer."""
        await self._scorer.update(payload)

    def wake(self) -> None:
        """Nothing waits here."""

    def cancel(self) -> None:
        """Forget the tasks under way."""
        self._running.clear()
        self.in_flight = 0

    async def close(self) -> None:
        """Close the scorer."""
        await self._scorer.close()
