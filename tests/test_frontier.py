"""The frontier: order, politeness, bounded memory. No clock: `now` is an argument."""

import hashlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.config import PolitenessConfig
from focus.frontier import Frontier
from focus.records import UrlState
from focus.scheduling.priority_gate import Budget
from focus.scheduling.quantiles import TARGET_SAMPLE_RANK, nth_best
from focus.scheduling.queues import Ranking
from focus.scheduling.url_cache import UrlCache
from focus.scheduling.url_table import UrlTable


def trim(frontier: Frontier) -> None:
    """Let go of what there is not shown for lack of space, as a crawl does after it was written."""
    if frontier.url_cache.is_over_capacity:
        frontier.update_queues(frontier.url_cache.evict())


class World:
    """A frontier with a store behind it that remembers every URL."""

    def __init__(self, *, delay_s: float = 0.0, per_host: int = 1, **options: object) -> None:
        self.url_table = UrlTable(0)
        politeness = PolitenessConfig(per_host=per_host, delay_s=delay_s)
        self.frontier = Frontier(self.url_table, politeness, **options)  # type: ignore[arg-type]
        self.urls: list[str] = []

    def add(self, url: str, priority: float, pattern: str = "") -> int:
        host = self.frontier.host(url.split("/")[2])
        queue = self.frontier.queue(host, pattern)
        key = hashlib.md5(url.encode()).digest()
        url_id = self.url_table.add(key, queue.id, 1)
        self.urls.append(url)
        self.frontier.push(url_id, url, priority)
        return url_id

    def take(self, now: float = 0.0) -> str | None:
        candidate = self.frontier.next_candidate(now)
        if candidate is None:
            return None
        self.frontier.start_request(candidate.host, candidate.start_at)
        return candidate.url

    def finish(self, url: str, now: float) -> None:
        host = self.frontier.host(url.split("/")[2])
        self.frontier.finish_request(host, now)
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
        """Bring what is missed from the store, as the crawl does before each `next`."""
        self.frontier.add_loaded(
            (each, self.urls[each]) for each in self.frontier.url_cache.ids_to_load()
        )


def test_takes_the_best_first_and_ties_by_discovery() -> None:
    world = World()
    for name, priority in (("a", 1), ("b", 3), ("c", 3), ("d", 2)):
        world.add(f"http://h/{name}", priority)
    assert world.drain() == ["http://h/b", "http://h/c", "http://h/d", "http://h/a"]


def test_takes_the_best_over_all_hosts() -> None:
    world = World()
    world.add("http://x/1", 1)
    world.add("http://y/5", 5)
    world.add("http://x/3", 3)
    assert world.drain() == ["http://y/5", "http://x/3", "http://x/1"]


def test_a_host_rests_from_the_end_of_its_answer() -> None:
    world = World(delay_s=1.0)
    world.add("http://h/1", 2)
    world.add("http://h/2", 1)
    assert world.take(10.0) == "http://h/1"
    assert world.take(10.5) is None
    world.finish("http://h/1", 10.5)
    assert world.frontier.next_due() == 11.5
    assert world.take(11.4) is None
    assert world.take(11.5) == "http://h/2"


def test_other_hosts_go_on_while_one_rests() -> None:
    world = World(delay_s=1.0)
    world.add("http://x/9", 9)
    world.add("http://x/8", 8)
    world.add("http://y/1", 1)
    assert world.take(0.0) == "http://x/9"
    assert world.take(0.0) == "http://y/1"
    assert world.take(0.0) is None


def test_strict_order_waits_for_the_best_host() -> None:
    world = World(delay_s=1.0, strict=True)
    world.add("http://x/9", 9)
    world.add("http://x/8", 8)
    world.add("http://y/1", 1)
    assert world.take(0.0) == "http://x/9"
    world.finish("http://x/9", 0.5)
    candidate = world.frontier.next_candidate(0.5)
    assert (candidate.url, candidate.start_at) == ("http://x/8", 1.5)


