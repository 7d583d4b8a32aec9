"""The frontier: order, politeness, bounded memory. No clock: `now` is an argument."""

import hashlib
import math
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from focus.config import PolitenessConfig
from focus.frontier import Frontier
from focus.records import UrlState
from focus.scheduling.priority_gate import Budget
from focus.scheduling.quantiles import TARGET_SAMPLE_RANK, nth_best
from focus.scheduling.queues import Host, Ranking
from focus.scheduling.url_cache import UrlCache
from focus.scheduling.url_table import UrlTable
from tests.support.cases import cases


def trim(frontier: Frontier) -> None:
    """Let go of what there is not shown for lack of space, as a crawl does after it was written."""
    if frontier.url_cache.is_over_capacity:
        frontier.update_queues(frontier.url_cache.evict())


class World:
    """A frontier of URLs (without their http://), and a store that remembers every one."""

    def __init__(
        self,
        urls: Mapping[str, float] = MappingProxyType({}),
        *,
        delay_s: float = 0.0,
        per_host: int = 1,
        **options: object,
    ) -> None:
        self.url_table = UrlTable(0)
        politeness = PolitenessConfig(per_host=per_host, delay_s=delay_s)
        self.frontier = Frontier(self.url_table, politeness, **options)  # type: ignore[arg-type]
        self.urls: list[str] = []
        for url, priority in urls.items():
            self.add(url, priority)

    def host(self, name: str) -> Host:
        return self.frontier.host(name)

    def add(self, url: str, priority: float, pattern: str = "") -> None:
        queue = self.frontier.queue(self.host(url.split("/")[0]), pattern)
        url_id = self.url_table.add(hashlib.md5(url.encode()).digest(), queue.id, 1)
        self.urls.append(url)
        self.frontier.push(url_id, f"http://{url}", priority)

    def next(self, now: float, budget: Budget) -> str | None:
        candidate = self.frontier.next_candidate(now, budget)
        return candidate and candidate.url.removeprefix("http://")

    def take(self, now: float = 0.0) -> str | None:
        candidate = self.frontier.next_candidate(now)
        if candidate is None:
            return None
        self.frontier.start_request(candidate.host, candidate.start_at)
        return candidate.url.removeprefix("http://")

    def finish(self, url: str, now: float) -> None:
        self.frontier.finish_request(self.host(url.split("/")[0]), now)
        self.url_table.set_state(self.urls.index(url), UrlState.DONE)

    def drain(self) -> list[str]:
        order = []
        self.feed()
        while (url := self.take()) is not None:
            order.append(url)
            self.finish(url, 0.0)
            self.feed()
        return order

    def feed(self) -> None:
        """Load the addresses that are missing, as the crawl does before each request."""
        missing = self.frontier.url_cache.ids_to_load()
        self.frontier.add_loaded((url_id, f"http://{self.urls[url_id]}") for url_id in missing)


@cases(
    "urls, order",
    ({"h/a": 1, "h/b": 3, "h/c": 3, "h/d": 2}, "h/b h/c h/d h/a"),
    ({"x/1": 1, "y/5": 5, "x/3": 3}, "y/5 x/3 x/1"),
    ids=["ties by discovery", "over all hosts"],
)
def test_next_candidate_is_the_best(urls: dict[str, float], order: str) -> None:
    assert World(urls).drain() == order.split()


def test_crawl_delay_begins_with_the_end_of_the_response() -> None:
    world = World({"h/1": 2, "h/2": 1}, delay_s=1.0)
    assert world.take(10.0) == "h/1"
    assert world.take(10.5) is None
    world.finish("h/1", 10.5)
    assert world.frontier.next_due() == 11.5
    assert world.take(11.4) is None
    assert world.take(11.5) == "h/2"


def test_other_hosts_are_requested_during_a_crawl_delay() -> None:
    world = World({"x/9": 9, "x/8": 8, "y/1": 1}, delay_s=1.0)
    assert [world.take(0.0) for _ in range(3)] == ["x/9", "y/1", None]


