"""Holds URLs back until their host's robots.txt is known, and applies its rules (RFC 9309).

The robots.txt of a host is requested before its pages, once per scheme, and its rules are kept for
a day. 4xx means that there are no rules. After 5xx or no answer the request is repeated later; if
that fails, the host is abandoned. A host that cannot be reached over https may still be reached
over http and the reverse, so only the scheme that failed is closed.

Memory is bounded for any number of hosts. Of each file only the rules for this crawler are kept,
`TEXT_BYTES` for all hosts. Beyond that, the least recently used rules are evicted and requested
again when that host is due. Parsed rules take six times as much memory as their text, so only
`READ_BYTES` of texts are parsed at a time, once for all hosts with the same text.
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
"""Maximum size of all rules as text: about 30,000 hosts with 500 bytes of rules each."""
READ_BYTES = 2**20
"""Maximum size of the texts whose rules are parsed."""
_ANSWERED = {FailureKind.HTTP_4XX, FailureKind.EMPTY, FailureKind.REDIRECT}
_NAME_FAILURES = {FailureKind.DNS, FailureKind.DNS_TEMPORARY, FailureKind.GUARD}


class RobotsOutcome(NamedTuple):
    """Decision after a response to a request for robots.txt.

    One of the first three is set. Otherwise the host may be requested: its rules are known, or its
    other scheme remains.

    next_url       robots.txt to request next (the target of a redirect)
    retry_after_s  seconds until the request is repeated
    failure        reason for abandoning the host
    rules          rules in the form of `Host.robots`
    closed_reason  why this scheme of the host is not requested any more
    """

    next_url: str | None = None
    retry_after_s: float | None = None
    failure: FailureKind | None = None
    rules: tuple[bytes, int, float] | None = None
    closed_reason: str = ""


class ParsedRules:
    """Cache of parsed rules by their text, which many hosts share."""

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

    def interned(self, text: bytes) -> bytes:
        """Return the cached object that equals the text, or the text itself."""
        return self._rules.get(text, (text, None))[0]


class RobotsGate:
    """robots.txt rules by host and scheme; `agent` is the product token that they are read for.

    text_bytes  maximum size of all rules as text
    """

    def __init__(
        self, config: PolitenessConfig, agent: str, *, text_bytes: int = TEXT_BYTES
    ) -> None:
        self._config = config
        self._agent = agent
        self._max_bytes = text_bytes
        self._size = 0  # total size of the texts in `_used`
        self._used: OrderedDict[tuple[int, str], Host] = (
            OrderedDict()
        )  # hosts with a text, most recently used last
        self._parsed = ParsedRules(READ_BYTES)
        self._pending: dict[int, tuple[str, int, int]] = {}  # host -> scheme, hops, failed tries
        self._next_urls: dict[int, str] = {}  # host -> target of a redirect of its robots.txt
        self._closed_schemes: dict[tuple[int, str], str] = {}  # host, scheme -> reason

    def required_file(self, host: Host, url: str, now: float) -> str | None:
        """Return the robots.txt URL to fetch before this URL, None if its rules are known."""
        if self._next_urls and (target := self._next_urls.pop(host.id, None)) is not None:
            return target
        scheme, _, rest = url.partition("://")
        text, _, expires_at = host.robots.get(scheme, (b"", 0, 0.0))
        if self._config.ignore_robots or expires_at > now:
            if text:
                self._used.move_to_end((host.id, scheme))
            return None
        _, _, tries = self._pending.get(host.id, ("", 0, 0))
        self._pending[host.id] = (scheme, 0, tries)
        authority = rest.partition("/")[0].partition("?")[0]
        return f"{scheme}://{authority}/robots.txt"

    def forbids(self, host: Host, url: str) -> bool:
        """Return whether the rules forbid a URL; they must be known (`required_file`)."""
        if self._config.ignore_robots:
            return False
        return not self._rules(host, url.partition(":")[0]).allows(url, self._agent)

    def _rules(self, host: Host, scheme: str) -> Robots:
        text, status, _ = host.robots[scheme]
        return self._parsed.read(status, text)

    def closed_reason(self, host: Host, url: str) -> str:
        """Return why the host is not requested over the scheme of a URL, "" if it is."""
        return (
            self._closed_schemes.get((host.id, url.partition(":")[0]), "")
            if self._closed_schemes
            else ""
        )

    @property
    def ignores_robots(self) -> bool:
        """Whether robots.txt is never requested."""
        return self._config.ignore_robots

    def sitemaps(self, host: Host) -> tuple[str, tuple[str, ...]]:
        """Return a scheme with known rules, and the sitemaps that these name."""
        listed = [(scheme, self._rules(host, scheme).sitemaps) for scheme in host.robots]
        return next((pair for pair in listed if pair[1]), listed[0] if listed else ("http", ()))

    def decide(self, host: Host, fetch: FetchResult, now: float) -> RobotsOutcome:
        """Return the decision after a response; `apply` carries it out."""
        scheme, hops, tries = self._pending[host.id]
        if fetch.redirect_to is not None and hops < MAX_HOPS:
            target = normalise(fetch.redirect_to, fetch.url)
            if target is not None:
                return RobotsOutcome(next_url=target)
        if fetch.failure is None or fetch.failure in _ANSWERED:
            has_file = fetch.failure is None and fetch.redirect_to is None
            status = (fetch.status or 200) if has_file else 404
            text = self._excerpt(fetch.body) if has_file else b""
            return RobotsOutcome(rules=(text, status, now + self._config.robots_ttl_s))
        again_s = retry_wait_s(fetch.failure, tries + 1, fetch.retry_after_s)
        if again_s is not None and host.failures < FAILURES_BEFORE_LAST_TRY:
            return RobotsOutcome(retry_after_s=again_s)
        if fetch.failure not in _NAME_FAILURES and self._may_use_other_scheme(host, scheme):
            return RobotsOutcome(
                closed_reason=chain_messages(msg(str(fetch.failure)), "robots.txt", fetch.detail)
            )
        return RobotsOutcome(failure=fetch.failure)

    def apply(self, host: Host, outcome: RobotsOutcome) -> None:
        """Apply a decision: store the rules, close the scheme, or prepare the next request."""
        scheme, hops, tries = self._pending.pop(host.id)
        if outcome.rules is not None:
            host.failures = 0
            text, status, expires_at = outcome.rules
            self._forget(host, scheme)
            host.robots[scheme] = (self._parsed.interned(text), status, expires_at)
            self.restore(host, scheme)
        elif outcome.closed_reason:
            self._closed_schemes[host.id, scheme] = outcome.closed_reason
        elif outcome.next_url is not None:
            self._pending[host.id] = (scheme, hops + 1, tries)
        else:
            self._pending[host.id] = (scheme, 0, tries + 1)

    def set_next_url(self, host: Host, url: str) -> None:
        """Let `required_file` return the target of a redirect next."""
        self._next_urls[host.id] = url

    def _may_use_other_scheme(self, host: Host, scheme: str) -> bool:
        """Return whether the host's other scheme may work; http is assumed to."""
        other_scheme = "http" if scheme == "https" else "https"
        return (other_scheme in host.robots or other_scheme == "http") and (
            host.id,
            other_scheme,
        ) not in self._closed_schemes

    def restore(self, host: Host, scheme: str) -> None:
        """Use the rules in `host.robots`; a Crawl-delay, up to the maximum, becomes its delay."""
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
        """Evict a host's rules."""
        text, _, _ = host.robots.pop(scheme, (b"", 0, 0.0))
        if self._used.pop((host.id, scheme), None) is not None:
            self._size -= len(text)