def test_several_requests_per_host_start_a_delay_apart() -> None:
    world = World(delay_s=1.0, per_host=2)
    for number in range(3):
        world.add(f"http://h/{number}", 1)
    assert world.take(0.0) == "http://h/0"
    assert world.take(0.9) is None
    assert world.take(1.0) == "http://h/1"
    assert world.take(5.0) is None, "two are under way"


def test_a_better_priority_moves_a_url_forward_once() -> None:
    world = World()
    world.add("http://h/a", 1)
    slow = world.add("http://h/b", 0)
    world.frontier.set_priority(slow, 5)
    assert world.drain() == ["http://h/b", "http://h/a"]


class _Worths:
    """Priorities by a table."""

    is_steady = False
    patience = math.inf

    def __init__(self, worths: dict[int, float]) -> None:
        self.present_priority = worths.__getitem__


def test_a_stale_priority_is_asked_for_again_when_taken() -> None:
    now_worth = {0: 1.0, 1: 2.0}
    world = World(ranker=_Worths(now_worth))
    world.add("http://h/a", 9)
    world.add("http://h/b", 2)
    assert world.drain() == ["http://h/b", "http://h/a"]


def test_bonus_lifts_a_whole_queue() -> None:
    world = World()
    world.add("http://h/news/1", 1, pattern="/news/D")
    world.add("http://h/tag/1", 2, pattern="/tag/W")
    queue = world.frontier.host("h").queues["/news/D"]
    world.frontier.set_bonus(queue, 5.0)
    assert world.drain() == ["http://h/news/1", "http://h/tag/1"]


def test_a_retry_comes_back_at_its_time_and_not_before() -> None:
    world = World()
    url_id = world.add("http://h/a", 1)
    assert world.take(0.0) == "http://h/a"
    world.frontier.finish_request(world.frontier.host("h"), 0.0)
    world.url_table.set_state(url_id, UrlState.WAITING)
    world.frontier.defer(url_id, "http://h/a", 30.0)
    world.frontier.set_priority(url_id, 7.0)
    assert world.take(29.9) is None
    assert world.frontier.next_due() == 30.0
    assert world.take(30.0) == "http://h/a"


def test_a_host_put_aside_without_end_is_not_waited_for() -> None:
    world = World(per_host=2)
    world.add("http://h/a", 1)
    host = world.frontier.host("h")
    world.frontier.start_request(host, 0.0)
    world.frontier.pause_host(host, float("inf"), 0.0)
    assert world.take(1e9) is None
    assert world.frontier.next_due() is None
    world.frontier.pause_host(host, 0.0, 5.0)
    assert world.take(5.0) == "http://h/a"


def test_an_empty_resting_host_is_not_waited_for() -> None:
    world = World(delay_s=60.0)
    world.add("http://h/a", 1)
    assert world.take(0.0) == "http://h/a"
    world.finish("http://h/a", 1.0)
    assert world.frontier.next_due() is None
    world.add("http://h/b", 1)
    assert world.frontier.next_due() == 61.0
    assert world.take(61.0) == "http://h/b"


def test_giving_a_host_up_returns_what_waited() -> None:
    world = World()
    first = world.add("http://h/a", 1)
    second = world.add("http://h/b", 2)
    world.frontier.defer(second, "http://h/b", 99.0)
    assert sorted(world.frontier.abandon_host(world.frontier.host("h"))) == [first, second]
    assert world.take(100.0) is None


def test_memory_is_bounded_and_the_order_stays() -> None:
    small, large = World(capacity=3), World()
    small.frontier.url_cache.MIN_PER_QUEUE = 2  # type: ignore[misc]
    for number in range(40):
        for world in (small, large):
            world.add(f"http://h{number % 2}/{number}", (number * 7) % 11)
        trim(small.frontier)
    assert len(small.frontier._urls) < 12
    assert small.drain() == large.drain()


