"""Forwards links to the shards that own their hosts, and takes in those of other shards.

A link to a host that another shard owns becomes a `ForwardedLink`: it goes into the database with
the page that has it, then to that shard's queue, and is deleted when the broker has it for
sure. There it is treated as any link. Evidence is merged by maximum, so a link that comes
twice, or late, does no harm.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from focus.cluster.messages import ForwardedLink
from focus.cluster.sharding import Shard, owner
from focus.crawler import Crawl
from focus.records import Link, UrlRow
from focus.score.strategy import LinkEvidence, Parent
from focus.urls.normal_form import fingerprint, host_of

MEMORY = 200_000  # links that are remembered as sent, with their evidence
_SLACK = 1e-6


class ForwardedLinks:
    """The links that a shard has for others, until `take`."""

    def __init__(self, shard: Shard, max_depth: int | None) -> None:
        self.shard = shard
        self.max_depth = max_depth
        self._outgoing: list[tuple[int, ForwardedLink]] = []
        self._sent: OrderedDict[bytes, LinkEvidence] = OrderedDict()

    def owns(self, host: str) -> bool:
        """Whether a host is this shard's own."""
        return self.shard.owns(host)

    def part(
        self, parent: Parent, links: Sequence[Link], evidence: Sequence[LinkEvidence | None]
    ) -> tuple[list[Link], list[LinkEvidence | None]]:
        """The links that stay; the others are on their way, if they are new or better."""
        stay, kept = [], []
        for link, link_evidence in zip(links, evidence, strict=True):
            if self.owns(link.host):
                stay.append(link)
                kept.append(link_evidence)
            elif link_evidence is not None:
                self._leave(link, link_evidence, parent.depth + 1)
        return stay, kept

    def _leave(self, link: Link, link_evidence: LinkEvidence, depth: int) -> None:
        if self.max_depth is not None and depth > self.max_depth:
            return
        before = self._sent.get(link.key)
        if before is not None:
            if all(new <= old + _SLACK for new, old in zip(link_evidence, before, strict=True)):
                return
            link_evidence = tuple(map(max, link_evidence, before))
        self._sent[link.key] = link_evidence
        if len(self._sent) > MEMORY:
            self._sent.popitem(last=False)
        self.send(
            ForwardedLink(link.url, link.key, link.host, depth, link_evidence, anchor=link.anchor)
        )

    def seed(self, text: str, url: str) -> None:
        """A seed, as typed, that another shard owns."""
        self.send(forwarded_seed(text, url))

    def redirect(
        self, row: UrlRow, link_evidence: LinkEvidence, priority: float, *, is_home: bool
    ) -> None:
        """The target of a redirect that another shard owns."""
        self.send(_forwarded_link(row, link_evidence, priority, is_home=is_home))

    def listing(self, row: UrlRow, link_evidence: LinkEvidence, priority: float) -> None:
        """A feed of a page of ours that another shard owns."""
        self.send(_forwarded_link(row, link_evidence, priority, listing=True))

    def send(self, link: ForwardedLink) -> None:
        """Let one go, whatever went before."""
        self._outgoing.append((owner(link.host, self.shard.of), link))

    def take(self) -> list[tuple[int, ForwardedLink]]:
        """The links that are to go, once: (shard, link)."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to go."""
        return not self._outgoing


def _forwarded_link(
    row: UrlRow,
    link_evidence: LinkEvidence,
    priority: float,
    *,
    is_home: bool = False,
    listing: bool = False,
) -> ForwardedLink:
    return ForwardedLink(
        url=row.url,
        key=row.key,
        host=host_of(row.url),
        depth=row.depth,
        link_evidence=link_evidence,
        priority=priority,
        anchor=row.anchor,
        hops=row.hops,
        is_home=is_home,
        listing=listing,
    )


def forwarded_seed(text: str, url: str) -> ForwardedLink:
    """A seed for the shard that owns its host; `url` is what `text` means."""
    return ForwardedLink(url, fingerprint(url), host_of(url), 0, is_home=True, typed=text)


def accept(crawl: Crawl, link: ForwardedLink) -> None:
    """Take in another shard's link as one of a page of this shard, as far as it is known here."""
    if link.typed:
        crawl.sow((link.typed,))
        return
    if link.is_home:
        crawl.scope.add_home(link.url)
    row = UrlRow(
        -1,
        link.key,
        link.url,
        queue=-1,
        depth=link.depth,
        priority=link.priority,
        link_evidence=link.link_evidence,
        anchor=link.anchor,
        hops=link.hops,
    )
    crawl.link_handler.arrive(row, link.host, listing=link.listing)
