"""Forwards links to the shards that own their hosts, and takes in those of other shards.

A link to a host that another shard owns becomes a `ForwardedLink`: it goes into the database with
the page that has it, then to that shard's queue, and is deleted when the broker has it for
sure. There it is treated as any link. Evidence is merged by maximum, so a link that comes
twice, or late, does no harm.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from operator import le

from focus.cluster.messages import ForwardedLink
from focus.cluster.sharding import Shard, owner
from focus.cluster.shared_budget import OtherShards
from focus.engine.partition import Crossing, Partition
from focus.records import Link, UrlRow
from focus.score.strategy import LinkEvidence, Parent
from focus.urls.normal_form import fingerprint, host_of

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
        self._outgoing: list[tuple[int, ForwardedLink]] = []
        self._arrived: list[ForwardedLink] = []
        self._sent: OrderedDict[bytes, LinkEvidence] = OrderedDict()

    def owns(self, host: str) -> bool:
        """Whether a host is this shard's own."""
        return self.shard.owns(host)

    def part(
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
        self.send(
            ForwardedLink(link.url, link.key, link.host, depth, link_evidence, anchor=link.anchor)
        )

    def forward(self, crossing: Crossing) -> None:
        """Send a seed, a redirect's target or a feed to the shard that owns its host."""
        row, typed = crossing.row, crossing.typed
        self.send(
            forwarded_seed(typed, row.url)
            if typed
            else ForwardedLink(
                url=row.url,
                key=row.key,
                host=host_of(row.url),
                depth=row.depth,
                link_evidence=row.link_evidence,
                priority=row.priority,
                anchor=row.anchor,
                hops=row.hops,
                is_home=crossing.is_home,
                listing=crossing.listing,
            )
        )

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

    def came(self, link: ForwardedLink) -> None:
        """Another shard has sent a link."""
        self._arrived.append(link)

    def arrived(self) -> Iterable[Crossing]:
        """What other shards have sent, once."""
        arrived, self._arrived = self._arrived, []
        return map(_crossing, arrived)


def _crossing(link: ForwardedLink) -> Crossing:
    row = UrlRow(
        id=-1,
        key=link.key,
        url=link.url,
        queue=-1,
        depth=link.depth,
        priority=link.priority,
        link_evidence=link.link_evidence,
        anchor=link.anchor,
        hops=link.hops,
    )
    return Crossing(row, link.listing, link.is_home, link.typed)


def forwarded_seed(text: str, url: str) -> ForwardedLink:
    """A seed for the shard that owns its host; `url` is what `text` means."""
    return ForwardedLink(url, fingerprint(url), host_of(url), 0, is_home=True, typed=text)
