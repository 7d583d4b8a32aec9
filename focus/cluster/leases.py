"""Holds the leases: tasks that are under way, and the ones whose worker was lost.

A lease is a task that a shard has given away. It is in the shard's database before the
task is in the broker, and goes from there with what follows from its result: so a broker
that loses everything, or a frontier that dies, loses no page and does not ask a host twice
at once.

    grant     a task is to go; `ready` gives it when its time has come
    close     its result is there; a second one, or a stranger's, finds no lease
    doubt     a worker died or was cut off with it, or the broker or this process did:
              all workers are asked whether they have it, and if none has, it goes again
    poison    so often did workers die that had it

What was lost `SUSPECT` times goes out with no other of its kind, so that no innocent task
that happened to be in the same worker is taken for a poisonous one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

import msgspec

from focus.records import Task

SUSPECT = 2
POISON = 3


class Terms(msgspec.Struct, frozen=True):
    """The longest that each step may last, seconds. Durations only: no two clocks are compared.

    queue_s   a task waits in the broker so long at most, then it vanishes there
    hold_s    a worker starts a task within this, or gives it back
    work_s    fetching and scoring take so long at most
    ask_s     workers have so long to say that they have a task
    cut_s     the same when a worker may be cut off from the broker: by then it has noticed,
              and let go of everything
    """

    queue_s: float = 20.0
    hold_s: float = 20.0
    work_s: float = 45.0
    ask_s: float = 2.0
    cut_s: float = 9.0

    @property
    def lease_s(self) -> float:
        """Seconds until a task without any report is taken for lost."""
        return self.queue_s + self.hold_s + self.work_s


class Lease:
    """A task that is away, or about to go.

    has_left   its request went out
    ask_until  it is in doubt until then
    counts     that nobody has it would be a worker's end, or worse
    """

    __slots__ = (
        "ask_until",
        "counts",
        "expires_at",
        "has_left",
        "id",
        "is_out",
        "losses",
        "task",
    )

    def __init__(self, lease_id: int, task: Task, expires_at: float, losses: int = 0) -> None:
        self.id = lease_id
        self.task = task
        self.expires_at = expires_at
        self.losses = losses
        self.is_out = False
        self.has_left = False
        self.ask_until: float | None = None
        self.counts = False


class Leases:
    """The open leases of a shard. `first` is larger than any id that was ever given.

    rest_s   what a host rests between two requests, by its name
    """

    def __init__(
        self, first: int, terms: Terms, rest_s: Callable[[str], float] = lambda host: 0.0
    ) -> None:
        self.terms = terms
        self._rest_s = rest_s
        self.lost = 0
        self._next = first
        self._open: dict[int, Lease] = {}
        self._ready: list[tuple[float, int]] = []
        self._watch: list[tuple[float, int]] = []
        self._suspect: int | None = None
        self._line: list[int] = []  # suspects that wait for their turn

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, lease_id: int) -> bool:
        return lease_id in self._open

    # -- out ----------------------------------------------------------------------

    def grant(self, task: Task, now: float) -> Lease:
        """A task is to go, not before its `start_at`."""
        lease = Lease(self._next, task, now + self.terms.lease_s)
        self._next += 1
        self._open[lease.id] = lease
        heapq.heappush(self._ready, (max(now, task.start_at), lease.id))
        return lease

    def adopt(self, lease: Lease, now: float) -> None:
        """A lease of an earlier run of this shard: somebody may have it."""
        lease.is_out = True
        lease.expires_at = min(lease.expires_at, now + self.terms.lease_s)
        self._open[lease.id] = lease
        self._doubt(lease, now + self.terms.cut_s, counts=False)

    def ready(self, now: float, most: int) -> list[Lease]:
        """Leases that go now, in their order; `most` of them."""
        going: list[Lease] = []
        while len(going) < most and self._ready and self._ready[0][0] <= now:
            lease = self._open.get(heapq.heappop(self._ready)[1])
            if lease is None or lease.is_out:
                continue
            if lease.losses >= SUSPECT and self._suspect not in (None, lease.id):
                self._line.append(lease.id)
                continue
            if lease.losses >= SUSPECT:
                self._suspect = lease.id
            lease.is_out = True
            lease.expires_at = now + self.terms.lease_s
            heapq.heappush(self._watch, (lease.expires_at, lease.id))
            going.append(lease)
        return going

    def next_ready(self) -> float | None:
        """When `ready` has something, None: not by itself."""
        return self._ready[0][0] if self._ready else None

    # -- back ---------------------------------------------------------------------

    def close(self, lease_id: int) -> Task | None:
        """The task whose result has come; None for one that nobody waits for (any more)."""
        lease = self._open.pop(lease_id, None)
        if lease is None:
            return None
        if lease_id == self._suspect:
            self._suspect = None
        return lease.task

    def request_sent(self, lease_id: int) -> Task | None:
        """The task whose request has gone out; None if that is known, or nobody's."""
        lease = self._open.get(lease_id)
        if lease is None or lease.has_left:
            return None
        lease.has_left = True
        return lease.task

    # -- in doubt -----------------------------------------------------------------

    def doubt(self, ids: Iterable[int], now: float) -> None:
        """A worker is gone that had these: another may have them, or nobody."""
        for lease_id in ids:
            lease = self._open.get(lease_id)
            if lease is not None and lease.is_out and lease.ask_until is None:
                self._doubt(lease, now + self.terms.ask_s, counts=True)

    def doubt_all(self, now: float) -> None:
        """The broker was away: anything may have become of what is out, and of answers to
        what was asked before; nobody is blamed for those.
        """
        for lease in self._open.values():
            if lease.is_out:
                self._doubt(lease, now + self.terms.cut_s, counts=False)

    def _doubt(self, lease: Lease, until: float, *, counts: bool) -> None:
        lease.ask_until, lease.counts = until, counts
        heapq.heappush(self._watch, (until, lease.id))

    def held(self, ids: Iterable[int], now: float) -> None:
        """A worker says that it has these."""
        for lease_id in ids:
            lease = self._open.get(lease_id)
            if lease is not None and lease.is_out:
                lease.ask_until = None
                lease.expires_at = now + self.terms.lease_s
                heapq.heappush(self._watch, (lease.expires_at, lease_id))

    def doubtful(self) -> list[int]:
        """The leases that workers are to be asked for."""
        return [lease.id for lease in self._open.values() if lease.ask_until is not None]

    def unbegun(self, ids: Iterable[int], now: float) -> None:
        """A worker gives these back as it found them."""
        for lease_id in ids:
            lease = self._open.get(lease_id)
            if lease is not None and lease.is_out:
                self._again(lease, now)

    def review(self, now: float, *, queued: bool) -> list[Lease]:
        """Look at what is overdue; those that are taken for poison leave.

        queued  tasks of this shard wait in the broker: what no worker has may be there
        """
        poison: list[Lease] = []
        while self._watch and self._watch[0][0] <= now:
            lease = self._open.get(heapq.heappop(self._watch)[1])
            if lease is None or not lease.is_out:
                continue
            if lease.ask_until is not None and lease.ask_until <= now:
                if queued:
                    self._doubt(lease, now + self.terms.ask_s, counts=lease.counts)
                elif self._give_up(lease, now):
                    poison.append(lease)
            elif lease.ask_until is None and lease.expires_at <= now:
                self._doubt(lease, now + self.terms.ask_s, counts=True)
        return poison

    def _give_up(self, lease: Lease, now: float) -> bool:
        """Nobody has it: whether that is so for good."""
        self.lost += 1
        if lease.counts:
            lease.losses += 1
            if lease.losses >= POISON:
                self.close(lease.id)
                return True
        self._again(lease, now + self._rest_s(lease.task.host))
        return False

    def _again(self, lease: Lease, at: float) -> None:
        lease.is_out, lease.ask_until = False, None
        heapq.heappush(self._ready, (at, lease.id))
        if self._suspect == lease.id:
            self._suspect = None

    def next_suspect(self, now: float) -> None:
        """Let the next suspect go when none is away."""
        while self._line and self._suspect is None:
            lease_id = self._line.pop(0)
            if lease_id in self._open:
                heapq.heappush(self._ready, (now, lease_id))
                return

    def unsent(self, leases: Sequence[Lease], now: float) -> None:
        """The broker did not confirm these: it may have them or not."""
        for lease in leases:
            if lease.id in self._open and lease.ask_until is None:
                self._doubt(lease, now + self.terms.cut_s, counts=False)
