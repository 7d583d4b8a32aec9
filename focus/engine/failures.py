"""Decides whether a failed URL is tried again, recorded as a failure, or dropped.

Retries follow the table in scheduling/retries.py. A host to blame rests, and is given up after
too many failures in a row: all that waits on it fails with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.records import DropReason, FailureKind, FetchResult, Outcome, Task, UrlState
from focus.scheduling import retries
from focus.scheduling.queues import Host
from focus.scheduling.url_table import UrlTable

_NO_CONNECTION = {
    *(FailureKind.UNREACHABLE, FailureKind.CONNECT, FailureKind.TLS),
    *(FailureKind.TIMEOUT, FailureKind.RESET),
}


class FailureHandler:
    """Failures and drops of one crawl, and what became of its seeds."""

    def __init__(self, url_table: UrlTable, frontier: Frontier, unit_of_work: UnitOfWork) -> None:
        self.url_table = url_table
        self.frontier = frontier
        self.unit_of_work = unit_of_work
        self.seeds: dict[int, str] = {}  # id -> as the user typed it
        self.fallbacks: dict[int, str] = {}  # id -> http form of a seed without a scheme
        self.of_seeds: dict[str, str] = {}  # seed -> why it came to nothing

    def failed(self, task: Task, kind: FailureKind, fetch: FetchResult, now: float) -> None:
        """A request for a URL (`task.id` is set) brought no page."""
        assert task.id is not None
        host = self.frontier.host(task.host)
        if kind is FailureKind.NOT_HTML:
            self.drop(task.id, DropReason.NOT_HTML, fetch.detail)
            return
        if kind in _NO_CONNECTION and task.id in self.fallbacks:
            self.requeue(task.id, self.fallbacks.pop(task.id), hops=0)
            return
        tries = self.unit_of_work.tries.get(task.id, 0) + 1
        again_s = retries.wait_s(kind, tries, fetch.retry_after_s)
        if again_s is None:
            self.fail(task.id, kind, fetch.detail, tries)
        else:
            waits = UrlState.WAITING
            retry_at = now + again_s
            self.unit_of_work.ended(
                Outcome(task.id, waits, str(kind), fetch.detail, tries, retry_at, task.hops)
            )
            self.frontier.defer(task.id, task.url, retry_at)
            self._note(task.id, str(kind), fetch.detail)
        if retries.policy(kind).blames_host:
            told_s = again_s if again_s is not None else fetch.retry_after_s
            self._blame(host, kind, fetch.detail, now + (told_s or 0.0), now)

    def _blame(
        self, host: Host, kind: FailureKind, detail: str, rest_until: float, now: float
    ) -> None:
        host.failures += 1
        self.unit_of_work.host_changed(host)
        if host.failures >= retries.HOST_FAILURES or kind in retries.HOST_KILLERS:
            self.give_up(host, kind, detail)
        elif rest_until > now:
            self.frontier.rest(host, rest_until, now)

    def give_up(self, host: Host, kind: FailureKind, detail: str) -> None:
        """Fail all that waits on a host (what the store holds of it follows on refill)."""
        self.unit_of_work.host_changed(host)
        self.fail_all(self.frontier.give_up(host), f"{kind}: {detail}" if detail else str(kind))

    def fail_all(self, ids: Iterable[int], detail: str) -> None:
        """Fail URLs of a host that was given up."""
        for url_id in ids:
            self.fail(url_id, FailureKind.HOST_GIVEN_UP, detail[:200])

    def fail(self, url_id: int, kind: FailureKind, detail: str, tries: int = 1) -> None:
        """A URL has failed for good."""
        self.unit_of_work.ended(Outcome(url_id, UrlState.FAILED, str(kind), detail, tries))
        told = "" if kind is FailureKind.HOST_GIVEN_UP else str(kind)  # the detail says it
        self._note(url_id, told, detail)

    def shut(self, url_id: int, host: Host, why: str) -> None:
        """A URL's scheme is closed at its host; a seed may have another."""
        if url_id not in self.fallbacks or not self.fall_back(host):
            self.fail(url_id, FailureKind.HOST_GIVEN_UP, why[:200])

    def drop(self, url_id: int, reason: DropReason, detail: str = "") -> None:
        """A URL is not wanted any more."""
        self.unit_of_work.ended(Outcome(url_id, UrlState.DROPPED, str(reason), detail))
        if reason is not DropReason.REDIRECTED:
            self._note(url_id, str(reason), detail)

    def put_back(self, ids: Iterable[int]) -> None:
        """What was under way when all was dropped (`Transport.cancel`) waits again."""
        for url_id in ids:
            tries, hops = self.unit_of_work.tries.get(url_id, 0), self.url_table.hops[url_id]
            self.unit_of_work.ended(Outcome(url_id, UrlState.WAITING, tries=tries, hops=hops))

    def came_through(self, url_id: int) -> None:
        """A page was had after all: its seed has no failure any more."""
        if url_id in self.seeds:
            self.of_seeds.pop(self.seeds[url_id], None)

    def _note(self, url_id: int, reason: str, detail: str) -> None:
        if url_id in self.seeds:
            self.of_seeds[self.seeds[url_id]] = ": ".join(filter(None, (reason, detail)))

    def fall_back(self, host: Host) -> bool:
        """Seeds without a scheme were tried as https; try those of this host as http."""
        queues = self.frontier.queues
        ids = [i for i in self.fallbacks if queues[self.url_table.queue[i]].host is host]
        for url_id in ids:
            self.requeue(url_id, self.fallbacks.pop(url_id), hops=0)
        return bool(ids)

    def requeue(self, url_id: int, url: str, hops: int) -> None:
        """Let a URL wait again in another spelling (https for http, or the reverse)."""
        self.url_table.hops[url_id] = hops
        self.unit_of_work.ended(Outcome(url_id, UrlState.WAITING, hops=hops, url=url))
        self.frontier.push(url_id, url, self.url_table.priority[url_id])
