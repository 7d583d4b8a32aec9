"""Holds URLs back until their host's robots.txt is known, and applies its rules (RFC 9309).

The gate has a host's robots.txt fetched before anything else of it, once per scheme,
keeps the rules for a day, and refuses everything while the file cannot be had:
4xx means no rules; 5xx or no answer means wait and, in the end, leave the host alone.
One that cannot be reached by TLS may still be by plain HTTP, and the reverse: those are two
servers, so only what is asked for by that scheme is left alone.

What memory holds is bounded, however many hosts there are and whatever they send: of each file only
what concerns us, `TEXT_BYTES` in all; beyond that the rules that were not needed for longest are
forgotten, and asked for anew when that host has its turn. They are read into `Robots`, six times
their size, when they are needed, `READ_BYTES` at a time, once for all hosts with the same text.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from focus.config import PolitenessConfig
from focus.http.robots import MAX_BYTES, Robots, robots_from_response
from focus.i18n import chain_messages, msg
from focus.records import FailureKind, FetchResult
from focus.scheduling.queues import Host
from focus.scheduling.retries import FAILURES_BEFORE_LAST_TRY, retry_wait_s
from focus.urls.normal_form import normalise

MAX_HOPS = 5
TEXT_BYTES = 16 * 2**20
"""Of rules as text: some 30,000 hosts with a file of ordinary size (500 bytes for one agent)."""
READ_BYTES = 2**20
"""Of texts that are held as `Robots` besides."""
_ANSWERED = {FailureKind.HTTP_4XX, FailureKind.EMPTY, FailureKind.REDIRECT}
_NAME_FAILURES = {FailureKind.DNS, FailureKind.DNS_TEMPORARY, FailureKind.GUARD}


class Turn(NamedTuple):
    """The next step after a response to a request for robots.txt.

    One of the first three is set. Otherwise the host may be requested: its rules are known, or its
    other scheme remains.

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