def spilled() -> tuple[World, list[int]]:
    """Eight URLs of one host, the best first, and a memory that has let all but one go."""
    world = World(capacity=2)
    world.frontier.url_cache.MIN_PER_QUEUE = 1  # type: ignore[misc]
    ids = [world.add(f"http://h/{n}", 10 - n) for n in range(8)]
    trim(world.frontier)
    return world, ids


def test_better_evidence_for_a_spilled_url_brings_it_back() -> None:
    world, ids = spilled()
    world.frontier.set_priority(ids[7], 99.0)
    assert world.drain() == [f"http://h/{n}" for n in (7, 0, 1, 2, 3, 4, 5, 6)]


def test_of_a_spilled_url_that_comes_first_the_address_alone_is_asked_for() -> None:
    world, ids = spilled()
    world.frontier.set_priority(ids[5], 9.5)
    assert not world.frontier.url_cache.needs_loading, "the first is still there"
    world.frontier.set_priority(ids[7], 99.0)
    assert world.frontier.url_cache.ids_to_load() == [ids[7]]
    assert not world.frontier.url_cache.needs_loading


_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "improve", "take", "finish"]), st.integers(0, 3), st.integers(0, 9)
    ),
    max_size=120,
)


def test_what_is_laid_aside_stays_there_however_good_it_gets() -> None:
    world = World()
    ids = [world.add(f"http://h/{n}", 3 - n) for n in range(3)]
    world.frontier.url_cache.urls.clear()  # as after a restart
    world.frontier.queues[0].heap.clear()
    world.frontier.mark_all_evicted()
    world.frontier.exclude_ids_below(2, include_last=True)
    world.frontier.set_priority(ids[1], 99.0)
    assert world.drain() == ["http://h/2"]
    assert world.frontier.include_excluded()
    assert world.drain() == ["http://h/1", "http://h/0"]


@given(_ACTIONS)
@settings(max_examples=150, deadline=None)
def test_a_bounded_memory_changes_no_order(actions: list[tuple[str, int, int]]) -> None:
    small, large = worlds = World(capacity=3), World()
    small.frontier.url_cache.MIN_PER_QUEUE = 1  # type: ignore[misc]
    for action, host, value in actions:
        for world in worlds:
            if action == "add":
                world.add(f"http://h{host}/{len(world.urls)}", value)
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
def test_no_url_twice_no_host_early_none_lost(actions: list[tuple[str, int, int]]) -> None:
    world = World(delay_s=2.0)
    taken: list[str] = []
    active: dict[str, str] = {}
    last_end: dict[str, float] = {}
    now = 0.0
    for action, host, value in actions:
        now += 0.5
        if action == "add":
            world.add(f"http://h{host}/{len(world.urls)}", value)
        elif action == "improve" and world.urls:
            url_id = value % len(world.urls)
            if world.url_table.is_waiting(url_id):
                world.frontier.set_priority(url_id, world.url_table.priority[url_id] + value)
        elif action == "take":
            url = world.take(now)
            if url is not None:
                name = url.split("/")[2]
                assert name not in active, "one at a time"
                assert now >= last_end.get(name, -9.0) + 2.0, "not before its rest is over"
                active[name] = url
                taken.append(url)
        elif action == "finish" and f"h{host}" in active:
            world.finish(active.pop(f"h{host}"), now)
            last_end[f"h{host}"] = now
    for url in active.values():
        world.finish(url, now)
    while True:
        while (url := world.take(now)) is not None:
            taken.append(url)
            world.finish(url, now)
        if (due := world.frontier.next_due()) is None:
            break
        now = due
    assert sorted(taken) == sorted(world.urls)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 5) | st.none())))
def test_ranking_agrees_with_a_plain_minimum(changes: list[tuple[int, int | None]]) -> None:
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


def test_fingerprints_are_found_and_only_they() -> None:
    url_table = UrlTable(2)
    keys = [hashlib.md5(str(n).encode()).digest() for n in range(20_000)]
    for key in keys:
        url_table.add(key, 0, 0)
    assert all(url_table.find(key) == n for n, key in enumerate(keys))
    assert url_table.find(hashlib.md5(b"other").digest()) == -1


