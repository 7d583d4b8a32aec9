"""Strategies: what a link gives its target, on drawn tiny cases and worked numbers."""

import hashlib
import math
import re
from array import array
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.records import SEED_PRIORITY, Link, Page, RecentTally, Region, Tally, UrlState
from focus.score.analysis import PageScorer
from focus.score.graph.pagerank import PageRank
from focus.score.index_pages import Role
from focus.score.relevance import RELEVANCE
from focus.score.strategy import STRATEGIES, Parent, Strategy, make_strategy
from focus.score.strategy.best_link import inherited_relevance
from focus.score.strategy.gene import pack_key, unpack_hops
from focus.score.strategy.yield_strategy import shrunk_rate
from focus.topic.topic import from_words, to_builtins
from tests.support import drawn
from tests.support.cases import cases
from tests.support.drawn import Drawn, order, page
from tests.support.titles import titled

PUBLISHED = pytest.mark.parametrize("published", [False, True])
TREE = {"A": page("B C"), "B": page("D E"), "C": page("F G")}


def link(name: str, anchor: float = 0.0, **scores: float) -> Link:
    url = f"http://h/{name}"
    key = hashlib.md5(url.encode()).digest()
    return Link(url=url, key=key, host="h", anchor_score=anchor, **scores)  # type: ignore[arg-type]


def parent(strategy: Strategy, relevance: float, **url_table: object) -> Parent:
    fields = {
        "id": 0, "nth": 1, "depth": 0, "host": "h", "pattern": "",
        "link_evidence": strategy.seed(),
    }  # fmt: skip
    return Parent(relevance=relevance, relevant=relevance > 0.5, **{**fields, **url_table})  # type: ignore[arg-type]


def make(name: str, *, as_published: bool = False, **params: float) -> Strategy:
    graph = PageRank()
    graph.reserve(1000)
    return make_strategy(name, params, graph, as_published=as_published)


def priorities(strategy: Strategy, page: Parent, links: list[Link]) -> list[float | None]:
    rows = strategy.evidence(page, links)
    return [None if row is None else strategy.priority(n, row) for n, row in enumerate(rows, 1)]


@pytest.mark.parametrize("name", STRATEGIES)
@PUBLISHED
def test_priority_is_finite_for_every_strategy(name: str, published: bool) -> None:
    strategy = make(name, as_published=published)
    values = priorities(strategy, parent(strategy, 0.7), [link(str(n), n / 5) for n in range(5)])
    assert all(p is None or abs(p) < 1e6 for p in values)
    assert len(strategy.seed()) == strategy.width


@pytest.mark.parametrize("name", STRATEGIES)
def test_priority_more_evidence_is_never_lower(name: str) -> None:
    strategy = make(name)
    low = strategy.priority(1, (0.1,) * strategy.width)
    high = strategy.priority(1, (0.9,) * strategy.width)
    assert high >= low


def test_extend_analysis_adds_needs_of_strategy() -> None:
    ordered = AnalysisConfig(contexts=True)
    config = STRATEGIES["yield"].extend_analysis(ordered)
    assert config.url_patterns and config.titles and config.contexts and not config.cosines
    assert STRATEGIES["bfs"].extend_analysis(ordered) == ordered


@pytest.mark.parametrize(("name", "priority"), [("bfs", 0.0), ("best-first", 0.7)])
def test_priority_is_equal_for_all_links_of_a_page(name: str, priority: float) -> None:
    strategy = make(name)
    values = priorities(strategy, parent(strategy, 0.7), [link("a", 1.0), link("b")])
    assert values == [priority] * 2


def test_max_waiting_only_best_first_is_finite() -> None:
    assert {name for name in STRATEGIES if make(name).max_waiting < math.inf} == {"best-first"}
    assert make("best-first", bound=500.0).max_waiting == 500.0


def test_best_link_example_matches_docstring() -> None:
    strategy = make("best-link", anchor=2.5, url=1.5, heading=1.0, home=0.3, inherit=1.0)
    assert priorities(strategy, parent(strategy, 0.6), [link("a", 1.0)]) == [approx(3.4)]


