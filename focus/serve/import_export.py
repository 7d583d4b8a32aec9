"""Handlers that import alerts from a file into an account, and export them.

Imported alerts get only what their new owner may use: mail goes to the owner's confirmed address or
nowhere, apprise channels are for administrators, topic files and networks for the command line.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from focus.alerts.alert import from_json, to_json
from focus.alerts.page_match import alert_topic
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import alerts, channel_fields
from focus.serve.request import RequestContext, json_attachment
from focus.storage.alerts.records import Alert


def export_alerts(request: RequestContext) -> Response:
    """Return the user's alerts as a JSON file, as `focus watch export` writes it."""
    own_alerts = (
        stored_alert.alert for stored_alert in request.store.alerts.list_alerts(request.me.id)
    )
    return json_attachment("focus-alerts.json", to_json(own_alerts))


def import_alerts(request: RequestContext) -> Response:
    """Import all alerts of an uploaded file, or none."""
    try:
        data, where = request.form.get("file", "").encode(), msg("File of alerts (JSON)")
        imported = from_json(data, where, maximum=alerts.MAX_ALERTS)
        replace = "replace" in request.form
        allowed = [_with_allowed_channels(request, alert) for alert in imported]
        for alert in allowed:
            alert_topic(alert, trusted=False)
        with request.store.transaction():
            existing_names = {
                stored_alert.alert.name
                for stored_alert in request.store.alerts.list_alerts(request.me.id)
            }
            alerts.check_quota(
                request, sum(not (replace and alert.name in existing_names) for alert in imported)
            )
            request.store.alerts.add_all(request.me.id, allowed, replace=replace, now=request.now)
    except ConfigError as error:
        return alerts.render_alerts(request, 400, error=request.error_text(error))
    return alerts.render_alerts(request, done=_import_message(request, imported, allowed))


def _with_allowed_channels(request: RequestContext, alert: Alert) -> Alert:
    """Return the alert with those of its channels that its new owner may use, without networks."""
    channels = channel_fields.allowed_channels(request.me, alert.channels)
    return msgspec.structs.replace(alert, channels=channels, networks=())


def _import_message(request: RequestContext, before: list[Alert], after: list[Alert]) -> str:
    text = request.plural("{n} alert was imported.", "{n} alerts were imported.", n=len(after))
    pairs = zip(before, after, strict=True)
    changed = [new.name for old, new in pairs if set(old.channels) - set(new.channels)]
    if changed:
        text += " " + request.say(
            "Their channels were adapted to your account: {names}.", names=", ".join(changed)
        )
    return text