def test_strict_order_waits_for_the_best_host() -> None:
    world = World({"x/9": 9, "x/8": 8, "y/1": 1}, delay_s=1.0, strict=True)
    assert world.take(0.0) == "x/9"
    world.finish("x/9", 0.5)
    candidate = world.frontier.next_candidate(0.5)
    assert (candidate.url, candidate.start_at) == ("http://x/8", 1.5)


def test_strict_order_waits_for_the_delay_of_an_address() -> None:
    world = World({"x/2": 2, "y/1": 1}, delay_s=1.0, strict=True, reports_sends=True)
    for name in "xy":
        world.frontier.set_address(world.host(name), "192.0.2.1", 0.0)
    assert world.take(0.0) == "x/2"
    candidate = world.frontier.next_candidate(0.0)
    assert (candidate.url, candidate.start_at) == ("http://y/1", 1.0 / PolitenessConfig().per_ip)


def test_several_requests_per_host_start_a_delay_apart() -> None:
    world = World({"h/0": 1, "h/1": 1, "h/2": 1}, delay_s=1.0, per_host=2)
    # At 5 s two requests are open.
    assert [world.take(at) for at in (0.0, 0.9, 1.0, 5.0)] == ["h/0", None, "h/1", None]


def test_delay_of_several_requests_begins_with_the_sending() -> None:
    world = World({"h/0": 1, "h/1": 1, "h/2": 1}, delay_s=1.0, per_host=2, reports_sends=True)
    assert (world.take(0.0), world.take(9.0)) == ("h/0", None)
    world.frontier.record_send(world.host("h"), 9.5)
    assert [world.take(at) for at in (10.59, 10.6)] == [None, "h/1"]
    world.frontier.record_send(world.host("h"), 11.0)
    world.finish("h/0", 11.05)  # an answer that arrives later than the sending
    assert [world.take(at) for at in (12.04, 12.06)] == [None, "h/2"]


def test_set_priority_moves_a_url_forward_once() -> None:
    world = World({"h/a": 1, "h/b": 0})
    world.frontier.set_priority(1, 5)
    assert world.drain() == ["h/b", "h/a"]


class FixedPriorities:
    """Priorities by a table."""

    is_steady = False
    patience = math.inf

    def __init__(self, priorities: dict[int, float]) -> None:
        self.present_priority = priorities.__getitem__


def test_stale_priority_is_computed_again_when_taken() -> None:
    world = World({"h/a": 9, "h/b": 2}, ranker=FixedPriorities({0: 1.0, 1: 2.0}))
    assert world.drain() == ["h/b", "h/a"]


def test_bonus_raises_a_whole_queue() -> None:
    world = World()
    world.add("h/news/1", 1, pattern="/news/D")
    world.add("h/tag/1", 2, pattern="/tag/W")
    world.frontier.set_bonus(world.host("h").queues["/news/D"], 5.0)
    assert world.drain() == ["h/news/1", "h/tag/1"]


def test_retry_is_due_at_its_time() -> None:
    world = World({"h/a": 1})
    assert world.take(0.0) == "h/a"
    world.frontier.finish_request(world.host("h"), 0.0)
    world.url_table.set_state(0, UrlState.WAITING)
    world.frontier.defer(0, "http://h/a", 30.0)
    world.frontier.set_priority(0, 7.0)
    assert world.take(29.9) is None
    assert world.frontier.next_due() == 30.0
    assert world.take(30.0) == "h/a"


def test_host_paused_without_end_is_not_waited_for() -> None:
    world = World({"h/a": 1}, per_host=2)
    host = world.host("h")
    world.frontier.start_request(host, 0.0)
    world.frontier.pause_host(host, float("inf"), 0.0)
    assert world.take(1e9) is None
    assert world.frontier.next_due() is None
    world.frontier.pause_host(host, 0.0, 5.0)
    assert world.take(5.0) == "h/a"


def test_empty_host_is_not_waited_for() -> None:
    world = World({"h/a": 1}, delay_s=60.0)
    assert world.take(0.0) == "h/a"
    world.finish("h/a", 1.0)
    assert world.frontier.next_due() is None
    world.add("h/b", 1)
    assert world.frontier.next_due() == 61.0
    assert world.take(61.0) == "h/b"


