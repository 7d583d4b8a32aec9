"""Unit of work: collects the changes of a crawl for the next batch.

Changes are added one by one; `take_batch` returns all since the last call as one `Batch`, which the
store writes in one transaction. The totals of a crawl are counted here only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from focus.admission.url_rules import UrlRules
from focus.engine.templates import LearnedPage
from focus.frontier import Frontier
from focus.records import (
    Batch,
    ChangeKind,
    HostRow,
    NewRelevance,
    NewTitle,
    Outcome,
    Page,
    PageChange,
    PageRow,
    PriorityChange,
    QueueRow,
    RecentTally,
    Rendering,
    RevisitState,
    Tally,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable


class Totals(msgspec.Struct):
    """Counts of a crawl over all its runs.

    page_requests    responses to requests for pages, of use or not
    redirects        redirects among the other responses
    first_relevant   number of the request that returned the first relevant page, 0 if none has
    active_s         seconds on the crawl's clock
    shells           pages that seem to need scripts and were not rendered
    rendered, unrendered   pages that were rendered, and pages whose rendering failed
    omitted_routes   links to `#/route` of pages that were not rendered
    endless_lists    rendered pages with a list that was still growing
    unfollowed   pages that forbid following their links
    newcomers, newcomers_yielded   requested newcomers, and the rewards of their first pages
    near, near_yielded   requested links of relevant pages, and the rewards of their pages
    far, far_yielded     the same for links of other pages
    own, own_yielded     recent requests in the strategy's order, and their rewards
    fallback, fallback_yielded   the same in that of the fallback (`engine.fallback`)
    useless_fallbacks    requests in that order since any order brought something
    subtopics, subtopics_yielded   the same for links of both kinds that name a sub-topic
    urls_to_raise        waiting URLs with a smaller id have yet to be raised (`HitRates`)
    looked, unchanged, changed, gone, unanswered   revisits by result
    refreshed_from, round_*   first new URL id and totals at the start of the revisit round
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
    near: int = 0
    near_yielded: float = 0.0
    far: int = 0
    far_yielded: float = 0.0
    own: float = 0.0
    own_yielded: float = 0.0
    fallback: float = 0.0
    fallback_yielded: float = 0.0
    useless_fallbacks: int = 0
    subtopics: int = 0
    subtopics_yielded: float = 0.0
    urls_to_raise: int = 0
    shells: int = 0
    rendered: int = 0
    unrendered: int = 0
    unfollowed: int = 0
    omitted_routes: int = 0
    endless_lists: int = 0
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
    page_requests: int = 0
    redirects: int = 0

    @property
    def requested_pages(self) -> int:
        """Number of requested pages, which `--max-pages` limits.

        Redirects count as far as they are more than 0.3 for each page.
        """
        return max(self.page_requests, int((self.page_requests + self.redirects) / 1.3))


