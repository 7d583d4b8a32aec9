"""What robots tags ask of us, and what they ask of others."""

import math

from hypothesis import given
from hypothesis import strategies as st

from focus.http.robots_tag import NO_RULES, RobotsTag, parse_headers, parse_rules
from tests.support.cases import cases

JUNE_25 = 1750863600.0  # Wed, 25 Jun 2025 15:00:00 GMT

NOINDEX, NOFOLLOW = RobotsTag(noindex=True), RobotsTag(nofollow=True)
NONE = RobotsTag(noindex=True, nofollow=True)
GONE = RobotsTag(unavailable_after=JUNE_25)


@cases(
    "text, asked",
    ("noindex", NOINDEX),
    ("NoIndex ,\tNOFOLLOW", NONE),
    ("noindex nofollow", NONE),
    ("none", NONE),
    ("all, index, follow", NO_RULES),
    ("noindexed, donone", NO_RULES),
    ("", NO_RULES),
    # whom it speaks to
    ("otherbot: nofollow", NO_RULES),
    ("otherbot: noindex, nofollow", NO_RULES),
    ("googlebot: none", NO_RULES),
    ("focus: noindex", NOINDEX),
    ("FOCUS:noindex,nofollow", NONE),
    ("*: nofollow", NOFOLLOW),
    ("otherbot: noindex, focus: nofollow", NOFOLLOW),
    ("nofollow, otherbot: noindex", NOFOLLOW),
    ("otherbot: focus: noindex", NOINDEX),
    ("focus:", NO_RULES),
    # rules with values
    ("max-image-preview:none", NO_RULES),
    ("max-image-preview: none, max-snippet: 0, noindex", NOINDEX),
    ("otherbot: max-snippet: 0, noindex", NO_RULES),
    # dates
    ("unavailable_after: 25 Jun 2025 15:00:00 GMT", GONE),
    ("unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT", GONE),
    ("unavailable_after: Wednesday, 25-Jun-25 15:00:00 GMT", GONE),
    ("unavailable_after: 2025-06-25T15:00:00Z, nofollow", GONE | NOFOLLOW),
    ("Unavailable_After: Wed, 25 Jun 2025 15:00:00 GMT, noindex", GONE | NOINDEX),
    ("focus: unavailable_after: 2025-06-25T15:00:00Z", GONE),
    ("otherbot: unavailable_after: 2025-06-25T15:00:00Z, none", NO_RULES),
    ("unavailable_after: never, noindex", NOINDEX),
)
def test_parse_rules_grammar(text: str, asked: RobotsTag) -> None:
    assert parse_rules(text, "focus") == asked


def test_parse_headers_strictest_rules_win() -> None:
    headers = (
        ("x-robots-tag", "otherbot: nofollow"),
        ("content-type", "text/html"),
        ("x-robots-tag", "noindex"),
        ("x-robots-tag", "focus: index, unavailable_after: 2025-06-25T15:00:00Z"),
    )
    assert parse_headers(headers, "focus") == NOINDEX | GONE
    assert parse_headers(headers[:2], "otherbot") == NOFOLLOW
    assert parse_headers((), "focus") == NO_RULES


def test_robots_tag_earliest_date_counts() -> None:
    later = RobotsTag(unavailable_after=JUNE_25 + 1)
    assert (GONE | later).unavailable_after == (later | GONE).unavailable_after == JUNE_25
    assert NO_RULES.unavailable_after == math.inf


@given(st.text(max_size=200), st.sampled_from(["focus", "*", ""]))
def test_parse_rules_any_text_never_raises(text: str, agent: str) -> None:
    assert isinstance(parse_rules(text, agent), RobotsTag)


def test_parse_rules_long_text_is_fast() -> None:
    for text in ("a," * 3_000_000, "a:" * 3_000_000, "unavailable_after:1," * 300_000):
        assert parse_rules(text, "focus") == NO_RULES
