"""Strategies: what a link gives its target, on drawn tiny cases and worked numbers."""

import hashlib
import math
import re
from array import array
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    evidence = strategy.evidence(page, links)
    return [
        None if link_evidence is None else strategy.priority(n + 1, link_evidence)
        for n, link_evidence in enumerate(evidence)
    ]


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("published", [False, True])
def test_priority_is_finite_for_every_strategy(name: str, published: bool) -> None:
    strategy = make(name, as_published=published)
    found = priorities(strategy, parent(strategy, 0.7), [link(str(n), n / 5) for n in range(5)])
    assert all(p is None or abs(p) < 1e6 for p in found)
    assert len(strategy.seed()) == strategy.width


@pytest.mark.parametrize("name", STRATEGIES)
def test_priority_more_evidence_is_never_lower(name: str) -> None:
    strategy = make(name)
    low = strategy.priority(1, (0.1,) * strategy.width)
    high = strategy.priority(1, (0.9,) * strategy.width)
    assert high >= low


def test_extend_analysis_adds_needs_of_strategy() -> None:
    ordered = AnalysisConfig(contexts=True)
    told = STRATEGIES["yield"].extend_analysis(ordered)
    assert (told.url_patterns, told.titles, told.contexts, told.cosines) == (
        True,
        True,
        True,
        False,
    )
    assert STRATEGIES["bfs"].extend_analysis(ordered) == ordered


def test_bfs_gives_equal_priorities() -> None:
    bfs = make("bfs")
    assert priorities(bfs, parent(bfs, 0.9), [link("a", 1.0), link("b")]) == [0.0, 0.0]


def test_max_waiting_only_best_first_is_finite() -> None:
    assert {name for name in STRATEGIES if make(name).max_waiting < math.inf} == {"best-first"}
    assert make("best-first", bound=500.0).max_waiting == 500.0
    with pytest.raises(ConfigError, match="bound=0"):
        make("best-first", bound=0.0)


def test_best_first_uses_relevance_of_parent() -> None:
    strategy = make("best-first")
    found = priorities(strategy, parent(strategy, 0.7), [link("a", 1.0), link("b")])
    assert found == [0.7, 0.7]


def test_best_link_example_matches_docstring() -> None:
    strategy = make("best-link", anchor=2.5, url=1.5, heading=1.0, home=0.3, inherit=1.0)
    assert priorities(strategy, parent(strategy, 0.6), [link("a", 1.0)]) == [pytest.approx(3.4)]


def test_inherited_relevance_decays_off_topic_and_is_restored() -> None:
    strategy = make("best-link")
    off = parent(strategy, 0.1, link_evidence=(0.0, 0.0, 0.0, 0.0, 0.8))
    assert inherited_relevance(off, 0.8, 0.5) == pytest.approx(0.4)
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
    assert strategy.priority(5, (0.6, 0.0)) == pytest.approx(0.05 + 0.48)


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
    assert first == pytest.approx(0.8 / 40 + 0.2 * 1.2)
    assert last == (0.0, 2.0)


def test_make_strategy_unused_parameter_of_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not have this parameter; known: gamma, raw"):
        make("topic-pagerank", W=2.0)
    with pytest.raises(ConfigError, match="known: D, T, W, a, gamma"):
        make("topic-pagerank", as_published=True, raw=1.0)


def test_yield_bonus_is_higher_for_productive_queues() -> None:
    strategy = make("yield")
    host = RecentTally(40, 8.0)
    good, bad, unknown = RecentTally(20, 15.0), RecentTally(20, 0.0), RecentTally()
    bonus = [strategy.bonus(queue, host) for queue in (good, unknown, bad)]
    assert bonus == sorted(bonus, reverse=True)
    assert strategy.bonus(unknown, RecentTally()) == 0.0
    assert strategy.hub_bonus(good) > 0.0 > strategy.hub_bonus(bad)


def test_yield_bonus_old_requests_have_little_weight() -> None:
    recent = RecentTally(4.0, 3.0, updated_at_request=10).decayed(12, 0.5)
    assert (recent.requests, recent.rewards, recent.updated_at_request) == (1.0, 0.75, 12)
    assert RecentTally(4.0, 3.0, updated_at_request=10).decayed(12, 1.0) == RecentTally(
        4.0, 3.0, 12
    )


def test_yield_example_matches_docstring() -> None:
    strategy = make("yield", p0=0.5, k=4.0, weight=0.9)
    assert strategy.bonus(RecentTally(20, 15.0), RecentTally(40, 8.0)) == pytest.approx(
        0.61, abs=0.005
    )


