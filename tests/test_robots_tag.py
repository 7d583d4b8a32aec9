"""What robots tags ask of us, and what they ask of others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.http.robots_tag import NOTHING, RobotsTag, of_headers, of_rules

JUNE_25 = 1750863600.0  # Wed, 25 Jun 2025 15:00:00 GMT

NOINDEX, NOFOLLOW = RobotsTag(noindex=True), RobotsTag(nofollow=True)
NONE = RobotsTag(noindex=True, nofollow=True)
GONE = RobotsTag(unavailable_after=JUNE_25)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("noindex", NOINDEX),
        ("NoIndex ,\tNOFOLLOW", NONE),
        ("noindex nofollow", NONE),
        ("none", NONE),
        ("all, index, follow", NOTHING),
        ("noindexed, donone", NOTHING),
        ("", NOTHING),
        # whom it speaks to
        ("otherbot: nofollow", NOTHING),
        ("otherbot: noindex, nofollow", NOTHING),
        ("googlebot: none", NOTHING),
        ("focus: noindex", NOINDEX),
        ("FOCUS:noindex,nofollow", NONE),
        ("*: nofollow", NOFOLLOW),
        ("otherbot: noindex, focus: nofollow", NOFOLLOW),
        ("nofollow, otherbot: noindex", NOFOLLOW),
        ("otherbot: focus: noindex", NOINDEX),
        ("focus:", NOTHING),
        # rules with values
        ("max-image-preview:none", NOTHING),
        ("max-image-preview: none, max-snippet: 0, noindex", NOINDEX),
        ("otherbot: max-snippet: 0, noindex", NOTHING),
        # dates
        ("unavailable_after: 25 Jun 2025 15:00:00 GMT", GONE),
        ("unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT", GONE),
        ("unavailable_after: Wednesday, 25-Jun-25 15:00:00 GMT", GONE),
        ("unavailable_after: 2025-06-25T15:00:00Z, nofollow", GONE | NOFOLLOW),
        ("Unavailable_After: Wed, 25 Jun 2025 15:00:00 GMT, noindex", GONE | NOINDEX),
        ("focus: unavailable_after: 2025-06-25T15:00:00Z", GONE),
        ("otherbot: unavailable_after: 2025-06-25T15:00:00Z, none", NOTHING),
        ("unavailable_after: never, noindex", NOINDEX),
    ],
)
def test_rules_are_read_by_their_grammar(text: str, asked: RobotsTag) -> None:
    assert of_rules(text, "focus") == asked


def test_all_headers_count_and_the_stricter_wins() -> None:
    headers = (
        ("x-robots-tag", "otherbot: nofollow"),
        ("content-type", "text/html"),
        ("x-robots-tag", "noindex"),
        ("x-robots-tag", "focus: index, unavailable_after: 2025-06-25T15:00:00Z"),
    )
    assert of_headers(headers, "focus") == NOINDEX | GONE
    assert of_headers(headers[:2], "otherbot") == NOFOLLOW
    assert of_headers((), "focus") == NOTHING


def test_the_earliest_date_counts() -> None:
    later = RobotsTag(unavailable_after=JUNE_25 + 1)
    assert (GONE | later).unavailable_after == (later | GONE).unavailable_after == JUNE_25
    assert NOTHING.unavailable_after == math.inf


@given(st.text(max_size=200), st.sampled_from(["focus", "*", ""]))
def test_any_text_is_some_tag(text: str, agent: str) -> None:
    assert isinstance(of_rules(text, agent), RobotsTag)


def test_a_text_of_any_length_is_read_in_no_time() -> None:
    for text in ("a," * 3_000_000, "a:" * 3_000_000, "unavailable_after:1," * 300_000):
        assert of_rules(text, "focus") == NOTHING
