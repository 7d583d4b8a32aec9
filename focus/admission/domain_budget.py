"""Budgets that the hosts of one domain, or of one address, share: somebody may make up hosts.

With a wildcard in the DNS, each link can lead to a host that nobody has heard of: a1, a2,
a3… of one registered domain. Each is small, costs a robots.txt, and has a budget of its own;
so the domain has one, too, in which a host counts as much as `HOST_COST` of it besides its
requests. As with patterns and hosts it grows with what the domain brings, and hosts that pay
by themselves are not asked for those that do not.

Pages about the topic can be made up as well. So what a domain brings lifts its budget, but each
host more has to be earned, by `PAGES_A_HOST` relevant pages, beyond the first `FREE_HOSTS`, and
`MOST_HOSTS` is all there is. A host that nobody asked yet is put off while its domain has not
earned it, and left alone if that goes on. So robots.txt, one for each host, comes to a third of the
requests at most, and less than `FREE_HOSTS` more. The hosts of one address have the same,
`AT_ADDRESS` times as wide: large hosters have everybody's hosts on a few addresses.

A domain is what somebody has registered, by the Public Suffix List with its private part:
blogs of a hoster that is listed there have nothing to do with each other. The list is some
megabytes and wanted for large domains alone, so hosts are first counted by the last two
parts of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from focus.admission.traps import HOST_SHARE, pays
from focus.config import TrapConfig
from focus.i18n import msg
from focus.records import Tally
from focus.scheduling.queues import Host
from focus.urls.normal_form import registrable_domain, strip_port

HOST_COST = 0.05  # of a pattern's budget, for being a host that is asked
KNOWN_HOSTS = 1000  # known of a domain; one more for each relevant page
FREE_HOSTS = 200  # asked of a domain, whatever they bring
PAGES_A_HOST = 2.0  # of relevance, for each host that is asked beyond these
MOST_HOSTS = 10_000  # known or asked of a domain, whatever they bring
AT_ADDRESS = 10  # domains that an address may have the hosts of
PUT_OFF_S = 60.0
PUT_OFFS = 2
_NOTHING = Tally()


class Domain:
    """Hosts that belong together: how many are known, were asked, and brought what.

    wide   how many domains it stands for: 1, or `AT_ADDRESS`
    """

    __slots__ = ("asked", "known", "name", "tally", "wide")

    def __init__(self, name: str, wide: int = 1) -> None:
        self.name = name
        self.wide = wide
        self.known = 0
        self.asked = 0
        self.tally = Tally()

    @property
    def is_crowded(self) -> bool:
        """Whether no host of it that was not asked yet may be asked now."""
        earned = FREE_HOSTS + self.tally.rewards / PAGES_A_HOST
        return self.asked >= self.wide * min(MOST_HOSTS, earned)


class DomainBudget:
    """Hosts of one crawl by domain.

    hosts      all that are known, in order of their ids; it grows
    tallies    host -> what it has brought so far
    """

    FEW = 50  # hosts that may share an end of their names before anybody looks closer

    def __init__(
        self, config: TrapConfig, hosts: Sequence[Host], tallies: Mapping[int, Tally]
    ) -> None:
        self._budget = config.budget if config.is_on else 0
        self._hosts = hosts
        self._tallies = tallies
        self._was_asked = bytearray()  # of the hosts that were looked at
        self._crowds: Counter[str] = Counter()
        self._domains: dict[str, Domain] = {}
        self._domain_by_host: dict[int, Domain] = {}
        self._addresses: dict[str, Domain] = {}
        self._at: dict[int, Domain] = {}
        self._put_off: dict[int, int] = {}  # host -> how often

    # -- what happens ---------------------------------------------------------------

    def look(self) -> None:
        """Look at hosts that are new."""
        while self._budget and (at := len(self._was_asked)) < len(self._hosts):
            host = self._hosts[at]
            known_from_before = host.robots or host.is_abandoned or host.failures
            self._was_asked.append(bool(known_from_before or self._host_tally(host).requests))
            end = _end(host.name)
            self._crowds[end] += 1
            if self._crowds[end] == self.FEW + 1:
                for known_host in self._hosts[: at + 1]:
                    if _end(known_host.name) == end:
                        self._enter(known_host)
            elif self._crowds[end] > self.FEW:
                self._enter(host)

    def restored(self) -> None:
        """Restore the groups of the hosts that an earlier run has requested."""
        self.look()
        for host in self._hosts[: len(self._was_asked)]:
            self._groups(host)

    def _enter(self, host: Host) -> None:
        name = registrable_domain(host.name)
        domain = self._domain_by_host[host.id] = self._domains.setdefault(name, Domain(name))
        domain.known += 1
        domain.asked += self._was_asked[host.id]
        self._add(domain, self._host_tally(host))

    @staticmethod
    def _add(domain: Domain, more: Tally) -> None:
        domain.tally.requests += more.requests
        domain.tally.rewards += more.rewards

    def asked(self, host: Host) -> None:
        """Count a host as requested, from its first request on, robots.txt included."""
        groups = self._groups(host)
        if host.id < len(self._was_asked) and not self._was_asked[host.id]:
            self._was_asked[host.id] = 1
            self._put_off.pop(host.id, None)
            for group in groups:
                group.asked += 1

    def count(self, host: Host, more: Tally) -> None:
        """Add finished requests of a host to its domain and its address."""
        if (domain := self._domain_by_host.get(host.id)) is not None:
            self._add(domain, more)
        if (there := self._at.get(host.id)) is not None:
            self._add(there, more)

    def _host_tally(self, host: Host) -> Tally:
        return self._tallies.get(host.id, _NOTHING)

    def _groups(self, host: Host) -> list[Domain]:
        """Domain and address of a host, as far as they are known."""
        there = self._at.get(host.id)
        if there is None and host.address and host.id < len(self._was_asked):
            name = host.address
            there = self._addresses.setdefault(name, Domain(name, AT_ADDRESS))
            there.asked += self._was_asked[host.id]
            self._add(there, self._host_tally(host))
            self._at[host.id] = there
        return [group for group in (self._domain_by_host.get(host.id), there) if group is not None]

    # -- what follows ---------------------------------------------------------------

    def has_room(self, name: str) -> bool:
        """Whether one more host, of that name, may become known."""
        if self._crowds[_end(name)] <= self.FEW:
            return True
        domain = self._domains.get(registrable_domain(name))
        if domain is None:
            return True
        maximum = min(MOST_HOSTS, KNOWN_HOSTS + domain.tally.rewards)
        return domain.known < maximum and not self._has_spent(domain)

    def puts_off(self, host: Host) -> bool:
        """Whether a host is to be set aside for `PUT_OFF_S`: its like have to bring more first."""
        if self._crowd(host) is None or self._put_off.get(host.id, 0) >= PUT_OFFS:
            return False
        self._put_off[host.id] = self._put_off.get(host.id, 0) + 1
        return True

    def _crowd(self, host: Host) -> Domain | None:
        """Return a group without room for a host that was never requested, or None."""
        if not self._budget or host.id >= len(self._was_asked) or self._was_asked[host.id]:
            return None
        return next((group for group in self._groups(host) if group.is_crowded), None)

    def is_spent(self, host: Host) -> str:
        """Why no more is to be asked for of a host: its domain had its budget; else ""."""
        if self._put_off.get(host.id, 0) >= PUT_OFFS and (crowd := self._crowd(host)) is not None:
            return msg(
                "{asked} hosts of {name} found too little for another one",
                asked=crowd.asked,
                name=crowd.name,
            )
        domain = self._domain_by_host.get(host.id)
        if domain is None or not self._has_spent(domain):
            return ""
        tally = self._host_tally(host)
        if tally.requests and pays(tally):
            return ""
        return msg(
            "{asked} hosts of {name} found almost nothing", asked=domain.asked, name=domain.name
        )

    def _has_spent(self, domain: Domain) -> bool:
        cost = domain.tally.requests + domain.asked * HOST_COST * self._budget
        return cost >= HOST_SHARE * self._budget and not pays(domain.tally)


def _end(name: str) -> str:
    """Return the last two parts of a host's name."""
    return ".".join(strip_port(name).rsplit(".", 2)[-2:])
