"""The strategy `learned`: what its signs are, what its weights promise, and how they are fitted."""

import hashlib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.learned import PLAIN, SIGNS, fit, together, worth
from focus.records import Link, Region
from focus.score.graph.pagerank import PageRank
from focus.score.index_pages import Role
from focus.score.strategy import Parent, Strategy, make_strategy
from focus.score.strategy.learned import CARD, company
from focus.score.subtopics import Titled


def link(path: str, anchor: float = 0.0, **fields: object) -> Link:
    url = f"http://h{path}"
    made = Link(url, hashlib.md5(url.encode()).digest(), "h", anchor_score=anchor)
    return msgspec.structs.replace(made, pattern=path[:3], **fields)


def page(strategy: Strategy, relevance: float = 0.0, pattern: str = "/") -> Parent:
    return Parent(1, 1, 0, "h", pattern, relevance, relevance > 0.5, strategy.seed())


def made(**weights: float) -> Strategy:
    return make_strategy("learned", {**PLAIN, **weights}, PageRank())


def priorities(strategy: Strategy, parent: Parent, links: list[Link]) -> list[float]:
    evidence = strategy.evidence(parent, links)
    return [strategy.priority(n, each or ()) for n, each in enumerate(evidence)]


LIST = [*(link(f"/a/{n}", 1.0) for n in range(4)), link("/a/4")]


def test_worked_number_of_company() -> None:
    plain, with_it = made(), made(company=4.0)
    (*_, before), (*_, after) = (priorities(s, page(s), LIST) for s in (plain, with_it))
    assert after - before == pytest.approx(4 * 4 / 7)
    assert company(LIST, [1.0] * 4 + [0.0])[0] == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    "other",
    [link("/b/4"), link("/a/4", region=Region.NAV), link("/a/4", role=Role.INDEX),
     link("/a/4", host="elsewhere")],
)  # fmt: skip
def test_a_link_outside_of_the_list_has_no_company(other: Link) -> None:
    assert company([*LIST[:4], other], [1.0] * 4 + [0.0])[-1] == 0.0


def kin(strategy: Strategy, kin: int, good: int, others: int, best: int) -> None:
    """Let a crawl see so many pages that links of a relevant page's own pattern brought, …"""
    strategy.saw(Titled("http://h/a/0", "", True, -1, 0))
    for n in range(1, kin + 1):
        strategy.saw(Titled(f"http://h/a/{n}", "", n <= good, 0, n))
    for n in range(1, others):
        strategy.saw(Titled(f"http://h/b/{n}/x", "", n < best, 0, 1000 + n))


def near(strategy: Strategy) -> float:
    """What the link to a page's own pattern has over one to another."""
    mine, other = priorities(strategy, page(strategy, 0.5, "/a/"), [link("/a/1"), link("/b/1")])
    return mine - other


def test_worked_number_of_kin() -> None:
    strategy = made(kin=2.0)
    kin(strategy, 20, 12, 78, 19)
    assert near(strategy) == pytest.approx(2.0 * 0.5 * 1.03, abs=0.01)


def test_kin_weigh_nothing_where_they_bring_less_than_others() -> None:
    strategy = made(kin=2.0)
    assert near(strategy) == 0.0
    kin(strategy, 20, 2, 78, 39)
    assert near(strategy) == 0.0


def test_kinship_is_known_again_after_a_restart() -> None:
    """A crawl that is taken up again is shown its last pages anew."""
    one, other = made(kin=2.0), made(kin=2.0)
    for strategy in (one, other):
        kin(strategy, 20, 12, 78, 19)
    other.resume(0)
    kin(other, 20, 12, 78, 19)
    assert near(other) == near(one) > 0.0


def test_no_weight_that_is_shipped_is_negative() -> None:
    assert min(CARD["weights"].values()) >= 0.0
    assert {"trained_on", "date", "figures", "licence"} <= CARD.keys()


EVIDENCE = st.lists(st.floats(0, 1, width=32), min_size=10, max_size=10)


@given(EVIDENCE, EVIDENCE)
def test_more_of_any_sign_never_lowers_a_priority_and_parts_add_up(
    one: list[float], other: list[float]
) -> None:
    strategy = make_strategy("learned", {}, PageRank())
    assert strategy.width == len(one)
    low, high = tuple(map(min, one, other)), tuple(map(max, one, other))
    assert strategy.priority(1, high) >= strategy.priority(1, low)
    assert sum(strategy.parts(high).values()) == pytest.approx(strategy.priority(1, high))


def test_with_no_weight_it_is_yield() -> None:
    ours, plain = made(), make_strategy("yield", {}, PageRank())
    assert priorities(ours, page(ours, 0.7), LIST) == priorities(plain, page(plain, 0.7), LIST)


def test_a_fit_finds_the_sign_that_tells_what_is_worth_most() -> None:
    rng = np.random.default_rng(1)
    moments = []
    for _ in range(40):
        signs = rng.random((50, 1 + len(SIGNS)))
        value = (signs[:, 1] > 0.8).astype(float)
        moments.append(np.column_stack([value, np.zeros(50), signs]).astype(np.float32))
    weights = fit(together([moments[:20], moments[20:]]))
    assert weights[SIGNS[0]] >= 4 * max(weights[name] for name in SIGNS[1:])
    assert min(weights.values()) >= 0.0


def test_what_a_fetch_is_worth() -> None:
    found = [worth(is_target, opens) for is_target, opens in ((True, 0), (False, 1), (False, 5))]
    assert found == [1.0, 0.0, pytest.approx(1.2)]
    assert worth(is_target=False, opens=100) == 2.0