class ReadRules:
    """The latest files as `Robots`, by their text: many hosts send the same one."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rules: OrderedDict[bytes, tuple[bytes, Robots]] = OrderedDict()
        self._size = 0

    def read(self, status: int, text: bytes) -> Robots:
        """Return the rules of a robots.txt file with this HTTP status."""
        if not text:
            return robots_from_response(status, text)
        if entry := self._rules.get(text):
            self._rules.move_to_end(text)
            return entry[1]
        rules = robots_from_response(status, text)
        self._rules[text] = (text, rules)
        self._size += len(text)
        while self._size > self._max_bytes and len(self._rules) > 1:
            self._size -= len(self._rules.popitem(last=False)[0])
        return rules

    def same(self, text: bytes) -> bytes:
        """Return the cached object that equals the text, or the text itself."""
        return self._rules.get(text, (text, None))[0]


class RobotsGate:
    """Rules per host and scheme; `agent` is the product token they are read for.

    text_bytes  memory for their texts (see the module's head)
    """

    def __init__(
        self,
        config: PolitenessConfig,
        agent: str,
        *,
        text_bytes: int = TEXT_BYTES,
    ) -> None:
        self._config = config
        self._agent = agent
        self._max_bytes = text_bytes
        self._size = 0  # of the texts of `_used`
        self._used: OrderedDict[tuple[int, str], Host] = OrderedDict()  # with a text, latest last
        self._read = ReadRules(READ_BYTES)
        self._asked: dict[int, tuple[str, int, int]] = {}  # host -> scheme, hops, failed tries
        self._hops: dict[int, str] = {}  # host -> where its robots.txt redirected to
        self._shut: dict[tuple[int, str], str] = {}  # host, scheme -> why it is left alone

    def question(self, host: Host, url: str, now: float) -> str | None:
        """Return the robots.txt to fetch before this URL; None if it is known."""
        if self._hops and (hop := self._hops.pop(host.id, None)) is not None:
            return hop
        scheme, _, rest = url.partition("://")
        text, _, expires_at = host.robots.get(scheme, (b"", 0, 0.0))
        if self._config.ignore_robots or expires_at > now:
            if text:
                self._used.move_to_end((host.id, scheme))
            return None
        _, _, tries = self._asked.get(host.id, ("", 0, 0))
        self._asked[host.id] = (scheme, 0, tries)
        authority = rest.partition("/")[0].partition("?")[0]
        return f"{scheme}://{authority}/robots.txt"

    def forbids(self, host: Host, url: str) -> bool:
        """Whether the rules forbid a URL (after `question` gave None)."""
        if self._config.ignore_robots:
            return False
        return not self._rules(host, url.partition(":")[0]).allows(url, self._agent)

    def _rules(self, host: Host, scheme: str) -> Robots:
        text, status, _ = host.robots[scheme]
        return self._read.read(status, text)

    def shut(self, host: Host, url: str) -> str:
        """Why nothing of a host is asked for by this URL's scheme, "" if it may be."""
        return self._shut.get((host.id, url.partition(":")[0]), "") if self._shut else ""

    @property
    def is_open(self) -> bool:
        """Whether robots.txt is not asked for at all."""
        return self._config.ignore_robots

    def sitemaps(self, host: Host) -> tuple[str, tuple[str, ...]]:
        """Return a scheme with known rules, and the sitemaps that these name."""
        listed = [(scheme, self._rules(host, scheme).sitemaps) for scheme in host.robots]
        return next((pair for pair in listed if pair[1]), listed[0] if listed else ("http", ()))

    def judge(self, host: Host, fetch: FetchResult, now: float) -> Turn:
        """Return the next step after a response; `settle` applies it."""
        scheme, hops, tries = self._asked[host.id]
        if fetch.redirect_to is not None and hops < MAX_HOPS:
            target = normalise(fetch.redirect_to, fetch.url)
            if target is not None:
                return Turn(ask=target)
        if fetch.failure is None or fetch.failure in _ANSWERED:
            has_file = fetch.failure is None and fetch.redirect_to is None
            status = (fetch.status or 200) if has_file else 404
            text = self._excerpt(fetch.body) if has_file else b""
            return Turn(rules=(text, status, now + self._config.robots_ttl_s))
        again_s = retry_wait_s(fetch.failure, tries + 1, fetch.retry_after_s)
        if again_s is not None and host.failures < FAILURES_BEFORE_LAST_TRY:
            return Turn(wait_s=again_s)
        if fetch.failure not in _NAME_FAILURES and self._has_other_door(host, scheme):
            return Turn(shut=chain_messages(msg(str(fetch.failure)), "robots.txt", fetch.detail))
        return Turn(failure=fetch.failure)

    def settle(self, host: Host, turn: Turn) -> None:
        """Take in what was judged of an answer."""
        scheme, hops, tries = self._asked.pop(host.id)
        if turn.rules is not None:
            host.failures = 0
            text, status, expires_at = turn.rules
            self._forget(host, scheme)
            host.robots[scheme] = (self._read.same(text), status, expires_at)
            self.restore(host, scheme)
        elif turn.shut:
            self._shut[host.id, scheme] = turn.shut
        elif turn.ask is not None:
            self._asked[host.id] = (scheme, hops + 1, tries)
        else:
            self._asked[host.id] = (scheme, 0, tries + 1)

    def ask_later(self, host: Host, url: str) -> None:
        """Set the URL of the next `question` to the target of a redirect."""
        self._hops[host.id] = url

    def _has_other_door(self, host: Host, scheme: str) -> bool:
        """Whether a host may be there by its other scheme; of plain HTTP we assume it."""
        other_scheme = "http" if scheme == "https" else "https"
        return (other_scheme in host.robots or other_scheme == "http") and (
            host.id,
            other_scheme,
        ) not in self._shut

    def restore(self, host: Host, scheme: str) -> None:
        """Take over `host.robots`; a Crawl-delay (up to the cap) becomes the host's delay."""
        asked_s = self._rules(host, scheme).crawl_delay(self._agent)
        if asked_s is not None:
            host.delay_s = max(host.delay_s, min(asked_s, self._config.max_crawl_delay_s))
        text = host.robots[scheme][0]
        if text and (host.id, scheme) not in self._used:
            self._used[host.id, scheme] = host
            self._size += len(text)
        while self._size > self._max_bytes and len(self._used) > 1:
            (_, oldest), oldest_host = next(iter(self._used.items()))
            self._forget(oldest_host, oldest)

    def _excerpt(self, body: bytes) -> bytes:
        """Return the part of a file that applies to this crawler."""
        return min(Robots.parse(body).excerpt(self._agent), body[:MAX_BYTES], key=len)

    def _forget(self, host: Host, scheme: str) -> None:
        """Hold a host's rules no longer."""
        text, _, _ = host.robots.pop(scheme, (b"", 0, 0.0))
        if self._used.pop((host.id, scheme), None) is not None:
            self._size -= len(text)
