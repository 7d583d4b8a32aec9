"""Decides whether failed requests are the fault of their hosts or of the local network.

A failure alone does not show its cause. An answer that arrives after it proves that the network is
up, so the failure was its host's. Failures with no answer in between form a series:

    wide series    Failures of at least `MIN_HOSTS` hosts, or `MIN_HOSTS_OF_FEW` while at most two
                   hosts have answered in this run. An outage is suspected, unless all of them are
                   refusals by hosts that have never answered.
    narrow series  Fewer hosts, while no request is in flight or due. An outage is suspected if no
                   failure came with a response: no route, no working name server, or a time-out of
                   a host that has answered. Otherwise the failures are their hosts' at once: a
                   single host that refuses, or whose name does not exist, is down.

While an outage is suspected, the robots.txt of a host that has answered is requested (a probe). A
wide series and a failed probe are an outage; so are three failures of a narrow one, with a probe
among them. A probe that is answered was a false alarm: it doubles the number of hosts of a wide
series, up to `MAX_CAUTION` times, until another request is answered. So many dead hosts at the end
of a crawl cost a few probes, not one for every three.

A captive portal (the log-in page of a hotel's network) answers in the place of every host: it
redirects plain HTTP, has no valid certificate for HTTPS, or resolves names to a private address.
Such answers count as failures: see `portal_site`.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum

from focus.i18n import msg
from focus.records import FailureKind, FetchResult
from focus.urls.normal_form import registrable_domain, url_host

MIN_HOSTS = 3
MIN_HOSTS_OF_FEW = 2
MIN_FAILURES = 3
MAX_CAUTION = 16
MIN_PAUSE_S, MAX_PAUSE_S = 2.0, 30.0
"""Seconds between two probes: doubled after each one that fails."""
_MAX_ANSWERED_HOSTS = 4  # hosts that may be probed: those with the latest answers
_MAX_PORTAL_REDIRECTS = 8  # by fewer than `MIN_HOSTS` hosts: the hosts themselves redirect

_NO_ROUTE = {FailureKind.UNREACHABLE, FailureKind.DNS_TEMPORARY}
_NO_RESPONSE = _NO_ROUTE | {FailureKind.TIMEOUT}
_REFUSALS = {FailureKind.CONNECT, FailureKind.DNS, FailureKind.RESET}
_CONNECTION_FAILURES = _NO_RESPONSE | _REFUSALS | {FailureKind.TLS, FailureKind.GUARD}
_RESPONSE_FAILURES = {FailureKind.PROTOCOL, FailureKind.HEADERS_TOO_LARGE}
_TEMPORARY_REDIRECTS = {302, 303, 307}
_NETWORK_AUTHENTICATION_REQUIRED = 511  # RFC 6585; few captive portals send it


class Verdict(Enum):
    """The cause of a series of failures."""

    UNDECIDED = "undecided"
    HOSTS = "hosts"
    SUSPECTED = "suspected"  # send a probe
    NETWORK = "network"


def portal_site(fetch: FetchResult) -> str | None:
    """Return the site of the captive portal that may have answered instead of the host.

    An answer that may be a portal's is a temporary redirect over plain HTTP to another site: only
    the host itself can redirect HTTPS, and a permanent redirect is meant to be followed.

    Returns:
        The registrable domain of the target, "" for status 511, None for all other results.
    """
    if fetch.status == _NETWORK_AUTHENTICATION_REQUIRED:
        return ""
    target = fetch.redirect_to
    is_plain_http = fetch.url.startswith("http://")
    if target is None or fetch.status not in _TEMPORARY_REDIRECTS or not is_plain_http:
        return None
    host, target_host = url_host(fetch.url), url_host(target)
    is_subdomain = host.endswith(f".{target_host}") or target_host.endswith(f".{host}")
    if is_subdomain or host == target_host:
        return None
    site = registrable_domain(target_host)
    return None if site == registrable_domain(host) else site


def is_answer(fetch: FetchResult) -> bool:
    """Return whether a host has answered.

    Unless `Connectivity.is_doubtful`, this proves that the network was up when the request ended.
    """
    if fetch.failure is None or fetch.failure in _RESPONSE_FAILURES:
        return True
    return fetch.status is not None and fetch.failure not in _CONNECTION_FAILURES


def ended_at(fetch: FetchResult) -> float:
    """Return when a request ended, by the crawl's clock (Unix seconds)."""
    return fetch.fetched_at + fetch.elapsed_s


