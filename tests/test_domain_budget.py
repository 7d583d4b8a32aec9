"""Hosts without end: what the hosts of one domain may cost together."""

from collections.abc import Iterator

import pytest

from focus.admission.domain_budget import MOST_HOSTS, DomainBudget
from focus.config import PolitenessConfig, TrapConfig
from focus.frontier import Frontier
from focus.records import DropReason, Tally
from focus.scheduling.queues import Host
from focus.scheduling.url_table import UrlTable
from tests.support.web import TinyWeb
from tests.test_crawl import crawl


class Crowd:
    """Hosts, what they brought, and what follows. A shape's budget is 100: a host costs 5."""

    def __init__(self, **config: int) -> None:
        self.frontier = Frontier(UrlTable(0), PolitenessConfig())
        self.tallies: dict[int, Tally] = {}
        self.domains = DomainBudget(
            TrapConfig(**{"budget": 100, **config}),
            self.frontier.hosts,
            lambda host: self.tallies.get(host.id, Tally()),
        )

    def meet(self, name: str) -> Host:
        host = self.frontier.host(name)
        self.domains.look()
        return host

    def ask(self, name: str, requests: int = 1, relevance: float = 0.0) -> Host:
        host = self.meet(name)
        self.domains.asked(host)
        tally = self.tallies.setdefault(host.id, Tally())
        more = Tally(requests, requests * relevance)
        tally.fetched += more.fetched
        tally.yielded += more.yielded
        self.domains.count(host, more)
        return host


def hosts(domain: str, number: int) -> Iterator[str]:
    return (f"a{at}.{domain}" for at in range(number))


def test_a_domain_of_ever_new_hosts_has_its_budget() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name) for name in hosts("trap.test", 166)]
    assert crowd.domains.is_spent(asked[-1]) == ""
    last = crowd.ask("b.trap.test")
    assert "167 hosts of trap.test brought" in crowd.domains.is_spent(last)
    assert crowd.domains.is_spent(crowd.meet("fresh.trap.test"))
    assert not crowd.domains.has_room("other.trap.test")
    assert crowd.domains.has_room("another.test")


def test_its_requests_count_as_well_as_its_hosts() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name, requests=15) for name in hosts("trap.test", 60)]
    assert crowd.domains.is_spent(asked[0])


def test_a_domain_that_pays_has_no_bound() -> None:
    crowd = Crowd()
    asked = [crowd.ask(name, 10, relevance=0.02) for name in hosts("portal.test", 3 * MOST_HOSTS)]
    assert crowd.domains.is_spent(asked[-1]) == ""
    assert crowd.domains.is_spent(crowd.meet("fresh.portal.test")) == ""


def test_a_host_that_pays_is_asked_on_in_a_domain_that_does_not() -> None:
    crowd = Crowd()
    for name in hosts("portal.test", 300):
        crowd.ask(name)
    assert crowd.domains.is_spent(crowd.ask("sports.portal.test", 40, relevance=0.05)) == ""
    assert crowd.domains.is_spent(crowd.ask("weather.portal.test", 40))


@pytest.mark.parametrize("suffix", ["github.io", "blogspot.com", "co.uk", "com.cn", "edu.cn"])
def test_registered_names_have_nothing_to_do_with_each_other(suffix: str) -> None:
    crowd = Crowd()
    asked = [crowd.ask(name) for name in hosts(suffix, 2000)]
    assert not any(map(crowd.domains.is_spent, asked))
    assert crowd.domains.has_room(f"fresh.{suffix}")


def test_nor_have_addresses() -> None:
    crowd = Crowd()
    asked = [crowd.ask(f"9.9.{n}.7:8080") for n in range(250)]
    assert not any(map(crowd.domains.is_spent, asked))


def test_hosts_that_bring_nothing_are_known_up_to_a_number() -> None:
    crowd = Crowd()
    for name in hosts("trap.test", MOST_HOSTS):
        assert crowd.domains.has_room(name)
        crowd.meet(name)
    assert not crowd.domains.has_room("b.trap.test")
    crowd.ask("a1.trap.test", 20, relevance=0.6)
    assert crowd.domains.has_room("b.trap.test"), "it has brought twelve pages: 1,200 hosts"


def test_what_was_counted_before_anybody_looked_counts() -> None:
    """As after a restart: the hosts and what they brought are there at once."""
    crowd = Crowd()
    for name in hosts("trap.test", 200):
        host = crowd.frontier.host(name)
        crowd.tallies[host.id] = Tally(1, 0.0)
    last = crowd.meet("b.trap.test")
    assert crowd.domains.is_spent(last)


@pytest.mark.parametrize("config", [{"budget": 0}, {"is_on": False}])
def test_it_can_be_switched_off(config: dict[str, int]) -> None:
    crowd = Crowd(**config)
    asked = [crowd.ask(name) for name in hosts("trap.test", 300)]
    assert crowd.domains.is_spent(asked[-1]) == ""
    assert crowd.domains.has_room("b.trap.test")


async def test_a_crawl_leaves_endless_hosts_and_goes_on_elsewhere() -> None:
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
