"""Assigns hosts to crawls, and forwards URLs to the crawl that owns their host.

A single crawl owns all hosts (`Partition`). A shard of a cluster has a partition that knows the
other shards (`cluster.forwarded_links`). Only `engine.links` uses the partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from focus.records import Link, UrlRow
from focus.scheduling.priority_gate import PeerCrawls
from focus.score.strategy import LinkEvidence, Parent


class ForwardedUrl(NamedTuple):
    """A URL for the crawl that owns its host; the row has link evidence and priority.

    listing  whether it is a sitemap or feed
    is_home  whether its host is added to the scope
    typed    a seed as the user typed it, "" for other URLs
    """

    row: UrlRow
    listing: bool = False
    is_home: bool = False
    typed: str = ""


class Partition:
    """Partition of a single crawl, which owns all hosts.

    peers     crawls that share its limits, None if there are none
    is_whole  whether the crawl owns all hosts
    """

    peers: PeerCrawls | None = None
    is_whole = True

    def owns(self, host: str) -> bool:
        """Return whether this crawl owns a host."""
        return True

    def forward_links(
        self, parent: Parent, links: Sequence[Link], evidence: Sequence[LinkEvidence | None]
    ) -> Sequence[LinkEvidence | None]:
        """Forward links to hosts of other crawls; return the evidence, None for these links."""
        return evidence

    def forward(self, crossing: ForwardedUrl) -> None:
        """Forward a URL of a host that another crawl owns."""
        raise NotImplementedError(f"there is no other crawl for {crossing.row.url}")

    def received(self) -> Iterable[ForwardedUrl]:
        """Return and forget the URLs that other crawls have forwarded to this one."""
        return ()
