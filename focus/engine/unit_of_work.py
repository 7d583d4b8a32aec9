"""Collects everything that is still to be written to the database, as one batch.

Facts go in one by one; `take` gives everything since the last time as one `Batch`,
which the store writes in one transaction. Totals and counts are kept here alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from focus.frontier import Frontier
from focus.records import (
    Batch,
    Change,
    ChangeKind,
    HostRow,
    Outcome,
    PageChange,
    PageCheck,
    PageRow,
    QueueRow,
    Recent,
    Rendering,
    Tally,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable


class Totals(msgspec.Struct):
    """A crawl's counts so far, over all its runs.

    first_relevant   number of the request that brought the first relevant page, 0 = none
    active_s         seconds on the crawl's clock
    shells           pages that seem to need scripts, and were not rendered
    rendered, unrendered   pages whose scripts were run, and whose could not be
    newcomers        hosts that links led to and that were tried; what their first pages brought
    """

    requests: int = 0
    robots: int = 0
    pages: int = 0
    relevant: int = 0
    bytes: int = 0
    first_relevant: int = 0
    active_s: float = 0.0
    newcomers: int = 0
    newcomers_yielded: float = 0.0
    shells: int = 0
    rendered: int = 0
    unrendered: int = 0
    looked: int = 0
    unchanged: int = 0
    changed: int = 0
    gone: int = 0
    unanswered: int = 0
    refreshed_from: int = 0
    round_from: int = 0
    round_pages: int = 0
    round_requests: int = 0
    round_bytes: int = 0
    round_relevant: int = 0


class UnitOfWork:
    """Collects what follows from each result. `keep` False: counts only, no rows."""

    def __init__(self, url_table: UrlTable, frontier: Frontier, *, keep: bool) -> None:
        self.totals = Totals()
        self.failures: Counter[str] = Counter()
        self.drops: Counter[str] = Counter()
        self.queue_tallies: dict[int, Tally] = {}
        self.recent: dict[int, Recent] = {}  # by queue, where a strategy learns
        self._url_table = url_table
        self._frontier = frontier
        self._keep = keep
        self._batch = Batch()
        self._hosts: set[int] = set()
        self._hubs: dict[int, Tally] = {}
        self._queues: set[int] = set()
        self._hosts_known = 0
        self._queues_known = 0
        self._written = 0  # requests that the batches so far count

    def resume(self, totals: Totals) -> None:
        """Go on from the totals of an earlier run; its hosts and queues are written."""
        self.totals = totals
        self._written = totals.requests
        self._hosts_known = len(self._frontier.hosts)
        self._queues_known = len(self._frontier.queues)

    @property
    def unwritten(self) -> int:
        """Answers taken in since the last batch: a kill would have them asked for again."""
        return self.totals.requests - self._written if self._keep else 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        b = self._batch
        return not (b.pages or b.outcomes or b.urls or b.changes or self._hosts)

    def place_known(self, host: Host, queue: Queue) -> None:
        """A URL was entered there: write host and queue if they are new."""
        if host.id >= self._hosts_known:
            self._hosts_known = host.id + 1
            self._hosts.add(host.id)
        if queue.id >= self._queues_known:
            self._queues_known = queue.id + 1
            self._queues.add(queue.id)

    def host_changed(self, host: Host) -> None:
        """A host is new, or its robots, rest or failures changed."""
        self._hosts.add(host.id)

    def queue_changed(self, queue: Queue) -> None:
        """A queue is new, or its tally changed."""
        self._queues.add(queue.id)

    def discovered(self, row: UrlRow) -> None:
        """A URL became known."""
        if row.state is UrlState.DROPPED:
            self.drops[row.reason] += 1
        if self._keep:
            self._batch.urls.append(row)

    def validated(self, url_id: int, etag: str, last_modified: str) -> None:
        """A listing came with these; if any."""
        if self._keep and (etag or last_modified):
            self._batch.validators.append((url_id, etag, last_modified))

    def listed(self, url_id: int, changed_at: float) -> None:
        """A sitemap or feed says when a page changed."""
        if self._keep:
            self._batch.lastmods.append((url_id, changed_at))

    def improved(self, url_id: int, parent: int | None = None, anchor: str = "") -> None:
        """A waiting URL has better evidence; from that page, None: from where it had it before."""
        if self._keep:
            url_table = self._url_table
            self._batch.changes.append(
                Change(
                    id=url_id,
                    priority=url_table.priority[url_id],
                    link_evidence=url_table.link_evidence(url_id),
                    parent=parent,
                    anchor=anchor,
                )
            )

    def sent(self, url_id: int) -> None:
        """A request for a URL went out."""
        if self._keep:
            self._batch.fetching.append(url_id)

    def ended(self, outcome: Outcome, state: UrlState | None = None) -> None:
        """A URL moves to another state (told to the known URLs as well, there to `state`)."""
        self._url_table.set_state(outcome.id, outcome.state if state is None else state)
        if outcome.state is UrlState.FAILED:
            self.failures[outcome.reason] += 1
        elif outcome.state is UrlState.DROPPED:
            self.drops[outcome.reason] += 1
        if self._keep:
            parent = self._url_table.parent[outcome.id]
            if parent >= 0:
                outcome = msgspec.structs.replace(outcome, parent=parent)
            self._batch.outcomes.append(outcome)

    def page(self, row: PageRow) -> None:
        """A page was fetched and scored; it counts as a result."""
        totals = self.totals
        totals.pages += 1
        if row.page.relevant:
            totals.relevant += 1
            totals.first_relevant = totals.first_relevant or row.nth
        rendering = row.page.rendering
        totals.shells += rendering.is_shell
        totals.rendered += rendering is Rendering.RENDERED
        totals.unrendered += rendering.has_failed
        if self._keep:
            self._batch.pages.append(row)

    def reread(self, row: PageRow) -> None:
        """A page of an earlier run has come anew: it takes the place of what is stored."""
        if self._keep:
            self._batch.pages.append(row)
            self._batch.reread.append(row.id)

    def tagged(self, url_id: int, etag: str, last_modified: str) -> None:
        """A page that is as it was has come with these."""
        if self._keep:
            self._batch.tags.append((url_id, etag, last_modified))

    def looked(self, check: PageCheck, change: PageChange | None = None) -> None:
        """A page of an earlier run was looked at again."""
        totals, kinds = self.totals, ChangeKind(0 if change is None else change.kinds)
        if check.trouble:
            totals.unanswered += 1
        else:
            totals.looked += 1
            totals.changed += bool(kinds & (ChangeKind.TEXT | ChangeKind.TITLE))
            totals.gone += bool(kinds & (ChangeKind.GONE | ChangeKind.MOVED))
        if self._keep:
            self._batch.checks.append(check)
            if change is not None:
                self._batch.page_changes.append(change)

    def news_of(self, page: int) -> None:
        """A relevant page was found that a look at this one has told of."""
        if self._keep:
            self._batch.news.append(page)

    def linked(self, url_id: int, targets: Sequence[int]) -> None:
        """Links were followed from what is no page of the results: the graph has them, too."""
        if self._keep:
            self._batch.links.append((self.totals.requests, url_id, tuple(targets)))

    def hub_changed(self, hub: int, tally: Tally) -> None:
        """What a page's links brought has changed."""
        if self._keep:
            self._hubs[hub] = tally

    def take(self, now: float) -> Batch:
        """Everything since the last time."""
        batch, self._batch = self._batch, Batch()
        hosts, queues = self._frontier.hosts, self._frontier.queues
        batch.hosts = [_host_row(hosts[i]) for i in sorted(self._hosts)]
        batch.queues = [self.queue_row(queues[i]) for i in sorted(self._queues)]
        batch.hubs = [(hub, each.fetched, each.yielded) for hub, each in self._hubs.items()]
        self._hubs.clear()
        self._hosts.clear()
        self._queues.clear()
        self._written = self.totals.requests
        batch.counters = msgspec.structs.asdict(self.totals)
        batch.now = now
        return batch

    def queue_row(self, queue: Queue) -> QueueRow:
        """A queue as the store keeps it."""
        tally = self.queue_tallies.get(queue.id) or Tally()
        recent = self.recent.get(queue.id) or Recent()
        return QueueRow(
            id=queue.id,
            host=queue.host.id,
            pattern=queue.pattern,
            fetched=tally.fetched,
            yielded=tally.yielded,
            bonus=queue.bonus,
            recent=(recent.fetched, recent.yielded, recent.at),
        )


def _host_row(host: Host) -> HostRow:
    rest = host.paused_until if host.paused_until != float("inf") else 0.0
    return HostRow(
        id=host.id,
        name=host.name,
        next_at=max(host.next_at, rest),
        failures=host.failures,
        given_up=host.is_abandoned,
        robots=dict(host.robots),
        address=host.address,
    )
