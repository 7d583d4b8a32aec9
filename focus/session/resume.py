"""Restores a crawl from its database, with all state that its decisions depend on.

Restored are hosts with crawl delays, robots.txt and addresses; queues with hit rates; the spent
budgets of domains and IP addresses; every known URL; the link graph; hub pages; and text
fingerprints. URL strings are loaded later, when a queue needs them.
"""

from __future__ import annotations

from functools import partial

import msgspec

from focus.admission.scope import is_file
from focus.admission.url_rules import MAX_REMEMBERED
from focus.config import ScopeConfig
from focus.crawler import Crawl
from focus.engine.recent_harvest import WINDOW
from focus.engine.unit_of_work import Totals
from focus.engine.view import Request
from focus.errors import StoreError
from focus.records import DropReason, RecentTally, Tally, UrlState
from focus.scheduling.retries import FAILURES_BEFORE_LAST_TRY, MAX_WAIT_S
from focus.scheduling.url_table import RunLengths
from focus.score.matching import topic_segmenter
from focus.score.subtopics import TitledPage
from focus.storage import writer
from focus.storage.writer import QueuesAndHosts
from focus.store import CrawlInfo, Store


async def restore(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    """Restore the state of an earlier run; queues load their URLs from the store later.

    Raises StoreError if URLs are missing in the database.
    """
    # If the clock was set back since the last run, stored times are set back as well.
    clock_setback_s = max(0.0, info.last_seen_at - crawl.transport.now())
    saved = await store.run_in_thread(partial(writer.load_queues_and_hosts, crawl=info.id))
    _restore_hosts(crawl, saved, clock_setback_s)
    _restore_queues(crawl, saved)
    crawl.link_handler.domains.restore_groups()
    await _restore_urls(crawl, store, info, clock_setback_s)
    await _restore_depths(crawl, store, info)
    _restore_seed_homes(crawl)
    await _restore_graph(crawl, store, info)
    hit_rates = crawl.link_handler.hit_rates
    if crawl.strategy.learns:
        hubs = await store.run_in_thread(partial(writer.load_hubs, crawl=info.id))
        crawl.ranker.hubs.restore(hubs)
        if not any(row.bonus for row in saved.queues):
            hit_rates.update_all_bonuses()  # an older version of focus did not store bonuses
    for url_id, simhash in await store.run_in_thread(partial(writer.load_simhashes, crawl=info.id)):
        crawl.view.near_duplicates.add(url_id, simhash)
    for host_id, packed in await store.run_in_thread(partial(writer.load_templates, crawl=info.id)):
        crawl.view.templates.restore(host_id, packed)
    await _restore_url_rules(crawl, store, info)
    crawl.frontier.mark_all_evicted()
    crawl.unit_of_work.resume(msgspec.convert(info.counters, Totals))
    if crawl.strategy.learns:
        hit_rates.set_newcomer_bonus()
        hit_rates.set_link_rates()
    await _restore_recent_harvest(crawl, store, info)
    await _restore_titles(crawl, store, info)


async def _restore_url_rules(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    for row in await store.run_in_thread(partial(writer.load_url_rules, crawl=info.id)):
        crawl.unit_of_work.url_rules.restore(row)
    load_urls = partial(writer.load_page_urls, crawl=info.id, last=MAX_REMEMBERED)
    for url_id, url in await store.run_in_thread(load_urls):
        rules, host = crawl.unit_of_work.url_rules, crawl.view.queue(url_id).host
        rules.add_page(host.id, rules.named_page(host.id, url))
    for alias in await store.run_in_thread(partial(writer.load_aliases, crawl=info.id)):
        crawl.effects.restore_alias(*alias)
    import numpy as np

    rows = await store.run_in_thread(partial(writer.load_text_digests, crawl=info.id))
    ids, digests = np.array(rows, np.int64).reshape(-1, 2).T
    host_ids = np.array([queue.host.id for queue in crawl.frontier.queues], np.uint64)
    hosts = host_ids[np.asarray(crawl.url_table.queue)[ids]]
    crawl.view.known_texts.restore(ids, hosts, digests.astype(np.uint64))


async def _restore_recent_harvest(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    """Restore which of the last requests returned a relevant page.

    Revisits have request numbers but do not count, so a crawl with revisits starts without history.
    """
    totals = crawl.unit_of_work.totals
    if totals.refreshed_from:
        return
    first = max(0, totals.requests - WINDOW)
    relevant = await store.run_in_thread(
        partial(writer.load_relevant_requests, crawl=info.id, first=first)
    )
    crawl.recent_harvest.add(nth in relevant for nth in range(first + 1, totals.requests + 1))


async def _restore_titles(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    strategy = crawl.strategy
    if strategy.resume_pages:
        titles = await store.run_in_thread(
            partial(writer.load_titles, crawl=info.id, last=strategy.resume_pages)
        )
        page_count = crawl.unit_of_work.totals.pages
        strategy.resume_at(page_count - len(titles), page_count)
        segmenter = topic_segmenter(crawl.config.analysis.topic)
        for row in titles:
            strategy.learn_from_page(TitledPage.from_title(*row, segmenter))


def _restore_hosts(crawl: Crawl, saved: QueuesAndHosts, clock_setback_s: float) -> None:
    now = crawl.transport.now()
    for row in saved.hosts:
        host = crawl.frontier.host(row.name)
        host.address, host.software = row.address, row.software
        if row.is_abandoned:
            host.failures = FAILURES_BEFORE_LAST_TRY  # one request of its robots.txt is left
        else:
            host.failures = row.failures
            host.robots = {
                scheme: (text, status, expires_at - clock_setback_s)
                for scheme, (text, status, expires_at) in row.robots.items()
            }
        for scheme in list(host.robots):
            crawl.view.robots_gate.restore(host, scheme)
        # Requests just before a kill are not stored, so wait for a whole crawl delay.
        next_at = min(row.next_at - clock_setback_s, now + MAX_WAIT_S)
        host.next_at = max(next_at, now + host.delay_s)
        if clock_setback_s:
            crawl.unit_of_work.update_host(host)


def _restore_queues(crawl: Crawl, saved: QueuesAndHosts) -> None:
    frontier, hit_rates = crawl.frontier, crawl.link_handler.hit_rates
    for row in saved.queues:
        queue = frontier.queue(frontier.hosts[row.host_id], row.pattern)
        hit_rates.restore(queue, Tally(row.requests, row.rewards), RecentTally(*row.recent))
        frontier.set_bonus(queue, row.bonus)
    hit_rates.restore_hosts()


async def _restore_urls(
    crawl: Crawl, store: Store, info: CrawlInfo, clock_setback_s: float
) -> None:
    import numpy as np

    url_table, frontier, now = crawl.url_table, crawl.frontier, crawl.transport.now()
    async for urls in store.iter_urls(info.id):
        url_table.restore(urls)
        for url_id, tries, retry_at in urls.retries:
            crawl.requests[url_id] = Request(tries=tries)
            at = min((retry_at or 0.0) - clock_setback_s, now + MAX_WAIT_S)
            frontier.defer(url_id, None, max(now, at))
    if len(url_table) != info.next_url:
        raise StoreError(
            "the database has lost URLs of crawl {number}: only {url_table:,} of {next_url:,} "
            "remain; keep a copy, then start a new crawl with --fresh",
            number=info.id,
            url_table=len(url_table),
            next_url=info.next_url,
        )
    async for evidence in store.iter_evidence(info.id):
        url_table.apply_link_evidence(*evidence)
    url_table.build_index()
    for queue_id, count in enumerate(np.bincount(np.asarray(url_table.queue)).tolist()):
        crawl.link_handler.traps.count_urls(frontier.queues[queue_id].host, count)


async def _restore_depths(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    """Restore depths by shorter ways, and what is needed to find more of them."""
    if (depths := crawl.link_handler.depths) is None:
        return
    import numpy as np

    stored = await store.run_in_thread(partial(writer.load_depths, crawl=info.id))
    if stored:
        crawl.url_table.depth = RunLengths()
        crawl.url_table.depth.extend(0, np.asarray(stored))
    async for rows in store.iter_refused(info.id):
        too_deep = [row[0] for row in rows if row[3] == DropReason.DEPTH]
        depths.too_deep.update(dict.fromkeys(too_deep, ""))
    parents = crawl.url_table.parent
    depths.redirects = {parents[url_id]: url_id for url_id in crawl.url_table.hops}


class _LastSettings(msgspec.Struct):
    scope: ScopeConfig = ScopeConfig()


async def readmit_urls(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    """Let URLs wait that the last run dropped by a scope that this run has widened.

    The seeds must have been added. Without a change of the scope nothing is read.
    """
    last = msgspec.json.decode(info.last_config, type=_LastSettings)
    if last.scope == crawl.config.scope:
        return
    depths, max_depth = crawl.link_handler.depths, crawl.config.scope.max_depth
    async for rows in store.iter_refused(info.id):
        for url_id, url, depth, reason in rows:
            if max_depth is not None and depth > max_depth:
                continue
            if reason == DropReason.NOT_HTML and not is_file(url, last.scope.documents):
                continue  # it was fetched
            if depths is not None:
                depths.too_deep.pop(url_id, None)
            if crawl.url_table.state[url_id] == UrlState.DROPPED:
                crawl.link_handler.readmit(url_id, url)


async def _restore_graph(crawl: Crawl, store: Store, info: CrawlInfo) -> None:
    crawl.graph.reserve(len(crawl.url_table))
    async for pages in store.iter_graph(info.id):
        crawl.graph.restore(pages)
    if not crawl.graph.may_defer:
        crawl.graph.push_all()


def _restore_seed_homes(crawl: Crawl) -> None:
    """Add the hosts that seeds redirected to to the scope.

    Redirects are followed backwards from their targets. The final host of a seed is stored until
    `Seeder.add_seeds` knows the text of the seed.
    """
    url_table, frontier = crawl.url_table, crawl.frontier
    for url_id, hops in sorted(url_table.hops.items()):
        chain = [url_id]
        while hops > 0 and (parent := url_table.parent[chain[-1]]) >= 0:
            chain.append(parent)
            hops -= 1
        starts_at_seed = len(chain) > 1 and url_table.parent[chain[-1]] < 0
        if starts_at_seed and url_table.state[url_id] != UrlState.DROPPED:
            hosts = [frontier.queues[url_table.queue[ancestor]].host.name for ancestor in chain]
            for host in hosts:
                crawl.scope.add_home(f"http://{host}/")
            crawl.seeds.led_before[chain[-1]] = hosts[0]