def test_inherited_relevance_decays_off_topic_and_is_restored() -> None:
    strategy = make("best-link")
    off = parent(strategy, 0.1, link_evidence=(0.0, 0.0, 0.0, 0.0, 0.8))
    assert inherited_relevance(off, 0.8, 0.5) == approx(0.4)
    assert inherited_relevance(parent(strategy, 0.9), 0.2, 0.5) == 0.9


def test_pagerank_order_depends_on_graph() -> None:
    strategy = make("pagerank")
    strategy.graph.add(0, [1, 2])
    strategy.graph.add(3, [2])
    assert strategy.priority(2, ()) > strategy.priority(1, ())


def test_pagerank_as_published_uses_largest_share() -> None:
    strategy = make("pagerank", as_published=True)
    strategy.graph.add(0, [1, 2, 3, 4])
    assert strategy.priority(1, ()) == 0.25
    strategy.graph.add(1, [2, 5])
    assert strategy.priority(5, ()) == 0.125
    assert strategy.priority(2, ()) == 0.25  # the maximum, not 0.25 + 0.125
    strategy.graph.add(2, [6])
    assert strategy.priority(6, ()) == 0.375  # but what 2 itself has to give is the sum


def test_topic_pagerank_mixes_scaled_rank_and_similarity() -> None:
    strategy = make("topic-pagerank", gamma=0.2)
    strategy.graph.add(0, [1])
    strategy.graph.largest_rank = 4 * strategy.graph.rank(5)
    assert strategy.priority(5, (0.6, 0.0)) == approx(0.05 + 0.48)


def test_topic_pagerank_as_published_has_width_and_depth() -> None:
    strategy = make("topic-pagerank", as_published=True, gamma=0.2, W=2, a=1.5, D=2)
    links = [link(str(n)) for n in range(5)]
    relevant = strategy.evidence(parent(strategy, 1.5), links)
    assert [c is not None and c[0] > 0 for c in relevant] == [True, True, True, False, False]
    assert all(c is not None and c[1] == 2 for c in relevant)
    off = strategy.evidence(parent(strategy, 0.1), links)
    assert [c is not None and c[0] > 0 for c in off] == [True, True, False, False, False]
    assert all(c is not None and c[1] == 1 for c in off)
    ended = strategy.evidence(parent(strategy, 1.5, link_evidence=(0.0, 0.0)), links)
    assert ended == [None] * 5


def test_topic_pagerank_as_published_example_matches_docstring() -> None:
    strategy = make("topic-pagerank", as_published=True)
    links = [link(str(n)) for n in range(40)]
    (first, *_), last = strategy.evidence(parent(strategy, 1.2), links)[::39]
    assert first == approx(0.8 / 40 + 0.2 * 1.2)
    assert last == (0.0, 2.0)


