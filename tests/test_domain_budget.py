"""Hosts without end: what the hosts of one domain may cost together."""

from collections.abc import Iterator

import pytest

from focus.admission.domain_budget import (
    ADDRESS_WEIGHT,
    FREE_HOSTS,
    KNOWN_HOSTS,
    MAX_DEFERRALS,
    MAX_HOSTS,
    DomainBudget,
)
from focus.config import PolitenessConfig, TrapConfig
from focus.frontier import Frontier
from focus.records import DropReason, Tally
from focus.scheduling.queues import Host
from focus.scheduling.url_table import UrlTable
from tests.support.web import TinyWeb
from tests.test_crawl import crawl


class Crowd:
    """Hosts, what they brought, and what follows. A pattern's budget is 100: a host costs 5."""

    def __init__(self, **config: int) -> None:
        self.frontier = Frontier(UrlTable(0), PolitenessConfig())
        self.tallies: dict[int, Tally] = {}
        self.domains = DomainBudget(
            TrapConfig(**{"budget": 100, **config}), self.frontier.hosts, self.tallies
        )

    def meet(self, name: str) -> Host:
        host = self.frontier.host(name)
        self.domains.add_new_hosts()
        return host

    def ask(self, name: str, requests: int = 1, relevance: float = 0.0, address: str = "") -> Host:
        host = self.meet(name)
        host.address = address
        self.domains.mark_requested(host)
        tally = self.tallies.setdefault(host.id, Tally())
        more = Tally(requests, requests * relevance)
        tally.requests += more.requests
        tally.rewards += more.rewards
        self.domains.add_requests(host, more)
        return host


def hosts(domain: str, number: int) -> Iterator[str]:
    return (f"a{at}.{domain}" for at in range(number))


def test_domain_with_endless_hosts_has_a_budget() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name) for name in hosts("trap.test", 166)]
    assert crowd.domains.spent_reason(asked[-1]) == ""
    last = crowd.ask("b.trap.test")
    assert "167 hosts of trap.test found" in crowd.domains.spent_reason(last)
    assert crowd.domains.spent_reason(crowd.meet("fresh.trap.test"))
    assert not crowd.domains.has_room("other.trap.test")
    assert crowd.domains.has_room("another.test")


def test_its_requests_count_as_well_as_its_hosts() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name, requests=15) for name in hosts("trap.test", 60)]
    assert crowd.domains.spent_reason(asked[0])


def test_hosts_of_productive_domain_are_requested() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name, 10, relevance=0.02) for name in hosts("portal.test", 3 * KNOWN_HOSTS)]
    assert crowd.domains.spent_reason(asked[-1]) == ""
    assert not crowd.domains.defer(asked[-1])


def greedy(crowd: Crowd, names: Iterator[str], **brings: float) -> int:
    """How many hosts are asked, one after the other, before one is put off."""
    address = str(brings.pop("address", ""))
    for number, name in enumerate(names):
        host = crowd.meet(name)
        host.address = address
        if crowd.domains.defer(host):
            return number
        crowd.ask(name, int(brings["requests"]), brings["relevance"], address)
    return -1


def test_further_hosts_require_relevant_pages() -> None:
    """A page about the topic on each lets half of them have one more: 200 / (1 - 0.9 / 2)."""
    many = hosts("wild.test", 2 * MAX_HOSTS)
    assert greedy(Crowd(), many, requests=1, relevance=0.9) == 364
    few = hosts("wild.test", 2 * MAX_HOSTS)
    assert greedy(Crowd(), few, requests=0, relevance=0.0) == FREE_HOSTS, "robots.txt alone"


def test_productive_domain_has_a_limit() -> None:
    asked = greedy(Crowd(), hosts("wild.test", 2 * MAX_HOSTS), requests=5, relevance=1.0)
    assert asked == MAX_HOSTS


def test_host_is_deferred_until_its_group_has_more_results() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name, requests=0) for name in hosts("hoster.test", FREE_HOSTS)]
    fresh = crowd.meet("fresh.hoster.test")
    assert crowd.domains.defer(fresh)
    crowd.tallies[asked[0].id] = Tally(3, 2.0)
    crowd.domains.add_requests(asked[0], Tally(3, 2.0))
    assert not crowd.domains.defer(fresh)
    assert crowd.domains.spent_reason(fresh) == ""


