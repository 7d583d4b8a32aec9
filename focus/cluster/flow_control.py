"""Limits the tasks under way to about twice what the workers can do at once.

So every free slot finds its next task in the broker, and no task waits there for long while
a better one turns up: the broker needs no priorities. Several shards share the slots by how
many of the best waiting URLs of all each has (`slot_share`).
"""

from __future__ import annotations

import math

from focus.cluster.messages import Hello

DEPTH = 2.0  # tasks away per slot
LIFE_INTERVALS = 4  # a worker that was silent for so many heartbeats has no slots


class FlowControl:
    """The workers as a shard knows them. `interval_s`: between two hellos of a worker."""

    def __init__(self, interval_s: float) -> None:
        self._life_s = LIFE_INTERVALS * interval_s
        self._recount_s = interval_s / 4
        self._seen: dict[str, tuple[float, Hello]] = {}
        self._counted = (-math.inf, b"", 0)  # until when, for which setup, slots

    def hello(self, hello: Hello, now: float) -> None:
        """A worker is there."""
        before = self._seen.get(hello.worker)
        if before is None or (before[1].slots, before[1].setup) != (hello.slots, hello.setup):
            self._counted = (-math.inf, b"", 0)
        self._seen[hello.worker] = (now, hello)

    def workers(self, now: float) -> list[Hello]:
        """The workers that said hello lately."""
        gone = [name for name, (at, _) in self._seen.items() if now - at > self._life_s]
        for name in gone:
            del self._seen[name]
        return [hello for _, hello in self._seen.values()]

    def slots(self, now: float, setup: bytes) -> int:
        """Requests at once of the workers that are ready to work by these settings.

        Asked for with every task, so counted four times an interval only.
        """
        until, counted_for, slots = self._counted
        if not until - self._recount_s <= now < until or counted_for != setup:
            slots = sum(each.slots for each in self.workers(now) if each.setup == setup)
            self._counted = (now + self._recount_s, setup, slots)
        return slots

    def window(self, now: float, setup: bytes, *, share: float, used: int) -> int:
        """Tasks that may be away: this shard's share, and what others (`used`) leave."""
        slots = self.slots(now, setup)
        most = DEPTH * slots
        return max(1, math.ceil(most * share), math.floor(most) - used) if slots else 0