@cases(
    "name, options, complaint",
    ("topic-pagerank", {"W": 2.0}, "does not have this parameter; known: gamma, raw"),
    ("topic-pagerank", {"as_published": True, "raw": 1.0}, "known: D, T, W, a, gamma"),
    ("topic-pagerank", {"gama": 0.3}, "gamma"),
    ("best-lnk", {}, "best-link"),
    ("best-first", {"bound": 0.0}, "bound=0"),
)
def test_make_strategy_unknown_name_or_parameter_is_refused(
    name: str, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make(name, **options)


def test_yield_bonus_is_higher_for_productive_queues() -> None:
    strategy = make("yield")
    host = RecentTally(40, 8.0)
    good, bad, unknown = RecentTally(20, 15.0), RecentTally(20, 0.0), RecentTally()
    bonus = [strategy.bonus(queue, host) for queue in (good, unknown, bad)]
    assert bonus == sorted(bonus, reverse=True)
    assert strategy.bonus(unknown, RecentTally()) == 0.0
    assert strategy.hub_bonus(good) > 0.0 > strategy.hub_bonus(bad)


def test_yield_bonus_old_requests_have_little_weight() -> None:
    tally = RecentTally(4.0, 3.0, updated_at_request=10)
    assert tally.decayed(12, 0.5) == RecentTally(1.0, 0.75, 12)
    assert tally.decayed(12, 1.0) == RecentTally(4.0, 3.0, 12)


def test_yield_example_matches_docstring() -> None:
    bonus = make("yield", p0=0.5, k=4.0, weight=0.9).bonus(
        RecentTally(20, 15.0), RecentTally(40, 8.0)
    )
    assert bonus == approx(0.61, abs=0.005)


def test_yield_link_of_index_page_has_membership() -> None:
    strategy = make("yield", home=1.0, member=3.0)
    tag = parent(strategy, 0.0, index=True, named=1.0)
    roles = link("2", target_role=Role.CONTINUATION), link("tags/y", target_role=Role.INDEX)
    links = [link("a"), link("b", region=Region.NAV), *roles]
    outside = msgspec.structs.replace(link("x"), host="other")
    assert priorities(strategy, tag, [*links, outside]) == [4.0, 1.0, 1.0, 1.0, 0.0]
    article = parent(strategy, 0.0, named=1.0)
    assert priorities(strategy, article, links) == [1.0] * 4


def test_yield_membership_is_passed_on_through_series_and_anchors() -> None:
    strategy = make("yield", home=1.0, member=3.0)
    first = parent(strategy, 0.0, index=True, named=0.5)
    (evidence,) = strategy.evidence(first, [link("2", target_role=Role.CONTINUATION)])
    second = parent(strategy, 0.0, index=True, link_evidence=evidence)
    links = [link("3", target_role=Role.CONTINUATION), link("a")]
    assert priorities(strategy, second, links) == [1.0, 1.0 + 3.0 * 0.5]
    pointed_at = parent(strategy, 0.0, index=True, link_evidence=(0.8, *evidence[1:-1], 0.0))
    assert priorities(strategy, pointed_at, [link("a")]) == [approx(1.0 + 3.0 * 0.8)]


@pytest.mark.parametrize(("host", "priority"), [("h", 1.0 + 3.0 * 0.8), ("other", 1.0)])
def test_yield_page_linked_as_index_page_has_members(host: str, priority: float) -> None:
    strategy = make("yield", home=1.0, member=3.0)
    crumb = msgspec.structs.replace(link("c/5", 0.8, target_role=Role.INDEX), host=host)
    (evidence,) = strategy.evidence(parent(strategy, 0.0), [crumb])
    plain = parent(strategy, 0.0, link_evidence=evidence)
    assert priorities(strategy, plain, [link("a")]) == [approx(priority)]


def test_yield_subtopic_anchor_raises_priority_without_topic_word() -> None:
    strategy = make("yield", home=1.0, subtopic=1.5, anchor=2.5)
    for n in range(30):
        title = "redis" if n < 6 else "weather"
        strategy.learn_from_page(titled(f"{title} {n}", n < 6, n, f"http://h/{n}"))
    named, plain = link("a"), link("b")
    named = msgspec.structs.replace(named, anchor="Redis Cluster")
    both = msgspec.structs.replace(link("c", 1.0), anchor="数据库 Redis")
    values = priorities(strategy, parent(strategy, 0.0), [named, plain, both])
    assert values == [approx(1.0 + 1.5 * 0.75), 1.0, approx(3.5)]


def test_yield_reward_of_index_page_is_lower() -> None:
    strategy = make("yield", index=0.3)
    assert strategy.reward(Page(relevance=1.7)) == 1.0
    assert strategy.reward(Page(relevance=0.5, is_index_page=True)) == approx(0.15)
    assert make("best-link").reward(Page(relevance=0.5, is_index_page=True)) == 0.5


def test_yield_newcomer_bonus_depends_on_earlier_newcomers() -> None:
    bonus = make("yield", newcomer=1.5).newcomer_bonus
    tallies = Tally(0, 0.0), Tally(18, 0.5), Tally(10_000, 0.0), Tally(10, 9.0)
    assert [bonus(tally) for tally in tallies] == [0.0, -2.75, -4.0, 0.0]


def test_yield_prefers_links_of_relevant_pages_where_they_pay() -> None:
    strategy = make("yield", far=0.5, p0=0.5, k=10)
    evidence = [(0.0, 0.0, 0.0, 0.0, inherited, 0.0, 0.0, 0.0) for inherited in (0.51, 0.5)]
    for near, far, penalty in (
        (Tally(20, 10.0), Tally(90, 0.0), -0.75),
        (Tally(20, 10.0), Tally(30, 5.0), 0.0),
        (Tally(20, 0.0), Tally(40, 20.0), 0.0),
        (Tally(9_000, 9_000.0), Tally(9_000, 0.0), -4.0),
    ):
        strategy.set_link_rates(near, far, Tally())
        priorities = [strategy.priority(1, values) for values in evidence]
        assert priorities == [approx(0.25 * 0.51), approx(0.25 * 0.5 + penalty)]


def test_yield_subtopics_lose_their_weight_where_they_mislead() -> None:
    strategy = make("yield", subtopic=2.0, far=0.0)
    evidence = (*[0.0] * 7, 0.5)
    assert not strategy.set_link_rates(Tally(40, 20.0), Tally(), Tally(30, 0.0))
    assert strategy.priority(1, evidence) == 1.0  # a topic without related terms
    strategy.set_terms({"mysql": 0.3})
    near, far = Tally(40, 20.0), Tally(20, 0.0)
    for requests, rewards, priority, is_raised in (
        (30, 0.0, 0.0, False),
        (20, 5.0, 0.75, True),
        (30, 15.0, 1.0, True),
        (30, 10.0, 1.0, False),
    ):
        assert strategy.set_link_rates(near, far, Tally(requests, rewards)) is is_raised
        assert strategy.priority(1, evidence) == priority
    assert strategy.names_subtopic(evidence)
    assert not strategy.names_subtopic((*[1.0] * 7, 0.2))


@pytest.mark.parametrize("name", ["yield", "best-link"])
def test_priority_parts_sum_to_priority(name: str) -> None:
    strategy = make(name)
    evidence = tuple(0.1 * n for n in range(1, strategy.width + 1))
    parts = strategy.priority_parts(evidence)
    assert sum(parts.values()) == approx(strategy.priority(1, evidence))
    assert all(make(plain).priority_parts(()) == {} for plain in ("bfs", "pagerank"))


def test_shrunk_rate_example_matches_docstring() -> None:
    assert shrunk_rate(Tally(4, 3.0), 0.1, 4.0) == approx(0.425)


# -- orders on drawn webs ----------------------------------------------------------------


CHAIN = {"A": page("B"), "B": page("C"), "C": page("D"), "D": page("E")}
TOPICAL = {name: page(after, relevance=0.6) for name, after in zip("ABCDE", "BCDEF", strict=True)}
GENE = {
    "A": page(drawn.link("B", 1.0), "C", relevance=0.9),
    "B": page(drawn.link("D", 1.0), "E", relevance=0.9),
    "C": page(drawn.link("F", 1.0), relevance=0.1),
    "D": page(relevance=0.9),
    "E": page("G"),
    "F": page(drawn.link("H", 1.0), relevance=0.9),
}
RESTORED = {"A": page("B"), "B": page("D E"), "D": page(drawn.link("F", 1.0)), "F": page("G")}
HOPS = {"A": page("B C"), "B": page("D"), "C": page("E"), "D": page("F")}
HOPS_ANCHOR = {**HOPS, "E": page(drawn.link("G", 0.5)), "D": page("H F")}
FISH = {"B": page("F", relevance=0.9), "C": page("D")}
FISH_TWICE = {"A": page("B C"), "B": page("C", relevance=0.9), "C": page("D"), "D": page("E")}
SHARK = (drawn.link("C", context_score=1.0), drawn.link("D", 1.0))
ADDRESSES = (
    drawn.link("X", host="other"), drawn.link("B", pattern="/list"), drawn.link("C", pattern="/a"),
)  # fmt: skip
ZERO = {"A": page("B", drawn.link("C", 1.0)), "C": page("D", relevance=0.6)}


@cases(
    "name, web, options, expected",
    # P3 figure 5-1; P1 figure 2-6 is the same without G.
    ("bfs", TREE, {}, "ABCDEFG"),
    ("dfs", TREE, {}, "ABDECFG"),
    ("dfs", {**TREE, "C": page("F")}, {}, "ABDECF"),
    # A repeated link moves to the newer page.
    ("dfs", {"A": page("B C D"), "B": page("E D F")}, {}, "ABEDFC"),
    # P1 figure 2-6: a preset depth of 2, counted in pages, gives ABC.
    ("depth-limited", TREE, {"as_published": True}, "ABC"),
    ("depth-limited", CHAIN, {"depth": 2}, "ABC"),
    ("depth-limited", CHAIN, {}, "ABCD"),
    # P2 figure 2: A, B, D, F are on topic, C and E are not; F is reached through C. As
    # published F's links then come before the other links off the channel. Tuned, E comes
    # sooner, since it stands on the relevant B; and F's own link gains by F.
    ("gene", GENE, {"as_published": True}, "ABDCFHEG"),
    ("gene", GENE, {}, "ABDCEFHG"),
    # P2 figure 3: what lies two off-topic hops away waits for what lies one away.
    ("gene", HOPS, {"as_published": True}, "ABCDEF"),
    ("gene", HOPS_ANCHOR, {"as_published": True}, "ABCDEGHF"),
    # D is two off-topic hops away; its anchor for F restores the message of `gene` only.
    ("gene", RESTORED, {"as_published": True}, "ABDFGE"),
    ("gene-authority", RESTORED, {"as_published": True, "t": 0.0}, "ABDFEG"),
    # B and C stand on off-topic anchors alike, but three pages link to C.
    ("gene-authority", {"A": page("B C"), "S": page("C"), "T": page("C")},
     {"as_published": True, "seeds": ["A", "S", "T"]}, "ASTCB"),
    # P1 Table 3-1: links of the relevant B before those of the irrelevant C.
    *[("fish-search", {**FISH, "A": page(links, relevance=0.9)}, {"as_published": published}, o)
      for links, o in (("B C", "ABCFD"), ("C B", "ACBFD")) for published in (False, True)],
    # D = 2: A and B are off topic, so C comes with allowance 0 and is not expanded.
    ("fish-search", CHAIN, {"as_published": True}, "ABC"),
    ("fish-search", {**CHAIN, "B": page("C", relevance=0.9)}, {"as_published": True}, "ABCD"),
    # C is found through the off-topic A first, then through the relevant B.
    ("fish-search", FISH_TWICE, {"D": 1}, "ABC"),
    ("fish-search", FISH_TWICE, {"D": 2}, "ABCD"),
    # Anchor, then context, then inheritance.
    ("shark-search", {"A": page("B", *SHARK, relevance=0.6), "B": page()}, {}, "ADCB"),
    # Addresses of the same pattern, then of the same host; a value of 0 only as published.
    ("url-structure", {"A": page(*ADDRESSES, relevance=0.6)}, {}, "ACBX"),
    ("url-structure", ZERO, {"as_published": True}, "ACD"),
    ("url-structure", ZERO, {}, "ACDB"),
    ("url-structure", TOPICAL, {"as_published": True}, "ABCD"),
    ("url-structure", TOPICAL, {}, "ABCDEF"),
    # S and T share C and D; what A alone links to comes after.
    ("hits", {"A": page("B E"), "S": page("C D"), "T": page("C D")},
     {"seeds": ["A", "S", "T"]}, "ASTCDBE"),
)  # fmt: skip
def test_crawl_order_of_drawn_web(
    name: str, web: dict[str, Drawn], options: dict[str, Any], expected: str
) -> None:
    assert order(name, web, **options) == expected


def test_dfs_priorities_differ_for_half_a_million_pages() -> None:
    strategy = make("dfs")
    walked = []
    for nth in (1, 2, 3, 16_385, 500_000, 500_001, 999_998, 999_999):
        links = strategy.evidence(parent(strategy, 0.0, nth=nth), [link(str(n)) for n in range(3)])
        walked.append(list(array("f", (evidence[0] for evidence in links if evidence))))
    flat = [value for values in walked for value in reversed(values)]
    assert all(b > a + 1e-6 for a, b in pairwise(flat))
    assert strategy.priority(0, (walked[2][1],)) == approx(3 - 1 / 1024, abs=1e-12)
    assert strategy.priority(0, (flat[-1],)) < SEED_PRIORITY


# -- worked numbers ----------------------------------------------------------------------


def test_fish_search_examples_match_docstring() -> None:
    strategy = make("fish-search", W=20, a=1.5, D=2)
    links = [link(str(n)) for n in range(40)]
    fed = strategy.evidence(parent(strategy, 0.9), links)
    assert [fed[29], fed[30]] == [(1.0, 2.0), (0.0, 2.0)]
    hungry = strategy.evidence(parent(strategy, 0.1), links)
    assert [hungry[0], hungry[19], hungry[20]] == [(0.5, 1.0), (0.5, 1.0), (0.0, 1.0)]
    starved = parent(strategy, 0.9, link_evidence=(1.0, 0.0))
    assert strategy.evidence(starved, links) == [None] * 40


def test_fish_position_examples_match_docstring() -> None:
    strategy = make("fish-position", as_published=True)
    links = [link(str(n)) for n in range(40)]
    off, on = parent(strategy, 0.4), parent(strategy, 0.8)
    assert [priorities(strategy, off, links)[n] for n in (19, 20)] == [0.4, 0.0]
    assert [priorities(strategy, on, links)[n] for n in (29, 30)] == [0.8, 0.0]


def test_fish_position_without_threshold_uses_model_threshold() -> None:
    tuned = make("fish-position")
    unsure = Parent(0, 1, 0, "h", "", relevance=0.3, relevant=True, link_evidence=tuned.seed())
    assert tuned.evidence(unsure, [link("a")]) == [(0.3, tuned.params["D"])]
    strict = make("fish-position", T=0.5)
    assert strict.evidence(unsure, [link("a")]) == [(0.3, strict.params["D"] - 1)]


def test_shark_search_examples_match_docstring() -> None:
    strategy = make("shark-search", as_published=True)
    links = [link("a", context_score=1.0), link("b", 1.0)]
    values = priorities(strategy, parent(strategy, 0.6), links)
    assert values == [approx(0.25), approx(0.65)]


def test_shark_search_empty_page_passes_on_its_inheritance() -> None:
    strategy = make("shark-search", as_published=True)
    off = parent(strategy, 0.0, link_evidence=(0.9, 0.4))
    assert strategy.evidence(off, [link("a")])[0] == approx((0.1, 0.2))


def test_url_structure_examples_match_table_5_2() -> None:
    strategy = make("url-structure", alpha=0.6, beta=0.4)
    page = parent(strategy, 0.5, pattern="/china/D/doc-X.shtml")
    links = [
        Link("http://h/1", b"1" * 16, "h", pattern="/china/D/doc-X.shtml"),
        Link("http://h/2", b"2" * 16, "h", pattern="/"),
        Link("http://g/1", b"3" * 16, "g", pattern="/china/D/doc-X.shtml"),
        Link("http://g/2", b"4" * 16, "g", anchor_score=1.0),
    ]
    assert priorities(strategy, page, links) == approx([0.6, 0.45, 0.3, 0.7])


def test_url_structure_as_published_scores_anchor_by_eq_5_2() -> None:
    strategy = make("url-structure", as_published=True)
    links = [Link("http://g/1", b"1" * 16, "g", anchor_score=1.0, euclid_score=0.25)]
    assert priorities(strategy, parent(strategy, 0.5), links) == [approx(0.4)]


def test_gene_examples_match_docstring() -> None:
    strategy = make("gene", as_published=True)
    faded = parent(strategy, 0.9, link_evidence=(pack_key(1, 0.0),))
    assert strategy.priority(0, faded.link_evidence) == approx(80.0)
    links = [link("a"), link("b", cosine_score=0.5), link("c", cosine_score=0.2)]
    values = priorities(strategy, faded, links)
    assert values == [approx(64.0), approx(105.7, abs=0.05), approx(65.44, 1e-3)]


def test_gene_tuned_includes_relevance_of_page() -> None:
    strategy = make("gene")
    on, off = parent(strategy, 0.9, link_evidence=(pack_key(3, 0.0),)), parent(strategy, 0.1)
    assert strategy.evidence(on, [link("a")]) == [(pack_key(0, 0.7 * 0.9),)]
    assert strategy.evidence(off, [link("a")]) == [(pack_key(1, 0.7 * 0.1),)]
    assert strategy.evidence(off, [link("a", 1.0)]) == [(pack_key(0, 0.3 + 0.7 * 0.1),)]


def test_gene_authority_examples_match_docstring() -> None:
    strategy = make("gene-authority", as_published=True)
    strategy.graph.largest_rank = 10 * strategy.graph.rank(1)
    seed = parent(strategy, 0.9)
    assert strategy.evidence(seed, [link("a")]) == [(0.0, 0.0)]
    assert strategy.priority(1, (0.0, 0.0)) == approx(80.45, abs=0.005)
    assert strategy.priority(1, (0.0, 1.0)) == approx(106.3, abs=0.05)


@pytest.mark.parametrize(("name", "factor"), [("gene", "b"), ("gene-authority", "r")])
@pytest.mark.parametrize("value", [0.0, 1.0, 2.0, -0.5])
def test_gene_decay_outside_zero_to_one_is_refused(name: str, factor: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{factor}=.*between 0 and 1"):
        make_strategy(name, {factor: value}, PageRank())


@given(st.integers(0, 100_000), st.floats(0, 1, width=32))
def test_pack_key_as_float32_is_unpacked(hops: int, score: float) -> None:
    packed = array("f", [pack_key(hops, score)])[0]
    assert unpack_hops(packed) == hops


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), min_size=2, max_size=2))
def test_pack_key_sorts_by_hops_then_score(keys: list[tuple[int, float]]) -> None:
    (hops_a, score_a), (hops_b, score_b) = sorted(keys, key=lambda k: (-k[0], k[1]))
    assert pack_key(hops_a, score_a) <= pack_key(hops_b, score_b)


