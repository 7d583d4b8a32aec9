"""Tells an outage of our own network from hosts that fail.

Whose fault a failure is nobody knows before the next answer. An answer that came after it proves
that our network is there: then it was its host's own. So failures wait, and when no answer comes
in between,

    wide    failures of 3 hosts (of 2, where one or two are all that have answered in this run)
            are a suspicion, unless all are refusals of strangers. A host that has answered is
            asked for its robots.txt then: when that fails as well, it is our network.
    narrow  fewer, with nothing under way or due: our network after 3 in a row that are mute (no
            way to the network, a resolver that cannot answer, silence of a host that has
            answered in this run), a try among them. Else their hosts' own, at once: a lone host
            that refuses, or whose name nobody knows, is down, and we are not.

A false alarm doubles what makes the next one wide, up to 16 times, until something else answers:
many dead hosts at the end of a crawl cost a few requests more, not one for every three.

A network that wants a log-in first (of a hotel, a train) answers in the place of every host: it
sends plain HTTP elsewhere, has no certificate for HTTPS, or gives names an address of its own.
So such answers wait for the verdict like failures: `sent_away`.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum

from focus.i18n import msg
from focus.records import FailureKind, FetchResult
from focus.urls.normal_form import host_of, registrable_domain

WIDE, FEW, MUTE = 3, 2, 3
MOST_DOUBT = 16
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 30.0
"""From one try to the next while nothing answers: doubled each time."""
_WITNESSES = 4  # hosts whose answers are remembered, the latest

_MUTE = {FailureKind.UNREACHABLE, FailureKind.DNS_TEMPORARY}
_SILENT = _MUTE | {FailureKind.TIMEOUT}
_REFUSED = {FailureKind.CONNECT, FailureKind.DNS, FailureKind.RESET}
_UNREACHED = _SILENT | _REFUSED | {FailureKind.TLS, FailureKind.GUARD}
_HEARD = {FailureKind.PROTOCOL, FailureKind.HEADERS_TOO_LARGE}
_TEMPORARY = {302, 303, 307}
_LOG_IN_FIRST = 511  # RFC 6585: what a network should say, and few do
_MOST_SENT_AWAY = 8  # from fewer than `WIDE` hosts, one after the other: it is their way


class Verdict(Enum):
    """The meaning of a row of failures."""

    NONE = "none"  # it is too early to tell
    THEIRS = "theirs"
    SUSPECT = "suspect"  # ask a witness
    OURS = "ours"


def sent_away(fetch: FetchResult) -> str | None:
    """The site whose log-in may stand between us and the host, "" if it is not told; None: no.

    It is a temporary redirect over plain HTTP to a foreign site: nobody can redirect HTTPS that
    is not the host itself, and who moves for good says so.
    """
    if fetch.status == _LOG_IN_FIRST:
        return ""
    to = fetch.redirect_to
    if to is None or fetch.status not in _TEMPORARY or not fetch.url.startswith("http://"):
        return None
    here, there = host_of(fetch.url), host_of(to)
    if here.endswith(f".{there}") or there.endswith(f".{here}") or here == there:
        return None
    site = registrable_domain(there)
    return None if site == registrable_domain(here) else site


def is_answer(fetch: FetchResult) -> bool:
    """Whether it proves that our network was there when it ended (see `Uplink.doubts`)."""
    if fetch.failure is None or fetch.failure in _HEARD:
        return True
    return fetch.status is not None and fetch.failure not in _UNREACHED


def ended_at(fetch: FetchResult) -> float:
    """When a request was over, by the crawl's clock."""
    return fetch.fetched_at + fetch.elapsed_s


class Uplink:
    """The state of our own network, by the last requests.

    since       when the first failure of the present row ended; None: there is no row
    reason      what the latest one said
    tries       hosts asked, one after the other, to find out
    hosts       those of the row, with their scheme://host
    is_offline  the verdict was `OURS`, and nothing has answered since
    """

    def __init__(self) -> None:
        self.hosts: dict[str, str] = {}
        self.is_offline = False
        self._doubt = 1
        self._witnesses: OrderedDict[str, str] = OrderedDict()  # host -> scheme://host
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.hosts.clear()
        self._is_grave = False  # one of the row is more than a stranger's refusal
        self.settled()

    def settled(self) -> None:
        """The failures so far are their hosts' own; only the list of these hosts grows on."""
        self.since: float | None = None
        self.reason = ""
        self.tries = 0
        self.is_offline = False
        self._failures = 0
        self._log_in: str | None = None  # the site that the row was sent away to
        self._sent_away = 0
        self._is_mute = True  # each of the row

    def answered(self, host: str, origin: str, at: float, *, is_try: bool = False) -> bool:
        """A host (`origin`: its scheme://host) answered; whether the row before it is over."""
        self._witnesses[host] = origin
        self._witnesses.move_to_end(host)
        if len(self._witnesses) > _WITNESSES:
            self._witnesses.popitem(last=False)
        if self.since is not None and at < self.since:
            return False  # it took its time to be read and scored
        is_false_alarm = is_try and not self.is_offline
        self._doubt = min(MOST_DOUBT, 2 * self._doubt) if is_false_alarm else 1
        self._begin_anew()
        return True

    def doubts(self, fetch: FetchResult) -> bool:
        """Whether this may be the fault of our own network, and has to wait for the verdict."""
        if fetch.failure in _UNREACHED:
            return True
        site = sent_away(fetch)
        if site is None or self._log_in not in (None, site):
            return False
        is_their_way = self._sent_away >= _MOST_SENT_AWAY and len(self.hosts) < WIDE
        return self.is_offline or not is_their_way

    def failed(
        self,
        host: str,
        origin: str,
        fetch: FetchResult,
        *,
        has_rules: bool = False,
        is_try: bool = False,
    ) -> None:
        """A host was not reached. `has_rules`: it answered in an earlier run."""
        if self.since is None:
            self.since = ended_at(fetch)
        self.reason = fetch.detail or msg(str(fetch.failure))
        if (site := sent_away(fetch)) is not None:
            self.reason = msg("somebody between wants a log-in first: {site}", site=site or "511")
            self._log_in = site
            self._sent_away += 1
        self.hosts[host] = origin
        self.tries += is_try
        self._failures += 1
        has_answered = host in self._witnesses
        is_silent = fetch.failure is FailureKind.TIMEOUT and has_answered
        self._is_mute &= fetch.failure in _MUTE or is_silent
        self._is_grave |= fetch.failure in _SILENT or has_answered or has_rules

    def verdict(self, *, is_idle: bool) -> Verdict:
        """What the row means. `is_idle`: nothing is under way, or about to be."""
        if self.is_offline:
            return Verdict.OURS
        if not self._failures:
            return Verdict.NONE
        wide = (FEW if 0 < len(self._witnesses) < WIDE else WIDE) * self._doubt
        if len(self.hosts) >= wide and self._is_grave:
            self.is_offline = self.tries > 0
        elif not is_idle:
            return Verdict.NONE
        elif not self._is_mute:
            return Verdict.THEIRS
        else:
            self.is_offline = self._failures >= MUTE and self.tries > 0
        return Verdict.OURS if self.is_offline else Verdict.SUSPECT

    def pause_s(self) -> float:
        """Seconds from the latest try to the next."""
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(10, max(0, self.tries - 1)))

    def witnesses(self) -> list[tuple[str, str]]:
        """(host, scheme://host) of those that answered, the latest first."""
        return [*reversed(self._witnesses.items())]
