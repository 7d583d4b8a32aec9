"""Naive Bayes, its calibration and the model: worked numbers, honesty, refusals."""

import math
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.html.blocks import Block
from focus.score.matching import Matcher
from focus.score.relevance import Document, make_model
from focus.score.relevance.bayes import Classifier, EntityExpansion
from focus.score.statistics.entities import make_gazetteer_table
from focus.score.statistics.feature_selection import LabelledWords, WordCounts, count_words
from focus.score.statistics.logistic import fit_logistic, sigmoid
from focus.score.statistics.naive_bayes import (
    UNCALIBRATED,
    Calibration,
    NaiveBayes,
    brier_score,
    cross_validate,
    evaluate_classifier,
    fit_calibration,
    make_feature_selector,
    make_folds,
    train_naive_bayes,
)
from focus.topic.topic import from_words


def test_train_naive_bayes_example_matches_docstring() -> None:
    model = train_naive_bayes(WordCounts(3, 1, {"w": (2, 0)}), ["w"])
    assert model.log_odds({"w"}) == pytest.approx(math.log(2) + math.log(9 / 5))
    assert model.log_odds(set()) == pytest.approx(math.log(2) + math.log((2 / 5) / (2 / 3)))
    assert model.log_odds({"w", "never seen"}) == model.log_odds({"w"})


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef")), st.booleans()), max_size=30))
def test_log_odds_equal_products_of_paper(samples: list[LabelledWords]) -> None:
    """P3 eq. 4-6, 4-9 and 4-10 as they are printed, for every page of six words."""
    counts = count_words(samples)
    model = train_naive_bayes(counts, "abcdef")
    for page in ({"a"}, {"a", "b", "c"}, set("abcdef"), set()):
        products = []
        for kind in (True, False):
            pages = [words for words, is_on in samples if is_on is kind]
            product = (len(pages) + 1) / (len(samples) + 2)
            for word in "abcdef":
                agree = sum((word in words) == (word in page) for words in pages)
                product *= (agree + 1) / (len(pages) + 2)
            products.append(product)
        assert model.log_odds(page) == pytest.approx(math.log(products[0] / products[1]))


def test_log_odds_are_independent_of_word_order() -> None:
    rng = Random(1)
    model = NaiveBayes(0.1, {str(n): rng.gauss(0, 3) for n in range(200)})
    words = [str(n) for n in range(200)]
    values = set()
    for _ in range(20):
        rng.shuffle(words)
        values.add(model.log_odds(words))
    assert len(values) == 1


def test_fit_logistic_and_calibration_examples_match_docstrings() -> None:
    assert Calibration(0.1, -1.0).probability(30.0) == pytest.approx(0.881, abs=1e-3)
    assert UNCALIBRATED.probability(-1000.0) == 0.0
    assert brier_score([0.8, 0.3], [True, False]) == pytest.approx(0.065)
    expected = pytest.approx([0.4011], abs=1e-4)
    assert fit_logistic([(1.0,)], [1.0], prior=[0.0], spread=[1.0]) == expected


def test_fit_logistic_gradient_is_zero() -> None:
    rng = Random(2)
    rows = [(1.0, rng.random(), rng.random()) for _ in range(40)]
    targets = [float(rng.random() < row[1]) for row in rows]
    prior, spread = [0.5, 1.0, -1.0], [1.0, 2.0, 0.5]
    weights = fit_logistic(rows, targets, prior=prior, spread=spread)
    for at in range(3):
        slope = (weights[at] - prior[at]) / spread[at] ** 2 + sum(
            (sigmoid(sum(map(float.__mul__, row, weights))) - target) * row[at]
            for row, target in zip(rows, targets, strict=True)
        )
        assert slope == pytest.approx(0.0, abs=1e-4)
    assert fit_logistic([], [], prior=prior, spread=spread) == prior


def twins(number: int, rng: Random) -> list[LabelledWords]:
    """Pages whose 60 words say the same thing over and over, and are wrong in one of ten."""
    samples: list[LabelledWords] = []
    for n in range(number):
        is_on, says_on = n % 2 == 0, rng.random() < (0.9 if n % 2 == 0 else 0.1)
        words = {f"w{k}" for k in range(60) if rng.random() < (0.9 if says_on else 0.1)}
        samples.append((words, is_on))
    return samples