def test_host_deferred_often_is_dropped() -> None:
    crowd = Crowd()
    for name in hosts("hoster.test", FREE_HOSTS):
        crowd.ask(name, requests=0)
    fresh = crowd.meet("fresh.hoster.test")
    assert [
        crowd.domains.spent_reason(fresh)
        for _ in range(MAX_DEFERRALS)
        if crowd.domains.defer(fresh)
    ]
    assert not crowd.domains.defer(fresh)
    assert crowd.domains.spent_reason(fresh).startswith("200 hosts of hoster.test found too little")
    crowd.ask("a0.hoster.test", requests=4, relevance=0.5)
    assert crowd.domains.spent_reason(fresh) == "", "its domain has earned it after all"


def test_hosts_of_one_address_share_a_wider_budget() -> None:
    crowd = Crowd()
    names = (f"www.d{number}.test" for number in range(3 * ADDRESS_WEIGHT * FREE_HOSTS))
    asked = greedy(crowd, names, requests=1, relevance=0.0, address="192.0.2.1")
    assert asked == ADDRESS_WEIGHT * FREE_HOSTS
    elsewhere = crowd.meet("www.other.test")
    elsewhere.address = "192.0.2.2"
    assert not crowd.domains.defer(elsewhere)


def test_requests_of_earlier_run_count_at_current_address() -> None:
    crowd = Crowd()
    for number in range(ADDRESS_WEIGHT * FREE_HOSTS):
        host = crowd.frontier.host(f"www.d{number}.test")
        crowd.tallies[host.id] = Tally(1, 0.0)
    crowd.domains.add_new_hosts()
    for host in crowd.frontier.hosts:
        host.address = "192.0.2.1"
        crowd.domains.mark_requested(host)
    fresh = crowd.meet("fresh.test")
    fresh.address = "192.0.2.1"
    assert crowd.domains.defer(fresh)


def test_productive_host_of_useless_domain_is_requested() -> None:
    crowd = Crowd()
    for name in hosts("portal.test", 300):
        crowd.ask(name)
    assert crowd.domains.spent_reason(crowd.ask("sports.portal.test", 40, relevance=0.05)) == ""
    assert crowd.domains.spent_reason(crowd.ask("weather.portal.test", 40))


@pytest.mark.parametrize("suffix", ["github.io", "blogspot.com", "co.uk", "com.cn", "edu.cn"])
def test_registered_names_have_nothing_to_do_with_each_other(suffix: str) -> None:
    crowd = Crowd()
    asked = [crowd.ask(name) for name in hosts(suffix, 2000)]
    assert not any(map(crowd.domains.spent_reason, asked))
    assert crowd.domains.has_room(f"fresh.{suffix}")


def test_hosts_that_bring_nothing_are_known_up_to_a_number() -> None:
    crowd = Crowd()
    for name in hosts("trap.test", KNOWN_HOSTS):
        assert crowd.domains.has_room(name)
        crowd.meet(name)
    assert not crowd.domains.has_room("b.trap.test")
    crowd.ask("a1.trap.test", 20, relevance=0.6)
    for number in range(12):
        assert crowd.domains.has_room(f"b{number}.trap.test"), "it has brought twelve pages"
        crowd.meet(f"b{number}.trap.test")
    assert not crowd.domains.has_room("b.trap.test")


def test_requests_before_lookup_are_counted() -> None:
    """As after a restart: the hosts and what they brought are there at once."""
    crowd = Crowd()
    for name in hosts("trap.test", 200):
        host = crowd.frontier.host(name)
        crowd.tallies[host.id] = Tally(1, 0.0)
    last = crowd.meet("b.trap.test")
    assert crowd.domains.spent_reason(last)


@pytest.mark.parametrize("config", [{"budget": 0}, {"is_on": False}])
def test_it_can_be_switched_off(config: dict[str, int]) -> None:
    crowd = Crowd(**config)
    asked = [crowd.ask(name) for name in hosts("trap.test", 300)]
    assert crowd.domains.spent_reason(asked[-1]) == ""
    assert crowd.domains.has_room("b.trap.test")


async def test_crawl_leaves_endless_hosts_for_others() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["http://h0.trap.test/", *(f"/p{n}" for n in range(300))])
    for number in range(300):
        web.page(f"http://a.test/p{number}")
        web.page(f"http://h{number}.trap.test/", links=[f"http://h{number + 1}.trap.test/"])
    run = await crawl(web, ["http://a.test/"], traps=TrapConfig(budget=40), delay_s=0.0)
    urls = web.urls()
    assert sum("trap.test" in url for url in urls) == 133, "40 · 10 / (1 + 40 · 0.05)"
    assert sum("a.test" in url for url in urls) == 301
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_BUDGET] == 1
