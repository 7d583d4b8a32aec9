"""Handlers of the pages on which users create, edit and check their alerts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

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
from focus.alerts.health import SILENCE_S, Health, alert_health
from focus.alerts.outbox_relay import send_test_message
from focus.alerts.preview import Preview, preview_alert
from focus.alerts.schedule import MIN_INTERVAL_S, SLACK_S
from focus.errors import ConfigError
from focus.i18n import msg, translate
from focus.serve import backoff, channel_fields, forms, site_answers, tokens
from focus.serve.accounts import InvalidInput, require_attempt
from focus.serve.channel_fields import ChannelField
from focus.serve.request import Form, RequestContext
from focus.serve.site_answers import SiteAnswer, SiteQuestion
from focus.storage.alerts.records import Alert, StoredAlert

MAX_ALERTS = 50  # alerts of one user
PREVIEW_PAGES = 20  # displayed pages of a preview


def list_alerts(request: RequestContext) -> Response:
    """List the user's alerts with their health."""
    return render_alerts(request)


def render_alerts(request: RequestContext, status: int = 200, **messages: str) -> Response:
    """Render the list of alerts with a message about an action."""
    store = request.store
    health = [
        alert_health(store, stored_alert, now=request.now)
        for stored_alert in store.alerts.list_alerts(request.me.id)
    ]
    filters = _list_filters(request, health)
    return request.render(
        "alerts.html",
        status,
        alerts=next((choice.alerts for choice in filters if choice.is_active), health),
        filters=filters,
        typed={"sites": "", "words": ""},
        silent_s=SILENCE_S,
        **messages,
    )


class ListFilter(NamedTuple):
    """A filter of the list of alerts: all, those in trouble, or those with a tag."""

    label: str
    query: str
    alerts: Sequence[Health]
    is_active: bool


def _list_filters(request: RequestContext, health: Sequence[Health]) -> list[ListFilter]:
    """Return the filters that select something, all alerts first."""
    tag, shows_trouble = request.query.get("tag", ""), "trouble" in request.query
    in_trouble = [state for state in health if state.is_in_trouble]
    filters = [ListFilter(request.say("All"), "", health, not tag and not shows_trouble)]
    if in_trouble:
        label = request.say("In trouble")
        filters.append(ListFilter(label, "trouble=1", in_trouble, shows_trouble))
    for name in sorted({name for state in health for name in state.alert.tags}):
        tagged = [state for state in health if name in state.alert.tags]
        filters.append(ListFilter(name, urlencode({"tag": name}), tagged, name == tag))
    return filters


def create_alert(request: RequestContext) -> Response:
    """Show the empty form, or create the submitted alert."""
    if "name" not in request.form:
        return _render_form(request, forms.DEFAULT_VALUES, channel_fields.default_fields(request))
    if "quick" in request.form:
        request.form |= _quick_values(request)
    alert, errors = forms.read_alert(request, Alert("", ()))
    if errors or "try" in request.form:
        return _render_submitted(request, alert, errors)
    try:
        with request.store.transaction():
            check_quota(request, 1)
            number = request.store.alerts.add(request.me.id, alert, now=request.now)
    except ConfigError as error:
        return _render_submitted(request, alert, {"": error.message})
    return request.redirect(f"/alerts/{number}", saved=1)


def _quick_values(request: RequestContext) -> Form:
    """Return the values of a whole form for one that has an address and words only."""
    channels = {
        channel_field.kind: channel_field.value
        for channel_field in channel_fields.default_fields(request)
        if channel_field.value and not channel_field.missing
    }
    typed = {name: request.form.get(name, "").strip() for name in ("sites", "words")}
    name = typed["words"] or typed["sites"].removeprefix("https://")
    return {**forms.DEFAULT_VALUES, **channels, **typed, "name": name[:100]}


def check_quota(request: RequestContext, more: int) -> None:
    """Raise InvalidInput if `more` alerts exceed the user's limit."""
    if len(request.store.alerts.list_alerts(request.me.id)) + more > MAX_ALERTS:
        raise InvalidInput("You can have at most {n} alerts.", n=MAX_ALERTS)


