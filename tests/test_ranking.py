"""From what crawls fetched to means, intervals and tests."""

import pytest

from focus.evaluate.ranking import (
    CURVE_POINTS,
    MEASURES,
    TESTED_MEASURES,
    TopicTruth,
    TrialResult,
    add_tests,
    beats_oracle,
    measure_trial,
    sample_curve,
    score_variants,
)


def ground(topic: str = "t", budget: int = 10) -> TopicTruth:
    """Pages 0…9, 9 the same page as 1; 1, 2 and 3 are targets, 0 is a relevant seed."""
    return TopicTruth(
        topic=topic,
        canonical_page=[0, 1, 2, 3, 4, 5, 6, 7, 8, 1],
        labels={0: True, 1: True, 2: True, 3: True, 4: False, 5: False},
        targets=frozenset({1, 2, 3}),
        budget=budget,
        oracle=[0.0, 1 / 3, 2 / 3, *[1.0] * (budget - 3)],
        page_host=lambda page: "odd" if page % 2 else "even",
    )


def outcome(*pages: int, variant: str = "v", topic: str = "t", order: int = 0) -> TrialResult:
    said = [int(page in (1, 4)) for page in pages]
    return TrialResult("k", variant, topic, order, list(pages), said, robots=1, seconds=60.0)


def test_measure_trial_matches_hand_computed_values() -> None:
    # robots.txt, seed, target, its alias, off topic, unlabelled, target
    measures = measure_trial(outcome(-1, 0, 1, 9, 4, 6, 3), ground())
    assert set(measures) == set(MEASURES)
    assert measures["recall_T"] == pytest.approx(1 / 3, abs=1e-6)  # after 3 requests
    assert measures["recall_2T"] == pytest.approx(1 / 3, abs=1e-6)  # after 6
    assert measures["found"] == 2
    assert measures["relevant"] == 3  # with the seed
    assert (measures["labelled"], measures["unlabelled"]) == (4, 1)
    assert measures["harvest"] == 3 / 4
    assert measures["harvest_requests"] == pytest.approx(3 / 7, abs=1e-6)
    assert (measures["hosts"], measures["requests_50"]) == (1, 7)
    assert measures["requests_80"] is None
    assert measures["model_precision"] == 0.5
    assert measures["model_recall"] == pytest.approx(1 / 3, abs=1e-6)
    assert measures["efficiency_per_min"] == 3
    assert measures["auc"] == pytest.approx((4 / 3 + 4 * 2 / 3) / 10, abs=1e-6)


def test_recall_beyond_budget_is_none() -> None:
    measures = measure_trial(outcome(1), ground(budget=4))
    assert measures["recall_T"] is not None
    assert measures["recall_2T"] is None


def test_beats_oracle_crawl_above_oracle_returns_true() -> None:
    assert not beats_oracle(outcome(-1, 1, 2, 3), ground())
    assert beats_oracle(outcome(1, 2, 3), ground())


def test_sample_curve_covers_the_budget() -> None:
    curve = [k / 1000 for k in range(1, 1001)]
    thin = sample_curve(curve)
    assert (len(thin), thin[0], thin[50], thin[-1]) == (CURVE_POINTS, 0.0, 0.5, 1.0)
    assert sample_curve([1.0])[-1] == 1.0


def test_score_variants_averages_orders_then_topics() -> None:
    outcomes = [
        outcome(1, 2, 3, topic="a", order=0),
        outcome(topic="a", order=1),
        outcome(1, 2, 3, topic="b"),
    ]
    (score,) = score_variants(outcomes, [ground("a"), ground("b")])
    assert [topic.measures["recall_T"] for topic in score.topics] == [0.5, 1.0]
    assert score.measures["recall_T"].value == 0.75
    assert score.measures["requests_50"].value == 2  # of b alone: a got there once of two
    assert score.measures["requests_50"].topics == 1
    low, high = score.band[-1]
    assert (low, score.curve[-1], high) == (0.5, 0.75, 1.0)


def test_add_tests_compares_variants_with_baseline() -> None:
    topics = [ground(name) for name in "abcdef"]
    outcomes = []
    for topic in topics:
        outcomes.append(outcome(1, 2, 3, variant="good", topic=topic.topic))
        best = (1, 2, 3) if topic.topic == "a" else (4, 5, 1)
        outcomes.append(outcome(*best, variant="poor", topic=topic.topic))
    group = score_variants(outcomes, topics)
    add_tests(group, group[1])
    good, poor = group
    assert poor.versus == {}
    assert list(good.versus) == list(TESTED_MEASURES)
    versus = good.versus["recall_T"]
    assert (versus.wins, versus.losses, versus.ties) == (5, 0, 1)
    assert versus.p == versus.p_holm == 0.0625
    assert versus.ratio == pytest.approx(6 / (1 + 5 / 3), abs=1e-5)
    assert versus.ratio and versus.low and versus.high
    assert versus.low <= versus.ratio <= versus.high
