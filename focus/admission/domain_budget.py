"""Limits what the hosts of one registered domain may cost together.

With a wildcard in the DNS, each link can lead to a host that nobody has heard of: a1, a2,
a3… of one registered domain. Each is small, costs a robots.txt, and has a budget of its own;
so the domain has one, too, in which a host counts as much as `HOST_COST` of it besides its
requests. As with patterns and hosts it grows with what the domain brings, and hosts that pay
by themselves are not asked for those that do not. How many hosts are known of a domain
grows in the same way.

A domain is what somebody has registered, by the Public Suffix List with its private part:
blogs of a hoster that is listed there have nothing to do with each other. The list is some
megabytes and wanted for large domains alone, so hosts are first counted by the last two
parts of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from focus.admission.traps import HOST_SHARE, LEAST_YIELD, pays
from focus.config import TrapConfig
from focus.records import Tally
from focus.scheduling.queues import Host
from focus.urls.normal_form import registrable_domain

HOST_COST = 0.05  # of a pattern's budget, for being a host that is asked
MOST_HOSTS = 1000  # known of a domain; more for what it brings


class Domain:
    """What is known of a domain's hosts: how many are known, were asked, and brought what."""

    __slots__ = ("asked", "known", "name", "tally")

    def __init__(self, name: str) -> None:
        self.name = name
        self.known = 0
        self.asked = 0
        self.tally = Tally()


class DomainBudget:
    """Hosts of one crawl by domain.

    hosts      all that are known, in order of their ids; it grows
    tally_of   what a host has brought so far
    """

    FEW = 50  # hosts that may share an end of their names before anybody looks closer

    def __init__(
        self, config: TrapConfig, hosts: Sequence[Host], tally_of: Callable[[Host], Tally]
    ) -> None:
        self._budget = config.budget if config.is_on else 0
        self._hosts = hosts
        self._tally_of = tally_of
        self._was_asked = bytearray()  # of the hosts that were looked at
        self._crowds: Counter[str] = Counter()
        self._domains: dict[str, Domain] = {}
        self._of: dict[int, Domain] = {}

    # -- what happens ---------------------------------------------------------------

    def look(self) -> None:
        """Look at hosts that are new."""
        while self._budget and (at := len(self._was_asked)) < len(self._hosts):
            host = self._hosts[at]
            known_from_before = host.robots or host.given_up or host.failures
            self._was_asked.append(bool(known_from_before or self._tally_of(host).fetched))
            end = _end(host.name)
            self._crowds[end] += 1
            if self._crowds[end] == self.FEW + 1:
                for each in self._hosts[: at + 1]:
                    if _end(each.name) == end:
                        self._enter(each)
            elif self._crowds[end] > self.FEW:
                self._enter(host)

    def _enter(self, host: Host) -> None:
        name = registrable_domain(host.name)
        domain = self._of[host.id] = self._domains.setdefault(name, Domain(name))
        domain.known += 1
        domain.asked += self._was_asked[host.id]
        self._add(domain, self._tally_of(host))

    @staticmethod
    def _add(domain: Domain, more: Tally) -> None:
        domain.tally.fetched += more.fetched
        domain.tally.yielded += more.yielded

    def asked(self, host: Host) -> None:
        """A host's robots.txt, or anything else of it, is asked for."""
        if host.id < len(self._was_asked) and not self._was_asked[host.id]:
            self._was_asked[host.id] = 1
            if (domain := self._of.get(host.id)) is not None:
                domain.asked += 1

    def count(self, host: Host, more: Tally) -> None:
        """Requests to a host came to their end; `tally_of` has counted them."""
        if (domain := self._of.get(host.id)) is not None:
            self._add(domain, more)

    # -- what follows ---------------------------------------------------------------

    def has_room(self, name: str) -> bool:
        """Whether one more host, of that name, may become known."""
        if self._crowds[_end(name)] <= self.FEW:
            return True
        domain = self._domains.get(registrable_domain(name))
        if domain is None:
            return True
        most = max(MOST_HOSTS, domain.tally.yielded / LEAST_YIELD)
        return domain.known < most and not self._has_spent(domain)

    def is_spent(self, host: Host) -> str:
        """Why no more is to be asked for of a host: its domain had its budget; else ""."""
        domain = self._of.get(host.id)
        if domain is None or not self._has_spent(domain):
            return ""
        tally = self._tally_of(host)
        if tally.fetched and pays(tally):
            return ""
        return f"{domain.asked} hosts of {domain.name} brought next to nothing"

    def _has_spent(self, domain: Domain) -> bool:
        cost = domain.tally.fetched + domain.asked * HOST_COST * self._budget
        return cost >= HOST_SHARE * self._budget and not pays(domain.tally)


def _end(name: str) -> str:
    """The last two parts of a host's name."""
    return ".".join(name.partition(":")[0].rsplit(".", 2)[-2:])
