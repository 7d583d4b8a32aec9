"""Reads and fills the form of an alert: its fields, and the alert that they make."""

from __future__ import annotations

from datetime import datetime

from focus.alerts.alert import checked
from focus.alerts.page_match import topic_of
from focus.alerts.schedule import zone_of
from focus.i18n import msg
from focus.serve import channel_fields
from focus.serve.accounts import Wrong
from focus.serve.request import Form, RequestContext
from focus.storage.alerts.records import Alert

EMPTY = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "schedule": "auto", "quiet": "", "max_items": "20", "expires": "", "digest": "on",
}  # fmt: skip


def alert_of(request: RequestContext, before: Alert) -> Alert:
    """The alert that was typed, checked; Wrong or ConfigError."""
    form = {**dict.fromkeys(EMPTY, ""), **request.form}
    made = checked(
        Alert(
            name=form["name"].strip(),
            sites=tuple(_lines(form["sites"])),
            words=form["words"].strip(),
            topic=form["topic"].strip(),
            min_relevance=_decimal(
                form["min_relevance"], msg("Least relevance, 0 to 1 (optional)")
            ),
            languages=tuple(form["languages"].replace(",", " ").lower().split()),
            schedule=form["schedule"].strip() or "auto",
            channels=channel_fields.chosen(request),
            digest=bool(form["digest"]),
            max_items=int(_decimal(form["max_items"], msg("Pages in a digest at most")) or 20),
            quiet=form["quiet"].strip(),
            paused=before.paused,
            expires_at=_expiry(request, form["expires"].strip()),
        )
    )
    topic_of(made, trusted=False)
    return made


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
        "schedule": alert.schedule,
        "quiet": alert.quiet,
        "max_items": str(alert.max_items),
        "expires": "" if ends is None else request.when(ends)[:10],
        "digest": "on" if alert.digest else "",
    }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _decimal(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise Wrong("This must be a number: {field}", field=name)
    return number


def _expiry(request: RequestContext, text: str) -> float | None:
    """The end of a day on the asker's clock."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
        ends = day.replace(hour=23, minute=59, tzinfo=zone_of(request.me.zone))
        return ends.timestamp()
    except (ValueError, OverflowError, OSError):
        raise Wrong("Write the date as 2026-12-31.") from None