def test_abandon_host_returns_its_waiting_urls() -> None:
    world = World({"h/a": 1, "h/b": 2})
    world.frontier.defer(1, "http://h/b", 99.0)
    assert sorted(world.frontier.abandon_host(world.host("h"))) == [0, 1]
    assert world.take(100.0) is None


def test_bounded_memory_keeps_the_order() -> None:
    small, large = World(capacity=3), World()
    small.frontier.url_cache.MIN_PER_QUEUE = 2  # type: ignore[misc]
    for number in range(40):
        for world in (small, large):
            world.add(f"h{number % 2}/{number}", (number * 7) % 11)
        trim(small.frontier)
    assert len(small.frontier._urls) < 12
    assert small.drain() == large.drain()


def evicted() -> World:
    """Eight URLs of one host, the best first, of which memory holds one."""
    world = World({f"h/{n}": 10 - n for n in range(8)}, capacity=2)
    world.frontier.url_cache.MIN_PER_QUEUE = 1  # type: ignore[misc]
    trim(world.frontier)
    return world


def test_evict_returns_the_queues_with_another_first_url() -> None:
    urls = {f"{host}/{n}": 5 - n for host in "hi" for n in range(4)}
    world = World({"h/a": 9, **urls}, capacity=2)
    world.frontier.url_cache.MIN_PER_QUEUE = 1  # type: ignore[misc]
    world.url_table.set_state(0, UrlState.DROPPED)
    assert [queue.host.name for queue in world.frontier.url_cache.evict()] == ["h"]


def test_evicted_url_with_better_evidence_is_loaded() -> None:
    world = evicted()
    world.frontier.set_priority(7, 99.0)
    assert world.drain() == [f"h/{n}" for n in (7, 0, 1, 2, 3, 4, 5, 6)]


def test_only_the_address_of_the_best_evicted_url_is_loaded() -> None:
    world = evicted()
    world.frontier.set_priority(5, 9.5)
    assert not world.frontier.url_cache.needs_loading, "the first is still there"
    world.frontier.set_priority(7, 99.0)
    assert world.frontier.url_cache.ids_to_load() == [7]
    assert not world.frontier.url_cache.needs_loading


_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "improve", "take", "finish"]), st.integers(0, 3), st.integers(0, 9)
    ),
    max_size=120,
)


def test_excluded_url_stays_excluded_whatever_its_priority() -> None:
    world = World({f"h/{n}": 3 - n for n in range(3)})
    world.frontier.url_cache.urls.clear()  # as after a restart
    world.frontier.queues[0].heap.clear()
    world.frontier.mark_all_evicted()
    world.frontier.exclude_ids_below(2, include_last=True)
    world.frontier.set_priority(1, 99.0)
    assert world.drain() == ["h/2"]
    assert world.frontier.include_excluded()
    assert world.drain() == ["h/1", "h/0"]


@given(_ACTIONS)
@settings(max_examples=150, deadline=None)
def test_any_bounded_memory_keeps_the_order(actions: list[tuple[str, int, int]]) -> None:
    small, large = worlds = World(capacity=3), World()
    small.frontier.url_cache.MIN_PER_QUEUE = 1  # type: ignore[misc]
    for action, host, value in actions:
        for world in worlds:
            if action == "add":
                world.add(f"h{host}/{len(world.urls)}", value)
            elif action == "improve" and world.urls:
                url_id = (7 * host + value) % len(world.urls)
                if world.url_table.is_waiting(url_id):
                    world.frontier.set_priority(url_id, float(value))
        if action == "take":
            small.feed()
            url = small.take()
            assert url == large.take()
            for world in worlds if url else ():
                world.finish(url, 0.0)
        trim(small.frontier)
    assert small.drain() == large.drain()


