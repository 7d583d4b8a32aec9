"""Reads and fills the form of an alert: its fields, and the alert that they make."""

from __future__ import annotations

from datetime import datetime

from focus.alerts.alert import checked
from focus.alerts.delivery import apprise
from focus.alerts.page_match import topic_of
from focus.alerts.schedule import zone_of
from focus.serve.request import Form, RequestContext
from focus.serve.texts import Wrong
from focus.storage.alerts.records import Alert

MAX_WEBHOOKS = 5  # of one alert
EMPTY = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "schedule": "auto", "quiet": "", "max_items": "20", "expires": "", "webhooks": "",
    "apprise": "", "digest": "on",
}  # fmt: skip


def fresh(request: RequestContext) -> Form:
    """The form of a new alert, with the channels that its owner wants by default."""
    named = request.me.channels
    hooks = [each.removeprefix("webhook:") for each in named if each.startswith("webhook:")]
    return {
        **EMPTY,
        "mail": "on" if request.me.mail and ("mail" in named or not named) else "",
        "sms": "on" if request.me.phone and "sms" in named else "",
        "feed": "on" if "feed" in named else "",
        "webhooks": "\n".join(hooks),
    }


def alert_of(request: RequestContext, before: Alert) -> Alert:
    """The alert that was typed, checked; Wrong or ConfigError."""
    form = {**dict.fromkeys(EMPTY, ""), **request.form}
    made = checked(
        Alert(
            name=form["name"].strip(),
            sites=tuple(_lines(form["sites"])),
            words=form["words"].strip(),
            topic=form["topic"].strip(),
            min_relevance=_decimal(request, form["min_relevance"]),
            languages=tuple(form["languages"].replace(",", " ").lower().split()),
            schedule=form["schedule"].strip() or "auto",
            channels=_channels(request, form, before),
            digest=bool(form["digest"]),
            max_items=int(_decimal(request, form["max_items"], name="c_max") or 20),
            quiet=form["quiet"].strip(),
            paused=before.paused,
            expires_at=_expiry(request, form["expires"].strip()),
        )
    )
    topic_of(made, trusted=False)
    return made


def _channels(request: RequestContext, form: Form, before: Alert) -> tuple[str, ...]:
    named = ["inbox"]
    if form.get("mail"):
        if not request.me.mail:
            raise Wrong("mail_first")
        named.append(f"mail:{request.me.mail}")
    if form.get("sms") and request.me.phone:
        named.append(f"sms:{request.me.phone}")
    if form.get("feed"):
        named.append("feed")
    named += [f"webhook:{url}" for url in _lines(form["webhooks"])[:MAX_WEBHOOKS]]
    others = _lines(form["apprise"])
    if others and not request.me.admin:
        raise Wrong("channel_admin")
    for url in others:
        apprise.check_may_add(f"apprise:{url}", admin=request.me.admin)
        named.append(f"apprise:{url}")
    return tuple(dict.fromkeys(named))


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
        "webhooks": _of_kind(alert, "webhook"),
        "apprise": _of_kind(alert, "apprise"),
        "digest": "on" if alert.digest else "",
        "mail": "on" if _of_kind(alert, "mail") else "",
        "sms": "on" if _of_kind(alert, "sms") else "",
        "feed": "on" if "feed" in alert.channels else "",
    }


def _of_kind(alert: Alert, kind: str) -> str:
    pairs = (each.partition(":") for each in alert.channels)
    return "\n".join(address for name, _, address in pairs if name == kind)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _decimal(request: RequestContext, text: str, *, name: str = "c_min") -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise Wrong("number_wrong", field=request.say(name))
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
        raise Wrong("date_wrong") from None
