"""Which pages a keyword may stand in, told by their bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.score.matching import Matcher
from focus.text.tokenisation import fold
from focus.topic.topic import from_words


def is_in(keywords: str, source: str) -> bool:
    return Matcher(from_words(keywords)).occurs_in_source(source.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("keywords", "source"),
    [
        ("足球", "<p>亚足球联</p>"),
        ("足球", "<p>⾜球</p>"),  # U+2F9C, as text out of a PDF has it
        ("足球", "<p>&#36275;&#x7403;</p>"),
        ("足球", "<p>足&#X7403</p>"),
        ("国际象棋", "<p>國際象棋</p>"),
        ("java", "<h1>Java</h1>"),
        ("java", "<h1>ＪＡＶＡ</h1>"),
        ("java", "学java好"),
        ("java", "<h1>j&#97;va</h1>"),
        ("c++", "in C++11 it"),
        ("машина", "<b>МАШИНА</b>"),
        ("football", "foot&shy;ball"),
        ("football", "foot\u00adball, foot&#8203;ball"),
        ("欧冠决赛", "欧冠\u200b决赛"),
        ("欧冠决赛", "今年的欧冠决\n\t赛"),
        ("机器学习,machine-learning", "about machine-learning."),
    ],
)
def test_contains_keyword_all_spellings_is_true(keywords: str, source: str) -> None:
    assert is_in(keywords, source)


@pytest.mark.parametrize(
    ("keywords", "source"),
    [
        ("足球", "<p>球足</p>"),
        ("足球", "<p>&#36275;&#26;</p> ⾜"),
        ("java", "javascript, &#106;avascript"),
        ("java", "1java java1"),
        ("java", ""),
    ],
)
def test_contains_keyword_similar_text_is_false(keywords: str, source: str) -> None:
    assert not is_in(keywords, source)


def test_contains_keyword_phrase_accepts_any_white_space() -> None:
    matcher = Matcher(from_words("web crawler"))
    for between in (" ", "\n\t ", "\u3000", "\xa0", "&#160;", "&#x20;"):
        assert matcher.occurs_in_source(f"A Web{between}Crawler.".encode())
    assert not matcher.occurs_in_source(b"web, crawler")


@given(st.text(st.sampled_from("足球⾜java ＪａＪＡ1:：<>&;#\u00e9ﬁ"), max_size=30))
@settings(deadline=None)
def test_contains_keyword_agrees_with_full_folding(source: str) -> None:
    matcher = Matcher(from_words("足球,java"))
    if "&#" not in source and matcher.keyword_counts(fold(source)):
        assert matcher.occurs_in_source(source.encode())