def test_yield_link_of_index_page_has_membership() -> None:
    strategy = make("yield", home=1.0, member=3.0)
    tag = parent(strategy, 0.0, index=True, named=1.0)
    nav = link("b", region=Region.NAV)
    links = [
        link("a"),
        nav,
        link("2", target_role=Role.CONTINUATION),
        link("tags/y", target_role=Role.INDEX),
    ]
    outside = msgspec.structs.replace(link("x"), host="other")
    assert priorities(strategy, tag, [*links, outside]) == [4.0, 1.0, 1.0, 1.0, 0.0]
    article = parent(strategy, 0.0, named=1.0)
    assert priorities(strategy, article, links) == [1.0] * 4


def test_yield_membership_is_passed_on_through_series_and_anchors() -> None:
    strategy = make("yield", home=1.0, member=3.0)
    first = parent(strategy, 0.0, index=True, named=0.5)
    (link_evidence,) = strategy.evidence(first, [link("2", target_role=Role.CONTINUATION)])
    assert link_evidence is not None
    second = parent(strategy, 0.0, index=True, link_evidence=link_evidence)
    further, member = strategy.evidence(
        second, [link("3", target_role=Role.CONTINUATION), link("a")]
    )
    assert further is not None and member is not None
    assert strategy.priority(1, further) == 1.0
    assert strategy.priority(2, member) == 1.0 + 3.0 * 0.5
    pointed_at = parent(strategy, 0.0, index=True, link_evidence=(0.8, *link_evidence[1:-1], 0.0))
    assert priorities(strategy, pointed_at, [link("a")]) == [pytest.approx(1.0 + 3.0 * 0.8)]


def test_yield_page_linked_as_index_page_has_members() -> None:
    strategy = make("yield", home=1.0, member=3.0)
    way = msgspec.structs.replace(link("c/5", target_role=Role.INDEX), anchor_score=0.8)
    (link_evidence,) = strategy.evidence(parent(strategy, 0.0), [way])
    assert link_evidence is not None
    plain = parent(strategy, 0.0, link_evidence=link_evidence)
    assert priorities(strategy, plain, [link("a")]) == [pytest.approx(1.0 + 3.0 * 0.8)]
    (link_evidence,) = strategy.evidence(
        parent(strategy, 0.0), [msgspec.structs.replace(way, host="other")]
    )
    assert link_evidence is not None
    plain = parent(strategy, 0.0, link_evidence=link_evidence)
    assert priorities(strategy, plain, [link("a")]) == [1.0]


def test_yield_subtopic_anchor_raises_priority_without_topic_word() -> None:
    strategy = make("yield", home=1.0, subtopic=1.5, anchor=2.5)
    for n in range(30):
        title = "redis" if n < 6 else "weather"
        strategy.learn_from_page(titled(f"{title} {n}", n < 6, n, f"http://h/{n}"))
    named, plain = link("a"), link("b")
    named = msgspec.structs.replace(named, anchor="Redis Cluster")
    both = msgspec.structs.replace(link("c", 1.0), anchor="数据库 Redis")
    found = priorities(strategy, parent(strategy, 0.0), [named, plain, both])
    assert found == [pytest.approx(1.0 + 1.5 * 0.75), 1.0, pytest.approx(3.5)]


def test_yield_reward_of_index_page_is_lower() -> None:
    strategy = make("yield", index=0.3)
    assert strategy.reward(Page(relevance=1.7)) == 1.0
    assert strategy.reward(Page(relevance=0.5, is_index_page=True)) == pytest.approx(0.15)
    assert make("best-link").reward(Page(relevance=0.5, is_index_page=True)) == 0.5


def test_yield_newcomer_bonus_depends_on_earlier_newcomers() -> None:
    strategy = make("yield", newcomer=1.5)
    assert strategy.newcomer_bonus(Tally(0, 0.0)) == 0.0
    assert strategy.newcomer_bonus(Tally(18, 0.5)) == -2.75
    assert strategy.newcomer_bonus(Tally(10_000, 0.0)) == -4.0
    assert strategy.newcomer_bonus(Tally(10, 9.0)) == 0.0


@pytest.mark.parametrize("name", ["yield", "best-link"])
def test_priority_parts_sum_to_priority(name: str) -> None:
    strategy = make(name)
    link_evidence = tuple(0.1 * n for n in range(1, strategy.width + 1))
    assert sum(strategy.priority_parts(link_evidence).values()) == pytest.approx(
        strategy.priority(1, link_evidence)
    )
    assert all(make(other).priority_parts(()) == {} for other in ("bfs", "pagerank"))


def test_shrunk_rate_example_matches_docstring() -> None:
    assert shrunk_rate(Tally(4, 3.0), 0.1, 4.0) == pytest.approx(0.425)


def test_make_strategy_unknown_name_or_parameter_is_refused() -> None:
    with pytest.raises(ConfigError, match="best-link"):
        make("best-lnk")
    with pytest.raises(ConfigError, match="gamma"):
        make("topic-pagerank", gama=0.3)


