"""Adds the links of pages: new URLs, better link evidence, graph edges, priorities.

    add_links        add the links of a page
    add_ranked_url   add any other URL: a seed, a redirect target or a sitemap
    add_url          add a new URL with its host, queue and state

For each number of link evidence a URL keeps the largest that any link gave it. Its priority is the
strategy's function of these numbers, so that further links can only raise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import msgspec

from focus.admission import site_rules
from focus.admission.scope import Scope
from focus.admission.site_rules import Refusal
from focus.admission.traps import Suspicion, Traps
from focus.config import TrapConfig
from focus.engine.depths import Depths
from focus.engine.hit_rates import HitRates
from focus.engine.ranking import Ranker
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.i18n import chain_messages, msg
from focus.records import (
    DEFERRED_PRIORITY,
    REVISIT_PRIORITY,
    SEED_PRIORITY,
    DropReason,
    FailureKind,
    Link,
    Outcome,
    UrlRow,
    UrlState,
)
from focus.scheduling.queues import Candidate, Host, Queue
from focus.scheduling.url_table import UrlTable
from focus.score.strategy import LinkEvidence, Parent, Strategy
from focus.urls.normal_form import url_fingerprint, url_host
from focus.urls.patterns import url_pattern


class LinkHandler:
    """Turns links into known URLs with priorities.

    nofollow      treatment of links with rel=nofollow: follow, weigh or skip
    uses_site_rules  whether page variants of known web applications are dropped
    """

    def __init__(
        self,
        ranker: Ranker,
        *,
        url_table: UrlTable,
        frontier: Frontier,
        unit_of_work: UnitOfWork,
        scope: Scope,
        traps: Traps | None = None,
        nofollow: str = "follow",
        uses_site_rules: bool = True,
    ) -> None:
        self.strategy: Strategy = ranker.strategy
        self.url_table = url_table
        self.frontier = frontier
        self.unit_of_work = unit_of_work
        self.scope = scope
        self.traps = traps or Traps(TrapConfig(is_on=False), now=0.0)
        self._ranker = ranker
        self._priority = ranker.priority
        self._nofollow = nofollow
        self._uses_site_rules = uses_site_rules
        self.source_ids: set[int] = set()  # sitemaps and feeds of this run
        self.depths: Depths | None = None
        if scope.max_depth is not None:
            graph = ranker.strategy.graph
            self.depths = Depths(scope.max_depth, url_table, graph, unit_of_work)
        self.deferred_hosts: set[int] = set()  # hosts with URLs that were deferred since a comeback
        self._new_rows: dict[int, UrlRow] = {}  # new URLs without a priority yet
        self.hit_rates = HitRates(
            ranker,
            url_table=url_table,
            frontier=frontier,
            unit_of_work=unit_of_work,
            traps=self.traps.config,
        )
        self.domains = self.hit_rates.domains

    def add_links(self, parent: Parent, links: Sequence[Link]) -> list[int]:
        """Add the links of a page and return the ids of those that are followed.

        The graph is updated before the priorities, so that a target's rank counts this page.
        """
        known_ids = self.url_table.find_all([link.key for link in links])
        evidence: Sequence[LinkEvidence | None]
        if self.strategy.has_independent_evidence:
            evidence = self._evidence_for_waiting(parent, links, known_ids)
        else:
            evidence = self.link_evidence(parent, links)
        targets, followed, entered = [], [], dict[bytes, int]()
        for target, link, link_evidence in zip(known_ids, links, evidence, strict=True):
            if link_evidence is None:
                continue
            if target < 0 and (target := entered.get(link.key, -1)) < 0:
                if (target := self._add_link(link, parent)) < 0:
                    continue
                entered[link.key] = target
            elif self.depths is not None:
                self.depths.shorten(target, parent.depth + 1)
            targets.append(target)
            followed.append((target, link.anchor, link_evidence))
        risen = self.strategy.graph.add(parent.id, targets)
        state, waiting = self.url_table.state, UrlState.WAITING
        for target, anchor, link_evidence in followed:
            if state[target] == waiting or target in self._new_rows:
                self._add_evidence(target, link_evidence, parent.id, anchor)
        if self.strategy.follows_graph:
            for target in sorted(risen):
                if state[target] == waiting:
                    self._raise_priority(target)
        return targets

    def _evidence_for_waiting(
        self, parent: Parent, links: Sequence[Link], known_ids: Sequence[int]
    ) -> list[LinkEvidence | None]:
        """Return `link_evidence`, but () for links to URLs that do not wait any longer."""
        state, waiting = self.url_table.state, UrlState.WAITING
        is_needed = [target < 0 or state[target] == waiting for target in known_ids]
        needed_evidence = iter(self.link_evidence(parent, [*compress(links, is_needed)]))
        return [next(needed_evidence) if is_link_needed else () for is_link_needed in is_needed]

    def link_evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        """Return the evidence that each link gives its target, None if it is not followed.

        With `weigh`, a link with rel=nofollow counts as if its page were irrelevant and half as
        relevant, and the link half as promising, but never more than without nofollow.
        """
        evidence = self.strategy.evidence(parent, links)
        if self._nofollow == "follow" or not any(link.nofollow for link in links):
            return evidence
        weak: Sequence[LinkEvidence | None] = [None] * len(links)
        if self._nofollow == "weigh":
            weak = self.strategy.evidence(_halved_parent(parent), [*map(_halved_link, links)])
        return [
            _minimum(link_evidence, less) if link.nofollow else link_evidence
            for link, link_evidence, less in zip(links, evidence, weak, strict=True)
        ]

    def _add_link(self, link: Link, parent: Parent) -> int:
        """Add an unknown URL that a page links to; return its id.

        Returns -1 if its host exceeds the budget of its domain, or if by the software of its host
        it is a known page or one that does not exist yet.
        """
        if self._uses_site_rules:
            software = self._software(link.host)
            if site_rules.is_unwritten(link, parent.host, software):
                return -1
            if (plain := site_rules.strip_params(link.url, software)) != link.url:
                link = msgspec.structs.replace(link, url=plain, key=url_fingerprint(plain))
                if self.url_table.find(link.key) >= 0:
                    return -1
        if not (self.frontier.has_host(link.host) or self.domains.has_room(link.host)):
            self.unit_of_work.drops[DropReason.TRAP_HOSTS] += 1
            return -1
        blank = UrlRow(
            id=-1,
            key=link.key,
            url=link.url,
            queue_id=-1,
            depth=parent.depth + 1,
            priority=0.0,
            parent_id=parent.id,
            anchor=link.anchor,
        )
        refusal = None
        if site_rules.is_action_link(link):
            refusal = Refusal(
                DropReason.ACTION, chain_messages(msg("text of the link"), link.anchor)
            )
        return self.add_url(blank, link.host, link.pattern, refusal=refusal)

    def site_rule_refusal(self, url: str, host: Host) -> Refusal | None:
        """Return why a URL is an action, or a page variant by the software of its host."""
        if self._uses_site_rules:
            return site_rules.reason_against(url, host.software)
        refusal = site_rules.reason_against(url)
        return refusal if refusal and refusal.reason is DropReason.ACTION else None

    def late_refusal(self, candidate: Candidate) -> Refusal | None:
        """Return why a URL is not requested by software that was detected after it was added."""
        host = candidate.host
        if (
            not host.software
            or candidate.priority >= SEED_PRIORITY
            or candidate.id in self.source_ids
        ):
            return None
        return self.site_rule_refusal(candidate.url, host)

    def task_software(self, host: Host) -> str | None:
        """Return the software of a host for its next page: None if it is to be detected there."""
        is_open = self._uses_site_rules and not host.software
        return None if is_open and host.detections < site_rules.MAX_DETECTIONS else host.software

    def _software(self, host_name: str) -> str:
        if not self.frontier.has_host(host_name):
            return ""
        return self.frontier.host(host_name).software

    def add_url(
        self,
        row: UrlRow,
        host_name: str = "",
        pattern: str = "",
        *,
        listing: bool = False,
        refusal: Refusal | None = None,
    ) -> int:
        """Add an unknown URL and return its id. It waits for its evidence unless it is dropped.

        refusal  why the link to it is not followed
        """
        host = self.frontier.host(host_name or url_host(row.url))
        is_link = not (listing or row.hops or row.parent_id is None)
        if is_link and self.unit_of_work.url_rules.has_rewritings(host.id):
            rewritten = self._rewrite(row, host)
            # An earlier link of the page may have been rewritten to this URL.
            if (known := self.url_table.find(rewritten.key)) >= 0:
                if self.depths is not None:
                    self.depths.shorten(known, row.depth)
                return known
            if rewritten.url != row.url:
                row, host, pattern = rewritten, self.frontier.host(url_host(rewritten.url)), ""
        if not pattern and (self.strategy.url_patterns or self.traps.needs_patterns(host)):
            pattern = url_pattern(row.url)
        queue = self.frontier.queue(host, pattern)
        if self.strategy.learns:
            self.hit_rates.set_newcomer_queue_bonus(queue)
        self.traps.count_urls(host)
        self.domains.add_new_hosts()
        self.unit_of_work.add_place(host, queue)
        reason = self._scope_reason(row.url, host.name, row.depth, listing=listing)
        state, why, detail = UrlState.WAITING, "", ""
        if reason is not None and refusal is None:
            state, why = UrlState.DROPPED, str(reason)
        elif not listing and (objection := self._find_objection(row, queue, refusal)) is not None:
            state, why, detail = UrlState.DROPPED, str(objection.reason), objection.detail
        url_id = self.url_table.add(row.key, queue.id, row.depth, state)
        if row.hops:
            self.url_table.hops[url_id] = row.hops
        if listing:
            self.source_ids.add(url_id)
        self.url_table.parent[url_id] = -1 if row.parent_id is None else row.parent_id
        self.strategy.graph.reserve(url_id + 1)
        row = msgspec.structs.replace(
            row, id=url_id, queue_id=queue.id, state=state, reason=why, detail=detail
        )
        if state is UrlState.WAITING or reason is not None:
            self._new_rows[url_id] = row  # the scope of a later run may be wider
        else:
            self.unit_of_work.add_url(row)
        if reason is DropReason.DEPTH and self.depths is not None and refusal is None:
            self.depths.too_deep[url_id] = "" if self.unit_of_work.keeps_rows else row.url
        return url_id

    def _rewrite(self, row: UrlRow, host: Host) -> UrlRow:
        """Return a new URL as learned rules rewrite it."""
        url = self.unit_of_work.url_rules.rewrite(host.id, row.url)
        if url == row.url:
            return row
        return msgspec.structs.replace(row, url=url, key=url_fingerprint(url))

    def rewritten_candidate(self, candidate: Candidate) -> tuple[Candidate, str]:
        """Return a candidate in the spelling of its host, and the URL that is requested instead.

        The latter waits with at least the priority of the candidate, or was requested before. It
        is "" if the candidate itself is requested.
        """
        if not REVISIT_PRIORITY < candidate.priority < SEED_PRIORITY:
            return candidate, ""
        table = self.url_table
        url = self.unit_of_work.url_rules.rewrite(candidate.host.id, candidate.url)
        if url == candidate.url:
            return candidate, ""
        key = url_fingerprint(url)
        if table.find(key) == candidate.id:
            return candidate._replace(url=url), ""
        row = UrlRow(
            id=-1,
            key=key,
            url=url,
            queue_id=-1,
            depth=table.depth[candidate.id],
            priority=candidate.priority,
            link_evidence=table.link_evidence(candidate.id),
            parent_id=table.parent[candidate.id],
        )
        known = self.add_ranked_url(row)
        is_usable = table.state[known] != UrlState.FAILED
        return candidate, url if is_usable else ""

    def _scope_reason(
        self, url: str, host_name: str, depth: int, *, listing: bool = False
    ) -> DropReason | None:
        """Return why a URL is out of scope or too deep, None if it is neither."""
        if self.scope.max_depth is not None and depth > self.scope.max_depth:
            return DropReason.DEPTH
        return self.scope.reason_against(url, host_name, listing=listing, is_seed=depth == 0)

    def readmit(self, url_id: int, url: str) -> None:
        """Let a URL wait that the scope dropped, unless the scope or another rule refuses it."""
        queue = self.frontier.queues[self.url_table.queue[url_id]]
        reason = self._scope_reason(url, queue.host.name, self.url_table.depth[url_id])
        objection = self.site_rule_refusal(url, queue.host) or self.traps.check_url(url, queue.host)
        hops, why, detail = self.url_table.hops[url_id], str(reason or ""), ""
        if not why and objection is not None:
            why, detail = str(objection.reason), objection.detail
        if why:
            dropped = Outcome(url_id, UrlState.DROPPED, why, detail, hops=hops)
            return self.unit_of_work.set_outcome(dropped)
        self.unit_of_work.set_outcome(Outcome(url_id, UrlState.WAITING, hops=hops))
        self.frontier.push(url_id, url, self.url_table.priority[url_id])

    def add_ranked_url(self, row: UrlRow, *, listing: bool = False) -> int:
        """Add a URL with its evidence and at least its priority; return its id.

        Links of pages use `add_links`.
        """
        url_id = self.url_table.find(row.key)
        if url_id < 0:
            url_id = self.add_url(row, listing=listing)
        elif self.depths is not None:
            self.depths.shorten(url_id, row.depth)
        if self.depths is not None and row.hops and row.parent_id is not None:
            self.depths.redirects[row.parent_id] = url_id
        self.raise_to(url_id, row.link_evidence, row.priority, row.parent_id)
        return url_id

    def _find_objection(
        self, row: UrlRow, queue: Queue, refusal: Refusal | None
    ) -> Refusal | Suspicion | None:
        """Return why a new URL is not requested, None if it is; seeds always are.

        A redirect of a seed may lead to any page, such as a log-in page, but not into a trap.
        """
        if row.parent_id is None:
            return None
        if row.priority < SEED_PRIORITY:
            refusal = refusal or self.site_rule_refusal(row.url, queue.host)
            if refusal is not None:
                return refusal
        spent = self.exhausted_reason(queue)
        if spent:
            return Suspicion(DropReason.TRAP_BUDGET, spent)
        return self.traps.check_url(row.url, queue.host)

    def exhausted_reason(self, queue: Queue) -> str:
        """Return why no more URLs of a queue are requested, "" if they are."""
        by_pattern = self.traps.spent_reason(queue, *self.hit_rates.tallies(queue))
        return by_pattern or self.domains.spent_reason(queue.host)

    def exhausted_reason_for_url(self, url_id: int, priority: float) -> str:
        """Return why a URL is not requested because of others like it, "" if it is.

        Seeds are always requested.
        """
        if priority >= SEED_PRIORITY:
            return ""
        spent = self.exhausted_reason(self.frontier.queues[self.url_table.queue[url_id]])
        return spent or self.traps.barren_reason(url_id, self.url_table.parent[url_id])

    def restore_deferred(self, host: Host) -> None:
        """Give the deferred URLs of a host their priority again: a kind of them is of use."""
        if host.id not in self.deferred_hosts:
            return
        import numpy as np

        self.deferred_hosts.discard(host.id)

        url_table, queue_ids = self.url_table, [queue.id for queue in host.queues.values()]
        priorities = np.frombuffer(url_table.priority)
        deferred = (priorities < DEFERRED_PRIORITY) & (priorities > REVISIT_PRIORITY)
        ids = np.flatnonzero(deferred & np.isin(np.asarray(url_table.queue), queue_ids)).tolist()
        del priorities  # while numpy uses the column, it cannot grow
        for url_id in ids:
            if url_table.is_waiting(url_id):
                self.frontier.set_priority(url_id, self._priority(url_id))

    def _add_evidence(
        self, target: int, link_evidence: LinkEvidence, parent: int | None, anchor: str
    ) -> None:
        """Add the evidence of a link to a waiting URL."""
        url_table = self.url_table
        fresh = self._new_rows.pop(target, None)
        if fresh is not None:
            url_table.set_link_evidence(target, link_evidence)
            self._enqueue_new(
                target, fresh, self._priority(target), url_table.link_evidence(target)
            )
        elif (
            url_table.improves(target, link_evidence)
            and url_table.priority[target] > DEFERRED_PRIORITY
        ):
            self._improve_evidence(target, link_evidence, parent, anchor)

    def _improve_evidence(
        self, target: int, link_evidence: LinkEvidence, parent: int | None, anchor: str
    ) -> None:
        """Store better link evidence and raise the URL's priority accordingly."""
        url_table, evidence_priority = self.url_table, self.strategy.priority
        old = url_table.link_evidence(target)
        before = evidence_priority(target, old)
        url_table.set_link_evidence(target, tuple(map(max, link_evidence, old)))
        after = evidence_priority(target, url_table.link_evidence(target))
        if after <= before:
            parent = None
        elif parent is not None:
            url_table.parent[target] = parent
        priority = self._ranker.add_hub_bonus(target, after)
        if priority > url_table.priority[target]:
            self.frontier.set_priority(target, priority)
        self.unit_of_work.update_priority(target, parent, anchor)

    def _raise_priority(self, target: int) -> None:
        """Raise the priority of a waiting URL after the link graph has changed."""
        current = self.url_table.priority[target]
        if current > DEFERRED_PRIORITY and (priority := self._priority(target)) > current:
            self.frontier.set_priority(target, priority)
            self.unit_of_work.update_priority(target)

    def _enqueue_new(
        self, url_id: int, row: UrlRow, priority: float, link_evidence: LinkEvidence
    ) -> None:
        """Add a new URL with its priority to the frontier, or drop it if that is too low."""
        queue = self.frontier.queues[self.url_table.queue[url_id]]
        state, reason = row.state, row.reason
        if state is not UrlState.WAITING:
            self.url_table.priority[url_id] = priority
        elif queue.host.is_abandoned:
            state, reason = UrlState.FAILED, str(FailureKind.HOST_ABANDONED)
        if state is UrlState.WAITING:
            self.frontier.push(url_id, row.url, priority)
        elif row.state is UrlState.WAITING:
            self.url_table.set_state(url_id, state)
        row = msgspec.structs.replace(
            row,
            id=url_id,
            queue_id=queue.id,
            priority=priority,
            link_evidence=link_evidence,
            state=state,
            reason=reason,
        )
        self.unit_of_work.add_url(row)

    def raise_to(
        self, target: int, link_evidence: LinkEvidence, priority: float, parent: int | None
    ) -> None:
        """Give a waiting URL this evidence and at least this priority (seeds, redirect targets)."""
        fresh = self._new_rows.pop(target, None)
        if fresh is not None:
            self.url_table.set_link_evidence(target, link_evidence)
            self._enqueue_new(target, fresh, priority, link_evidence)
            return
        is_waiting = self.url_table.state[target] == UrlState.WAITING
        if not is_waiting or self.url_table.priority[target] <= REVISIT_PRIORITY:
            return
        self._add_evidence(target, link_evidence, parent, "")
        if priority > self.url_table.priority[target]:
            self.frontier.set_priority(target, priority)
            self.unit_of_work.update_priority(target)


def _halved_parent(parent: Parent) -> Parent:
    return msgspec.structs.replace(parent, relevance=parent.relevance / 2, relevant=False)


def _halved_link(link: Link) -> Link:
    return msgspec.structs.replace(
        link,
        anchor_score=link.anchor_score / 2,
        url_score=link.url_score / 2,
        heading_score=link.heading_score / 2,
        context_score=link.context_score / 2,
        cosine_score=link.cosine_score / 2,
        euclid_score=link.euclid_score / 2,
    )


def _minimum(first: LinkEvidence | None, second: LinkEvidence | None) -> LinkEvidence | None:
    return None if first is None or second is None else tuple(map(min, first, second))
