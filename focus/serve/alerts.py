"""How does a person make, change and look after their concerns?"""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from focus.alerts import votes
from focus.alerts.alert import Concern
from focus.alerts.delivery import Failed
from focus.alerts.health import SILENT_S, health
from focus.alerts.outbox import PULLED
from focus.alerts.outbox_relay import send_test
from focus.alerts.preview import Preview, preview
from focus.alerts.store import LOCAL, Owned
from focus.alerts.texts import told
from focus.errors import ConfigError
from focus.serve import backoff, forms, tokens
from focus.serve.request import Asked
from focus.serve.texts import Wrong

QUOTA = 50  # concerns of one person
SHOWN = 20  # pages of a preview


def listed(asked: Asked) -> Response:
    """All concerns of a person, and how they fare."""
    return shown(asked)


def shown(asked: Asked, status: int = 200, **said: str) -> Response:
    """The same, with what came of something."""
    mine = [health(asked.book, each, now=asked.now) for each in asked.book.concerns(asked.me.id)]
    local = asked.book.concerns(LOCAL) if asked.me.admin else []
    return asked.page(
        "concerns.html", status, concerns=mine, silent_s=SILENT_S, local=len(local), **said
    )


def new(asked: Asked) -> Response:
    """The empty form, and what was typed there."""
    if "name" not in asked.form:
        start = forms.fresh(asked)
        return asked.page("concern_form.html", typed=start, title="new_concern", number=None)
    try:
        check_quota(asked, 1)
        number = asked.book.add(
            asked.me.id, forms.concern_of(asked, Concern("", ())), now=asked.now
        )
    except (ConfigError, Wrong) as error:
        return _again(asked, error, title="new_concern", number=None)
    return asked.to(f"/concerns/{number}", saved=1)


def check_quota(asked: Asked, more: int) -> None:
    """Wrong for more concerns than one person may have."""
    if len(asked.book.concerns(asked.me.id)) + more > QUOTA:
        raise Wrong("quota", n=QUOTA)


def _again(asked: Asked, error: ConfigError | Wrong, *, title: str, number: int | None) -> Response:
    said = asked.wrong(error)
    typed = {**dict.fromkeys(forms.EMPTY, ""), **asked.form}
    return asked.page("concern_form.html", 400, typed=typed, title=title, number=number, error=said)


def edit(asked: Asked) -> Response:
    """The form as it stands, and what was typed there."""
    owned = _mine(asked)
    if "name" not in asked.form:
        typed = forms.typed_of(asked, owned.concern)
        return asked.page("concern_form.html", typed=typed, title="edit", number=owned.id)
    try:
        asked.book.change(owned.id, forms.concern_of(asked, owned.concern), now=asked.now)
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
        votes=votes.counts(asked.book, owned.id),
        pushed=[each for each in owned.concern.channels if each not in PULLED],
        done=done,
        error=error,
        feed=feed,
    )


def _previewed(asked: Asked, owned: Owned) -> Preview:
    with asked.office.previewing:
        return preview(asked.book, owned, now=asked.now, zone=asked.zone)


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
