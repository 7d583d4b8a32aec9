"""The form of an alert: its fields, and the alert that is submitted with it."""

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

DEFAULT_VALUES = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "every": "auto", "at": "07:30", "day": "mon", "schedule": "", "quiet": "", "max_items": "20",
    "expires": "", "digest": "on", "tags": "",
}  # fmt: skip

SCHEDULE_LABELS = {
    "auto": msg("automatic, when news is likely"),
    "1m": msg("every minute, if the site allows it"),
    "15m": msg("every 15 minutes"),
    "hourly": msg("every hour"),
    "6h": msg("every 6 hours"),
    "daily": msg("every day"),
    "weekly": msg("every week"),
    "custom": msg("custom"),
}
"""Schedules to choose from -> their labels."""
DAY_LABELS = {
    "mon": msg("Monday"),
    "tue": msg("Tuesday"),
    "wed": msg("Wednesday"),
    "thu": msg("Thursday"),
    "fri": msg("Friday"),
    "sat": msg("Saturday"),
    "sun": msg("Sunday"),
}
FIELD_LABELS = {
    "name": msg("Name of the alert"),
    "sites": msg("Sites or sections, one per line"),
    "words": msg("Words"),
    "schedule": msg("When to check"),
    "topic": msg("Topic words (optional)"),
    "quiet": msg("Quiet hours (optional)"),
    "min_relevance": msg("Minimum relevance, 0 to 1 (optional)"),
    "expires": msg("Ends on (optional)"),
    "max_items": msg("Maximum number of pages in a digest"),
    "tags": msg("Tags (optional)"),
    "channels": msg("Notifications by"),
}
"""Labels of the fields that may have errors, in their order."""

_WEEKLY = re.compile(r"weekly (\w{3})(?: (\d\d:\d\d))?")
_DAILY = re.compile(r"daily(?: (\d\d:\d\d))?")


def read_alert(request: RequestContext, previous: Alert) -> tuple[Alert, dict[str, str]]:
    """Return the submitted alert, and an error message for each wrong field."""
    form = {**dict.fromkeys(DEFAULT_VALUES, ""), **request.form}
    channels, channel_errors = channel_fields.submitted_channels(request)
    errors: dict[str, str] = {}
    alert = Alert(
        name=form["name"].strip(),
        sites=tuple(_split_lines(form["sites"])),
        words=form["words"].strip(),
        topic=form["topic"].strip(),
        min_relevance=_parse_decimal(form, "min_relevance", errors),
        languages=tuple(form["languages"].replace(",", " ").lower().split()),
        schedule=_submitted_schedule(form),
        channels=channels,
        digest=bool(form["digest"]),
        max_items=int(_parse_decimal(form, "max_items", errors) or 20),
        quiet=form["quiet"].strip(),
        paused=previous.paused,
        tags=tuple(dict.fromkeys(filter(None, map(str.strip, form["tags"].split(","))))),
        expires_at=_parse_expiry(request, form["expires"].strip(), errors),
    )
    errors = find_problems(alert) | errors | channel_errors
    if errors := {name: errors[name] for name in FIELD_LABELS if name in errors} | errors:
        return alert, errors
    try:
        alert_topic(alert, trusted=False)
    except ConfigError as error:
        return alert, {"topic": error.message}
    return validate_alert(alert), {}


def alert_values(request: RequestContext, alert: Alert) -> Form:
    """Return the form values of an alert."""
    expires_at = alert.expires_at
    min_relevance = alert.min_relevance
    return {
        "name": alert.name,
        "sites": "\n".join(alert.sites),
        "words": alert.words,
        "topic": alert.topic,
        "min_relevance": "" if min_relevance is None else f"{min_relevance:g}",
        "languages": " ".join(alert.languages),
        **_schedule_values(alert.schedule),
        "quiet": alert.quiet,
        "max_items": str(alert.max_items),
        "expires": "" if expires_at is None else request.local_time(expires_at)[:10],
        "digest": "on" if alert.digest else "",
        "tags": ", ".join(alert.tags),
    }


def _submitted_schedule(form: Form) -> str:
    """Return the submitted schedule as text for `schedule.parse`."""
    every = form["every"]
    if every == "daily":
        return f"daily {form['at']}".strip()
    if every == "weekly":
        return f"weekly {form['day']} {form['at']}".strip()
    if every in SCHEDULE_LABELS and every != "custom":
        return every
    return form["schedule"].strip() or "auto"


def _schedule_values(text: str) -> Form:
    """Return the form values of a schedule."""
    fields = {name: DEFAULT_VALUES[name] for name in ("every", "at", "day", "schedule")}
    if daily := _DAILY.fullmatch(text):
        return fields | {"every": "daily", "at": daily[1] or "00:00"}
    if (weekly := _WEEKLY.fullmatch(text)) and weekly[1] in DAY_LABELS:
        return fields | {"every": "weekly", "day": weekly[1], "at": weekly[2] or "00:00"}
    if text in SCHEDULE_LABELS:
        return fields | {"every": text}
    return fields | {"every": "custom", "schedule": text}


def _split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _parse_decimal(form: Form, field: str, errors: dict[str, str]) -> float | None:
    if not form[field].strip():
        return None
    try:
        number = float(form[field])
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        errors[field] = msg("This must be a number.")
        return None
    return number


def _parse_expiry(request: RequestContext, text: str, errors: dict[str, str]) -> float | None:
    """Return the end of a day on the user's clock."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
        end_of_day = day.replace(hour=23, minute=59, tzinfo=find_zone(request.me.zone))
        return end_of_day.timestamp()
    except (ValueError, OverflowError, OSError):
        errors["expires"] = msg("Write the date as 2026-12-31.")
        return None