def test_calibration_orders_extreme_posteriors() -> None:
    samples = twins(300, Random(3))
    parts = make_folds(samples, 5, Random(0))
    raw, calibrated = evaluate_classifier(
        cross_validate(samples, parts, make_feature_selector("ig", 60)), parts
    )
    assert raw.distinct < calibrated.distinct / 3
    assert calibrated.distinct > 100
    assert calibrated.brier < raw.brier - 0.002
    assert calibrated.quality.f1 > 0.85


def test_fit_calibration_separable_classes_has_finite_scale() -> None:
    scored = [(float(n), n > 0) for n in range(-50, 51) if n]
    calibration = fit_calibration(scored)
    assert 0.5 < calibration.probability(1.0) < calibration.probability(10.0) < 1.0
    assert calibration.probability(50.0) > 0.95


def test_fit_calibration_few_labels_stay_near_prior() -> None:
    before = Calibration(0.1, 0.0)
    after = fit_calibration([(10.0, False), (12.0, False), (-5.0, False)], prior=before)
    assert after.probability(10.0) < before.probability(10.0)
    assert 0.0 < after.scale < 0.2
    assert fit_calibration([], prior=before).probability(5.0) == pytest.approx(
        before.probability(5.0)
    )


def test_make_folds_contain_each_page_once_and_classes_evenly() -> None:
    samples: list[LabelledWords] = [(set(), n < 20) for n in range(100)]
    parts = make_folds(samples, 5, Random(0))
    assert sorted(at for part in parts for at in part) == list(range(100))
    assert [sum(samples[at][1] for at in part) for part in parts] == [4] * 5
    assert parts == make_folds(samples, 5, Random(0))


def test_cross_validate_excludes_own_page() -> None:
    """A word of one page alone would give it away, were it trained on."""
    samples: list[LabelledWords] = [({f"own{n}", "x"}, n % 2 == 0) for n in range(20)]
    scores = cross_validate(
        samples, make_folds(samples, 5, Random(0)), lambda counts: list(counts.words)
    )
    assert len({round(score, 9) for score, _ in scores}) == 1


# -- the relevance model ------------------------------------------------------------


def classifier(expansion: EntityExpansion | None = None) -> bytes:
    weights = {"联赛": 4.0, "代码": -4.0, "足球俱乐部": 3.0}
    model = Classifier(NaiveBayes(-1.0, weights), Calibration(0.5, 0.0), expansion)
    return msgspec.msgpack.encode(model)


def page(body: str) -> Document:
    return Document(title="", blocks=lambda: [Block(body, 0, "p")])


def test_bayes_relevance_is_calibrated_posterior() -> None:
    model = make_model("bayes", Matcher(from_words("足球")), {}, trained=classifier())
    judgement = model.judge(page("昨晚的联赛非常精彩，大家都去现场看了比赛。"))
    assert judgement.relevance == pytest.approx(sigmoid(1.5))
    assert judgement.matched["on"] == ["联赛"]
    off = model.judge(page("昨晚写的代码非常精彩，大家都去现场看了代码。"))
    assert off.relevance == pytest.approx(sigmoid(-2.5))
    assert (off.parts["off"], off.matched["off"]) == (-4.0, ["代码"])


def test_bayes_adds_features_of_entities() -> None:
    expansion = EntityExpansion(
        make_gazetteer_table({"红魔": ["曼联"]}, {}), {"曼联": ["足球俱乐部"]}
    )
    matcher = Matcher(from_words("足球,红魔"))
    text = page("红魔昨晚主场赢球，大家都去现场看了比赛，非常高兴。")
    plain = make_model("bayes", matcher, {}, trained=classifier())
    seeing = make_model("bayes", matcher, {}, trained=classifier(expansion))
    assert plain.judge(text).relevance == pytest.approx(sigmoid(-0.5))
    assert seeing.judge(text).relevance == pytest.approx(sigmoid(1.0))


_TEXT = st.text(alphabet="联赛代码足球 java，。ａ1-", max_size=60)


@given(_TEXT, _TEXT)
def test_bayes_relevance_is_in_range_and_repeatable(title: str, body: str) -> None:
    text = Document(title=title, blocks=lambda: [Block(body, 0, "p")])
    first = _MODEL.judge(text)
    assert 0.0 <= first.relevance <= 1.0
    assert _MODEL.judge(text) == first


_MODEL = make_model("bayes", Matcher(from_words("足球")), {}, trained=classifier())