@given(_ACTIONS)
@settings(max_examples=150, deadline=None)
def test_any_actions_take_urls_once(actions: list[tuple[str, int, int]]) -> None:
    world = World(delay_s=2.0)
    order: list[str] = []
    active: dict[str, str] = {}
    last_end: dict[str, float] = {}
    now = 0.0
    for action, host, value in actions:
        now += 0.5
        if action == "add":
            world.add(f"h{host}/{len(world.urls)}", value)
        elif action == "improve" and world.urls:
            url_id = value % len(world.urls)
            if world.url_table.is_waiting(url_id):
                world.frontier.set_priority(url_id, world.url_table.priority[url_id] + value)
        elif action == "take":
            url = world.take(now)
            if url is not None:
                name = url.split("/")[0]
                assert name not in active, "one at a time"
                assert now >= last_end.get(name, -9.0) + 2.0, "not before its rest is over"
                active[name] = url
                order.append(url)
        elif action == "finish" and f"h{host}" in active:
            world.finish(active.pop(f"h{host}"), now)
            last_end[f"h{host}"] = now
    for url in active.values():
        world.finish(url, now)
    while True:
        while (url := world.take(now)) is not None:
            order.append(url)
            world.finish(url, now)
        if (due := world.frontier.next_due()) is None:
            break
        now = due
    assert sorted(order) == sorted(world.urls)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 5) | st.none())))
def test_ranking_equals_plain_minimum(changes: list[tuple[int, int | None]]) -> None:
    ranking, plain = Ranking(), {}
    for member, value in changes:
        key = None if value is None else (float(value), member)
        ranking.set(member, key)
        if key is None:
            plain.pop(member, None)
        else:
            plain[member] = key
        best = min(plain, key=lambda m: plain[m]) if plain else None
        assert ranking.best() == best


def test_find_returns_stored_fingerprints_only() -> None:
    url_table = UrlTable(2)
    keys = [hashlib.md5(str(n).encode()).digest() for n in range(20_000)]
    for key in keys:
        url_table.add(key, 0, 0)
    assert all(url_table.find(key) == n for n, key in enumerate(keys))
    assert url_table.find(hashlib.md5(b"other").digest()) == -1


def test_link_evidence_is_stored_per_url() -> None:
    url_table = UrlTable(2)
    for n in range(3):
        url_table.add(hashlib.md5(bytes([n])).digest(), 0, 0)
    url_table.set_link_evidence(1, (0.5, 0.25))
    assert [url_table.link_evidence(n) for n in range(3)] == [(0.0, 0.0), (0.5, 0.25), (0.0, 0.0)]


@pytest.mark.parametrize("state", list(UrlState))
def test_counts_by_state(state: UrlState) -> None:
    url_table = UrlTable()
    url_table.add(b"0" * 16, 0, 0)
    url_table.set_state(0, state)
    assert url_table.counts[state] == 1
    assert sum(url_table.counts) == 1


def test_remove_overflow_drops_the_worst_and_latest() -> None:
    world = World({f"h{n % 2}/{n}": p for n, p in enumerate((2.0, 0.5, 3.0, 0.5, 1.0))})
    assert world.frontier.remove_overflow(3) == [3, 1]
    for url_id in (3, 1):
        world.url_table.set_state(url_id, UrlState.DROPPED)
    assert world.drain() == ["h0/2", "h0/0", "h0/4"]


def test_remove_overflow_begins_at_five_per_cent() -> None:
    world = World({f"h/{n}": float(n) for n in range(105)})
    assert world.frontier.remove_overflow(100) == []
    world.add("h/105", 105.0)
    assert world.frontier.remove_overflow(100) == [0, 1, 2, 3, 4, 5]


def test_remove_overflow_includes_deferred_and_evicted_urls(monkeypatch: MonkeyPatch) -> None:
    world = World({f"h/{n}": float(n) for n in range(8)}, capacity=1)
    monkeypatch.setattr(UrlCache, "MIN_PER_QUEUE", 2)
    trim(world.frontier)
    world.url_table.priority[5] = 0.0
    world.frontier.defer(5, "http://h/5", until=10.0)
    for url_id in world.frontier.remove_overflow(3):
        world.url_table.set_state(url_id, UrlState.DROPPED)
    assert world.drain() == ["h/7", "h/6", "h/4"]
    assert world.take(now=20.0) is None


# -- poor URLs held back ----------------------------------------------------------------------


FIRST = Budget(spent=1, is_idle=True)  # nothing but the best of all