def test_link_evidence_is_kept_per_url() -> None:
    url_table = UrlTable(2)
    for n in range(3):
        url_table.add(hashlib.md5(bytes([n])).digest(), 0, 0)
    url_table.set_link_evidence(1, (0.5, 0.25))
    assert [url_table.link_evidence(n) for n in range(3)] == [(0.0, 0.0), (0.5, 0.25), (0.0, 0.0)]


@pytest.mark.parametrize("state", list(UrlState))
def test_counts_follow_the_states(state: UrlState) -> None:
    url_table = UrlTable()
    url_table.add(b"0" * 16, 0, 0)
    url_table.set_state(0, state)
    assert url_table.counts[state] == 1
    assert sum(url_table.counts) == 1


def test_sheds_the_worst_and_of_equals_the_latest() -> None:
    world = World()
    for n, priority in enumerate((2.0, 0.5, 3.0, 0.5, 1.0)):
        world.add(f"http://h{n % 2}/{n}", priority)
    assert world.frontier.remove_overflow(3) == [3, 1]
    for url_id in (3, 1):
        world.url_table.set_state(url_id, UrlState.DROPPED)
    assert world.drain() == ["http://h0/2", "http://h0/0", "http://h0/4"]


def test_sheds_nothing_until_there_are_five_per_cent_too_many() -> None:
    world = World()
    for n in range(105):
        world.add(f"http://h/{n}", float(n))
    assert world.frontier.remove_overflow(100) == []
    world.add("http://h/105", 105.0)
    assert world.frontier.remove_overflow(100) == [0, 1, 2, 3, 4, 5]


def test_sheds_what_waits_for_a_retry_and_what_only_the_store_has() -> None:
    world = World(capacity=1)
    UrlCache.MIN_PER_QUEUE, kept = 2, UrlCache.MIN_PER_QUEUE
    try:
        for n in range(8):
            world.add(f"http://h/{n}", float(n))
        trim(world.frontier)
    finally:
        UrlCache.MIN_PER_QUEUE = kept
    world.url_table.priority[5] = 0.0
    world.frontier.defer(5, "http://h/5", until=10.0)
    for url_id in world.frontier.remove_overflow(3):
        world.url_table.set_state(url_id, UrlState.DROPPED)
    assert world.drain() == ["http://h/7", "http://h/6", "http://h/4"]
    assert world.take(now=20.0) is None


# -- held back ----------------------------------------------------------------------


FIRST = Budget(spent=1, is_idle=True)  # nothing but the best of all


def test_what_is_poor_stays_while_a_limited_crawl_has_better_to_come() -> None:
    world = World(delay_s=5.0)
    world.add("http://good.test/1", 2.0)
    world.add("http://good.test/2", 1.9)
    world.add("http://poor.test/1", 0.5)
    assert world.take() == "http://good.test/1"
    world.finish("http://good.test/1", 0.0)
    assert world.frontier.next_candidate(0.0, FIRST) is None
    assert world.frontier.next_due() == 5.0
    resumed = world.frontier.next_candidate(5.0, FIRST)
    assert resumed is not None and resumed.url == "http://good.test/2"
    assert world.take(5.0) == "http://poor.test/1"


def test_what_is_poor_is_held_back_from_the_first_pages_on() -> None:
    world = World(delay_s=5.0)
    assert world.frontier.next_candidate(0.0, Budget(spent=0, is_idle=False)) is None
    for n in range(40):
        world.add(f"http://good.test/{n}", 2.0)
    world.add("http://poor.test/1", 0.5)
    assert world.take() == "http://good.test/0"
    world.finish("http://good.test/0", 0.0)
    assert world.frontier.next_candidate(0.0, Budget(spent=1, is_idle=False)) is None