class Connectivity:
    """The state of the local network, by the results of the latest requests.

    Attributes:
        is_offline: Whether there is an outage: the verdict was `NETWORK`, and no host has
            answered since.
        failing_since: When the first failure of the current series ended (Unix seconds). None if
            there is no series.
        reason: Text of the latest failure.
        failed_hosts: Hosts of the current series, with their scheme://host.
        failed_probes: Number of probes that failed in the current series.
    """

    def __init__(self) -> None:
        self.failed_hosts: dict[str, str] = {}
        self._caution = 1  # factor of `MIN_HOSTS`
        self._answered_hosts: OrderedDict[str, str] = OrderedDict()  # host -> scheme://host
        self._begin_series()

    def _begin_series(self) -> None:
        self.failed_hosts.clear()
        self._has_serious_failure = False  # more than a refusal by a host that never answered
        self.attribute_to_hosts()

    def attribute_to_hosts(self) -> None:
        """Attribute the failures to their hosts, which still count for a wide series."""
        self.is_offline = False
        self.failing_since: float | None = None
        self.reason = ""
        self.failed_probes = 0
        self._failures = 0
        self._all_without_response = True
        self._portal_site: str | None = None
        self._portal_redirects = 0

    def record_answer(
        self, host: str, origin: str, answered_at: float, *, is_probe: bool = False
    ) -> bool:
        """Record that a host (`origin`: its scheme://host) has answered.

        Returns:
            Whether this ends the series of failures. An answer from before its beginning, whose
            page took long to be scored, does not.
        """
        self._answered_hosts[host] = origin
        self._answered_hosts.move_to_end(host)
        if len(self._answered_hosts) > _MAX_ANSWERED_HOSTS:
            self._answered_hosts.popitem(last=False)
        if self.failing_since is not None and answered_at < self.failing_since:
            return False
        is_false_alarm = is_probe and not self.is_offline
        self._caution = min(MAX_CAUTION, 2 * self._caution) if is_false_alarm else 1
        self._begin_series()
        return True

    def is_doubtful(self, fetch: FetchResult) -> bool:
        """Return whether the local network may be the cause of a result."""
        if fetch.failure in _CONNECTION_FAILURES:
            return True
        site = portal_site(fetch)
        if site is None or self._portal_site not in (None, site):
            return False
        is_few_hosts = len(self.failed_hosts) < MIN_HOSTS
        is_by_hosts = is_few_hosts and self._portal_redirects >= _MAX_PORTAL_REDIRECTS
        return self.is_offline or not is_by_hosts

    def record_failure(
        self,
        host: str,
        origin: str,
        fetch: FetchResult,
        *,
        is_known: bool = False,
        is_probe: bool = False,
    ) -> None:
        """Add a doubtful result to the series. `is_known`: the host answered in an earlier run."""
        if self.failing_since is None:
            self.failing_since = ended_at(fetch)
        self.reason = fetch.detail or msg(str(fetch.failure))
        if (site := portal_site(fetch)) is not None:
            self.reason = msg("somebody between wants a log-in first: {site}", site=site or "511")
            self._portal_site = site
            self._portal_redirects += 1
        self.failed_hosts[host] = origin
        self.failed_probes += is_probe
        self._failures += 1
        has_answered = host in self._answered_hosts
        is_silent = fetch.failure is FailureKind.TIMEOUT and has_answered
        self._all_without_response &= fetch.failure in _NO_ROUTE or is_silent
        self._has_serious_failure |= fetch.failure in _NO_RESPONSE or has_answered or is_known

    def judge(self, *, is_idle: bool) -> Verdict:
        """Return the cause of the series. `is_idle`: no request is in flight or due."""
        if self.is_offline:
            return Verdict.NETWORK
        if not self._failures:
            return Verdict.UNDECIDED
        is_few = 0 < len(self._answered_hosts) < MIN_HOSTS
        min_hosts = (MIN_HOSTS_OF_FEW if is_few else MIN_HOSTS) * self._caution
        if len(self.failed_hosts) >= min_hosts and self._has_serious_failure:
            self.is_offline = self.failed_probes > 0
        elif not is_idle:
            return Verdict.UNDECIDED
        elif not self._all_without_response:
            return Verdict.HOSTS
        else:
            self.is_offline = self._failures >= MIN_FAILURES and self.failed_probes > 0
        return Verdict.NETWORK if self.is_offline else Verdict.SUSPECTED

    def probe_pause_s(self) -> float:
        """Return the seconds from the latest probe to the next."""
        return min(MAX_PAUSE_S, MIN_PAUSE_S * 2.0 ** min(10, max(0, self.failed_probes - 1)))

    def answered_hosts(self) -> list[tuple[str, str]]:
        """Return (host, scheme://host) of the hosts that answered last, the latest first."""
        return [*reversed(self._answered_hosts.items())]