class UnitOfWork:
    """Changes for the next batch. With `keep` False only totals are counted, no rows."""

    def __init__(self, url_table: UrlTable, frontier: Frontier, *, keep: bool) -> None:
        self.totals = Totals()
        self.failures: Counter[str] = Counter()
        self.drops: Counter[str] = Counter()
        self.queue_tallies: dict[int, Tally] = {}
        self.recent: dict[int, RecentTally] = {}  # by queue, for strategies that learn
        self.url_rules = UrlRules()
        self._url_table = url_table
        self._frontier = frontier
        self._keep = keep
        self._batch = Batch()
        self._hosts: set[int] = set()
        self._hubs: dict[int, Tally] = {}
        self._queues: set[int] = set()
        self._hosts_known = 0
        self._queues_known = 0
        self._written = 0  # requests counted by the batches so far

    def resume(self, totals: Totals) -> None:
        """Continue from the totals of an earlier run, whose hosts and queues are stored."""
        self.totals = totals
        self._written = totals.requests
        self._hosts_known = len(self._frontier.hosts)
        self._queues_known = len(self._frontier.queues)

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are written to a database."""
        return self._keep

    @property
    def unwritten(self) -> int:
        """Number of responses since the last batch; a kill makes these requests again."""
        return self.totals.requests - self._written if self._keep else 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        b = self._batch
        pages = b.pages or b.new_relevances
        return not (pages or b.outcomes or b.urls or b.priority_changes or self._hosts)

    def add_place(self, host: Host, queue: Queue) -> None:
        """Write host and queue with the next batch if they are new."""
        if host.id >= self._hosts_known:
            self._hosts_known = host.id + 1
            self._hosts.add(host.id)
        if queue.id >= self._queues_known:
            self._queues_known = queue.id + 1
            self._queues.add(queue.id)

    def update_host(self, host: Host) -> None:
        """Write a host with the next batch."""
        self._hosts.add(host.id)

    def update_queue(self, queue: Queue) -> None:
        """Write a queue with the next batch."""
        self._queues.add(queue.id)

    def add_url(self, row: UrlRow) -> None:
        """Write a new URL."""
        if row.state is UrlState.DROPPED:
            self.drops[row.reason] += 1
        if self._keep:
            self._batch.urls.append(row)

    def set_source_validators(self, url_id: int, etag: str, last_modified: str) -> None:
        """Write the validators of a sitemap or feed, if it has any."""
        if self._keep and (etag or last_modified):
            self._batch.source_validators.append((url_id, etag, last_modified))

    def set_lastmod(self, url_id: int, changed_at: float) -> None:
        """Write when a page changed according to a sitemap or feed."""
        if self._keep:
            self._batch.lastmods.append((url_id, changed_at))

    def update_priority(self, url_id: int, parent: int | None = None, anchor: str = "") -> None:
        """Write priority and link evidence of a waiting URL; `parent` None keeps its parent."""
        if self._keep:
            url_table = self._url_table
            self._batch.priority_changes.append(
                PriorityChange(
                    id=url_id,
                    priority=url_table.priority[url_id],
                    link_evidence=url_table.link_evidence(url_id),
                    parent_id=parent,
                    anchor=anchor,
                )
            )

    def set_depth(self, url_id: int, depth: int) -> None:
        """Write a smaller depth of a URL."""
        if self._keep:
            self._batch.depths[url_id] = depth

    def add_request(self, url_id: int) -> None:
        """Write that a URL is being fetched."""
        if self._keep:
            self._batch.fetching_ids.append(url_id)

    def set_outcome(self, outcome: Outcome, state: UrlState | None = None) -> None:
        """Write the outcome of a URL and set its state in the URL table (there to `state`)."""
        self._url_table.set_state(outcome.id, outcome.state if state is None else state)
        if outcome.state is UrlState.FAILED:
            self.failures[outcome.reason] += 1
        elif outcome.state is UrlState.DROPPED:
            self.drops[outcome.reason] += 1
        if self._keep:
            parent = self._url_table.parent[outcome.id]
            if parent >= 0:
                outcome = msgspec.structs.replace(outcome, parent_id=parent)
            self._batch.outcomes.append(outcome)

    def add_page(self, row: PageRow) -> None:
        """Count and write a fetched page."""
        totals = self.totals
        totals.pages += 1
        if row.page.is_result:
            totals.relevant += 1
            totals.first_relevant = totals.first_relevant or row.request_number
        rendering = row.page.rendering
        totals.shells += rendering.is_shell
        totals.rendered += rendering is Rendering.RENDERED
        totals.unrendered += rendering.is_failure
        totals.omitted_routes += row.page.omitted_route_count
        totals.endless_lists += row.page.has_endless_list
        if self._keep:
            self._batch.pages.append(row)

    def replace_page(self, row: PageRow) -> None:
        """Write a revisited page in place of its stored version."""
        if self._keep:
            self._batch.pages.append(row)
            self._batch.replaced_page_ids.append(row.id)

    def set_page_validators(self, url_id: int, etag: str, last_modified: str) -> None:
        """Write new validators of an unchanged page."""
        if self._keep:
            self._batch.page_validators.append((url_id, etag, last_modified))

    def add_revisit(self, check: RevisitState, change: PageChange | None = None) -> None:
        """Count and write a revisit."""
        totals, kinds = self.totals, ChangeKind(0 if change is None else change.kinds)
        if check.failure:
            totals.unanswered += 1
        else:
            totals.looked += 1
            totals.changed += bool(kinds & (ChangeKind.TEXT | ChangeKind.TITLE))
            totals.gone += bool(kinds & (ChangeKind.GONE | ChangeKind.MOVED))
        if self._keep:
            self._batch.revisit_states.append(check)
            if change is not None:
                self._batch.page_changes.append(change)

    def add_discovery(self, page: int) -> None:
        """Write that a revisit of this page led to a relevant page."""
        if self._keep:
            self._batch.discovery_page_ids.append(page)

    def add_links(self, url_id: int, targets: Sequence[int]) -> None:
        """Write links of a page that is not stored, for the link graph."""
        if self._keep:
            self._batch.other_links.append((self.totals.requests, url_id, tuple(targets)))

    def update_hub(self, hub: int, tally: Tally) -> None:
        """Write the tally of a hub page."""
        if self._keep:
            self._hubs[hub] = tally

    def set_template(self, host: Host, blocks: frozenset[int], packed: bytes) -> None:
        """Write what the pages of a host repeat."""
        if self._keep:
            self._batch.templates[host.id] = sorted(blocks), packed

    def set_title(self, title: NewTitle) -> None:
        """Write the title of a stored page without the name of its site."""
        if self._keep:
            self._batch.new_titles.append(title)

    def correct_relevance(self, url_id: int, page: Page, old: LearnedPage) -> None:
        """Count and write the new relevance of a stored page."""
        if not old.is_index_page:
            self.totals.relevant += page.is_relevant - old.is_relevant
        if self._keep:
            scores = page.relevance, page.is_relevant, page.part_scores, page.matched_terms
            self._batch.new_relevances.append(NewRelevance(url_id, *scores))

    def take_batch(self, now: float) -> Batch:
        """Return all changes since the last call as a batch."""
        batch, self._batch = self._batch, Batch()
        hosts, queues = self._frontier.hosts, self._frontier.queues
        batch.hosts = [_host_row(hosts[i]) for i in sorted(self._hosts)]
        batch.queues = [self.queue_row(queues[i]) for i in sorted(self._queues)]
        batch.hub_tallies = [
            (hub, tally.requests, tally.rewards) for hub, tally in self._hubs.items()
        ]
        batch.url_rules = self.url_rules.take_changes()
        self._hubs.clear()
        self._hosts.clear()
        self._queues.clear()
        self._written = self.totals.requests
        batch.counters = msgspec.structs.asdict(self.totals)
        batch.now = now
        return batch

    def queue_row(self, queue: Queue) -> QueueRow:
        """Return the row of a queue."""
        tally = self.queue_tallies.get(queue.id) or Tally()
        recent = self.recent.get(queue.id) or RecentTally()
        return QueueRow(
            id=queue.id,
            host_id=queue.host.id,
            pattern=queue.pattern,
            requests=tally.requests,
            rewards=tally.rewards,
            bonus=queue.bonus,
            recent=(recent.requests, recent.rewards, recent.updated_at_request),
        )


def _host_row(host: Host) -> HostRow:
    rest = host.paused_until if host.paused_until != float("inf") else 0.0
    return HostRow(
        id=host.id,
        name=host.name,
        next_at=max(host.next_at, rest),
        failures=host.failures,
        is_abandoned=host.is_abandoned,
        robots=dict(host.robots),
        address=host.address,
        software=host.software,
    )
