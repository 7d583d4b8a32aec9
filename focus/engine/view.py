"""The state of a crawl that decisions read: open requests, seeds, and references to the rest.

Decisions (`results`, `failures`) read a `View` and change nothing; `effects` changes it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from focus.admission.near_duplicates import NearDuplicates
from focus.admission.robots_gate import RobotsGate
from focus.admission.url_rules import KnownTexts
from focus.engine.templates import Templates
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.i18n import chain_messages, msg
from focus.records import StoredPage, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable
from focus.urls.normal_form import registrable_domain


class Request(msgspec.Struct):
    """The open request for a URL, from its first sending until the URL has ended.

    waiting      number of URLs that waited when it was taken, itself included; 0 before that
    bonus        bonus of its queue when it was taken
    tries        number of failed tries
    before       state in which the URL ended before, None if this is its first request
    conditions   headers of a conditional request
    stored_page  page stored by an earlier run, which stays if this request fails; None if none
    is_settled   whether the host's crawl delay has begun, before the page is scored
    is_deferred  whether its URL had been deferred by a URL rule
    """

    waiting: int = 0
    bonus: float = 0.0
    tries: int = 0
    before: UrlState | None = None
    conditions: tuple[tuple[str, str], ...] = ()
    stored_page: StoredPage | None = None
    is_settled: bool = False
    is_deferred: bool = False


_FIRST = Request()


def conditional_headers(etag: str, last_modified: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a conditional request with these validators."""
    validators = (("If-None-Match", etag), ("If-Modified-Since", last_modified))
    return tuple((name, value) for name, value in validators if value)


class Seeds:
    """The seeds of a crawl and their results.

    typed       id -> seed as the user typed it
    fallbacks   id -> http form of a seed without scheme, which is tried over https first
    failures    seed -> why it failed
    led         seed -> (its site, host that its redirects led to)
    led_before  id -> host that its redirects led to in an earlier run
    """

    def __init__(self) -> None:
        self.typed: dict[int, str] = {}
        self.fallbacks: dict[int, str] = {}
        self.failures: dict[str, str] = {}
        self.led: dict[str, tuple[str, str]] = {}
        self.led_before: dict[int, str] = {}

    def record_redirect(self, typed: str, source: str, target: str) -> None:
        """Record that a seed was redirected from host `source` to host `target`."""
        site, _ = self.led.get(typed, (registrable_domain(source), ""))
        self.led[typed] = site, target

    def redirected_away(self) -> dict[str, str]:
        """Return seed -> target host if every seed was redirected to another site, else {}."""
        away = {
            typed: host
            for typed, (site, host) in self.led.items()
            if registrable_domain(host) != site
        }
        return away if away.keys() >= set(self.typed.values()) else {}

    def set_failure(self, url_id: int, *why: str) -> None:
        """Set why a URL failed if it is a seed; without `why`, it succeeded."""
        if (typed := self.typed.get(url_id)) is None:
            return
        if why:
            self.failures[typed] = chain_messages(msg(why[0]), *why[1:])
        else:
            self.failures.pop(typed, None)


class View(NamedTuple):
    """The state of a crawl as decisions see it.

    agent           name for rules of robots.txt and X-Robots-Tag
    uses_lookups    whether hosts are resolved before their first request
    redirected_ids  URLs that redirected, if cookies are used (with a cookie they may answer);
                    else None
    decay_s         decay time of observed changes (`revisits.RevisitPolicy`)
    """

    url_table: UrlTable
    frontier: Frontier
    unit_of_work: UnitOfWork
    requests: dict[int, Request]
    seeds: Seeds
    robots_gate: RobotsGate
    near_duplicates: NearDuplicates
    templates: Templates
    known_texts: KnownTexts
    agent: str
    max_redirects: int
    uses_lookups: bool
    redirected_ids: set[int] | None = None
    decay_s: float = 0.0

    def request(self, url_id: int) -> Request:
        """Return the open request for a URL."""
        return self.requests.get(url_id, _FIRST)

    def queue(self, url_id: int) -> Queue:
        """Return the queue of a URL."""
        return self.frontier.queues[self.url_table.queue[url_id]]

    def fallbacks(self, host: Host) -> list[tuple[int, str]]:
        """Return (id, URL) of the seeds of a host that may be tried over another scheme."""
        fallbacks = self.seeds.fallbacks.items()
        return [(url_id, url) for url_id, url in fallbacks if self.queue(url_id).host is host]