# -- orders on drawn webs ----------------------------------------------------------------


def test_bfs_and_dfs_match_trees_of_papers() -> None:
    """P3 figure 5-1: ABCDEFG and ABDECFG; P1 figure 2-6 is the same without G."""
    assert order("bfs", TREE) == "ABCDEFG"
    assert order("dfs", TREE) == "ABDECFG"
    smaller = {**TREE, "C": page("F")}
    assert order("dfs", smaller) == "ABDECF"


def test_depth_limited_stops_at_depth() -> None:
    """P1 figure 2-6: a preset depth of 2, counted in pages, gives ABC."""
    assert order("depth-limited", TREE, as_published=True) == "ABC"
    chain = {"A": page("B"), "B": page("C"), "C": page("D"), "D": page("E")}
    assert order("depth-limited", chain, depth=2) == "ABC"
    assert order("depth-limited", chain) == "ABCD"


def test_dfs_repeated_link_moves_to_newer_page() -> None:
    web = {"A": page("B C D"), "B": page("E D F")}
    assert order("dfs", web) == "ABEDFC"


def test_dfs_priorities_differ_for_half_a_million_pages() -> None:
    strategy = make("dfs")
    found = []
    for nth in (1, 2, 3, 16_385, 500_000, 500_001, 999_998, 999_999):
        links = strategy.evidence(parent(strategy, 0.0, nth=nth), [link(str(n)) for n in range(3)])
        found.append(
            list(array("f", (link_evidence[0] for link_evidence in links if link_evidence)))
        )
    flat = [value for values in found for value in reversed(values)]
    assert all(b > a + 1e-6 for a, b in pairwise(flat))
    assert strategy.priority(0, (found[2][1],)) == pytest.approx(3 - 1 / 1024, abs=1e-12)
    assert strategy.priority(0, (flat[-1],)) < SEED_PRIORITY


def test_gene_reaches_relevant_page_behind_irrelevant_page() -> None:
    """P2 figure 2: A, B, D, F are on topic, C and E are not; F is reached through C.

    As published F's links then come before the other links off the channel. Tuned, E comes
    sooner, since it stands on the relevant B; and F's own link gains by F.
    """
    web = {
        "A": page(drawn.link("B", 1.0), "C", relevance=0.9),
        "B": page(drawn.link("D", 1.0), "E", relevance=0.9),
        "C": page(drawn.link("F", 1.0), relevance=0.1),
        "D": page(relevance=0.9),
        "E": page("G"),
        "F": page(drawn.link("H", 1.0), relevance=0.9),
    }
    assert order("gene", web, as_published=True) == "ABDCFHEG"
    assert order("gene", web) == "ABDCEFHG"


def test_gene_prefers_on_topic_path() -> None:
    """P2 figure 3: what lies two off-topic hops away waits for what lies one away."""
    web = {"A": page("B C"), "B": page("D"), "C": page("E"), "D": page("F")}
    assert order("gene", web, as_published=True) == "ABCDEF"
    web["E"] = page(drawn.link("G", 0.5))
    web["D"] = page("H F")
    assert order("gene", web, as_published=True) == "ABCDEGHF"


def test_gene_authority_as_published_is_never_restored() -> None:
    """D is two off-topic hops away; its anchor for F restores the message of `gene` only."""
    web = {"A": page("B"), "B": page("D E"), "D": page(drawn.link("F", 1.0)), "F": page("G")}
    assert order("gene", web, as_published=True) == "ABDFGE"
    assert order("gene-authority", web, as_published=True, t=0.0) == "ABDFEG"


def test_gene_authority_high_rank_costs_no_hop() -> None:
    """B and C stand on off-topic anchors alike, but three pages link to C."""
    seeds = ["A", "S", "T"]
    web = {"A": page("B C"), "S": page("C"), "T": page("C")}
    assert order("gene-authority", web, seeds=seeds, as_published=True) == "ASTCB"


@PUBLISHED
def test_fish_search_prefers_links_of_relevant_pages(published: bool) -> None:
    """P1 Table 3-1: links of the relevant B before those of the irrelevant C."""
    web = {"A": page("B C", relevance=0.9), "B": page("F", relevance=0.9), "C": page("D")}
    assert order("fish-search", web, as_published=published) == "ABCFD"
    web = {"A": page("C B", relevance=0.9), "B": page("F", relevance=0.9), "C": page("D")}
    assert order("fish-search", web, as_published=published) == "ACBFD"


def test_fish_search_stops_after_depth_of_off_topic_pages() -> None:
    """D = 2: A and B are off topic, so C comes with allowance 0 and is not expanded."""
    chain = {"A": page("B"), "B": page("C"), "C": page("D"), "D": page("E")}
    assert order("fish-search", chain, as_published=True) == "ABC"
    fed = {**chain, "B": page("C", relevance=0.9)}
    assert order("fish-search", fed, as_published=True) == "ABCD"


