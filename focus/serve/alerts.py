"""Answers the pages where a person makes, changes and looks after their alerts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from focus.alerts.delivery import (
    CHANNELS,
    NotDelivered,
    mask_channel,
    sent_channels,
    signed_channels,
    signing_secrets,
    split_channel,
)
from focus.alerts.health import SILENCE_S, alert_health
from focus.alerts.outbox_relay import send_test_message
from focus.alerts.preview import Preview, preview_alert
from focus.alerts.schedule import MIN_INTERVAL_S, SLACK_S
from focus.errors import ConfigError
from focus.i18n import msg, translate
from focus.serve import backoff, channel_fields, forms, site_answers, tokens
from focus.serve.accounts import Wrong, spend
from focus.serve.channel_fields import ChannelField
from focus.serve.request import Form, RequestContext
from focus.serve.site_answers import SiteAnswer, SiteQuestion
from focus.storage.alerts.records import LOCAL, Alert, StoredAlert

QUOTA = 50  # alerts of one person
SHOWN = 20  # pages of a preview


def listed(request: RequestContext) -> Response:
    """All alerts of a person, and how they fare."""
    return shown(request)


def shown(request: RequestContext, status: int = 200, **said: str) -> Response:
    """The same, with what came of something."""
    store = request.store
    mine = [alert_health(store, each, now=request.now) for each in store.alerts.all(request.me.id)]
    local = store.alerts.all(LOCAL) if request.me.admin else []
    return request.page(
        "alerts.html", status, alerts=mine, silent_s=SILENCE_S, local=len(local), **said
    )


def new(request: RequestContext) -> Response:
    """The empty form, and what was typed there."""
    if "name" not in request.form:
        return _form(request, forms.EMPTY, channel_fields.usual(request))
    made, wrong = forms.read(request, Alert("", ()))
    if wrong or "try" in request.form:
        return _again(request, made, wrong)
    try:
        check_quota(request, 1)
        number = request.store.alerts.add(request.me.id, made, now=request.now)
    except ConfigError as error:
        return _again(request, made, {"": error.message})
    return request.to(f"/alerts/{number}", saved=1)


def check_quota(request: RequestContext, more: int) -> None:
    """Wrong for more alerts than one person may have."""
    if len(request.store.alerts.all(request.me.id)) + more > QUOTA:
        raise Wrong("There may be {n} alerts at most.", n=QUOTA)


def _form(
    request: RequestContext,
    typed: Form,
    fields: Sequence[ChannelField],
    status: int = 200,
    **more: Any,
) -> Response:
    return request.page(
        "alert_form.html",
        status,
        typed=typed,
        fields=fields,
        title=msg("Edit") if "alert" in request.parts else msg("New alert"),
        every=forms.EVERY,
        days=forms.DAYS,
        labels=forms.LABELS,
        **{"wrong": {}, "preview": None, "answers": [], "shown": SHOWN, **more},
    )


def _again(request: RequestContext, made: Alert, wrong: dict[str, str]) -> Response:
    """The form as it was filled in: with all that is wrong, or with what it would bring."""
    typed = {**dict.fromkeys(forms.EMPTY, ""), **request.form}
    fields = channel_fields.typed(request)
    if not wrong:
        try:
            found, said = _tried(request, made)
            return _form(request, typed, fields, preview=found, answers=said)
        except ConfigError as error:
            wrong = {"": error.message}
    said_of = {name: translate(line, request.language) for name, line in wrong.items()}
    return _form(request, typed, fields, 400, wrong=said_of, error=said_of.pop("", ""))


def _tried(request: RequestContext, made: Alert) -> tuple[Preview, list[SiteAnswer]]:
    """What an alert that is not kept would have sent, and what its sites answer."""
    spend(request.store, [backoff.key("try", request.me.name)], now=request.now)
    fetch = request.app_state.sending.fetch
    said = site_answers.ask(SiteQuestion(list(made.sites), fetch))
    with request.app_state.previewing:
        now, zone = request.now, request.zone
        found = preview_alert(request.store, made, now=now, zone=zone, trusted=False)
    return found, said


def edit(request: RequestContext) -> Response:
    """The form as it stands, and what was typed there."""
    owned = _mine(request)
    if "name" not in request.form:
        fields = channel_fields.of_channels(request, owned.alert.channels)
        return _form(request, forms.typed_of(request, owned.alert), fields)
    made, wrong = forms.read(request, owned.alert)
    if wrong or "try" in request.form:
        return _again(request, made, wrong)
    try:
        request.store.alerts.change(owned.id, made, now=request.now)
    except ConfigError as error:
        return _again(request, made, {"": error.message})
    return request.to(f"/alerts/{owned.id}", saved=1)


def show(
    request: RequestContext,
    done: str = "",
    error: str = "",
    feed: str = "",
    secrets: Sequence[tuple[str, str]] = (),
) -> Response:
    """How an alert fares, and what the last days would have sent."""
    owned = _mine(request)
    found = None
    if ("saved" in request.query or "preview" in request.query) and not error:
        found = _previewed(request, owned)
        done = done or (request.say("Saved.") if "saved" in request.query else "")
    if "saved" in request.query and not error:
        secrets = [(each, _secret(request, each)) for each in signed_channels(owned.alert.channels)]
    return request.page(
        "alert.html",
        health=alert_health(request.store, owned, now=request.now),
        preview=found,
        shown=SHOWN,
        silent_s=SILENCE_S,
        votes=request.store.matches.count_votes(owned.id),
        pushed=sent_channels(owned.alert.channels),
        signed=signed_channels(owned.alert.channels),
        secrets=secrets,
        done=done,
        error=error,
        feed=feed,
    )


def _previewed(request: RequestContext, owned: StoredAlert) -> Preview:
    with request.app_state.previewing:
        return preview_alert(request.store, owned, now=request.now, zone=request.zone)


def pause(request: RequestContext) -> Response:
    """Stop, or go on."""
    owned = _mine(request)
    request.store.alerts.pause(owned.id, not owned.paused, now=request.now)
    return request.to("/alerts" if "listed" in request.form else f"/alerts/{owned.id}")


def check(request: RequestContext) -> Response:
    """Have it checked now, by the scheduler; no site more than once a minute."""
    owned = _mine(request)
    if owned.paused or owned.alert.is_over(request.now):
        raise Wrong("There is nothing here.")
    spend(request.store, [backoff.key("check", request.me.name)], now=request.now)
    request.store.alerts.check_soon(owned.id, now=request.now, floor_s=MIN_INTERVAL_S - SLACK_S)
    return show(request, done=request.say("It is checked in a moment."))


def delete(request: RequestContext) -> Response:
    """Forget it."""
    request.store.alerts.remove(_mine(request).id)
    return request.to("/alerts")


def test(request: RequestContext) -> Response:
    """Send a test message by one of its channels."""
    owned = _mine(request)
    channel = request.form.get("channel", "")
    if channel not in sent_channels(owned.alert.channels):
        raise Wrong("There is nothing here.")
    if CHANNELS[split_channel(channel)[0]].is_admin_only and not request.me.admin:
        raise Wrong("This channel is for administrators.")
    spend(request.store, [backoff.key("test", request.me.name)], now=request.now)
    how, clock = request.app_state.settings(), request.app_state.clock
    sending = send_test_message(
        request.store, how, user=request.me.id, channel=channel, clock=clock
    )
    outcome = asyncio.run(sending)
    if isinstance(outcome, NotDelivered):
        error = request.say("The test failed: {reason}", reason=outcome.reason)
        return show(request, error=error)
    return show(request, done=request.say("The test message was sent."))


def secret(request: RequestContext) -> Response:
    """Show by what one of its channels is signed, or change it."""
    owned = _mine(request)
    channel = request.form.get("channel", "")
    if channel not in signed_channels(owned.alert.channels):
        raise Wrong("There is nothing here.")
    done = ""
    if "rotate" in request.form:
        how, store, me = request.app_state.settings(), request.store, request.me
        with store.transaction():
            signing_secrets.rotate_secret(store, how, me.id, channel, now=request.now)
            store.audit.note(me.name, msg("new secret"), mask_channel(channel), now=request.now)
        done = request.say("The secret is changed. For a day the one before signs as well.")
    return show(request, done=done, secrets=[(channel, _secret(request, channel))])


def _secret(request: RequestContext, channel: str) -> str:
    """What signs a channel of the asker's."""
    how = request.app_state.settings()
    return signing_secrets.current_secrets(
        request.store, how, request.me.id, channel, now=request.now
    )[0]


def feed(request: RequestContext) -> Response:
    """A new address of the alert's own feed; the one before ends."""
    owned = _mine(request)
    store, me = request.store, request.me.id
    with store.transaction():
        store.tokens.drop("feed", user=me, alert=owned.id)
        if "off" in request.form:
            return request.to(f"/alerts/{owned.id}")
        secret = tokens.make(store, "feed", user=me, alert=owned.id, now=request.now)
    return show(request, feed=f"{request.origin}/feed/{secret}.atom")


def _mine(request: RequestContext) -> StoredAlert:
    """The alert of the address, if it is the asker's."""
    for each in request.store.alerts.all(request.me.id):
        if each.id == request.parts["alert"]:
            return each
    raise Wrong("There is nothing here.")