# -- what holds for all ------------------------------------------------------------------

LINKS = st.lists(
    st.builds(
        drawn.link, st.sampled_from("ABCDEFGH"), st.floats(0, 1),
        host=st.sampled_from(["h", "g"]), pattern=st.sampled_from(["/S", "/D"]),
        context_score=st.floats(0, 1), url_score=st.floats(0, 1), heading_score=st.floats(0, 1),
    ),
    max_size=5,
    unique_by=lambda k: k.url,
)  # fmt: skip
WEBS = st.dictionaries(
    st.sampled_from("ABCDEFGH"), st.builds(Drawn, LINKS, st.floats(0, 2)), max_size=8
)


@pytest.mark.parametrize("name", STRATEGIES)
@PUBLISHED
@given(web=WEBS)
@settings(max_examples=25, deadline=None)
def test_crawl_order_is_repeatable(name: str, published: bool, web: dict[str, Drawn]) -> None:
    walks = [drawn.Walk(name, web, ["A", "B"], published, {}) for _ in range(2)]
    first, second = (walk.run(100) for walk in walks)
    assert (first, first[:2]) == (second, ["A", "B"])
    url_table = walks[0].url_table
    assert len(first) == url_table.counts[UrlState.DONE] == len(url_table)
    assert all(math.isfinite(p) and p <= SEED_PRIORITY for p in url_table.priority)


