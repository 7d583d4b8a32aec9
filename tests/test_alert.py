"""Alerts as people write them: words, schedules, quiet hours, channels, files."""

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.alerts import alert, query, schedule
from focus.errors import ConfigError
from tests.support.cases import cases

SHANGHAI = ZoneInfo("Asia/Shanghai")


def unix(text: str, zone: ZoneInfo = SHANGHAI) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


# -- words --------------------------------------------------------------------------


@cases(
    "text, words, is_match",
    ("足球", {"足球"}, True),
    ("足球", set(), False),
    ("足球 篮球", {"篮球"}, True),
    ("+欧冠 决赛 抽签 -彩票", {"欧冠", "抽签"}, True),
    ("+欧冠 决赛 抽签 -彩票", {"欧冠"}, False),
    ("+欧冠 决赛 抽签 -彩票", {"欧冠", "决赛", "彩票"}, False),
    ("a OR b c OR d", {"a", "d"}, True),
    ("a OR b c OR d", {"a", "b"}, False),
    ('"premier league" -"fantasy football"', {"premier league"}, True),
    ('"OR"', {"OR"}, True),
    ("＋欧冠 －彩票", {"欧冠", "彩票"}, False),
)
def test_query_is_satisfied_by_words(text: str, words: set[str], is_match: bool) -> None:
    assert query.parse(text).is_satisfied_by(words) is is_match


@cases(
    "text, reason",
    ("", "there is no word to find"),
    ("-彩票", "there is no word to find"),
    ("OR 足球", "OR must stand between"),
    ("足球 OR", "OR must stand between"),
    ("足球 -足球", "both required and excluded"),
    (" ".join(map(str, range(101))), "more than 100"),
)
def test_invalid_query_raises(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        query.parse(text)


@given(st.text(max_size=60))
def test_query_of_any_text_parses_or_raises(text: str) -> None:
    try:
        parsed = query.parse(text)
    except ConfigError as error:
        assert "\n" not in str(error).replace(text, "")
    else:
        assert parsed.is_satisfied_by(parsed.positive_words())


# -- schedules ------------------------------------------------------------------------


@cases(
    "text, after, due",
    ("1m", "2026-03-01T10:00", "2026-03-01T10:01"),
    ("* * * * *", "2026-03-01T10:00", "2026-03-01T10:01"),
    ("15m", "2026-03-01T10:00", "2026-03-01T10:15"),
    ("hourly", "2026-03-01T10:00", "2026-03-01T11:00"),
    ("daily 07:30", "2026-03-01T07:29", "2026-03-01T07:30"),
    ("daily 07:30", "2026-03-01T07:30", "2026-03-02T07:30"),
    ("weekly mon 07:30", "2026-03-01T10:00", "2026-03-02T07:30"),
    ("30 7 * * 1-5", "2026-03-06T08:00", "2026-03-09T07:30"),
    ("auto", "2026-03-01T10:00", "2026-03-01T10:15"),
    ("0 0 */31 2 1#5", "2026-03-01T10:00", "2027-03-02T10:00"),  # never due
)
def test_schedule_gives_next_time(text: str, after: str, due: str) -> None:
    assert schedule.parse(text).next(unix(after), SHANGHAI) == unix(due)


@pytest.mark.parametrize(
    ("text", "is_quick"),
    [("1m", True), ("15m", False), ("auto", False), ("*/5 9 * * *", True), ("0 * * * *", False)],
)
def test_schedule_under_15_minutes_is_quick(text: str, is_quick: bool) -> None:
    assert schedule.parse(text).is_quick == is_quick


def test_daylight_saving_skips_no_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    daily = schedule.parse("daily 07:30")
    assert daily.next(unix("2026-03-28T08:00", berlin), berlin) == unix("2026-03-29T07:30", berlin)


@cases(
    "text, reason",
    ("0m", "not between 1m and"),
    ("daily 25:00", "not a time of day"),
    ("weekly moo", "not one of sun"),
    ("61 * * * *", "not a cron expression"),
    ("0 0 30 2 *", "not a cron expression"),
    ("soon", "write 1m, hourly"),
)
def test_invalid_schedule_raises(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        schedule.parse(text)


@cases(
    "hours, now, free",
    ("22:00-07:00", "2026-03-01T23:30", "2026-03-02T07:00"),
    ("22:00-07:00", "2026-03-01T03:00", "2026-03-01T07:00"),
    ("22:00-07:00", "2026-03-01T07:00", "2026-03-01T07:00"),
    ("22:00-07:00", "2026-03-01T12:00", "2026-03-01T12:00"),
    ("12:00-13:00", "2026-03-01T12:30", "2026-03-01T13:00"),
)
def test_quiet_hours_release_at_their_end(hours: str, now: str, free: str) -> None:
    quiet = schedule.parse_quiet(hours)
    assert quiet.next_release(unix(now), SHANGHAI) == unix(free)


# -- alerts -------------------------------------------------------------------------

GOOD = alert.Alert("足球", ("sports.example.cn", "https://b.example/zh/"), words="足球 -彩票")


def test_alert_round_trips_through_json() -> None:
    result = alert.validate_alert(GOOD)
    assert result.sites == ("https://sports.example.cn/", "https://b.example/zh/")
    assert alert.from_json(alert.to_json([result]), "c.json") == [result]


@cases(
    "change, reason",
    ({"name": " "}, "give it a name"),
    ({"sites": ()}, "1 to 50 sites"),
    ({"words": ""}, "give words or a topic"),
    ({"min_relevance": 1.5}, "not within 0 to 1"),
    ({"max_items": 0}, "1 to 200"),
    ({"schedule": "soon"}, "unknown; write"),
    ({"quiet": "night"}, "write 22:00-07:00"),
    ({"channels": ("fax:1",)}, "not one of inbox"),
    ({"channels": ("mail:me",)}, "cannot send to this address"),
    ({"channels": ("mail:a@b,c@d",)}, "cannot send to this address"),
    ({"channels": ("webhook:ftp://x/",)}, "cannot send to this address"),
    ({"sites": ("javascript:alert(1)",)}, "javascript"),
)
def test_invalid_alert_raises(change: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        alert.validate_alert(msgspec.structs.replace(GOOD, **change))


@cases(
    "data, reason",
    (b"{", "c.json: no JSON list"),
    (b'[{"name": "x"}]', "c.json: alert 1: .*sites"),
    (b'[{"name": "x", "sites": ["a.b"], "wrods": "y"}]', "alert 1: .*wrods"),
)
def test_invalid_alert_file_raises(data: bytes, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        alert.from_json(data, "c.json")
