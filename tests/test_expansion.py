"""Words proposed for a topic: hand-worked weights, what is left out, and properties."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.score.statistics.expansion import MAX_WEIGHT, PageWords, TopicExpansion, propose_keywords

RARE = 11.0


def idf(word: str) -> float:
    return 3.0 if word == "everyday" else RARE


def make_page(host: str, *words: str, title: str = "") -> PageWords:
    return PageWords(host, {*words, *title.split()}, set(title.split()))


def propose(on: list[PageWords], off: list[PageWords], *known: str) -> TopicExpansion:
    return propose_keywords(on, off, known, idf=idf)


def weights(expansion: TopicExpansion) -> dict[str, float]:
    return {proposal.word: proposal.weight for proposal in expansion.proposals}


def reason(expansion: TopicExpansion, word: str) -> str:
    return dict(expansion.left_out)[word]


ON = [make_page("a", "goal") for _ in range(20)] + [make_page("a", "other") for _ in range(19)]
OFF = [make_page("a", "code") for _ in range(46)]


def test_make_proposal_example_matches_docstring() -> None:
    """q = 3/146, share_off = 40q/86 = 0.00956, lift = 0.5/0.00956 = 52.3, sureness 0.618."""
    (goal, *_) = propose(ON, OFF).proposals
    assert (goal.word, goal.lift) == ("goal", pytest.approx(0.5 / (40 * 3 / 146 / 86)))
    assert (goal.sureness, goal.weight) == (pytest.approx(0.618, abs=0.001), MAX_WEIGHT)
    assert goal.score == pytest.approx(goal.sureness * 20 / 39)
    expected = [("a", 20, 39, 0, 46)]
    assert [(at.host, at.on, at.on_all, at.off, at.off_all) for at in goal.hosts] == expected


def test_propose_keywords_less_certain_word_has_less_weight() -> None:
    off = [make_page("a", "goal") for _ in range(3)] + OFF[3:]
    (goal,) = (proposal for proposal in propose(ON, off).proposals if proposal.word == "goal")
    assert goal.sureness < 0.3
    assert goal.weight == pytest.approx(MAX_WEIGHT * goal.sureness / 0.3, abs=0.005)
    many = [make_page("a", "goal") for _ in range(20)] + OFF[20:]
    assert "goal" not in weights(propose(ON, many))


def test_propose_keywords_words_in_titles_come_first() -> None:
    on = [make_page("a", "goal", title="cup" if n < 5 else "") for n in range(20)]
    on += [make_page("a", "other") for _ in range(19)]
    words = [proposal.word for proposal in propose(on, OFF).proposals]
    assert words.index("cup") < words.index("goal")


def test_propose_keywords_omits_known_words_and_their_compounds() -> None:
    on = [make_page("a", "足球赛", "球门", "goal") for _ in range(9)]
    on += [make_page("a", "other") for _ in range(9)]
    assert set(weights(propose(on, OFF, "足球", "goal"))) == {"球门", "other"}


def test_propose_keywords_omits_everyday_words() -> None:
    on = [make_page("a", "everyday", "goal") for _ in range(20)] + ON[20:]
    expansion = propose_keywords(on, OFF, [], idf=idf)
    assert "everyday" not in weights(expansion)


def test_propose_keywords_omits_boilerplate_of_site() -> None:
    on = [make_page("a", "author", "goal") for _ in range(10)] + [
        make_page("b", "goal") for _ in range(10)
    ]
    off = [make_page("b", "code") for _ in range(20)]
    expansion = propose_keywords(on, off, [], idf=idf, limit=1)
    assert list(weights(expansion)) == ["goal"]
    on = [make_page("a", "author", title="author") for _ in range(10)] + on[10:]
    assert reason(propose(on, off), "author") == "on nearly every page of a"


def test_propose_keywords_single_host_needs_off_topic_pages_or_titles() -> None:
    goals = [make_page("b", "goal") for _ in range(4)] + [make_page("b", "x") for _ in range(4)]
    on = [make_page("a", "cup", "goal") for _ in range(6)] + [make_page("a", "y") for _ in range(6)]
    off = [make_page("b", "code") for _ in range(40)]
    assert "too few other pages" in reason(propose([*on, *goals], off), "cup")
    titled = [make_page("a", title="cup") for _ in range(2)] + on[2:]
    assert "cup" in weights(propose([*titled, *goals], off))


def test_propose_keywords_host_with_few_pages_is_no_support() -> None:
    """On 160 of 250 pages of one site, and on all 3 of another: 日期, 备注 and vs are like that."""
    big = [make_page("big", "date", "goal") for _ in range(160)] + [
        make_page("big") for _ in range(90)
    ]
    small = [make_page("small", "date") for _ in range(3)]
    third = [make_page("third", "goal") for _ in range(4)] + [make_page("third") for _ in range(6)]
    expansion = propose([*big, *small, *third], [make_page("off", "code") for _ in range(9)])
    assert weights(expansion).keys() == {"goal"}


def test_propose_keywords_omits_site_names() -> None:
    on = [make_page("goalpost.example", "goalpost", "keeper") for _ in range(6)]
    on += [make_page("goalpost.example", "other") for _ in range(6)]
    off = [make_page("goalpost.example", "code") for _ in range(12)]
    expansion = propose(on, off)
    assert weights(expansion).keys() == {"keeper", "other"}
    assert reason(expansion, "goalpost") == "the name of goalpost.example"


def test_propose_keywords_files_are_not_one_host() -> None:
    on = [make_page("", "goal") for _ in range(10)]
    assert weights(propose(on, [])) == {"goal": MAX_WEIGHT}


WORDS = st.sampled_from(["goal", "cup", "everyday", "code", "足球", "足球赛"])
PAGES = st.lists(
    st.builds(
        lambda host, words, title: PageWords(host, words | title, title),
        st.sampled_from(["a", "b", "c", ""]),
        st.frozensets(WORDS),
        st.frozensets(WORDS, max_size=2),
    ),
    max_size=30,
)


@given(PAGES.filter(bool), PAGES, st.integers(1, 5))
def test_propose_keywords_weights_are_in_range(
    on: list[PageWords], off: list[PageWords], limit: int
) -> None:
    expansion = propose_keywords(on, off, ["足球"], idf=idf, limit=limit)
    assert len(expansion.proposals) <= limit
    assert (expansion.on, expansion.off) == (len(on), len(off))
    scores = [proposal.score for proposal in expansion.proposals]
    assert scores == sorted(scores, reverse=True)
    for proposal in expansion.proposals:
        assert 0 < proposal.weight <= MAX_WEIGHT
        assert 0 < proposal.sureness <= 1
        assert math.isfinite(proposal.score)
        assert proposal.on == sum(proposal.word in page.words for page in on)
        assert proposal.off == sum(proposal.word in page.words for page in off)
    again = propose_keywords(on[::-1], off[::-1], ["足球"], idf=idf, limit=limit)
    assert [proposal.word for proposal in again.proposals] == [
        proposal.word for proposal in expansion.proposals
    ]