@pytest.mark.parametrize(("spent", "taken"), [(80, None), (800, "http://poor.test/1")])
def test_a_large_budget_is_no_reason_to_be_early(spent: int, taken: str | None) -> None:
    """One at a time what is poor would come as the 41st of them: soon for who has made 800."""
    world = World(delay_s=5.0)
    for n in range(41):
        world.add(f"http://good.test/{n}", 2.0)
    world.add("http://poor.test/1", 0.5)
    world.finish(world.take() or "", 0.0)
    candidate = world.frontier.next_candidate(0.0, Budget(spent=spent, is_idle=False))
    assert (candidate and candidate.url) == taken


def test_nothing_is_held_back_for_a_host_that_rests_for_long() -> None:
    world = World(delay_s=60.0)
    world.add("http://good.test/1", 2.0)
    world.add("http://good.test/2", 1.9)
    world.add("http://poor.test/1", 0.5)
    assert world.take() == "http://good.test/1"
    world.finish("http://good.test/1", 0.0)
    taken = world.frontier.next_candidate(0.0, FIRST._replace(is_idle=False))
    assert taken is not None and taken.url == "http://poor.test/1"


def test_nothing_is_held_back_for_a_host_that_hangs() -> None:
    world = World(delay_s=1.0)
    for n in range(9):
        world.add(f"http://good.test/{n}", 2.0)
    world.add("http://poor.test/1", 0.5)
    world.add("http://poor-too.test/1", 0.4)
    budget = Budget(spent=16, is_idle=False)
    asked = world.frontier.next_candidate(0.0, budget)
    assert asked is not None and asked.host.name == "good.test"
    world.frontier.start_request(asked.host, 0.0)
    assert world.frontier.next_candidate(9.0, budget) is None
    assert world.frontier.next_due() == 10.0, "then it is looked at again"
    for expected in ("poor.test", "poor-too.test"):
        taken = world.frontier.next_candidate(11.0, budget)
        assert taken is not None and taken.host.name == expected


def test_what_has_become_worse_holds_nobody_back() -> None:
    world = World(delay_s=5.0)
    world.add("http://good.test/1", 2.0)
    worse = world.add("http://good.test/2", 1.9)
    world.add("http://poor.test/1", 0.5)
    assert world.take() == "http://good.test/1"
    world.finish("http://good.test/1", 0.0)
    assert world.frontier.next_candidate(0.0, FIRST) is None
    world.frontier.set_priority(worse, 0.4)
    taken = world.frontier.next_candidate(0.0, FIRST)
    assert taken is not None and taken.url == "http://poor.test/1"


def test_worth_of_the_nth_best_counts_bonuses_and_only_what_waits() -> None:
    world = World()
    for n in range(10):
        world.add(f"http://a.test/{n}", float(n))
    b = world.frontier.queues[world.url_table.queue[world.add("http://b.test/", 1.0)]]
    assert nth_best(world.frontier, 3, 0.0) == 7.0
    world.frontier.set_bonus(b, 8.5)
    assert nth_best(world.frontier, 1, 0.0) == 9.5
    assert nth_best(world.frontier, 3, 0.0) == 8.0
    assert world.take() == "http://b.test/"
    assert nth_best(world.frontier, 3, 0.0) == 7.0
    assert nth_best(world.frontier, 10, 0.0) == -math.inf


def test_urls_of_a_host_that_rests_for_long_hold_nobody_back() -> None:
    world = World()
    for n in range(4):
        world.add(f"http://a.test/{n}", 9.0)
        world.add(f"http://b.test/{n}", 1.0)
    world.frontier.pause_host(world.frontier.host("a.test"), 3600.0, 0.0)
    assert nth_best(world.frontier, 2, 0.0, 10.0) == 1.0
    assert nth_best(world.frontier, 2, 0.0, 3600.0) == 9.0


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=300),
    st.integers(1, 2 * TARGET_SAMPLE_RANK - 1),
)
def test_worth_is_the_nth_largest(priorities: list[int], n: int) -> None:
    world = World()
    for number, priority in enumerate(priorities):
        world.add(f"http://a.test/{number}", float(priority))
    ranked = sorted(priorities, reverse=True)
    assert nth_best(world.frontier, n, 0.0) == (ranked[n - 1] if n < len(ranked) else -math.inf)
