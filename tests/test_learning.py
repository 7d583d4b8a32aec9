"""What a crawl learns from its requests: bonuses of new hosts, raised links, the fallback order."""

import pytest

from focus.engine.hit_rates import _MAX_QUEUES_UPDATED, EXPLORATION_INTERVAL
from focus.engine.links import _halved_link
from focus.records import FALLBACK_PRIORITY, Link, Page, RecentTally, Tally, UrlState
from focus.score.strategy.base import Strategy
from tests.support.drawn import Walk, link, page
from tests.test_strategies import make, parent

HOSTS = [f"h{n}" for n in range(2 * EXPLORATION_INTERVAL)]
"""The seed's own host is there before them, as number 0."""
NEW = [("h7", "/other"), ("late", "/z")]


@pytest.fixture
def walk() -> Walk:
    """A seed that was read and links to a page each of many hosts."""
    web = {"A": page(*(link(f"x{n}", host=host) for n, host in enumerate(HOSTS)))}
    walk_result = Walk("yield", web, ("A",), as_published=False, params={})
    assert walk_result.run(1) == ["A"]
    walk_result.link_handler.hit_rates.count_result(0, Page())
    return walk_result


def bonuses(walk: Walk) -> dict[str, float]:
    """What is added for each host."""
    return {host: max(q.bonus for q in walk.frontier.host(host).queues.values()) for host in HOSTS}


def count_request(walk: Walk, number: int, relevance: float | None) -> None:
    """The page of a host came, or failed."""
    url_id = number + 1
    walk.url_table.set_state(url_id, UrlState.FETCHING)
    brought = None if relevance is None else Page(relevance=relevance)
    walk.link_handler.hit_rates.count_result(url_id, brought)


def test_poor_newcomers_lower_the_bonus_of_nine_in_ten_others(walk: Walk) -> None:
    assert set(bonuses(walk).values()) == {0.0}
    for number in range(6):
        count_request(walk, number, None)
    assert walk.unit_of_work.totals.newcomers == 6
    by_host = bonuses(walk)
    assert (
        by_host["h7"] == walk.strategy.newcomer_bonus(walk.link_handler.hit_rates.newcomers) < -2.0
    )
    spared = [host for host in HOSTS[6:] if by_host[host] == 0.0]
    assert [walk.frontier.host(host).id % EXPLORATION_INTERVAL for host in spared] == [0, 0]


def test_good_newcomers_raise_the_bonus_of_others(walk: Walk) -> None:
    for number in range(6):
        count_request(walk, number, None)
    before = bonuses(walk)["h18"]
    for number in range(6, 12):
        count_request(walk, number, 1.0)
    assert before < bonuses(walk)["h18"] == 0.0


def test_requested_host_has_its_own_bonus(walk: Walk) -> None:
    for number in range(6):
        count_request(walk, number, None)
    count_request(walk, 6, 0.9)
    assert bonuses(walk)["h6"] == pytest.approx(walk.strategy.bonus(*rates(walk, "h6")))
    assert walk.unit_of_work.totals.newcomers == 7


def rates(walk: Walk, host: str) -> tuple[object, object]:
    (queue,) = walk.frontier.host(host).queues.values()
    recent = walk.unit_of_work.recent[queue.id]
    return recent, recent


def test_host_with_many_queues_updates_each_of_them_in_turn(walk: Walk) -> None:
    patterns = [f"/{n}" for n in range(3 * _MAX_QUEUES_UPDATED)]
    links = [link(f"p{p[1:]}", host="h0", pattern=p) for p in patterns]
    walk.link_handler.add_links(parent(walk.strategy, 0.0), links)
    queues = walk.frontier.host("h0").queues
    count_request(walk, 0, None)
    first = {queues[p].bonus for p in patterns}
    assert len(first) == 1
    for _ in range(4):
        walk.link_handler.hit_rates.count_result(1, None)
    assert max(queues[p].bonus for p in patterns) < min(first) < 0.0


def test_links_of_other_pages_rise_when_their_penalty_shrinks(walk: Walk) -> None:
    """All links of the walk are links of a page that is not relevant."""
    totals, hit_rates = walk.unit_of_work.totals, walk.link_handler.hit_rates
    waiting = len(HOSTS)
    totals.near, totals.near_yielded, totals.far = 100, 100.0, 100
    assert not hit_rates.set_link_rates()  # it has become larger
    low = hit_rates._ranker.present_priority(waiting)
    walk.frontier.set_priority(waiting, low)
    totals.near_yielded = 1.0
    count_request(walk, 0, None)
    assert low < walk.url_table.priority[waiting] == 0.0
    assert totals.urls_to_raise == 0


def test_waiting_url_is_raised_to_a_priority_and_not_lowered(walk: Walk) -> None:
    evidence, table = walk.strategy.seed(), walk.url_table
    for requested, priority in ((7.0, 7.0), (6.0, 7.0), (8.0, 8.0)):
        walk.link_handler.raise_to(1, evidence, requested, None)
        assert table.priority[1] == priority
    table.set_state(2, UrlState.DONE)
    before = table.priority[2]
    walk.link_handler.raise_to(2, evidence, 7.0, None)
    assert table.priority[2] == before