def test_fish_search_repeated_link_keeps_larger_allowance() -> None:
    """C is found through the off-topic A first, then through the relevant B."""
    web = {"A": page("B C"), "B": page("C", relevance=0.9), "C": page("D"), "D": page("E")}
    assert order("fish-search", web, D=1) == "ABC"
    assert order("fish-search", web, D=2) == "ABCD"


def test_shark_search_prefers_anchor_then_context_then_inheritance() -> None:
    web = {
        "A": page("B", drawn.link("C", context_score=1.0), drawn.link("D", 1.0), relevance=0.6),
        "B": page(relevance=0.0),
    }
    assert order("shark-search", web) == "ADCB"


def test_url_structure_prefers_similar_addresses() -> None:
    web = {
        "A": page(
            drawn.link("X", host="other"),
            drawn.link("B", pattern="/list"),
            drawn.link("C", pattern="/a"),
            relevance=0.6,
        )
    }
    assert order("url-structure", web) == "ACBX"


def test_url_structure_drops_zero_value_only_as_published() -> None:
    web = {"A": page("B", drawn.link("C", 1.0)), "C": page("D", relevance=0.6)}
    assert order("url-structure", web, as_published=True) == "ACD"
    assert order("url-structure", web) == "ACDB"


def test_url_structure_stops_at_depth() -> None:
    chain = {name: page(after, relevance=0.6) for name, after in zip("ABCDE", "BCDEF", strict=True)}
    assert order("url-structure", chain, as_published=True) == "ABCD"
    assert order("url-structure", chain) == "ABCDEF"


def test_hits_prefers_links_of_good_hubs() -> None:
    """S and T share C and D; what A alone links to comes after."""
    seeds = ["A", "S", "T"]
    web = {"A": page("B E"), "S": page("C D"), "T": page("C D")}
    assert order("hits", web, seeds=seeds) == "ASTCDBE"


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
    found = priorities(strategy, parent(strategy, 0.6), links)
    assert found == [pytest.approx(0.25), pytest.approx(0.65)]


def test_shark_search_empty_page_passes_on_its_inheritance() -> None:
    strategy = make("shark-search", as_published=True)
    off = parent(strategy, 0.0, link_evidence=(0.9, 0.4))
    assert strategy.evidence(off, [link("a")])[0] == pytest.approx((0.1, 0.2))


def test_url_structure_examples_match_table_5_2() -> None:
    strategy = make("url-structure", alpha=0.6, beta=0.4)
    page = parent(strategy, 0.5, pattern="/china/D/doc-X.shtml")
    links = [
        Link("http://h/1", b"1" * 16, "h", pattern="/china/D/doc-X.shtml"),
        Link("http://h/2", b"2" * 16, "h", pattern="/"),
        Link("http://g/1", b"3" * 16, "g", pattern="/china/D/doc-X.shtml"),
        Link("http://g/2", b"4" * 16, "g", anchor_score=1.0),
    ]
    assert priorities(strategy, page, links) == pytest.approx([0.6, 0.45, 0.3, 0.7])


def test_url_structure_as_published_scores_anchor_by_eq_5_2() -> None:
    strategy = make("url-structure", as_published=True)
    links = [Link("http://g/1", b"1" * 16, "g", anchor_score=1.0, euclid_score=0.25)]
    assert priorities(strategy, parent(strategy, 0.5), links) == [pytest.approx(0.4)]


def test_gene_examples_match_docstring() -> None:
    strategy = make("gene", as_published=True)
    faded = parent(strategy, 0.9, link_evidence=(pack_key(1, 0.0),))
    assert strategy.priority(0, faded.link_evidence) == pytest.approx(80.0)
    links = [link("a"), link("b", cosine_score=0.5), link("c", cosine_score=0.2)]
    found = priorities(strategy, faded, links)
    assert found == [
        pytest.approx(64.0),
        pytest.approx(105.7, abs=0.05),
        pytest.approx(65.44, 1e-3),
    ]


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
    assert strategy.priority(1, (0.0, 0.0)) == pytest.approx(80.45, abs=0.005)
    assert strategy.priority(1, (0.0, 1.0)) == pytest.approx(106.3, abs=0.05)


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
    config = AnalysisConfig(
        topic=to_builtins(from_words("football")), contexts=asked, cosines=asked
    )
    html = b"<p>all football <a href=/a>more</a> here</p><p><a href=/b>football news</a></p>"
    near, named = PageScorer(config).score("http://h/", html, "text/html").links
    assert near.context_score == (1.0 if asked else 0.0)
    assert named.cosine_score == pytest.approx(0.5**0.5 if asked else 0.0)
