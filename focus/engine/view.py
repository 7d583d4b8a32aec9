"""Holds what decisions look at: requests that are not over yet, seeds, and the rest by reference.

Whoever decides (`results`, `failures`) reads a `View` and changes nothing; `effects` changes it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from focus.admission.near_duplicates import NearDuplicates
from focus.admission.robots_gate import RobotsGate
from focus.engine.unit_of_work import UnitOfWork
from focus.frontier import Frontier
from focus.i18n import msg, within
from focus.records import KeptPage, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable
from focus.urls.normal_form import registrable_domain


class Request(msgspec.Struct):
    """The request for a URL, from when it is sent (or was to be repeated) to the URL's end.

    waiting     URLs that waited when it was taken, itself among them; 0: not yet
    bonus       of its queue, when it was taken
    tries       times that it has failed
    before      how the URL ended when it was asked for last; None: it never was
    conditions  headers that ask for an answer only if the page has changed since
    kept        what an earlier run had of it, which stays whatever comes of this; None: nothing
    is_settled  its host has answered and been let go, while the page is still to be judged
    """

    waiting: int = 0
    bonus: float = 0.0
    tries: int = 0
    before: UrlState | None = None
    conditions: tuple[tuple[str, str], ...] = ()
    kept: KeptPage | None = None
    is_settled: bool = False


_FIRST = Request()


def conditions(etag: str, last_modified: str) -> tuple[tuple[str, str], ...]:
    """What asks for an answer only if the page has changed since it came with these."""
    validators = (("If-None-Match", etag), ("If-Modified-Since", last_modified))
    return tuple((name, value) for name, value in validators if value)


class Seeds:
    """The seeds of a crawl, and what became of them.

    typed       id -> as the user typed it
    fallbacks   id -> http form of a seed without a scheme, which is tried as https first
    failures    seed -> why it came to nothing
    led         seed -> (the site it is on, the host that its redirects led to)
    led_before  id -> the host that its redirects led to in an earlier run
    """

    def __init__(self) -> None:
        self.typed: dict[int, str] = {}
        self.fallbacks: dict[int, str] = {}
        self.failures: dict[str, str] = {}
        self.led: dict[str, tuple[str, str]] = {}
        self.led_before: dict[int, str] = {}

    def redirected(self, typed: str, source: str, target: str) -> None:
        """One host sent a seed on to another, perhaps itself."""
        site, _ = self.led.get(typed, (registrable_domain(source), ""))
        self.led[typed] = site, target

    def led_away(self) -> dict[str, str]:
        """Seed -> the host that it led to, if every single one led to another site; else {}."""
        away = {
            typed: host
            for typed, (site, host) in self.led.items()
            if registrable_domain(host) != site
        }
        return away if away.keys() >= set(self.typed.values()) else {}

    def note(self, url_id: int, *why: str) -> None:
        """Why a URL came to nothing, if it is a seed; nothing: it came through."""
        if (typed := self.typed.get(url_id)) is None:
            return
        if why:
            self.failures[typed] = within(msg(why[0]), *why[1:])
        else:
            self.failures.pop(typed, None)


class View(NamedTuple):
    """A crawl, to be looked at.

    agent      whom robots.txt and X-Robots-Tag may speak to, besides everybody
    locates    hosts are looked up before they are asked
    left       URLs that redirected, where cookies are kept: with one, they may answer; else None
    kept_s     how long news of pages that are looked at again counts (`revisits.Refreshing`)
    """

    url_table: UrlTable
    frontier: Frontier
    unit_of_work: UnitOfWork
    requests: dict[int, Request]
    seeds: Seeds
    robots_gate: RobotsGate
    near_duplicates: NearDuplicates
    agent: str
    max_redirects: int
    locates: bool
    left: set[int] | None = None
    kept_s: float = 0.0

    def request(self, url_id: int) -> Request:
        """The request for a URL that is not over yet."""
        return self.requests.get(url_id, _FIRST)

    def queue(self, url_id: int) -> Queue:
        """The queue that a URL belongs to."""
        return self.frontier.queues[self.url_table.queue[url_id]]

    def fallbacks(self, host: Host) -> list[tuple[int, str]]:
        """The seeds of a host that may be tried in another scheme, and how."""
        fallbacks = self.seeds.fallbacks.items()
        return [(url_id, url) for url_id, url in fallbacks if self.queue(url_id).host is host]
