"""How does a person make, change and look after their concerns?"""

from __future__ import annotations

import asyncio
from datetime import datetime

from starlette.responses import Response

from focus.errors import ConfigError
from focus.watch.book import Owned
from focus.watch.channels import Failed
from focus.watch.claims import zone_of
from focus.watch.concern import Concern, checked
from focus.watch.courier import send_test
from focus.watch.health import SILENT_S, health
from focus.watch.outbox import PULLED
from focus.watch.preview import Preview, preview
from focus.watch.subjects import topic_of
from focus.watch.texts import told
from focus.watch.web import backoff, tokens
from focus.watch.web.asked import Asked, Form
from focus.watch.web.texts import Wrong

QUOTA = 50  # concerns of one person
MAX_WEBHOOKS = 5  # of one concern
SHOWN = 20  # pages of a preview
_EMPTY = {
    "name": "", "sites": "", "words": "", "topic": "", "min_relevance": "", "languages": "",
    "schedule": "auto", "quiet": "", "max_items": "20", "expires": "", "webhooks": "",
    "apprise": "", "digest": "on",
}  # fmt: skip


def listed(asked: Asked) -> Response:
    """All concerns of a person, and how they fare."""
    mine = [health(asked.book, each, now=asked.now) for each in asked.book.concerns(asked.me.id)]
    return asked.page("concerns.html", concerns=mine, silent_s=SILENT_S)


def new(asked: Asked) -> Response:
    """The empty form, and what was typed there."""
    if "name" not in asked.form:
        start = {**_EMPTY, "mail": "on" if asked.me.mail else ""}
        return asked.page("concern_form.html", typed=start, title="new_concern", number=None)
    try:
        if len(asked.book.concerns(asked.me.id)) >= QUOTA:
            raise Wrong("quota", n=QUOTA)
        number = asked.book.add(asked.me.id, _concern(asked, Concern("", ())), now=asked.now)
    except (ConfigError, Wrong) as error:
        return _again(asked, error, title="new_concern", number=None)
    return asked.to(f"/concerns/{number}", saved=1)


def edit(asked: Asked) -> Response:
    """The form as it stands, and what was typed there."""
    owned = _mine(asked)
    if "name" not in asked.form:
        typed = _typed(asked, owned.concern)
        return asked.page("concern_form.html", typed=typed, title="edit", number=owned.id)
    try:
        asked.book.change(owned.id, _concern(asked, owned.concern), now=asked.now)
    except (ConfigError, Wrong) as error:
        return _again(asked, error, title="edit", number=owned.id)
    return asked.to(f"/concerns/{owned.id}", saved=1)


def show(asked: Asked, done: str = "", error: str = "", feed: str = "") -> Response:
    """How a concern fares, and what the last days would have sent."""
    owned = _mine(asked)
    found = None
    if ("saved" in asked.query or "preview" in asked.query) and not error:
        found = _previewed(asked, owned)
        done = done or (asked.say("saved") if "saved" in asked.query else "")
    return asked.page(
        "concern.html",
        health=health(asked.book, owned, now=asked.now),
        preview=found,
        shown=SHOWN,
        silent_s=SILENT_S,
        pushed=[each for each in owned.concern.channels if each not in PULLED],
        done=done,
        error=error,
        feed=feed,
    )


def _previewed(asked: Asked, owned: Owned) -> Preview:
    with asked.office.previewing:
        return preview(
            asked.book,
            owned.concern,
            now=asked.now,
            zone=asked.zone,
            user=owned.user,
        )


def pause(asked: Asked) -> Response:
    """Stop, or go on."""
    owned = _mine(asked)
    asked.book.pause(owned.id, not owned.paused, now=asked.now)
    return asked.to("/concerns" if "listed" in asked.form else f"/concerns/{owned.id}")


def delete(asked: Asked) -> Response:
    """Forget it."""
    asked.book.remove(_mine(asked).id)
    return asked.to("/concerns")


def test(asked: Asked) -> Response:
    """Send a test message by one of its channels."""
    owned = _mine(asked)
    channel = asked.form.get("channel", "")
    if channel not in owned.concern.channels or channel in PULLED:
        raise Wrong("not_found")
    if channel.startswith("apprise:") and not asked.me.admin:
        raise Wrong("channel_admin")
    with asked.book.transaction() as db:
        keys = [backoff.key("test", asked.me.name)]
        early = backoff.spend(db, keys, now=asked.now)
    if early:
        raise Wrong("too_many", n=int(early) + 1)
    how, clock = asked.office.settings(), asked.office.clock
    sending = send_test(asked.book, how, user=asked.me.id, channel=channel, clock=clock)
    outcome = asyncio.run(sending)
    if isinstance(outcome, Failed):
        reason = told(outcome.reason, asked.language)
        return show(asked, error=asked.say("test_failed", reason=reason))
    return show(asked, done=asked.say("test_sent"))


def feed(asked: Asked) -> Response:
    """A new address of the concern's own feed; the one before ends."""
    owned = _mine(asked)
    with asked.book.transaction() as db:
        tokens.drop(db, "feed", user=asked.me.id, concern=owned.id)
        if "off" in asked.form:
            return asked.to(f"/concerns/{owned.id}")
        secret = tokens.make(db, "feed", user=asked.me.id, concern=owned.id, now=asked.now)
    return show(asked, feed=f"{asked.origin}/feed/{secret}.atom")


def _mine(asked: Asked) -> Owned:
    """The concern of the address, if it is the asker's."""
    for each in asked.book.concerns(asked.me.id):
        if each.id == asked.parts["concern"]:
            return each
    raise Wrong("not_found")


# -- the form -----------------------------------------------------------------------


def _again(asked: Asked, error: ConfigError | Wrong, *, title: str, number: int | None) -> Response:
    said = asked.say(error.key, **error.values) if isinstance(error, Wrong) else str(error)
    typed = {**dict.fromkeys(_EMPTY, ""), **asked.form}
    return asked.page("concern_form.html", 400, typed=typed, title=title, number=number, error=said)


def _concern(asked: Asked, before: Concern) -> Concern:
    """The concern that was typed, checked; Wrong or ConfigError."""
    form = {**dict.fromkeys(_EMPTY, ""), **asked.form}
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
    if form.get("feed"):
        named.append("feed")
    named += [f"webhook:{url}" for url in _lines(form["webhooks"])[:MAX_WEBHOOKS]]
    others = _lines(form["apprise"])
    if others and not asked.me.admin:
        raise Wrong("channel_admin")
    named += [f"apprise:{url}" for url in others]
    return tuple(dict.fromkeys(named))


def _typed(asked: Asked, concern: Concern) -> Form:
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
