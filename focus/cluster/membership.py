"""What does a shard know of the others? Who is there, what all have done, whether all are idle.

No shard is a leader: each tells how it stands and draws its own conclusions from what it
hears, and all come to the same.

The end. A shard is idle when nothing waits, nothing is away, and nothing that came or is to
leave is unwritten or unconfirmed. But a link may be on its way to it. So its word carries
what it has heard of the others before it looked at itself again: when all are idle, and each
has looked since it heard that all others were idle as they still are, nothing can be on its
way any more: what was sent was in the receiver's queue before its sender was idle.
"""

from __future__ import annotations

from collections import Counter

from focus.cluster.messages import ShardStatus
from focus.cluster.sharding import Shard

SILENT_BEATS = 10  # a shard that says nothing for so long is away: others take its slots
OWN_ENDS = ("interrupted", "terminated")  # of one process; the crawl goes on without it


class Membership:
    """The other shards, by their last word."""

    def __init__(self, shard: Shard, beat_s: float) -> None:
        self._shard = shard
        self._silent_s = SILENT_BEATS * beat_s
        self._heard: dict[int, tuple[float, ShardStatus]] = {}

    def hear(self, standing: ShardStatus, now: float) -> None:
        """A shard says how it stands."""
        if standing.shard != self._shard.number:
            self._heard[standing.shard] = (now, standing)

    def others(self, now: float) -> list[ShardStatus]:
        """Those that were heard of lately and have not ended."""
        return [
            each
            for at, each in self._heard.values()
            if now - at <= self._silent_s and not each.ended
        ]

    def idle(self) -> dict[int, tuple[int, int]]:
        """What a word of ours says of the others: those that are idle."""
        return {
            each.shard: (each.birth, each.stirs) for _, each in self._heard.values() if each.is_idle
        }

    def all_idle(self, own: ShardStatus) -> bool:
        """Whether nothing is left anywhere, nor on its way."""
        words = {own.shard: own} | {number: each for number, (_, each) in self._heard.items()}
        if len(words) < self._shard.of or not all(each.is_idle for each in words.values()):
            return False
        last = {number: (each.birth, each.stirs) for number, each in words.items()}
        return all(
            each.heard.get(number) == word
            for each in words.values()
            for number, word in last.items()
            if number != each.shard
        )

    def ended(self) -> str:
        """Why the crawl has ended elsewhere; "" if it has not."""
        found = (each.ended for _, each in self._heard.values() if each.ended not in OWN_ENDS)
        return next(filter(None, found), "")

    def totals(self, own: dict[str, float]) -> Counter[str]:
        """What all shards together have done."""
        total: Counter[str] = Counter(own)
        for _, each in self._heard.values():
            total.update(each.totals)
        return total

    def quarrel(self, standing: ShardStatus, digest: bytes) -> str:
        """What makes another shard none of the same crawl; "" if nothing does."""
        if standing.of != self._shard.of:
            return (
                f"shard {standing.shard} of this cluster says that there are {standing.of} shards, "
                f"and --shard {self._shard} that there are {self._shard.of}; give all the same"
            )
        if standing.shard != self._shard.number and standing.digest != digest:
            return (
                f"shard {standing.shard} of this cluster crawls by other settings (topic, model or "
                "how to ask); start all shards with the same options, or give another --cluster"
            )
        return ""
