"""Rests of hosts that become slow, and limits for hosts that share an address."""

import pytest

from focus.config import PolitenessConfig
from focus.frontier import Frontier
from focus.records import FetchResult, UrlState
from focus.scheduling.queues import Host
from focus.scheduling.throttling import AddressSlots, Throttle, address_group, update_throttle
from focus.scheduling.url_table import UrlTable
from tests.support.cases import cases

MOST_S = 60.0


def delay_after(*latencies: float, status: int = 200, most_s: float = MOST_S) -> float:
    throttle = Throttle()
    for latency in latencies:
        throttle = update_throttle(throttle, latency, status, most_s)
    return throttle.extra_delay_s


def test_host_that_is_always_slow_is_not_paused() -> None:
    assert delay_after(*[5.0] * 20) == 0.0


def test_host_that_becomes_slow_pauses_and_recovers() -> None:
    assert delay_after(0.2, 0.2, 4.0) == pytest.approx(2.0)
    assert delay_after(0.2, 0.2, 4.0, 4.0) == pytest.approx(3.0)
    assert delay_after(0.2, 0.2, 4.0, 4.0, 0.2) == pytest.approx(1.5)
    assert delay_after(0.2, 0.2, 4.0, *[0.2] * 10) == 0.0


def test_small_delays_do_not_count_as_slow() -> None:
    assert delay_after(0.01, 0.9, 0.9) == 0.0


def test_429_and_503_double_the_pause_up_to_the_limit() -> None:
    assert [delay_after(*[0.1] * n, status=503) for n in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert delay_after(*[0.1] * 20, status=429) == MOST_S
    assert delay_after(*[0.1] * 20, status=429, most_s=0.0) == 0.0


def test_address_has_limited_slots() -> None:
    addresses = AddressSlots(2)
    addresses.change_active("192.0.2.1", 2)
    assert not addresses.has_slot("192.0.2.1")
    assert addresses.has_slot("192.0.2.2")
    for host, place in ((7, -1.0), (3, -2.0), (5, -1.0), (7, -3.0), (3, 0.0)):
        addresses.enqueue_host("192.0.2.1", host, place)
    assert addresses.pop_next_host("192.0.2.1") is None
    addresses.change_active("192.0.2.1", -1)
    line = [addresses.pop_next_host("192.0.2.1") for _ in range(4)]
    assert line == [7, 3, 5, None]  # the best first, each once
    assert addresses.has_slot("192.0.2.1")


def test_address_pauses_between_starts() -> None:
    addresses = AddressSlots(2, 0.5)
    addresses.start("192.0.2.1", 10.0)
    assert addresses.due_addresses(10.4) == [], "nobody waits"
    assert not addresses.has_slot("192.0.2.1")
    assert addresses.has_slot("192.0.2.2")
    addresses.enqueue_host("192.0.2.1", 7, -1.0)
    assert addresses.next_due() == 10.5
    assert addresses.due_addresses(10.5) == ["192.0.2.1"]
    assert addresses.pop_next_host("192.0.2.1") == 7
    assert addresses.next_due() is None


def test_waiting_host_keeps_its_turn_after_another() -> None:
    addresses = AddressSlots(8, 0.5)
    addresses.start("192.0.2.1", 10.0)
    for host in (7, 3):
        addresses.enqueue_host("192.0.2.1", host, 0.0)
    assert addresses.due_addresses(11.0) == ["192.0.2.1"]
    addresses.start("192.0.2.1", 11.0)  # by one that was not in line
    assert addresses.pop_next_host("192.0.2.1") is None
    assert addresses.next_due() == 11.5
    assert addresses.due_addresses(11.5) == ["192.0.2.1"]


@cases(
    "address, network",
    ("192.0.2.1", "192.0.2.1"),
    ("2001:db8::7", "2001:db8::/64"),
    ("2001:db8:0:0:ffff::1", "2001:db8::/64"),
    ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
    ("fe80::1%eth0", "fe80::/64"),
    ("::ffff:192.0.2.1", "192.0.2.1"),
    ("not: one", "not: one"),
    ("", ""),
)
def test_ipv6_network_counts_as_one_address(address: str, network: str) -> None:
    assert address_group(address) == network


def test_address_without_a_limit_always_has_a_slot() -> None:
    addresses = AddressSlots(0, 0.5)
    addresses.start("192.0.2.1", 10.0)
    addresses.change_active("192.0.2.1", 1000)
    assert addresses.has_slot("192.0.2.1")


class Farm:
    """Several hosts at one address, each with URLs that wait."""

    def __init__(self, hosts: int, **politeness: float) -> None:
        self.url_table = UrlTable(0)
        settings = PolitenessConfig(delay_s=0.0, **politeness)  # type: ignore[arg-type]
        self.frontier = Frontier(self.url_table, settings)
        for number in range(4 * hosts):
            host = self.frontier.host(f"h{number % hosts}.test")
            queue = self.frontier.queue(host)
            url_id = self.url_table.add(number.to_bytes(16, "big"), queue.id, 0)
            self.frontier.push(url_id, f"http://{host.name}/{number}", 1.0)

    def take(self, now: float) -> list[Host]:
        order = []
        while (candidate := self.frontier.next_candidate(now)) is not None:
            self.frontier.start_request(candidate.host, now)
            order.append(candidate.host)
        return order

    def answer(self, host: Host, now: float, elapsed_s: float = 0.1) -> None:
        fetch = FetchResult("", now, status=200, address="192.0.2.1", elapsed_s=elapsed_s)
        self.frontier.record_answer(host, fetch, now)
        self.frontier.finish_request(host, now)


def test_hosts_that_share_an_address_share_its_slots() -> None:
    farm = Farm(5, per_ip=2)
    first = farm.take(0.0)
    assert len(first) == 5, "nobody knows yet where they are"
    for host in first:
        farm.answer(host, 1.0)
    assert len(farm.take(1.0)) == 2
    seen = set()
    for now in range(2, 20):
        for host in [item for item in farm.frontier.hosts if item.active]:
            seen.add(host.name)
            farm.answer(host, float(now))
            assert sum(item.active for item in farm.frontier.hosts) <= 2
            farm.take(float(now))
    assert len(seen) == 5, "whoever waits for a slot gets one"
    assert farm.take(99.0) == []


def test_host_without_urls_lets_the_next_at_its_address_pass() -> None:
    farm = Farm(3, per_ip=1)
    for host in farm.take(0.0):
        farm.answer(host, 1.0)
    (first,) = farm.take(1.0)
    second, third = (host for host in farm.frontier.hosts if host is not first)
    for url_id in range(second.id, 12, 3):
        farm.url_table.set_state(url_id, UrlState.DROPPED)
    farm.frontier.update_queues(list(second.queues.values()))
    farm.answer(first, 2.0)
    assert farm.take(2.0) == [third]


def test_slow_host_is_requested_less_often() -> None:
    farm = Farm(1, per_ip=0)
    (host,) = farm.take(0.0)
    farm.answer(host, 0.1)
    (host,) = farm.take(0.1)
    farm.answer(host, 10.0, elapsed_s=8.0)
    assert farm.take(13.9) == []
    assert len(farm.take(14.0)) == 1


def test_abandoned_host_releases_its_slot() -> None:
    farm = Farm(3, per_ip=1)
    for host in farm.take(0.0):
        farm.answer(host, 1.0)
    (host,) = farm.take(1.0)
    farm.answer(host, 2.0)
    for item in farm.frontier.hosts[:2]:
        farm.frontier.abandon_host(item)
    assert [item.id for item in farm.take(2.0)] == [2]
