"""Reads and fills the form of an alert: its fields, and the alert that they make."""

from __future__ import annotations

import re
from datetime import datetime

from focus.alerts.alert import find_problems, validate_alert
from focus.alerts.page_match import alert_topic
from focus.alerts.schedule import find_zone
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import channel_fields
from focus.serve.request import Form, RequestContext
from focus.storage.alerts.records import Alert

EMPTY = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "every": "auto", "at": "07:30", "day": "mon", "schedule": "", "quiet": "", "max_items": "20",
    "expires": "", "digest": "on",
}  # fmt: skip

EVERY = {
    "auto": msg("when news is likely, as learned"),
    "1m": msg("every minute, where the site allows it"),
    "15m": msg("every 15 minutes"),
    "hourly": msg("every hour"),
    "6h": msg("every 6 hours"),
    "daily": msg("every day"),
    "weekly": msg("every week"),
    "custom": msg("as I write it"),
}
"""Schedules to choose from -> how they are called."""
DAYS = {
    "mon": msg("Monday"),
    "tue": msg("Tuesday"),
    "wed": msg("Wednesday"),
    "thu": msg("Thursday"),
    "fri": msg("Friday"),
    "sat": msg("Saturday"),
    "sun": msg("Sunday"),
}
LABELS = {
    "name": msg("Name of the alert"),
    "sites": msg("Sites or sections, one per line"),
    "words": msg("Words"),
    "schedule": msg("When to check"),
    "topic": msg("Topic words (optional)"),
    "quiet": msg("Quiet hours (optional)"),
    "min_relevance": msg("Least relevance, 0 to 1 (optional)"),
    "expires": msg("Ends on (optional)"),
    "max_items": msg("Pages in a digest at most"),
    "channels": msg("How to be told"),
}
"""What the fields are called that something may be wrong with, in their order."""

_WEEKLY = re.compile(r"weekly (\w{3})(?: (\d\d:\d\d))?")
_DAILY = re.compile(r"daily(?: (\d\d:\d\d))?")


def read(request: RequestContext, before: Alert) -> tuple[Alert, dict[str, str]]:
    """The alert that was typed, and all that is wrong with it: field -> line."""
    form = {**dict.fromkeys(EMPTY, ""), **request.form}
    channels, wrong_channels = channel_fields.chosen(request)
    wrong: dict[str, str] = {}
    made = Alert(
        name=form["name"].strip(),
        sites=tuple(_lines(form["sites"])),
        words=form["words"].strip(),
        topic=form["topic"].strip(),
        min_relevance=_decimal(form, "min_relevance", wrong),
        languages=tuple(form["languages"].replace(",", " ").lower().split()),
        schedule=_schedule(form),
        channels=channels,
        digest=bool(form["digest"]),
        max_items=int(_decimal(form, "max_items", wrong) or 20),
        quiet=form["quiet"].strip(),
        paused=before.paused,
        expires_at=_expiry(request, form["expires"].strip(), wrong),
    )
    wrong = find_problems(made) | wrong | wrong_channels
    if wrong := {name: wrong[name] for name in LABELS if name in wrong} | wrong:
        return made, wrong
    try:
        alert_topic(made, trusted=False)
    except ConfigError as error:
        return made, {"topic": error.message}
    return validate_alert(made), {}


def typed_of(request: RequestContext, alert: Alert) -> Form:
    """An alert as the form has it."""
    ends = alert.expires_at
    least = alert.min_relevance
    return {
        "name": alert.name,
        "sites": "\n".join(alert.sites),
        "words": alert.words,
        "topic": alert.topic,
        "min_relevance": "" if least is None else f"{least:g}",
        "languages": " ".join(alert.languages),
        **_scheduled(alert.schedule),
        "quiet": alert.quiet,
        "max_items": str(alert.max_items),
        "expires": "" if ends is None else request.when(ends)[:10],
        "digest": "on" if alert.digest else "",
    }


def _schedule(form: Form) -> str:
    """The schedule that was chosen, as `schedule.parse` reads it."""
    every = form["every"]
    if every == "daily":
        return f"daily {form['at']}".strip()
    if every == "weekly":
        return f"weekly {form['day']} {form['at']}".strip()
    if every in EVERY and every != "custom":
        return every
    return form["schedule"].strip() or "auto"


def _scheduled(text: str) -> Form:
    """A schedule as the form has it."""
    fields = {name: EMPTY[name] for name in ("every", "at", "day", "schedule")}
    if daily := _DAILY.fullmatch(text):
        return fields | {"every": "daily", "at": daily[1] or "00:00"}
    if (weekly := _WEEKLY.fullmatch(text)) and weekly[1] in DAYS:
        return fields | {"every": "weekly", "day": weekly[1], "at": weekly[2] or "00:00"}
    if text in EVERY:
        return fields | {"every": text}
    return fields | {"every": "custom", "schedule": text}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _decimal(form: Form, field: str, wrong: dict[str, str]) -> float | None:
    if not form[field].strip():
        return None
    try:
        number = float(form[field])
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        wrong[field] = msg("This must be a number.")
        return None
    return number


def _expiry(request: RequestContext, text: str, wrong: dict[str, str]) -> float | None:
    """The end of a day on the asker's clock."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
        ends = day.replace(hour=23, minute=59, tzinfo=find_zone(request.me.zone))
        return ends.timestamp()
    except (ValueError, OverflowError, OSError):
        wrong["expires"] = msg("Write the date as 2026-12-31.")
        return None
