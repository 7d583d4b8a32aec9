"""How much of robots.txt files is held, and what happens to rules that were let go."""

from typing import Any

from focus.admission.robots_gate import MAX_HOPS, ParsedRules, RobotsGate
from focus.config import PolitenessConfig
from focus.records import FailureKind, FetchResult
from focus.scheduling.queues import Host
from tests.support.cases import cases

NOW = 1000.0
SHUT = b"User-agent: *\nDisallow: /"


class Site:
    """Hosts whose robots.txt is as told, asked for by a gate whenever it wants to."""

    def __init__(self, body: bytes, hosts: int, text_bytes: int) -> None:
        self.gate = RobotsGate(PolitenessConfig(), "focus", text_bytes=text_bytes)
        self.hosts = [Host(number, f"h{number}.test", 1.0) for number in range(hosts)]
        self.body, self.asked = body, 0

    def forbids(self, number: int, path: str = "/page") -> bool:
        host = self.hosts[number]
        url = f"http://{host.name}{path}"
        if (robots := self.gate.required_file(host, url, NOW)) is not None:
            self.asked += 1
            fetch = FetchResult(robots, NOW, status=200, body=self.body)
            self.gate.apply(host, self.gate.decide(host, fetch, NOW))
        return self.gate.forbids(host, url)

    @property
    def stored_bytes(self) -> int:
        return sum(len(text) for host in self.hosts for text, _, _ in host.robots.values())


def test_judge_redirect_to_private_address_gives_host_up() -> None:
    gate, host = RobotsGate(PolitenessConfig(), "focus"), Host(0, "h0.test", 1.0)
    robots = gate.required_file(host, "http://h0.test/", NOW)
    target = "http://10.0.0.1/robots.txt"
    first = FetchResult(robots, NOW, status=301, redirect_to=target)
    outcome = gate.decide(host, first, NOW)
    gate.apply(host, outcome)
    refused = FetchResult(target, NOW, failure=FailureKind.GUARD)
    assert outcome.next_url == target
    assert gate.decide(host, refused, NOW).failure is FailureKind.GUARD


@cases(
    "answer, requests",
    ({"status": 404, "failure": FailureKind.HTTP_4XX}, 1),
    ({"status": 301, "redirect_to": "http://h0.test/again/robots.txt"}, MAX_HOPS + 1),
)
def test_judge_answer_without_a_file_allows_all(answer: dict[str, Any], requests: int) -> None:
    gate, host = RobotsGate(PolitenessConfig(), "focus"), Host(0, "h0.test", 1.0)
    url = gate.required_file(host, "http://h0.test/", NOW)
    for _ in range(requests):
        outcome = gate.decide(host, FetchResult(url, NOW, body=SHUT, **answer), NOW)
        gate.apply(host, outcome)
    assert outcome.rules == (b"", 404, NOW + PolitenessConfig().robots_ttl_s)
    assert not gate.forbids(host, "http://h0.test/page")


def test_sitemaps_returns_the_scheme_whose_file_names_some_else_the_first() -> None:
    gate, host = RobotsGate(PolitenessConfig(), "focus"), Host(0, "h0.test", 1.0)
    assert gate.sitemaps(host) == ("http", ())
    host.robots["https"] = (b"", 404, NOW)
    assert gate.sitemaps(host) == ("https", ())
    host.robots["http"] = (b"Sitemap: http://h0.test/s.xml", 200, NOW)
    assert gate.sitemaps(host) == ("http", ("http://h0.test/s.xml",))


def test_least_recently_used_rules_are_evicted_and_requested_again() -> None:
    site = Site(SHUT, 3, 2 * len(SHUT))
    assert all(site.forbids(number) for number in (0, 1, 0, 2))
    assert (site.asked, site.stored_bytes) == (3, 2 * len(SHUT))
    assert site.forbids(0) and site.asked == 3
    assert site.forbids(1) and site.asked == 4
    assert site.stored_bytes == 2 * len(SHUT)


def test_single_file_over_the_limit_stays_in_memory() -> None:
    site = Site(SHUT, 2, 1)
    assert all(site.forbids(number) for number in (0, 0, 1))
    assert (site.asked, site.stored_bytes) == (2, len(SHUT))


def test_hosts_without_rules_are_never_evicted() -> None:
    site = Site(b"", 100, 1)
    assert not any(site.forbids(number) for number in [*range(100)] * 2)
    assert site.asked == 100


def test_groups_for_other_crawlers_are_not_stored() -> None:
    site = Site(b"User-agent: other\nDisallow: /a\n" * 1000 + SHUT, 1, 10_000)
    assert site.forbids(0)
    assert site.stored_bytes == len(SHUT)


def test_hosts_with_the_same_file_share_it() -> None:
    site = Site(SHUT, 2, 1000)
    assert site.forbids(0) and site.forbids(1)
    first, second = (host.robots["http"][0] for host in site.hosts)
    assert first is second


def test_rules_are_restored_and_counted() -> None:
    site = Site(SHUT, 2, len(SHUT))
    for host in site.hosts:
        host.robots["http"] = (SHUT, 200, NOW + 60)
        site.gate.restore(host, "http")
    assert site.stored_bytes == len(SHUT)
    assert site.forbids(1) and site.asked == 0
    assert site.forbids(0) and site.asked == 1


def test_files_are_read_once_while_there_is_room() -> None:
    read = ParsedRules(2 * len(SHUT))
    first = read.read(200, SHUT)
    assert read.read(200, bytes(SHUT)) is first
    for number in range(2):
        read.read(200, b"User-agent: *\nDisallow: %d" % number)
    assert read.read(200, SHUT) is not first