def _render_form(
    request: RequestContext,
    typed: Form,
    fields: Sequence[ChannelField],
    status: int = 200,
    **more: Any,
) -> Response:
    return request.render(
        "alert_form.html",
        status,
        typed=typed,
        fields=fields,
        title=msg("Edit") if "alert" in request.path_params else msg("New alert"),
        every=forms.SCHEDULE_LABELS,
        days=forms.DAY_LABELS,
        labels=forms.FIELD_LABELS,
        **{"wrong": {}, "preview": None, "answers": [], "shown": PREVIEW_PAGES, **more},
    )


def _render_submitted(request: RequestContext, alert: Alert, errors: dict[str, str]) -> Response:
    """Render the submitted form with its errors, or with a preview."""
    typed = {**dict.fromkeys(forms.DEFAULT_VALUES, ""), **request.form}
    fields = channel_fields.submitted_fields(request)
    if not errors:
        try:
            preview, answers = _try_alert(request, alert)
            return _render_form(request, typed, fields, preview=preview, answers=answers)
        except ConfigError as error:
            errors = {"": error.message}
    field_messages = {name: translate(line, request.language) for name, line in errors.items()}
    return _render_form(
        request, typed, fields, 400, wrong=field_messages, error=field_messages.pop("", "")
    )


def _try_alert(request: RequestContext, alert: Alert) -> tuple[Preview, list[SiteAnswer]]:
    """Return the preview of an alert that is not stored, and the answers of its sites."""
    require_attempt(
        request.store, [backoff.attempt_key("try", str(request.me.id))], now=request.now
    )
    fetch = request.app_state.sending.fetch
    answers = site_answers.ask_sites(SiteQuestion(list(alert.sites), fetch))
    with request.app_state.preview_lock:
        now, zone = request.now, request.zone
        preview = preview_alert(request.store, alert, now=now, zone=zone, trusted=False)
    return preview, answers


def edit_alert(request: RequestContext) -> Response:
    """Show the form of an alert, or save what was submitted."""
    stored_alert = _requested_alert(request)
    if "name" not in request.form:
        fields = channel_fields.make_fields(request, stored_alert.alert.channels)
        return _render_form(request, forms.alert_values(request, stored_alert.alert), fields)
    alert, errors = forms.read_alert(request, stored_alert.alert)
    if errors or "try" in request.form:
        return _render_submitted(request, alert, errors)
    try:
        request.store.alerts.replace(stored_alert.id, alert, now=request.now)
    except ConfigError as error:
        return _render_submitted(request, alert, {"": error.message})
    return request.redirect(f"/alerts/{stored_alert.id}", saved=1)


def show_alert(
    request: RequestContext,
    done: str = "",
    error: str = "",
    feed: str = "",
    secrets: Sequence[tuple[str, str]] = (),
) -> Response:
    """Show the health of an alert and a preview of the last days."""
    stored_alert = _requested_alert(request)
    preview = None
    if ("saved" in request.query or "preview" in request.query) and not error:
        preview = _preview_stored(request, stored_alert)
        done = done or (request.say("Saved.") if "saved" in request.query else "")
    if "saved" in request.query and not error:
        secrets = [
            (channel, _signing_secret(request, channel))
            for channel in signed_channels(stored_alert.alert.channels)
        ]
    return request.render(
        "alert.html",
        health=alert_health(request.store, stored_alert, now=request.now),
        preview=preview,
        shown=PREVIEW_PAGES,
        silent_s=SILENCE_S,
        votes=request.store.matches.count_votes(stored_alert.id),
        pushed=sent_channels(stored_alert.alert.channels),
        signed=signed_channels(stored_alert.alert.channels),
        secrets=secrets,
        done=done,
        error=error,
        feed=feed,
        has_feed=any(
            token.alert == stored_alert.id
            for _, token in request.store.tokens.list_for_user(
                "feed", request.me.id, now=request.now
            )
        ),
    )


def _preview_stored(request: RequestContext, stored_alert: StoredAlert) -> Preview:
    with request.app_state.preview_lock:
        return preview_alert(request.store, stored_alert, now=request.now, zone=request.zone)


