"""Keeps the status of all shards, and decides when limits are reached and when the crawl ends.

No shard is a leader: each tells its status, draws its own conclusions from the others', and
all come to the same.

The end. A shard is idle when no URL waits, no task is under way, and no message that came or
is to leave is unwritten or unconfirmed. But a link may be on its way to it. So its status names
the other shards that it knew to be idle before it looked at itself again. When all are idle,
and each has looked since it learned that all others were idle as they still are, no message can
be on its way any more: it was in the receiver's queue before its sender was idle.
"""

from __future__ import annotations

from collections import Counter

from focus.cluster.messages import ShardStatus
from focus.cluster.sharding import Shard
from focus.i18n import msg

SILENT_INTERVALS = 10  # a shard that says nothing for so long is away: others take its slots
OWN_ENDS = ("interrupted", "terminated")  # of one process; the crawl goes on without it


class Membership:
    """The other shards, by their last status."""

    def __init__(self, shard: Shard, interval_s: float) -> None:
        self._shard = shard
        self._silent_s = SILENT_INTERVALS * interval_s
        self._last: dict[int, tuple[float, ShardStatus]] = {}

    def record(self, status: ShardStatus, now: float) -> None:
        """Keep a shard's status."""
        if status.shard != self._shard.number:
            self._last[status.shard] = (now, status)

    def others(self, now: float) -> list[ShardStatus]:
        """The shards that told their status lately and have not ended."""
        return [
            each
            for at, each in self._last.values()
            if now - at <= self._silent_s and not each.ended
        ]

    def idle(self) -> dict[int, tuple[int, int]]:
        """The other shards that are idle, for our own status."""
        return {
            each.shard: (each.birth, each.activity)
            for _, each in self._last.values()
            if each.is_idle
        }

    def all_idle(self, own: ShardStatus) -> bool:
        """Whether nothing is left anywhere, nor on its way."""
        statuses = {own.shard: own} | {number: each for number, (_, each) in self._last.items()}
        if len(statuses) < self._shard.of or not all(each.is_idle for each in statuses.values()):
            return False
        last = {number: (each.birth, each.activity) for number, each in statuses.items()}
        return all(
            each.idle_others.get(number) == activity
            for each in statuses.values()
            for number, activity in last.items()
            if number != each.shard
        )

    def ended(self) -> str:
        """Why the crawl has ended elsewhere; "" if it has not."""
        found = (each.ended for _, each in self._last.values() if each.ended not in OWN_ENDS)
        return next(filter(None, found), "")

    def totals(self, own: dict[str, float]) -> Counter[str]:
        """What all shards together have done."""
        total: Counter[str] = Counter(own)
        for _, each in self._last.values():
            total.update(each.totals)
        return total

    def mismatch(self, status: ShardStatus, digest: bytes) -> str:
        """Why another shard is not one of this crawl; "" if it is."""
        if status.of != self._shard.of:
            return msg(
                "shard {other} of this cluster says that there are {theirs} shards, "
                "and --shard {own} that there are {ours}; give all the same",
                other=status.shard,
                theirs=status.of,
                own=str(self._shard),
                ours=self._shard.of,
            )
        if status.shard != self._shard.number and status.digest != digest:
            return msg(
                "shard {other} of this cluster crawls by other settings (topic, model or "
                "how to ask); start all shards with the same options, or give another --cluster",
                other=status.shard,
            )
        return ""
