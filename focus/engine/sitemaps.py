"""Decides which sitemaps and feeds are fetched, and takes in the URLs that they list.

A listing is a URL among others: it waits in the frontier, obeys robots.txt, costs a
request, and is done when its links are known. Asked for are

    sitemaps   of the seeds' hosts: those that robots.txt names, else /sitemap.xml
    indexes    the sitemaps they list, the last changed first
    feeds      that relevant pages and seeds name (RSS, Atom)

and of each host no more than a budget. A sitemap speaks for its own site only; links to
others' are not followed.
"""

from __future__ import annotations

from collections import Counter

from focus.admission.robots_gate import RobotsGate
from focus.engine.links import LinkHandler
from focus.records import SEED_PRIORITY, Link, Listed, Listing, UrlRow
from focus.scheduling.queues import Host
from focus.scheduling.url_table import UrlTable
from focus.score.strategy import Parent
from focus.text.formatting import count
from focus.urls.normal_form import fingerprint, host_of, normalise, registrable_domain


class SitemapHandler:
    """The sitemaps and feeds of one crawl; none if it wants none. `per_host`: their budget."""

    def __init__(
        self, link_handler: LinkHandler, robots_gate: RobotsGate, *, wanted: bool, per_host: int
    ) -> None:
        self._link_handler = link_handler
        self._robots_gate = robots_gate
        self._wanted = wanted
        self._per_host = per_host
        self._homes: set[str] = set()
        self._asked: Counter[str] = Counter()

    @property
    def _url_table(self) -> UrlTable:
        return self._link_handler.url_table

    def add_home(self, url: str) -> None:
        """A seed, or where one redirects to: its host's sitemaps are wanted."""
        if self._wanted and host_of(url) not in self._homes:
            self._homes.add(host_of(url))
            host = self._link_handler.frontier.host(host_of(url))
            if self._robots_gate.is_open:
                self._enter(normalise("/sitemap.xml", url), 0, None)
            elif host.robots:  # of an earlier run
                self.rules_came(host)

    def rules_came(self, host: Host) -> None:
        """A host's robots.txt was read."""
        if host.name in self._homes:
            scheme, named = self._robots_gate.sitemaps(host)
            base = f"{scheme}://{host.name}/"
            for each in named[: self._per_host] or ("/sitemap.xml",):
                self._enter(normalise(each, base), 0, None)

    def of_page(self, url_id: int, depth: int, feeds: list[str], *, relevant: bool) -> None:
        """The feeds that a page names, if it is worth it."""
        if self._wanted and (relevant or depth == 0):
            for feed in feeds:
                self._enter(feed, depth, url_id)

    def came(self, parent: Parent, url: str, listing: Listing, links: list[Link]) -> str:
        """Take in what a listing names; how much that was, in words.

        links  its entries as a scorer reads them; an index has none
        """
        if listing.kind == "index":
            taken = self._of_index(url, listing)
        else:
            own = [e for e in links if listing.kind == "feed" or _is_own(e.url, url)]
            targets = self._link_handler.expand(parent, own)
            self._link_handler.unit_of_work.linked(parent.id, targets)
            self._note_changes(url, listing.links)
            taken = len(targets)
        return f"{listing.kind} with {count(taken, 'link')} taken" + ", cut" * listing.cut

    def _of_index(self, url: str, listing: Listing) -> int:
        """Ask for the sitemaps of an index, the last changed first; how many are new."""
        taken = 0
        for entry in sorted(listing.links, key=lambda each: -each.changed_at):
            target = normalise(entry.url, url) or ""
            if _is_own(target, url):
                taken += self._enter(target, 0, None)
                if self._asked[host_of(target)] >= self._per_host:
                    break
        return taken

    def _note_changes(self, url: str, entries: list[Listed]) -> None:
        """Keep when the listed pages changed, of those that are known."""
        for entry in entries:
            target = normalise(entry.url, url) if entry.changed_at else None
            if target is not None and (found := self._url_table.find(fingerprint(target))) >= 0:
                self._link_handler.unit_of_work.listed(found, entry.changed_at)

    def _enter(self, url: str | None, depth: int, parent: int | None) -> bool:
        """Let a listing wait, before all links; whether it is a new one within the budget."""
        if url is None or self._url_table.find(key := fingerprint(url)) >= 0:
            return False
        host = host_of(url)
        if self._asked[host] >= self._per_host:
            return False
        self._asked[host] += 1
        if parent is None:
            link_evidence, priority = self._link_handler.strategy.seed(), SEED_PRIORITY
        else:
            link_evidence = self._url_table.link_evidence(parent)
            priority = self._url_table.priority[parent]
        row = UrlRow(-1, key, url, -1, depth, priority, link_evidence, parent)
        return self._link_handler.offer(row, listing=True) >= 0


def _is_own(url: str, listing_url: str) -> bool:
    if not url:
        return False
    here, there = host_of(listing_url), host_of(url)
    return here == there or registrable_domain(here) == registrable_domain(there)