@pytest.mark.parametrize("name", STRATEGIES)
@PUBLISHED
def test_evidence_links_of_seeds_are_followed(name: str, published: bool) -> None:
    """Even an off-topic seed hands its on-topic links on."""
    strategy = make(name, as_published=published)
    for relevance in (0.0, 0.9):
        seed = parent(strategy, relevance)
        evidence = strategy.evidence(seed, [link("a", 1.0, cosine_score=1.0, euclid_score=1.0)])
        assert evidence[0] is not None
        assert len(evidence[0]) == strategy.width


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_has_docstring_source_and_summary(name: str) -> None:
    kind = STRATEGIES[name]
    assert kind.__doc__ and kind.source and kind.summary
    assert re.search("Worked|Example", kind.__doc__) or name in ("bfs", "pagerank")
    assert len(kind.summary) < 80 and kind.summary[0].islower()
    assert not kind.published_model or kind.published_model in RELEVANCE
    assert kind.published_topic in ("keywords", "features")


@pytest.mark.parametrize("asked", [False, True])
def test_link_scores_are_computed_only_if_enabled(asked: bool) -> None:
    topic = to_builtins(from_words("football"))
    scorer = PageScorer(AnalysisConfig(topic=topic, contexts=asked, cosines=asked))
    html = b"<p>all football <a href=/a>more</a> here</p><p><a href=/b>football news</a></p>"
    near, named = scorer.score("http://h/", html, "text/html").links
    assert near.context_score == (1.0 if asked else 0.0)
    assert named.cosine_score == approx(0.5**0.5 if asked else 0.0)