def toggle_pause(request: RequestContext) -> Response:
    """Pause the alert, or resume it if it is paused."""
    stored_alert = _requested_alert(request)
    request.store.alerts.set_paused(stored_alert.id, not stored_alert.paused, now=request.now)
    return request.redirect("/alerts" if "listed" in request.form else f"/alerts/{stored_alert.id}")


def check_now(request: RequestContext) -> Response:
    """Let the scheduler check the alert now, each site at most once a minute."""
    stored_alert = _requested_alert(request)
    if stored_alert.paused or stored_alert.alert.is_over(request.now):
        raise InvalidInput("There is nothing here.")
    require_attempt(
        request.store, [backoff.attempt_key("check", str(request.me.id))], now=request.now
    )
    request.store.alerts.schedule_check(
        stored_alert.id, now=request.now, floor_s=MIN_INTERVAL_S - SLACK_S
    )
    return show_alert(request, done=request.say("It will be checked in a moment."))


def delete_alert(request: RequestContext) -> Response:
    """Delete the alert."""
    request.store.alerts.remove(_requested_alert(request).id)
    return request.redirect("/alerts")


def send_test(request: RequestContext) -> Response:
    """Send a test message through one of the alert's channels."""
    stored_alert = _requested_alert(request)
    channel = request.form.get("channel", "")
    if channel not in sent_channels(stored_alert.alert.channels):
        raise InvalidInput("There is nothing here.")
    if CHANNELS[split_channel(channel)[0]].is_admin_only and not request.me.admin:
        raise InvalidInput("This channel is for administrators.")
    require_attempt(
        request.store, [backoff.attempt_key("test", str(request.me.id))], now=request.now
    )
    delivery_settings, clock = request.app_state.settings(), request.app_state.clock
    delivery = send_test_message(
        request.store, delivery_settings, user=request.me.id, channel=channel, clock=clock
    )
    outcome = asyncio.run(delivery)
    if isinstance(outcome, NotDelivered):
        error = request.say("The test failed: {reason}", reason=outcome.reason)
        return show_alert(request, error=error)
    return show_alert(request, done=request.say("The test message was sent."))


def show_secret(request: RequestContext) -> Response:
    """Show the signing secret of one of the alert's channels, or change it."""
    stored_alert = _requested_alert(request)
    channel = request.form.get("channel", "")
    if channel not in signed_channels(stored_alert.alert.channels):
        raise InvalidInput("There is nothing here.")
    done = ""
    if "rotate" in request.form:
        delivery_settings, store, me = request.app_state.settings(), request.store, request.me
        with store.transaction():
            signing_secrets.rotate_secret(store, delivery_settings, me.id, channel, now=request.now)
            store.audit.add(me.name, msg("new secret"), mask_channel(channel), now=request.now)
        done = request.say("The secret was changed. The old one also signs for one more day.")
    return show_alert(request, done=done, secrets=[(channel, _signing_secret(request, channel))])


def _signing_secret(request: RequestContext, channel: str) -> str:
    """Return the secret that signs messages of a channel of the user."""
    delivery_settings = request.app_state.settings()
    return signing_secrets.current_secrets(
        request.store, delivery_settings, request.me.id, channel, now=request.now
    )[0]


def renew_feed(request: RequestContext) -> Response:
    """Create a new address of the alert's feed, or remove the feed; the previous address ends."""
    stored_alert = _requested_alert(request)
    store, me = request.store, request.me.id
    with store.transaction():
        store.tokens.remove_for_user("feed", user=me, alert=stored_alert.id)
        if "off" in request.form:
            return request.redirect(f"/alerts/{stored_alert.id}")
        secret = tokens.create_token(store, "feed", user=me, alert=stored_alert.id, now=request.now)
    return show_alert(request, feed=f"{request.origin}/feed/{secret}.atom")


def _requested_alert(request: RequestContext) -> StoredAlert:
    """Return the alert in the URL. Raises InvalidInput if it is not the user's."""
    for stored_alert in request.store.alerts.list_alerts(request.me.id):
        if stored_alert.id == request.path_params["alert"]:
            return stored_alert
    raise InvalidInput("There is nothing here.")