def test_corrected_page_changes_the_rewards_of_its_host_and_of_newcomers(walk: Walk) -> None:
    hit_rates, totals = walk.link_handler.hit_rates, walk.unit_of_work.totals
    for relevance in (1.0, 1.0, 0.0):
        walk.url_table.set_state(1, UrlState.FETCHING)
        hit_rates.count_result(1, Page(relevance=relevance))
    (queue,) = walk.frontier.host("h0").queues.values()
    recent, first = walk.unit_of_work.recent[queue.id], totals.newcomers_yielded
    tally, before = hit_rates.host_tally(queue.host).rewards, recent.rewards
    hit_rates.correct_page(1, 2, -0.5)
    fade = walk.strategy.hit_rate_decay
    assert recent.rewards == pytest.approx(before - 0.5 * fade)
    assert hit_rates.host_tally(queue.host).rewards == pytest.approx(tally - 0.5)
    assert totals.newcomers_yielded == first
    hit_rates.correct_page(1, 1, -0.5)
    assert totals.newcomers_yielded == pytest.approx(first - 0.5)
    hit_rates.correct_page(0, 1, -0.5)
    assert totals.newcomers_yielded == pytest.approx(first - 0.5), "a seed is no newcomer"


def test_hub_with_a_better_rate_raises_its_own_waiting_links(walk: Walk) -> None:
    table = walk.url_table
    for url_id in (1, 2, 3):
        walk.frontier.set_priority(url_id, -5.0)
    table.parent[2] = 9
    table.set_state(3, UrlState.DONE)
    raise_children = walk.link_handler.hit_rates._raise_children
    raise_children(0, Tally(9, 9.0), Tally(9, 0.0))
    assert [table.priority[url_id] for url_id in (1, 2, 3)] == [-5.0] * 3, "it has become worse"
    raise_children(0, Tally(9, 0.0), Tally(9, 9.0))
    assert table.priority[1] > -5.0
    assert [table.priority[url_id] for url_id in (2, 3)] == [-5.0] * 2


def test_new_queue_of_newcomer_has_newcomer_bonus(walk: Walk) -> None:
    for number in range(6):
        count_request(walk, number, None)
    links = [link("y", host="h7", pattern="/other"), link("z", host="late")]
    walk.link_handler.add_links(parent(walk.strategy, 0.0), links)
    others = {walk.frontier.host(host).queues[pattern].bonus for host, pattern in NEW}
    assert others == {bonuses(walk)["h7"]}


def test_seeds_and_their_redirect_targets_are_no_newcomers(walk: Walk) -> None:
    assert walk.unit_of_work.totals.newcomers == 0
    walk.link_handler.hit_rates.count_abandoned_newcomer(walk.frontier.host("h"), seeds=[0])
    assert walk.unit_of_work.totals.newcomers == 0
    walk.link_handler.hit_rates.count_abandoned_newcomer(walk.frontier.host("h3"), seeds=[0])
    assert (walk.unit_of_work.totals.newcomers, walk.unit_of_work.totals.newcomers_yielded) == (
        1,
        0.0,
    )


def with_terms(**params: float) -> Strategy:
    """Yield on a topic with a related term."""
    strategy = make("yield", **params)
    strategy.set_terms({"term": 0.3})
    return strategy


def test_fallback_begins_where_the_own_order_finds_little_and_zero_turns_it_off() -> None:
    untried = RecentTally()
    assert not make("yield").prefers_fallback(RecentTally(20.0, 0.0), untried), "it has no terms"
    for rewards, is_preferred in ((3.4, True), (3.6, False)):
        own = RecentTally(20.0, rewards)
        assert with_terms().prefers_fallback(own, untried) is is_preferred
        assert not with_terms().prefers_fallback(own, RecentTally(20.0, 0.0))
        assert not with_terms(fallback=0).prefers_fallback(own, untried)
    assert with_terms().prefers_fallback(RecentTally(20.0, 8.0), RecentTally(20.0, 9.5))
    assert not make("best-link").prefers_fallback(RecentTally(20.0, 0.0), untried)


def test_fallback_raises_oldest_link_of_most_relevant_page(walk: Walk) -> None:
    table, totals = walk.url_table, walk.unit_of_work.totals
    ids = {}
    for name, relevance in (("poor", 0.4), ("good", 0.7), ("best", 0.9), ("late", 0.9)):
        links = [link(name, host="h0")]
        (ids[name],) = walk.link_handler.add_links(parent(walk.strategy, relevance), links)
    totals.own = 20.0
    walk.strategy.set_terms({"term": 0.3})
    totals.useless_fallbacks = 40
    count_request(walk, 0, None)
    assert table.priority[ids["best"]] < FALLBACK_PRIORITY, "it found nothing in 40 requests"
    totals.useless_fallbacks = 0
    for name in ("best", "late", "good"):
        assert table.priority[ids[name]] < FALLBACK_PRIORITY
        count_request(walk, 0, None)
        assert table.priority[ids[name]] == FALLBACK_PRIORITY
    count_request(walk, 0, None)
    assert table.priority[ids["poor"]] < FALLBACK_PRIORITY
    assert walk.link_handler.hit_rates._ranker.present_priority(ids["best"]) == FALLBACK_PRIORITY
    assert totals.fallback == 0.0
    walk.link_handler.hit_rates.count_result(ids["best"], None)
    assert totals.fallback == 1.0


def test_scores_of_a_nofollow_link_are_halved() -> None:
    names = [name for name in Link.__struct_fields__ if name.endswith("_score")]
    halved = _halved_link(link("a", **dict.fromkeys(names, 0.5)))
    assert {name: getattr(halved, name) for name in names} == dict.fromkeys(names, 0.25)
    assert len(names) == 6
