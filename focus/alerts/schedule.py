"""Schedules and quiet hours: when an alert is due, and when its owner must not be disturbed.

1m, 15m, 6h, 2d    interval after the last check
hourly, daily 07:30, weekly mon 07:30
30 7 * * 1-5       cron expression with five fields, in the owner's time zone
auto               when news is likely (learned per page, 15 minutes to 7 days)
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from cronsim import CronSim, CronSimError

from focus.errors import ConfigError

MIN_REVISIT_S, MAX_REVISIT_S = 15 * 60.0, 7 * 86400.0
"""Bounds of the intervals that `auto` learns. The lower one holds for all pages that are neither a
feed nor have validators."""
MIN_INTERVAL_S = 60.0
"""Shortest interval of an alert, and shortest time between two visits of a host."""
_MAX_INTERVAL_S = 366 * 86400.0
SLACK_S = 10.0
"""Time by which a check or visit may be early, since cron starts at uneven seconds."""

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_EXAMPLES = "1m, hourly, daily 07:30, weekly mon 07:30, a cron expression or auto"
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY = 24 * 60
_CHECKED_TIMES, _CHECKED_SPAN = 100, timedelta(days=731)
"""Times of a cron expression that cover its shortest interval, and the time that they may cover."""


class Schedule(msgspec.Struct, frozen=True):
    """Schedule of an alert: an interval, a cron expression, or neither (`auto`).

    is_quick  Whether checks come sooner than pages without validators or feeds may be revisited.
    """

    text: str
    every_s: float | None = None
    cron: str | None = None
    is_quick: bool = False

    @property
    def is_auto(self) -> bool:
        """Whether the pages determine when they are revisited."""
        return self.every_s is None and self.cron is None

    def next(self, after: float, zone: ZoneInfo) -> float:
        """Return the next time after `after`, in Unix seconds; for `auto` the earliest.

        A cron expression that is never due returns a time in a year, so that no alert stops others.
        """
        if self.cron is None:
            return after + (self.every_s or MIN_REVISIT_S)
        times = CronSim(self.cron, datetime.fromtimestamp(after, zone))
        return next((time.timestamp() for time in times), after + _MAX_INTERVAL_S)


@lru_cache(maxsize=1_000)
def parse(text: str) -> Schedule:
    """Return the schedule that a text describes. Raises ConfigError if it is invalid."""
    normalised = " ".join(text.lower().split())
    if normalised == "auto":
        return Schedule(text)
    if interval := re.fullmatch(r"([0-9]{1,6})\s*([mhdw])", normalised):
        return _interval_schedule(text, int(interval[1]) * _UNITS[interval[2]])
    if normalised == "hourly":
        return Schedule(text, every_s=3600.0)
    if daily := re.fullmatch(r"daily(?: (\d{1,2}:\d{2}))?", normalised):
        return Schedule(text, cron=f"{_cron_time(text, daily[1])} * * *")
    if weekly := re.fullmatch(r"weekly ([a-z]{3})(?: (\d{1,2}:\d{2}))?", normalised):
        if weekly[1] not in _DAYS:
            raise ConfigError(
                "schedule {text!r}: {weekly!r} is not one of {days}",
                text=text,
                weekly=weekly[1],
                days=", ".join(_DAYS),
            )
        return Schedule(text, cron=f"{_cron_time(text, weekly[2])} * * {_DAYS.index(weekly[1])}")
    return _cron_schedule(text, normalised)


def _interval_schedule(text: str, seconds: float) -> Schedule:
    if not MIN_INTERVAL_S <= seconds <= _MAX_INTERVAL_S:
        raise ConfigError("schedule {text!r}: not between 1m and 366d", text=text)
    return Schedule(text, every_s=seconds, is_quick=seconds < MIN_REVISIT_S)


def _cron_time(text: str, clock: str | None) -> str:
    """Return `07:30` as the first two fields of a cron expression; midnight for None."""
    minute = _parse_minute(clock or "0:00")
    if minute is None:
        raise ConfigError(
            "schedule {text!r}: {clock!r} is not a time of day; write 07:30", text=text, clock=clock
        )
    return f"{minute % 60} {minute // 60}"


def _parse_minute(clock: str) -> int | None:
    """Return `07:30` as minutes since midnight, or None."""
    hours, _, minutes = clock.partition(":")
    if not re.fullmatch(r"\d{1,2}:\d{2}", clock) or int(hours) > 23 or int(minutes) > 59:
        return None
    return int(hours) * 60 + int(minutes)


def _cron_schedule(text: str, normalised: str) -> Schedule:
    try:
        if len(normalised.split()) != 5:
            raise ConfigError(
                "schedule {text!r}: unknown; write {examples}", text=text, examples=_EXAMPLES
            )
        times = _first_times(normalised)
    except CronSimError as error:
        reason = str(error).lower()
        raise ConfigError(
            "schedule {text!r}: not a cron expression ({reason})", text=text, reason=reason
        ) from None
    gaps = ((later - sooner).total_seconds() for sooner, later in pairwise(times))
    return Schedule(text, cron=normalised, is_quick=any(gap_s < MIN_REVISIT_S for gap_s in gaps))


def _first_times(cron: str) -> list[datetime]:
    """Return the first times of a cron expression, within two years: rare times take long."""
    times = islice(CronSim(cron, datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC"))), _CHECKED_TIMES)
    first = next(times, datetime.max.replace(tzinfo=ZoneInfo("UTC")))
    return [first, *takewhile(lambda time: time - first < _CHECKED_SPAN, times)]


def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name; UTC for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


class Quiet(msgspec.Struct, frozen=True):
    """Hours without delivery, in minutes since midnight; `end` is not part of them."""

    start: int
    end: int

    def next_release(self, now: float, zone: ZoneInfo) -> float:
        """Return `now`, or the end of the quiet hours that contain it.

        Example, 22:00-07:00: at 23:30 it is the next day's 07:00, at 03:00 the same day's.
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
    """Return the quiet hours of `22:00-07:00`; None for an empty text. Raises ConfigError."""
    if not text.strip():
        return None
    start, dash, end = (part.strip() for part in text.partition("-"))
    first_minute, last_minute = _parse_minute(start), _parse_minute(end)
    if not dash or first_minute is None or last_minute is None or first_minute == last_minute:
        raise ConfigError("quiet hours {text!r}: write 22:00-07:00", text=text)
    return Quiet(first_minute, last_minute)
