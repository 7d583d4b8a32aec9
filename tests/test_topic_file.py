"""Topic files: written so that they read back, and wrong ones told of by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.errors import TopicError
from focus.topic.topic import Keyword, Topic, from_toml
from focus.topic.topic_file import to_toml
from tests.support.cases import cases

WEIGHTS = st.floats(0.0001, 1.0).map(lambda x: float(f"{x:.4g}"))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = TEXTS.filter(lambda text: any(char.isalnum() for char in text))


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    words = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    return Topic(
        name=draw(TEXTS),
        keywords=tuple(Keyword(word, draw(WEIGHTS)) for word in words),
        features=draw(st.dictionaries(TEXTS, WEIGHTS, max_size=4)),
        sources=draw(st.dictionaries(TEXTS, TEXTS, max_size=4)),
        seeds=tuple(draw(st.lists(TEXTS, max_size=3))),
        relevance=draw(st.none() | TEXTS),
        threshold=draw(st.none() | WEIGHTS),
        model=draw(st.none() | TEXTS),
    )


@given(topics())
def test_to_toml_then_from_toml_returns_same_topic(topic: Topic) -> None:
    assert from_toml(to_toml(topic), "t.toml") == topic


def test_to_toml_contains_explaining_comments() -> None:
    text = to_toml(Topic("football", (Keyword("足球"), Keyword("英超", 0.8))))
    assert 'name = "football"' in text
    assert '"英超" = { role = "name", weight = 0.8 }' in text
    assert '# relevance = "evidence"' in text
    assert "focus topic test" in text
    by_hand = from_toml('name = "a"\nkeywords = ["b", "c:0.5"]', "t.toml")
    assert by_hand.keywords == (Keyword("b"), Keyword("c", 0.5))


@cases(
    "text, place, what",
    ('name = "a"\nkeywords = ["a"', "t.toml:2", ""),
    ('name = "a"\n\nkeyword = ["a"]', "t.toml:3", "unknown key 'keyword'"),
    ('name = "a"\n[keywords]\na = 1.0\nb = 1.5', "t.toml:4", "weight 1.5 not in (0, 1]"),
    ('name = "a"\nkeywords = ["a"]\nthreshold = "high"', "t.toml:3", "threshold"),
    ('name = "a"\n[keywords]\na = 1.0\n[features]\nb = "x"', "t.toml:", "float"),
    ('name = "x"\n[keywords]\na = 3', "t.toml:3", "weight 3.0 not in (0, 1]"),
    ('name = "a"\nkeywords = ["!!"]', "t.toml:2", "contains no letter"),
    ('name = "a"', "t.toml", "at least one keyword"),
)
def test_from_toml_invalid_file_names_line(text: str, place: str, what: str) -> None:
    with pytest.raises(TopicError) as caught:
        from_toml(text, "t.toml")
    message = str(caught.value)
    assert message.startswith(place)
    assert what in message and "\n" not in message
