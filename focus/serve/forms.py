"""What was typed about a concern? The form's fields, and the concern that they make."""

from __future__ import annotations

from datetime import datetime

import msgspec

from focus.alerts.alert import Concern, checked
from focus.alerts.delivery import apprise
from focus.alerts.outbox_lease import zone_of
from focus.alerts.page_match import topic_of
from focus.serve.request import Asked, Form
from focus.serve.texts import Wrong

MAX_WEBHOOKS = 5  # of one concern
EMPTY = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "schedule": "auto", "quiet": "", "max_items": "20", "expires": "", "webhooks": "",
    "apprise": "", "digest": "on",
}  # fmt: skip


def fresh(asked: Asked) -> Form:
    """The form of a new concern, with the channels that its owner wants by default."""
    named = msgspec.json.decode(asked.me.channels, type=list[str])
    hooks = [each.removeprefix("webhook:") for each in named if each.startswith("webhook:")]
    return {
        **EMPTY,
        "mail": "on" if asked.me.mail and ("mail" in named or not named) else "",
        "sms": "on" if asked.me.phone and "sms" in named else "",
        "feed": "on" if "feed" in named else "",
        "webhooks": "\n".join(hooks),
    }


def concern_of(asked: Asked, before: Concern) -> Concern:
    """The concern that was typed, checked; Wrong or ConfigError."""
    form = {**dict.fromkeys(EMPTY, ""), **asked.form}
    made = checked(
        Concern(
            name=form["name"].strip(),
            sites=tuple(_lines(form["sites"])),
            words=form["words"].strip(),
            topic=form["topic"].strip(),
            min_relevance=_decimal(asked, form["min_relevance"]),
            languages=tuple(form["languages"].replace(",", " ").lower().split()),
            schedule=form["schedule"].strip() or "auto",
            channels=_channels(asked, form, before),
            digest=bool(form["digest"]),
            max_items=int(_decimal(asked, form["max_items"], name="c_max") or 20),
            quiet=form["quiet"].strip(),
            paused=before.paused,
            expires_at=_expiry(asked, form["expires"].strip()),
        )
    )
    topic_of(made, trusted=False)
    return made


def _channels(asked: Asked, form: Form, before: Concern) -> tuple[str, ...]:
    named = ["inbox"]
    if form.get("mail"):
        if not asked.me.mail:
            raise Wrong("mail_first")
        named.append(f"mail:{asked.me.mail}")
    if form.get("sms") and asked.me.phone:
        named.append(f"sms:{asked.me.phone}")
    if form.get("feed"):
        named.append("feed")
    named += [f"webhook:{url}" for url in _lines(form["webhooks"])[:MAX_WEBHOOKS]]
    others = _lines(form["apprise"])
    if others and not asked.me.admin:
        raise Wrong("channel_admin")
    for url in others:
        apprise.check_may_add(f"apprise:{url}", admin=asked.me.admin)
        named.append(f"apprise:{url}")
    return tuple(dict.fromkeys(named))


def typed_of(asked: Asked, concern: Concern) -> Form:
    """A concern as the form has it."""
    ends = concern.expires_at
    least = concern.min_relevance
    return {
        "name": concern.name,
        "sites": "\n".join(concern.sites),
        "words": concern.words,
        "topic": concern.topic,
        "min_relevance": "" if least is None else f"{least:g}",
        "languages": " ".join(concern.languages),
        "schedule": concern.schedule,
        "quiet": concern.quiet,
        "max_items": str(concern.max_items),
        "expires": "" if ends is None else asked.when(ends)[:10],
        "webhooks": _of_kind(concern, "webhook"),
        "apprise": _of_kind(concern, "apprise"),
        "digest": "on" if concern.digest else "",
        "mail": "on" if _of_kind(concern, "mail") else "",
        "sms": "on" if _of_kind(concern, "sms") else "",
        "feed": "on" if "feed" in concern.channels else "",
    }


def _of_kind(concern: Concern, kind: str) -> str:
    pairs = (each.partition(":") for each in concern.channels)
    return "\n".join(address for name, _, address in pairs if name == kind)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _decimal(asked: Asked, text: str, *, name: str = "c_min") -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise Wrong("number_wrong", field=asked.say(name))
    return number


def _expiry(asked: Asked, text: str) -> float | None:
    """The end of a day on the asker's clock."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
        ends = day.replace(hour=23, minute=59, tzinfo=zone_of(asked.me.zone))
        return ends.timestamp()
    except (ValueError, OverflowError, OSError):
        raise Wrong("date_wrong") from None
