"""Reads schedules and quiet hours: when an alert is due, when its owner may be disturbed.

1m, 15m, 6h, 2d    so long after the last time
hourly, daily 07:30, weekly mon 07:30
30 7 * * 1-5       a cron expression, five fields, in the owner's time zone
auto               whenever news is likely there (learned per page, 15 minutes to 7 days)
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from cronsim import CronSim, CronSimError

from focus.errors import ConfigError

SHORTEST_S, LONGEST_S = 15 * 60.0, 7 * 86400.0
"""Between these is every interval that `auto` learns; what tells nobody whether it has changed
(no validators, no feed) is looked at no more often than the first."""
FLOOR_S = 60.0
"""The shortest interval of an alert, and between two visits of a host, whoever asks."""
SLACK_S = 10.0
"""By which a check or visit may come sooner: cron and schedulers begin at uneven seconds."""

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_EXAMPLES = "1m, hourly, daily 07:30, weekly mon 07:30, a cron expression or auto"
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY = 24 * 60
_LOOKED_AT = 100  # instants of a cron expression: over an hour or a day of any of them


class Schedule(msgspec.Struct, frozen=True):
    """One of: so many seconds after the last time, a cron expression, neither (auto).

    is_quick  more often than sites that have neither validators nor feeds are asked
    """

    text: str
    every_s: float | None = None
    cron: str | None = None
    is_quick: bool = False

    @property
    def is_auto(self) -> bool:
        """Whether the pages themselves say when to look again."""
        return self.every_s is None and self.cron is None

    def next(self, after: float, zone: ZoneInfo) -> float:
        """The first instant after this one that it names (Unix seconds); of `auto`, the
        earliest at which a page may be due.
        """
        if self.cron is None:
            return after + (self.every_s or SHORTEST_S)
        return next(CronSim(self.cron, datetime.fromtimestamp(after, zone))).timestamp()


def parse(text: str) -> Schedule:
    """A schedule as people write it. ConfigError for one that is none, or too frequent."""
    plain = " ".join(text.lower().split())
    if plain == "auto":
        return Schedule(text)
    if interval := re.fullmatch(r"(\d+)\s*([mhdw])", plain):
        return _interval(text, int(interval[1]) * _UNITS[interval[2]])
    if plain == "hourly":
        return Schedule(text, every_s=3600.0)
    if daily := re.fullmatch(r"daily(?: (\d{1,2}:\d{2}))?", plain):
        return Schedule(text, cron=f"{_at(text, daily[1])} * * *")
    if weekly := re.fullmatch(r"weekly ([a-z]{3})(?: (\d{1,2}:\d{2}))?", plain):
        if weekly[1] not in _DAYS:
            raise ConfigError(
                "schedule {text!r}: {weekly!r} is none of {days}",
                text=text,
                weekly=weekly[1],
                days=", ".join(_DAYS),
            )
        return Schedule(text, cron=f"{_at(text, weekly[2])} * * {_DAYS.index(weekly[1])}")
    return _cron(text, plain)


def _interval(text: str, seconds: float) -> Schedule:
    if not FLOOR_S <= seconds <= 366 * 86400.0:
        raise ConfigError("schedule {text!r}: not between 1m and 366d", text=text)
    return Schedule(text, every_s=seconds, is_quick=seconds < SHORTEST_S)


def _at(text: str, clock: str | None) -> str:
    """`07:30` as the first two fields of a cron expression; midnight when not said."""
    minute = _minute(clock or "0:00")
    if minute is None:
        raise ConfigError(
            "schedule {text!r}: {clock!r} is no time of day; write 07:30", text=text, clock=clock
        )
    return f"{minute % 60} {minute // 60}"


def _minute(clock: str) -> int | None:
    """`07:30` as minutes since midnight."""
    hours, _, minutes = clock.partition(":")
    if not re.fullmatch(r"\d{1,2}:\d{2}", clock) or int(hours) > 23 or int(minutes) > 59:
        return None
    return int(hours) * 60 + int(minutes)


def _cron(text: str, plain: str) -> Schedule:
    try:
        if len(plain.split()) != 5:
            raise ConfigError(
                "schedule {text!r}: none that is known; write {examples}",
                text=text,
                examples=_EXAMPLES,
            )
        days = CronSim(plain, datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC")))
        times = list(islice(days, _LOOKED_AT))
    except CronSimError as error:
        reason = str(error).lower()
        raise ConfigError(
            "schedule {text!r}: no cron expression ({reason})", text=text, reason=reason
        ) from None
    shortest = min((later - sooner for sooner, later in pairwise(times)), default=None)
    is_quick = shortest is not None and shortest.total_seconds() < SHORTEST_S
    return Schedule(text, cron=plain, is_quick=is_quick)


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its IANA name; UTC for one that this system does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


class Quiet(msgspec.Struct, frozen=True):
    """Hours in which nothing is delivered: minutes since midnight, `end` itself is free."""

    start: int
    end: int

    def release(self, now: float, zone: ZoneInfo) -> float:
        """`now`, or when the quiet hours that it lies in are over.

        Worked, 22:00-07:00: at 23:30 the next day's 07:00, at 03:00 the same day's.
        """
        moment = datetime.fromtimestamp(now, zone)
        minute = moment.hour * 60 + moment.minute
        length = (self.end - self.start) % _DAY
        if (minute - self.start) % _DAY >= length:
            return now
        days = 1 if minute >= self.start and self.end <= self.start else 0
        day = moment.date() + timedelta(days=days)
        return datetime(
            day.year, day.month, day.day, self.end // 60, self.end % 60, tzinfo=zone
        ).timestamp()


def parse_quiet(text: str) -> Quiet | None:
    """`22:00-07:00`; None for "". ConfigError for anything else."""
    if not text.strip():
        return None
    start, dash, end = (part.strip() for part in text.partition("-"))
    first, last = _minute(start), _minute(end)
    if not dash or first is None or last is None or first == last:
        raise ConfigError("quiet hours {text!r}: write 22:00-07:00", text=text)
    return Quiet(first, last)
