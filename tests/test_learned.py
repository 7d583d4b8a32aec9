"""The strategy `learned`: what its signs are, what its weights promise, and how they are fitted."""

import hashlib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.learned import PLAIN, fit, together, worth
from focus.records import Link, Region
from focus.score.graph.pagerank import PageRank
from focus.score.index_pages import Role
from focus.score.strategy import Parent, Strategy, make_strategy
from focus.score.strategy.learned import CARD, company


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
    plain, with_it = made(), made(company=2.0)
    (*_, before), (*_, after) = (priorities(s, page(s), LIST) for s in (plain, with_it))
    assert after - before == pytest.approx(2 * 4 / 7)
    assert company(LIST, [1.0] * 4 + [0.0])[0] == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    "other",
    [link("/b/4"), link("/a/4", region=Region.NAV), link("/a/4", role=Role.INDEX),
     link("/a/4", host="elsewhere")],
)  # fmt: skip
def test_a_link_outside_of_the_list_has_no_company(other: Link) -> None:
    assert company([*LIST[:4], other], [1.0] * 4 + [0.0])[-1] == 0.0


def test_no_weight_that_is_shipped_is_negative() -> None:
    assert min(CARD["weights"].values()) >= 0.0
    assert {"trained_on", "date", "method", "figures", "licence"} <= CARD.keys()


EVIDENCE = st.lists(st.floats(0, 1, width=32), min_size=9, max_size=9)


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


def moments(rng: np.random.Generator, telling: bool) -> list[np.ndarray]:
    """Moments of 50 URLs; a fifth is worth something: those with most of a sign, if it tells."""
    found = []
    for _ in range(20):
        plain, sign = rng.random((2, 50))
        value = sign > 0.8 if telling else plain > 0.8
        found.append(np.column_stack([value, np.zeros(50), plain, sign]).astype(np.float32))
    return found


def test_a_fit_finds_a_sign_that_tells_what_is_worth_most_and_no_other() -> None:
    rng = np.random.default_rng(1)
    (telling,) = fit(together([moments(rng, True), moments(rng, True)])).values()
    (silent,) = fit(together([moments(rng, False), moments(rng, False)])).values()
    assert telling >= 4.0 and silent <= 0.125


def test_what_a_fetch_is_worth() -> None:
    found = [worth(is_target, opens) for is_target, opens in ((True, 0), (False, 1), (False, 5))]
    assert found == [1.0, 0.0, pytest.approx(1.2)]
    assert worth(is_target=False, opens=100) == 2.0
