"""Decides which sitemaps and feeds are fetched, and adds the URLs that they list.

A sitemap or feed waits in the frontier like any other URL, obeys robots.txt and costs a request.
Fetched are, within a budget per host:

    sitemaps   of the seeds' hosts: those named by robots.txt, else /sitemap.xml
    indexes    the sitemaps that they list, the most recently changed first
    feeds      RSS and Atom feeds that relevant pages and seeds name

A sitemap is trusted for its own site only; its links to other sites are not followed.
"""

from __future__ import annotations

from collections import Counter

from focus.admission.robots_gate import RobotsGate
from focus.engine.links import LinkHandler
from focus.records import SEED_PRIORITY, Link, SourceEntry, UrlRow, UrlSource
from focus.scheduling.queues import Host
from focus.scheduling.url_table import UrlTable
from focus.score.strategy import Parent
from focus.text.formatting import format_count
from focus.urls.normal_form import normalise, registrable_domain, url_fingerprint, url_host


class SitemapHandler:
    """Sitemaps and feeds of one crawl, at most `per_host` of each host."""

    def __init__(
        self, link_handler: LinkHandler, robots_gate: RobotsGate, *, is_enabled: bool, per_host: int
    ) -> None:
        self._link_handler = link_handler
        self._robots_gate = robots_gate
        self._is_enabled = is_enabled
        self._per_host = per_host
        self._homes: set[str] = set()
        self._requested: Counter[str] = Counter()

    @property
    def _url_table(self) -> UrlTable:
        return self._link_handler.url_table

    def add_home(self, url: str) -> None:
        """Add the host of a seed or of its redirect target: its sitemaps are fetched."""
        if self._is_enabled and url_host(url) not in self._homes:
            self._homes.add(url_host(url))
            host = self._link_handler.frontier.host(url_host(url))
            if self._robots_gate.ignores_robots:
                self._add_url_source(normalise("/sitemap.xml", url), 0, None)
            elif host.robots:  # known from an earlier run
                self.add_from_robots(host)

    def add_from_robots(self, host: Host) -> None:
        """Add the sitemaps that the robots.txt of a host names."""
        if host.name in self._homes:
            scheme, named = self._robots_gate.sitemaps(host)
            base = f"{scheme}://{host.name}/"
            for sitemap in named[: self._per_host] or ("/sitemap.xml",):
                self._add_url_source(normalise(sitemap, base), 0, None)

    def add_feeds(self, url_id: int, depth: int, feeds: list[str], *, relevant: bool) -> None:
        """Add the feeds that a page names, if it is relevant or a seed."""
        if self._is_enabled and (relevant or depth == 0):
            for feed in feeds:
                self._add_url_source(feed, depth, url_id)

    def add_entries(self, parent: Parent, url: str, listing: UrlSource, links: list[Link]) -> str:
        """Add the entries of a sitemap or feed and return a sentence with their number.

        links  its entries as scored by a worker; an index has none
        """
        if listing.kind == "index":
            added = self._add_index_entries(url, listing)
        else:
            own = [e for e in links if listing.kind == "feed" or _is_same_site(e.url, url)]
            targets = self._link_handler.add_links(parent, own)
            self._link_handler.unit_of_work.add_links(parent.id, targets)
            self._store_lastmods(url, listing.entries)
            added = len(targets)
        return (
            f"{listing.kind} with {format_count(added, 'link')} taken"
            + ", cut" * listing.is_truncated
        )

    def _add_index_entries(self, url: str, listing: UrlSource) -> int:
        """Add the sitemaps of an index, the latest change first; return how many are new."""
        added = 0
        for entry in sorted(listing.entries, key=lambda entry: -entry.changed_at):
            target = normalise(entry.url, url) or ""
            if _is_same_site(target, url):
                added += self._add_url_source(target, 0, None)
                if self._requested[url_host(target)] >= self._per_host:
                    break
        return added

    def _store_lastmods(self, url: str, entries: list[SourceEntry]) -> None:
        """Store when listed pages changed, for known URLs."""
        for entry in entries:
            target = normalise(entry.url, url) if entry.changed_at else None
            if (
                target is not None
                and (url_id := self._url_table.find(url_fingerprint(target))) >= 0
            ):
                self._link_handler.unit_of_work.set_lastmod(url_id, entry.changed_at)

    def _add_url_source(self, url: str | None, depth: int, parent: int | None) -> bool:
        """Add a sitemap or feed before all links. Return whether it is new and in budget."""
        if url is None or self._url_table.find(key := url_fingerprint(url)) >= 0:
            return False
        host = url_host(url)
        if self._requested[host] >= self._per_host:
            return False
        self._requested[host] += 1
        if parent is None:
            link_evidence, priority = self._link_handler.strategy.seed(), SEED_PRIORITY
        else:
            link_evidence = self._url_table.link_evidence(parent)
            priority = self._url_table.priority[parent]
        row = UrlRow(-1, key, url, -1, depth, priority, link_evidence, parent)
        self._link_handler.add_ranked_url(row, listing=True)
        return True


def _is_same_site(url: str, listing_url: str) -> bool:
    if not url:
        return False
    here, there = url_host(listing_url), url_host(url)
    return here == there or registrable_domain(here) == registrable_domain(there)
