"""Carries tasks to workers on other machines, and their results back to the crawl.

The third body of `focus.engine.transports.Transport`. What the crawl sends becomes a lease
(`leases`), whose task `publisher` sends; workers' reports come in as deliveries and leave as
results. Nothing here knows the broker: a test hands over deliveries itself.

A delivery is acknowledged only after the batch with all that follows from it is written
(`pending`): so a frontier that dies gets it again, and finds by the leases what
it knows already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from focus.cluster.broker import IncomingMessage
from focus.cluster.flow_control import FlowControl
from focus.cluster.leases import POISON, Lease, Leases
from focus.cluster.messages import WorkerReport, result_of
from focus.engine.partition import ForwardedUrl
from focus.engine.transports import wait_for
from focus.i18n import msg
from focus.records import FailureKind, FetchResult, Page, Result, SiteTemplate, Task


class ClusterTransport:
    """Tasks to workers of a cluster and back.

    share     of the workers' slots that is this shard's in any case
    used      tasks of other shards that are away: what they leave may be used, too
    setup     name of the settings that workers must have taken over
    several   other shards may send links at any time: an empty frontier is no end
    on_link   is called with each link of another shard
    on_update  is called with what workers are to judge by from now on
    """

    is_live = True
    supports_lookups = True

    def __init__(
        self,
        leases: Leases,
        flow_control: FlowControl,
        *,
        clock: Callable[[], float],
        setup: bytes,
        several: bool = False,
        on_link: Callable[[ForwardedUrl], None] = lambda link: None,
        on_update: Callable[[bytes], None] = lambda payload: None,
    ) -> None:
        self.now = clock
        self.leases = leases
        self.flow_control = flow_control
        self.setup = setup
        self.share = 1.0
        self.used = 0
        self.in_flight = 0
        self.activity = 0
        self.awaits_urls = several
        self._on_link = on_link
        self._on_update = on_update
        self._departed: list[tuple[Task, float]] = []
        self.outgoing = asyncio.Event()  # a lease may be ready
        self._ready = asyncio.Event()
        self._reports: list[tuple[WorkerReport, IncomingMessage]] = []
        self._links: list[tuple[list[ForwardedUrl], IncomingMessage]] = []
        self._poisoned: list[Lease] = []
        self._closed: list[int] = []
        self._homes: list[str] = []
        self._owed: list[IncomingMessage] = []
        self._failed: BaseException | None = None
        self._is_cancelled = False

    @property
    def window(self) -> int:
        """Tasks that may be away now."""
        return self.flow_control.window(self.now(), self.setup, share=self.share, used=self.used)

    # -- the crawl's side ---------------------------------------------------------

    def send(self, task: Task) -> None:
        """Grant a lease; the task goes out when it is written down."""
        self.in_flight += 1
        self.leases.grant(task, self.now())
        self.outgoing.set()

    async def receive(self, until: float | None) -> list[Result]:
        """All results that are there; links of other shards are taken in on the way."""
        if not (self._reports or self._links or self._poisoned):
            await wait_for(self._ready, None if until is None else until - self.now())
        if self._failed is not None:
            raise self._failed
        if self._is_cancelled:
            return []
        self._take_links()
        results = self._take_reports()
        self._closed += [lease.id for lease in self._poisoned]
        results += [_poison(lease.task, self.now()) for lease in self._poisoned]
        self._poisoned = []
        self.in_flight -= len(results)
        self.activity += len(results)
        return results

    def _take_reports(self) -> list[Result]:
        reports, self._reports = self._reports, []
        results: list[Result] = []
        now = self.now()
        for report, delivery in reports:
            for lease_id in report.sent:
                self._request_sent(lease_id)
            for answer in report.answers:
                self._request_sent(answer.lease)
                task = self.leases.close(answer.lease)
                if task is not None:
                    self._closed.append(answer.lease)
                    results.append(result_of(answer, task, now))
            self._owed.append(delivery)
        self.leases.next_suspect(now)
        return results

    def _request_sent(self, lease_id: int) -> None:
        task = self.leases.request_sent(lease_id)
        if task is not None and task.should_report_send:
            self._departed.append((task, self.now()))

    def sent_tasks(self) -> list[tuple[Task, float]]:
        """What workers have said to have gone out, by when they said so."""
        departed, self._departed = self._departed, []
        return departed

    def unscored_answers(self) -> list[tuple[Task, FetchResult]]:
        """Nothing: workers answer with whole results."""
        return []

    def _take_links(self) -> None:
        arrived, self._links = self._links, []
        for links, delivery in arrived:
            self.activity += 1
            for link in links:
                if link.is_home:
                    self._homes.append(link.typed or link.row.url)
                self._on_link(link)
            self._owed.append(delivery)

    async def update(self, payload: bytes) -> None:
        """All workers judge by it from now on."""
        self._on_update(payload)

    async def score_again(self, url: str, source: bytes, template: SiteTemplate) -> Page | None:
        """Return None: pages are scored by workers, which have no task for this."""

    def wake(self) -> None:
        """End a `receive` that waits."""
        self._ready.set()

    def cancel(self) -> None:
        """Wait for nothing more. What workers bring is kept for the next run by the broker."""
        self._is_cancelled = True
        self.in_flight = 0
        self._ready.set()

    def cancel_in(self, seconds: float) -> None:
        """Wait no longer than that."""
        asyncio.get_running_loop().call_later(seconds, self.cancel)

    async def close(self) -> None:
        """Nothing is open here."""

    # -- the broker's side --------------------------------------------------------

    def reported(self, report: WorkerReport, delivery: IncomingMessage) -> None:
        """A worker has something to say. What is no result is dealt with at once."""
        now = self.now()
        self.leases.doubt(report.lost, now)
        self.leases.unbegun(report.unbegun, now)
        self.leases.held(report.held, now)
        if report.lost or report.unbegun:
            self.outgoing.set()
        self._reports.append((report, delivery))
        self._ready.set()

    def links_came(self, links: list[ForwardedUrl], delivery: IncomingMessage) -> None:
        """Links of other shards have come."""
        self._links.append((links, delivery))
        self._ready.set()

    def review(self, *, queued: bool) -> None:
        """Look after leases without any report; see `Leases.review`."""
        poisoned = self.leases.review(self.now(), queued=queued)
        if poisoned:
            self._poisoned += poisoned
            self._ready.set()
        self.outgoing.set()

    def fail(self, error: BaseException) -> None:
        """The crawl cannot go on."""
        self._failed = self._failed or error
        self._ready.set()

    @property
    def is_quiet(self) -> bool:
        """Whether everything that came was taken in and written down."""
        idle = not (self._reports or self._links or self._poisoned)
        return idle and not self._owed and not self.in_flight

    # -- writing ------------------------------------------------------------------

    def forget(self, leases: Iterable[int]) -> None:
        """Leases of an earlier run that are of no use any more."""
        self._closed += leases

    def pending(self) -> tuple[list[int], list[str], list[IncomingMessage]]:
        """Leases that ended, homes that came, and deliveries to be acknowledged after it."""
        found = (self._closed, self._homes, self._owed)
        self._closed, self._homes, self._owed = [], [], []
        return found


def _poison(task: Task, now: float) -> Result:
    detail = msg("{n} workers died while they had it", n=POISON)
    fetch = FetchResult(task.url, now, failure=FailureKind.POISON, detail=detail)
    return Result(task, fetch)
