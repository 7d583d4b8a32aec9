"""Request budgets for the hosts of one registered domain, and of one IP address.

With a wildcard in the DNS, every link can lead to a new host: a1, a2, a3… of one domain. Each
such host is small, costs a robots.txt, and has a host budget of its own. Therefore the domain has
a budget as well. A requested host costs `HOST_COST` of a pattern's budget in addition to its
requests. The budget grows with the relevance of the domain's pages, and a productive host is
requested even if the budget of its domain is spent.

Relevant pages can be generated, too. After the first `FREE_HOSTS`, each further host of a domain
needs `PAGES_PER_HOST` relevant pages of that domain, and `MAX_HOSTS` is the absolute limit. A host
that was never requested is deferred while its domain lacks these pages, and skipped after
`MAX_DEFERRALS`. At most a third of the requests, and less than `FREE_HOSTS` more, are then for
robots.txt. The hosts of one IP address share a budget `ADDRESS_WEIGHT` times as large, because
large hosting companies have many unrelated hosts on few addresses.

A registered domain is determined by the Public Suffix List with its private part, so blogs of a
listed hosting company count as separate domains. The list takes some megabytes and is only needed
for domains with many hosts; hosts are first counted by the last two parts of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from focus.admission.traps import HOST_SHARE, is_productive
from focus.config import TrapConfig
from focus.i18n import msg
from focus.records import Tally
from focus.scheduling.queues import Host
from focus.urls.normal_form import registrable_domain, strip_port

HOST_COST = 0.05  # of a pattern's budget, for each requested host
KNOWN_HOSTS = 1000  # known hosts of a domain; one more for each relevant page
FREE_HOSTS = 200  # requested hosts of a domain, without any relevant page
PAGES_PER_HOST = 2.0  # sum of relevance that each further host needs
MAX_HOSTS = 10_000  # known or requested hosts of a domain
ADDRESS_WEIGHT = 10  # budget of an IP address, in budgets of a domain
DEFERRAL_S = 60.0
MAX_DEFERRALS = 2
_NOTHING = Tally()


class HostGroup:
    """Hosts of one domain or IP address: their number, and the sum of their tallies.

    weight   budget in budgets of a domain: 1, or `ADDRESS_WEIGHT`
    """

    __slots__ = ("known_hosts", "name", "requested_hosts", "tally", "weight")

    def __init__(self, name: str, weight: int = 1) -> None:
        self.name = name
        self.weight = weight
        self.known_hosts = 0
        self.requested_hosts = 0
        self.tally = Tally()

    @property
    def is_full(self) -> bool:
        """Whether no further host of the group may be requested now."""
        allowed = FREE_HOSTS + self.tally.rewards / PAGES_PER_HOST
        return self.requested_hosts >= self.weight * min(MAX_HOSTS, allowed)


class DomainBudget:
    """Hosts of one crawl by domain and IP address.

    hosts      all known hosts in order of their ids; the sequence grows
    tallies    host -> requests and relevance so far
    """

    MAX_UNGROUPED_HOSTS = 50  # hosts with one name suffix whose domains are not determined

    def __init__(
        self, config: TrapConfig, hosts: Sequence[Host], tallies: Mapping[int, Tally]
    ) -> None:
        self._budget = config.budget if config.is_on else 0
        self._hosts = hosts
        self._tallies = tallies
        self._is_requested = bytearray()  # by host id; hosts beyond its length are not counted yet
        self._hosts_by_suffix: Counter[str] = Counter()
        self._domains: dict[str, HostGroup] = {}
        self._domain_by_host: dict[int, HostGroup] = {}
        self._addresses: dict[str, HostGroup] = {}
        self._address_by_host: dict[int, HostGroup] = {}
        self._deferrals: dict[int, int] = {}  # host -> number of deferrals

    # -- changes ----------------------------------------------------------------------

    def add_new_hosts(self) -> None:
        """Count the hosts that became known since the last call."""
        while self._budget and (index := len(self._is_requested)) < len(self._hosts):
            host = self._hosts[index]
            known_from_before = host.robots or host.is_abandoned or host.failures
            self._is_requested.append(bool(known_from_before or self._host_tally(host).requests))
            suffix = _name_suffix(host.name)
            self._hosts_by_suffix[suffix] += 1
            if self._hosts_by_suffix[suffix] == self.MAX_UNGROUPED_HOSTS + 1:
                for known_host in self._hosts[: index + 1]:
                    if _name_suffix(known_host.name) == suffix:
                        self._add_to_domain(known_host)
            elif self._hosts_by_suffix[suffix] > self.MAX_UNGROUPED_HOSTS:
                self._add_to_domain(host)

    def restore_groups(self) -> None:
        """Restore the groups of the hosts that an earlier run has requested."""
        self.add_new_hosts()
        for host in self._hosts[: len(self._is_requested)]:
            self._groups(host)

    def _add_to_domain(self, host: Host) -> None:
        name = registrable_domain(host.name)
        domain = self._domain_by_host[host.id] = self._domains.setdefault(name, HostGroup(name))
        domain.known_hosts += 1
        domain.requested_hosts += self._is_requested[host.id]
        self._add_tally(domain, self._host_tally(host))

    @staticmethod
    def _add_tally(domain: HostGroup, more: Tally) -> None:
        domain.tally.requests += more.requests
        domain.tally.rewards += more.rewards

    def mark_requested(self, host: Host) -> None:
        """Count a host as requested, from its first request on, robots.txt included."""
        groups = self._groups(host)
        if host.id < len(self._is_requested) and not self._is_requested[host.id]:
            self._is_requested[host.id] = 1
            self._deferrals.pop(host.id, None)
            for group in groups:
                group.requested_hosts += 1

    def add_requests(self, host: Host, more: Tally) -> None:
        """Add finished requests of a host to its domain and its address."""
        if (domain := self._domain_by_host.get(host.id)) is not None:
            self._add_tally(domain, more)
        if (address_group := self._address_by_host.get(host.id)) is not None:
            self._add_tally(address_group, more)

    def _host_tally(self, host: Host) -> Tally:
        return self._tallies.get(host.id, _NOTHING)

    def _groups(self, host: Host) -> list[HostGroup]:
        """HostGroup and address of a host, as far as they are known."""
        address_group = self._address_by_host.get(host.id)
        if address_group is None and host.address and host.id < len(self._is_requested):
            name = host.address
            address_group = self._addresses.setdefault(name, HostGroup(name, ADDRESS_WEIGHT))
            address_group.requested_hosts += self._is_requested[host.id]
            self._add_tally(address_group, self._host_tally(host))
            self._address_by_host[host.id] = address_group
        groups = (self._domain_by_host.get(host.id), address_group)
        return [group for group in groups if group is not None]

    # -- questions --------------------------------------------------------------------

    def has_room(self, name: str) -> bool:
        """Return whether a host of this name may become known."""
        if self._hosts_by_suffix[_name_suffix(name)] <= self.MAX_UNGROUPED_HOSTS:
            return True
        domain = self._domains.get(registrable_domain(name))
        if domain is None:
            return True
        maximum = min(MAX_HOSTS, KNOWN_HOSTS + domain.tally.rewards)
        return domain.known_hosts < maximum and not self._has_spent(domain)

    def defer(self, host: Host) -> bool:
        """Return whether to pause a host for `DEFERRAL_S` because a group is full; count it."""
        if self._full_group(host) is None or self._deferrals.get(host.id, 0) >= MAX_DEFERRALS:
            return False
        self._deferrals[host.id] = self._deferrals.get(host.id, 0) + 1
        return True

    def _full_group(self, host: Host) -> HostGroup | None:
        """Return a full group of a host that was never requested, or None."""
        if not self._budget or host.id >= len(self._is_requested) or self._is_requested[host.id]:
            return None
        return next((group for group in self._groups(host) if group.is_full), None)

    def spent_reason(self, host: Host) -> str:
        """Return why a host is not requested any more, "" if it is: a spent domain budget."""
        if (
            self._deferrals.get(host.id, 0) >= MAX_DEFERRALS
            and (full_group := self._full_group(host)) is not None
        ):
            return msg(
                "{asked} hosts of {name} found too little for another one",
                asked=full_group.requested_hosts,
                name=full_group.name,
            )
        domain = self._domain_by_host.get(host.id)
        if domain is None or not self._has_spent(domain):
            return ""
        tally = self._host_tally(host)
        if tally.requests and is_productive(tally):
            return ""
        return msg(
            "{asked} hosts of {name} found almost nothing",
            asked=domain.requested_hosts,
            name=domain.name,
        )

    def _has_spent(self, domain: HostGroup) -> bool:
        cost = domain.tally.requests + domain.requested_hosts * HOST_COST * self._budget
        return cost >= HOST_SHARE * self._budget and not is_productive(domain.tally)


def _name_suffix(name: str) -> str:
    """Return the last two parts of a host's name, without its port."""
    return ".".join(strip_port(name).rsplit(".", 2)[-2:])
