"""Forwards links to the shards that own their hosts, and takes in those of other shards.

A link to a host that another shard owns becomes a `ForwardedUrl`: it goes into the database with
the page that has it, then to that shard's queue, and is deleted when the broker has it for
sure. There it is treated as any link. Evidence is merged by maximum, so a link that comes
twice, or late, does no harm.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from operator import le

from msgspec.structs import replace

from focus.cluster.sharding import Shard, owner
from focus.cluster.shared_budget import OtherShards
from focus.engine.partition import ForwardedUrl, Partition
from focus.records import Link, UrlRow
from focus.score.strategy import LinkEvidence, Parent
from focus.urls.normal_form import url_fingerprint, url_host

MEMORY = 200_000  # links that are remembered as sent, with their evidence


class ForwardedLinks(Partition):
    """The partition of a shard: links that it has for others, until `take`, and theirs for it.

    others  the other shards; None: nothing is known of them
    """

    is_whole = False

    def __init__(self, shard: Shard, others: OtherShards | None = None) -> None:
        self.shard = shard
        self.others = others
        self.max_depth: int | None = None
        self._outgoing: list[tuple[int, ForwardedUrl]] = []
        self._arrived: list[ForwardedUrl] = []
        self._sent: OrderedDict[bytes, LinkEvidence] = OrderedDict()

    def owns(self, host: str) -> bool:
        """Whether a host is this shard's own."""
        return self.shard.owns(host)

    def forward_links(
        self, parent: Parent, links: Sequence[Link], evidence: Sequence[LinkEvidence | None]
    ) -> Sequence[LinkEvidence | None]:
        """The evidence of the links that stay; the others are on their way, if new or better."""
        number, of = self.shard.number, self.shard.of
        if of == 1:
            return evidence
        kept = list(evidence)
        for at, link in enumerate(links):
            if owner(link.host, of) == number:
                continue
            link_evidence, kept[at] = kept[at], None
            if link_evidence is not None:
                self._leave(link, link_evidence, parent.depth + 1)
        return kept

    def _leave(self, link: Link, link_evidence: LinkEvidence, depth: int) -> None:
        if self.max_depth is not None and depth > self.max_depth:
            return
        before = self._sent.get(link.key)
        if before is not None:
            if all(map(le, link_evidence, before)):
                return
            link_evidence = tuple(map(max, link_evidence, before))
        self._sent[link.key] = link_evidence
        if len(self._sent) > MEMORY:
            self._sent.popitem(last=False)
        row = UrlRow(-1, link.key, link.url, -1, depth, 0.0, link_evidence, anchor=link.anchor)
        self._outgoing.append((owner(link.host, self.shard.of), ForwardedUrl(row)))

    def forward(self, crossing: ForwardedUrl) -> None:
        """Send a seed, a redirect's target or a feed to the shard that owns its host."""
        row = replace(crossing.row, id=-1, queue_id=-1, parent_id=None)
        crossing = crossing._replace(row=row)
        if crossing.typed:
            crossing = seed_crossing(crossing.typed, row.url)
        self._outgoing.append((owner(url_host(row.url), self.shard.of), crossing))

    def take(self) -> list[tuple[int, ForwardedUrl]]:
        """The links that are to go, once: (shard, link)."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to go."""
        return not self._outgoing

    def came(self, link: ForwardedUrl) -> None:
        """Another shard has sent a link."""
        self._arrived.append(link)

    def received(self) -> Iterable[ForwardedUrl]:
        """What other shards have sent, once."""
        arrived, self._arrived = self._arrived, []
        return arrived


def seed_crossing(text: str, url: str) -> ForwardedUrl:
    """A seed for the shard that owns its host; `url` is what `text` means."""
    return ForwardedUrl(UrlRow(-1, url_fingerprint(url), url, -1, 0, 0.0), is_home=True, typed=text)
