"""Holds URLs back until their host's robots.txt is known, and applies its rules (RFC 9309).

The gate has a host's robots.txt fetched before anything else of it, once per scheme,
keeps the rules for a day, and refuses everything while the file cannot be had:
4xx means no rules; 5xx or no answer means wait and, in the end, leave the host alone.
One that cannot be reached by TLS may still be by plain HTTP, and the reverse: those are two
servers, so only what is asked for by that scheme is left alone.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.config import PolitenessConfig
from focus.http.robots import Robots, from_answer
from focus.records import FailureKind, FetchResult
from focus.scheduling.queues import Host
from focus.scheduling.retries import LAST_CHANCE, wait_s
from focus.urls.normal_form import normalise

MAX_HOPS = 5
_ANSWERED = {FailureKind.HTTP_4XX, FailureKind.EMPTY, FailureKind.REDIRECT}
_OF_THE_NAME = {FailureKind.DNS, FailureKind.DNS_TEMPORARY, FailureKind.GUARD}


class Turn(NamedTuple):
    """The next step after an answer: one of the first three is set, or the host may be asked on,
    since its rules are in or its other scheme is left.

    ask         URL to ask next (a redirect)
    wait_s      ask again after so many seconds
    failure     no way: give the host up for this reason
    rules       the rules as `Host.robots` keeps them
    shut        why nothing is asked for by this scheme any more
    """

    ask: str | None = None
    wait_s: float | None = None
    failure: FailureKind | None = None
    rules: tuple[bytes, int, float] | None = None
    shut: str = ""


class RobotsGate:
    """Rules per host and scheme; `agent` is the product token they are read for."""

    def __init__(self, config: PolitenessConfig, agent: str) -> None:
        self._config = config
        self._agent = agent
        self._rules: dict[tuple[int, str], tuple[Robots, float]] = {}
        self._asked: dict[int, tuple[str, int, int]] = {}  # host -> scheme, hops, failed tries
        self._hops: dict[int, str] = {}  # host -> where its robots.txt redirected to
        self._shut: dict[tuple[int, str], str] = {}  # host, scheme -> why it is left alone

    def question(self, host: Host, url: str, now: float) -> str | None:
        """The robots.txt that must be fetched before this URL, None when it is known."""
        if self._hops and (hop := self._hops.pop(host.id, None)) is not None:
            return hop
        scheme, _, rest = url.partition("://")
        _, expires_at = self._rules.get((host.id, scheme), (None, 0.0))
        if self._config.ignore_robots or expires_at > now:
            return None
        _, _, tries = self._asked.get(host.id, ("", 0, 0))
        self._asked[host.id] = (scheme, 0, tries)
        authority = rest.partition("/")[0].partition("?")[0]
        return f"{scheme}://{authority}/robots.txt"

    def forbids(self, host: Host, url: str) -> bool:
        """Whether the rules forbid a URL (after `question` gave None)."""
        if self._config.ignore_robots:
            return False
        rules, _ = self._rules[host.id, url.partition(":")[0]]
        return not rules.allows(url, self._agent)

    def shut(self, host: Host, url: str) -> str:
        """Why nothing of a host is asked for by this URL's scheme, "" if it may be."""
        return self._shut.get((host.id, url.partition(":")[0]), "") if self._shut else ""

    @property
    def is_open(self) -> bool:
        """Whether robots.txt is not asked for at all."""
        return self._config.ignore_robots

    def sitemaps(self, host: Host) -> tuple[str, tuple[str, ...]]:
        """A scheme whose rules are known, and the sitemaps that they name."""
        found = [(scheme, self._rules[host.id, scheme][0].sitemaps) for scheme in host.robots]
        return next((each for each in found if each[1]), found[0] if found else ("http", ()))

    def judge(self, host: Host, fetch: FetchResult, now: float) -> Turn:
        """What comes of an answer to a question; `settle` follows."""
        scheme, hops, tries = self._asked[host.id]
        if fetch.redirect_to is not None and hops < MAX_HOPS:
            target = normalise(fetch.redirect_to, fetch.url)
            if target is not None:
                return Turn(ask=target)
        if fetch.failure is None or fetch.failure in _ANSWERED:
            found = fetch.failure is None and fetch.redirect_to is None
            status = (fetch.status or 200) if found else 404
            return Turn(
                rules=(fetch.body if found else b"", status, now + self._config.robots_ttl_s)
            )
        again_s = wait_s(fetch.failure, tries + 1, fetch.retry_after_s)
        if again_s is not None and host.failures < LAST_CHANCE:
            return Turn(wait_s=again_s)
        if fetch.failure not in _OF_THE_NAME and self._has_other_door(host, scheme):
            return Turn(shut=f"{fetch.failure}: robots.txt: {fetch.detail}")
        return Turn(failure=fetch.failure)

    def settle(self, host: Host, turn: Turn) -> None:
        """Take in what was judged of an answer."""
        scheme, hops, tries = self._asked.pop(host.id)
        if turn.rules is not None:
            host.failures = 0
            host.robots[scheme] = turn.rules
            self.restore(host, scheme)
        elif turn.shut:
            self._shut[host.id, scheme] = turn.shut
        elif turn.ask is not None:
            self._asked[host.id] = (scheme, hops + 1, tries)
        else:
            self._asked[host.id] = (scheme, 0, tries + 1)

    def ask_later(self, host: Host, url: str) -> None:
        """The next `question` is where the robots.txt of a host redirected to."""
        self._hops[host.id] = url

    def _has_other_door(self, host: Host, scheme: str) -> bool:
        """Whether a host may be there by its other scheme; of plain HTTP we assume it."""
        other = "http" if scheme == "https" else "https"
        return (other in host.robots or other == "http") and (host.id, other) not in self._shut

    def restore(self, host: Host, scheme: str) -> None:
        """Read `host.robots`; a Crawl-delay (up to the cap) becomes the host's delay."""
        body, status, expires_at = host.robots[scheme]
        rules = from_answer(status, body)
        self._rules[host.id, scheme] = (rules, expires_at)
        asked_s = rules.crawl_delay(self._agent)
        if asked_s is not None:
            host.delay_s = max(host.delay_s, min(asked_s, self._config.max_crawl_delay_s))
