"""Says which hosts are a crawl's own, and hands the URLs of others to the crawls that own them.

A crawl by itself owns all hosts: `Partition`. A shard of a cluster has one that knows the others
(`cluster.forwarded_links`). Nobody else in a crawl asks whose a host is but `engine.links`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from focus.records import Link, UrlRow
from focus.scheduling.priority_gate import PeerCrawls
from focus.score.strategy import LinkEvidence, Parent


class Crossing(NamedTuple):
    """A URL on its way to the crawl that owns its host; the row has evidence and priority.

    listing  it is a sitemap or feed
    is_home  its host is home to the scope, too
    typed    a seed, as the user typed it; "" for all else
    """

    row: UrlRow
    listing: bool = False
    is_home: bool = False
    typed: str = ""


class Partition:
    """The hosts of a crawl by itself: all.

    others    crawls that share its limits; None: there are none
    is_whole  there are no hosts of others
    """

    others: PeerCrawls | None = None
    is_whole = True

    def owns(self, host: str) -> bool:
        """Whether a host is this crawl's own."""
        return True

    def part(
        self, parent: Parent, links: Sequence[Link], evidence: Sequence[LinkEvidence | None]
    ) -> Sequence[LinkEvidence | None]:
        """The evidence of a page's links; None for those to hosts of others: they are forwarded."""
        return evidence

    def forward(self, crossing: Crossing) -> None:
        """Hand over a URL of a host that this crawl does not own."""
        raise NotImplementedError(f"there is no other crawl for {crossing.row.url}")

    def arrived(self) -> Iterable[Crossing]:
        """What other crawls have forwarded to this one, once."""
        return ()
