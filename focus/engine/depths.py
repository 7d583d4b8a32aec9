"""Keeps depths at the shortest way from a seed, where --max-depth limits a crawl.

Links beyond the limit are known URLs, dropped as `depth`. When a shorter way to a URL is found, its
depth decreases, and with it the depths of what it redirects and links to; whatever is then within
the limit waits after all. So it does not matter which way was found first.
"""

from __future__ import annotations

from collections import deque

from focus.engine.unit_of_work import UnitOfWork
from focus.scheduling.url_table import UrlTable
from focus.score.graph.pagerank import PageRank


class Depths:
    """Depths of the URLs of a crawl with a limit.

    too_deep   URLs beyond the limit: id -> address, "" if it is in the database
    redirects  id of a URL -> id of the URL that it redirects to
    admitted   URLs that were too deep and are within the limit now; the crawl takes them
    """

    def __init__(
        self, max_depth: int, url_table: UrlTable, graph: PageRank, unit_of_work: UnitOfWork
    ) -> None:
        self.max_depth = max_depth
        self.too_deep: dict[int, str] = {}
        self.redirects: dict[int, int] = {}
        self.admitted: dict[int, str] = {}
        self._url_table = url_table
        self._graph = graph
        self._unit_of_work = unit_of_work

    def shorten(self, url_id: int, depth: int) -> None:
        """Record a way to a known URL; shorter ones shorten the ways behind it as well."""
        depths = self._url_table.depth
        pending = deque([(url_id, depth)])
        while pending:
            url_id, depth = pending.popleft()
            if depth >= depths[url_id]:
                continue
            depths.set(url_id, depth)
            self._unit_of_work.set_depth(url_id, depth)
            if depth <= self.max_depth and url_id in self.too_deep:
                self.admitted[url_id] = self.too_deep.pop(url_id)
            if url_id in self.redirects:
                pending.append((self.redirects[url_id], depth))
            pending.extend((target, depth + 1) for target in self._graph.out_links(url_id))