def good_and_poor(delay_s: float = 5.0, good: int = 2) -> World:
    """A poor host, and a good one whose first page has been fetched at 0 s."""
    pages = {f"good.test/{n}": 2.0 - n / 1000 for n in range(1, good + 1)}
    world = World({**pages, "poor.test/1": 0.5}, delay_s=delay_s)
    assert world.take() == "good.test/1"
    world.finish("good.test/1", 0.0)
    return world


def test_limited_crawl_holds_poor_urls_back() -> None:
    world = good_and_poor()
    assert world.next(0.0, FIRST) is None
    assert world.frontier.next_due() == 5.0
    assert world.next(5.0, FIRST) == "good.test/2"
    assert world.take(5.0) == "poor.test/1"


def test_limited_crawl_holds_poor_urls_back_from_the_first_page_on() -> None:
    assert World(delay_s=5.0).next(0.0, Budget(spent=0, is_idle=False)) is None
    assert good_and_poor(good=40).next(0.0, Budget(spent=1, is_idle=False)) is None


@pytest.mark.parametrize(("spent", "expected"), [(80, None), (800, "poor.test/1")])
def test_large_budget_holds_poor_urls_back_for_their_turn(spent: int, expected: str | None) -> None:
    """In strict order the poor URL would be the 41st: late for a crawl of 80, soon for 800."""
    assert good_and_poor(good=41).next(0.0, Budget(spent=spent, is_idle=False)) == expected


def test_long_crawl_delay_holds_nothing_back() -> None:
    world = good_and_poor(delay_s=60.0)
    assert world.next(0.0, FIRST._replace(is_idle=False)) == "poor.test/1"


def test_hanging_host_holds_nothing_back() -> None:
    urls = {f"good.test/{n}": 2.0 for n in range(9)}
    world = World({**urls, "poor.test/1": 0.5, "poor-too.test/1": 0.4}, delay_s=1.0)
    budget = Budget(spent=16, is_idle=False)
    assert world.next(0.0, budget) == "good.test/0"
    world.frontier.start_request(world.host("good.test"), 0.0)
    assert world.next(9.0, budget) is None
    assert world.frontier.next_due() == 10.0, "then it is looked at again"
    assert [world.next(11.0, budget) for _ in range(2)] == ["poor.test/1", "poor-too.test/1"]


def test_url_whose_priority_fell_holds_nothing_back() -> None:
    world = good_and_poor()
    assert world.next(0.0, FIRST) is None
    world.frontier.set_priority(1, 0.4)
    assert world.next(0.0, FIRST) == "poor.test/1"


def test_nth_best_includes_bonuses_and_waiting_urls_only() -> None:
    world = World({**{f"a.test/{n}": float(n) for n in range(10)}, "b.test/": 1.0})
    assert nth_best(world.frontier, 3, 0.0) == 7.0
    world.frontier.set_bonus(world.frontier.queues[world.url_table.queue[10]], 8.5)
    assert [nth_best(world.frontier, n, 0.0) for n in (1, 3)] == [9.5, 8.0]
    assert world.take() == "b.test/"
    assert [nth_best(world.frontier, n, 0.0) for n in (3, 10)] == [7.0, -math.inf]


def test_nth_best_ignores_urls_of_long_paused_host() -> None:
    world = World({f"{host}.test/{n}": p for n in range(4) for host, p in (("a", 9.0), ("b", 1.0))})
    world.frontier.pause_host(world.host("a.test"), 3600.0, 0.0)
    assert nth_best(world.frontier, 2, 0.0, 10.0) == 1.0
    assert nth_best(world.frontier, 2, 0.0, 3600.0) == 9.0


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=300),
    st.integers(1, 2 * TARGET_SAMPLE_RANK - 1),
)
def test_nth_best_is_the_nth_largest(priorities: list[int], n: int) -> None:
    world = World({f"a.test/{number}": float(p) for number, p in enumerate(priorities)})
    ranked = sorted(priorities, reverse=True)
    assert nth_best(world.frontier, n, 0.0) == (ranked[n - 1] if n < len(ranked) else -math.inf)
